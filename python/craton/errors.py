"""The one exception that means "the user or the environment, not the program": one clear line, exit code 2."""

from craton._craton import UserError

__all__ = ["UserError", "one_line", "words_of"]

UserError.__doc__ = "The user's or the environment's fault, in one line: what, where, the value and what is allowed."

LONGEST_WORD = 1000
"""Characters of a word that a terminal gets. A path may have some hundred."""


def one_line(text: str) -> str:
    """The text as a terminal gets it, whatever was in a file or a name: one line, no long words, nothing that is not printable."""
    words = (word if len(word) <= LONGEST_WORD else _shortened(word) for word in text.split())
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in " ".join(words))


def words_of(error: BaseException) -> str:
    """What an exception says, on one line of at most 200 characters; its type where it says nothing."""
    return one_line(str(getattr(error, "strerror", None) or error))[:200] or type(error).__name__


def _shortened(word: str) -> str:
    return f"{word[: LONGEST_WORD // 10]}... ({len(word):,} characters)"
