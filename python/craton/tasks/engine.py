"""Which engine runs the tasks: processes of this machine, or Parsl with a configuration of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from craton._launch import usable_cores
from craton.errors import UserError
from craton.tasks.backend import Backend
from craton.tasks.graph import Task
from craton.tasks.in_worker import revoke
from craton.tasks.local import LocalBackend
from craton.tasks.run import check_cores

if TYPE_CHECKING:
    from craton.tasks.parsl_places import Place

__all__ = ["ENGINES", "Engine"]

ENGINES = ("local", "parsl")


@dataclass(frozen=True)
class Engine:
    """An engine as a run names it. UserError where its configuration is asked for and cannot be used."""

    name: str
    """of ENGINES"""
    parsl_config: str = ""
    """file; of parsl alone"""

    @property
    def cores(self) -> int:
        """Cores that tasks may use together."""
        return sum(one.all_cores for one in self._places) if self._places else usable_cores()

    @property
    def task_cores(self) -> int:
        """Cores that one process may have, at most."""
        if not self._places:
            return usable_cores()
        return max(one.cores // max(1, one.nodes) for one in self._places)

    @property
    def jobs(self) -> int:
        """Tasks at the same time, where the user names no number: on a machine of one's own a few more than fill it."""
        return self.cores if self._places else 5

    def check(self, tasks: Sequence[Task], cores: int) -> None:
        """Refuses tasks that could never begin, and more cores than there are. UserError."""
        if cores > self.cores:
            where = f"the executors of {self.parsl_config} have" if self._places else "this machine has"
            other = "" if self._places else ', or an engine that has more (engine = "parsl")'
            raise UserError(f"[run] cores = {cores}: {where} {self.cores}; allowed: at most {self.cores}{other}")
        check_cores(tasks, cores)
        if self._places:
            from craton.tasks.parsl_places import place_for

            for task in tasks:
                place_for(task, self._places)

    def backend(self, folder: Path) -> Backend:
        """What runs the tasks. folder: for the engine's own logs. Ends what workers of a killed run still do in this folder."""
        if not self._places:
            revoke(folder)
            return LocalBackend()
        from craton.tasks.parsl_backend import ParslBackend

        return ParslBackend(Path(self.parsl_config), folder)

    @cached_property
    def _places(self) -> Sequence[Place]:
        """Of Parsl's executors; none for this machine."""
        if self.name == "local":
            return ()
        if not self.parsl_config:
            raise UserError(
                '[run] engine = "parsl" without parsl_config; allowed: parsl_config = "FILE", or --parsl-config FILE'
            )
        from craton.tasks.parsl_places import load_parsl_config, places_of

        file = Path(self.parsl_config)
        return places_of(load_parsl_config(file), file)
