"""What was done with each file, channel and window, and why: nothing is left out without a word."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

STAGES = ("file", "event", "station", "channel", "window")


@dataclass(frozen=True)
class Decision:
    """One line of the record."""

    stage: str
    """file, event, station, channel or window"""
    subject: str
    """a file's name, an earthquake's, NET.STA.LOC.CHA, or a window in words"""
    accepted: bool
    code: str
    """a few words that are the same for all decisions of this kind, for counting"""
    reason: str = ""
    """a sentence with the values and the limit"""
    event: str = ""
    station: str = ""
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass
class Ledger:
    """All decisions of a run, in the order in which they were made."""

    decisions: list[Decision] = field(default_factory=list)

    def accept(self, stage: str, subject: str, code: str, reason: str = "", **more: Any) -> None:
        """Notes what is used. more: fields of Decision."""
        self.decisions.append(Decision(stage, subject, True, code, reason, **more))

    def reject(self, stage: str, subject: str, code: str, reason: str = "", **more: Any) -> None:
        """Notes what is left out. more: fields of Decision."""
        self.decisions.append(Decision(stage, subject, False, code, reason, **more))

    def counts(self) -> dict[tuple[str, str], int]:
        """How often each reason to leave something out was given, by stage and code."""
        found = Counter((item.stage, item.code) for item in self.decisions if not item.accepted)
        return dict(sorted(found.items(), key=lambda entry: (STAGES.index(entry[0][0]), -entry[1], entry[0][1])))
