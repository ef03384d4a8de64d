"""Damage to the bytes of a file, as disks, cables and editors do it."""

from __future__ import annotations

import random

KINDS = ("bit", "byte", "zeros", "noise", "cut", "insert", "repeat", "swap", "word")
WORDS = (
    b"nan", b"inf", b"-1", b"0", b"1e308", b"-1e308", b"1e-320", b"99999999999999999999", b"", b"\x00", b"\xff\xfe", b"'", b'"',
    b"<script>", b"../../etc/passwd", b"9" * 5000, "²".encode(), b"\n", b"[", b"{",
)  # fmt: skip


def flipped(content: bytes, bit: int) -> bytes:
    """With one bit the other way."""
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def mutated(content: bytes, seed: int) -> tuple[bytes, str]:
    """The bytes with one to three changes, and what they are. The same for the same seed."""
    draw = random.Random(seed)
    kinds = [draw.choice(KINDS) for _ in range(draw.choice((1, 1, 1, 2, 3)))]
    for kind in kinds:
        content = _changed(content, kind, draw)
    return content, " + ".join(kinds)


def _changed(content: bytes, kind: str, draw: random.Random) -> bytes:
    if not content:
        return content
    at = draw.randrange(len(content))
    length = min(draw.choice((1, 2, 4, 8, 16, 64, 512)), len(content) - at)
    end = at + length
    match kind:
        case "bit":
            return flipped(content, 8 * at + draw.randrange(8))
        case "byte":
            return content[:at] + bytes([draw.choice((0, 1, 127, 128, 254, 255))]) + content[at + 1 :]
        case "zeros":
            return content[:at] + bytes(length) + content[end:]
        case "noise":
            return content[:at] + draw.randbytes(length) + content[end:]
        case "cut":
            return content[:at]
        case "insert":
            return content[:at] + draw.randbytes(length) + content[at:]
        case "repeat":
            return content[:end] + content[at:end] * draw.choice((1, 2, 100)) + content[end:]
        case "swap":
            other = draw.randrange(len(content))
            low, high = sorted((at, other))
            length = min(length, high - low, len(content) - high)
            return (
                content[:low]
                + content[high : high + length]
                + content[low + length : high]
                + content[low : low + length]
                + content[high + length :]
            )
        case _:
            return _other_word(content, at, draw)


def _other_word(content: bytes, at: int, draw: random.Random) -> bytes:
    """A number or a name of a text, or some bytes, become something else."""
    breaks = b" \n\t,=\"'[](){}<>"
    first = next((i + 1 for i in range(at, max(-1, at - 60), -1) if content[i] in breaks), at)
    last = next((i for i in range(at, min(len(content), at + 60)) if content[i] in breaks), at + 1)
    return content[:first] + draw.choice(WORDS) + content[max(first, last) :]
