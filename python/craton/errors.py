"""The one exception that means "the user or the environment, not the program": one clear line, exit code 2."""

from craton._craton import UserError

__all__ = ["UserError"]

UserError.__doc__ = "The user's or the environment's fault, in one line: what, where, the value and what is allowed."
