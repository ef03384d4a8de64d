"""g(m) of an outside solver as the inversion's Synthetics: it is started for each model, or waited for.

`[synthetics] kind = "command"` starts a command of the user, once for each earthquake or once for all. With `kind = "wait"` the
run ends in the state "awaiting" and says what it awaits and where; `craton tomography resume` goes on when that is there. Either
way the seismograms go through the filter and the times of the data, and Z, R and T are turned from N and E as there.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.files import remove
from craton.runs.words import counted
from craton.tomography.outside.commands import Command, check_engine, run_here, run_on_engine
from craton.tomography.outside.exchange import ExchangeFolder, check_names, check_times, last_window_s, usual_grid
from craton.tomography.outside.reading import read_windows

if TYPE_CHECKING:
    from craton.runs.node_copies import NodeCopies
    from craton.tomography.config.load import Config
    from craton.tomography.data.observations import Observations
    from craton.tomography.data.paths import PathTable
    from craton.tomography.model.fields import Fields

f64 = NDArray[np.float64]

OF_EVENT = ("{source}", "{event}")


class OutsideSynthetics:
    """Synthetics of the inversion's windows. All calls are collective; rank 0 writes, starts and reads."""

    def __init__(
        self,
        config: Config,
        nodes: NodeCopies,
        place: Callable[[], Path],
        observations: Observations,
        fields: Callable[[f64, str], Fields],
        say: Callable[[str], None],
        enter: Callable[[], None],
        wait: Callable[[str], NoReturn],
        paths_at: Callable[[f64], PathTable] | None = None,
    ) -> None:
        """nodes: of the ranks. place: the folder of folders. fields: of a model, with a label.

        enter: begins the phase, collectively. wait: ends the run, collectively, and says for what. paths_at: the windows with the
        corrections of a model; None: as they are. UserError for names and windows that no file can have.
        """
        self.config, self.settings, self.nodes, self.place = config, config.synthetics, nodes, place
        self.comm = nodes.comm
        self.observations, self.fields, self.say, self.enter, self.wait = observations, fields, say, enter, wait
        self.paths_at = paths_at or (lambda _: observations.paths)
        check_names(observations.paths)
        check_times(observations.paths)

    def seismograms(self, model: f64) -> f64:
        """As Synthetics says. Ends the run where they have to be waited for; UserError where they are wrong."""
        model = np.ascontiguousarray(model)
        if not on_root(self.comm, lambda: self._folder_of(model).read):
            self.enter()
        samples: f64 | None = None

        def find() -> tuple[str, bool]:
            nonlocal samples
            awaited, samples = self._found(model)
            return awaited, samples is not None

        awaited, there = on_root(self.comm, find)
        if not there:
            self.wait(awaited)
        return self.nodes.of_root(samples)

    def chi_data(self, model: f64) -> float:
        """As Synthetics says."""
        return self.observations.chi(self.seismograms(model), self.comm)

    def solvers(self) -> str:
        """How the solvers of all models so far name themselves, those of earlier sessions too; "" where they do not."""
        return on_root(
            self.comm,
            lambda: "; ".join(dict.fromkeys(name for folder in self._folders() if (name := folder.solver_of_g()))),
        )

    # ------------------------------------------------------------------------------------------------------ on rank 0

    def _found(self, model: f64) -> tuple[str, f64 | None]:
        """What is awaited, or the windows."""
        folder = self._folder_of(model)
        if folder.read:
            return "", folder.load()
        if self.settings.kind == "command":
            check_engine(self.settings.runs_on, self.settings.cores)
        if not folder.ready:
            self._write(folder, model)
        if self.settings.kind == "command":
            self._start(folder)
        elif missing := self._missing(folder):
            return missing, None
        try:
            g = self._read(folder, model)
        except UserError as problem:
            self._unmark(folder, str(problem))
            raise
        folder.save(g)
        name = folder.solver() or self.describe()
        self.say(f"seismograms of the model in {folder.path}: by {name}")
        return "", g

    def _unmark(self, folder: ExchangeFolder, problem: str) -> None:
        """The earthquakes that are wrong are not done: those that an error names, or all."""
        names = [self.observations.paths.events.name[event] for event in self.observations.paths.event_rows]
        for name in [name for name in names if name in problem] or names:
            remove(folder.done(name))

    def describe(self) -> str:
        """For the record."""
        return f"command: {self.settings.command}" if self.settings.kind == "command" else "files from outside"

    def _folders(self) -> Iterator[ExchangeFolder]:
        base = self.place()
        numbers = sorted(int(file.name) for file in base.glob("*") if file.name.isdecimal()) if base.is_dir() else []
        yield from (ExchangeFolder(base / str(number)) for number in numbers)

    def _folder_of(self, model: f64) -> ExchangeFolder:
        """The folder of a model that an earlier step or session has asked for, or the next one."""
        last = 0
        for folder in self._folders():
            if folder.holds(model):
                return folder
            if folder.ready:
                last = int(folder.path.name)
        return ExchangeFolder(self.place() / str(last + 1))

    def _write(self, folder: ExchangeFolder, model: f64) -> None:
        fields = self.fields(model, f"model {folder.path.name}")
        usual = usual_grid(*fields.bases.values())
        grid = self.settings.step_deg or usual[0], self.settings.depth_step_km or usual[1]
        folder.write(model, fields, self.paths_at(model), grid)

    def _missing(self, folder: ExchangeFolder) -> str:
        """What a run without a command waits for, in words; "" where every earthquake has files."""
        table = self.observations.paths
        names = [table.events.name[event] for event in table.event_rows]
        empty = [name for name in names if not any((folder.seismograms / name).glob("*"))]
        if not empty:
            return ""
        until_s = last_window_s(self.observations.paths) + 2.0 * self.config.data.filter_periods_s[0]
        named = ", ".join(empty[:3]) + (", ..." if len(empty) > 3 else "")
        return (
            f"awaiting seismograms of {counted(len(empty), 'earthquake')} of {len(names)} ({named}) at "
            f"{counted(len(table.station_rows), 'station')}, {until_s:g} s from the centroid time on, "
            f"displacement in m: a folder of files for each in {folder.seismograms}; model, sources and stations: {folder.path}"
        )

    def _start(self, folder: ExchangeFolder) -> None:
        """Runs the user's command for each earthquake that has no files yet, or once. UserError where one fails."""
        table, command = self.observations.paths, self.settings.command
        names = [table.events.name[event] for event in table.event_rows]
        waiting = [name for name in names if not folder.done(name).is_file()]
        if not waiting:
            return
        one_each = any(text in command for text in OF_EVENT)
        work = {name: [name] for name in waiting} if one_each else {"": waiting}
        commands = [self._command(folder, event, names) for event, names in work.items()]
        here, engine = self.config.path.absolute().parent, self.settings.runs_on
        what = f"{counted(len(waiting), 'earthquake')} for the outside solver"
        if engine.name == "local":
            self.say(f"{what}; what it prints: {folder.path}/solver.log")
            run_here(commands, here, folder.path, self.settings.together)
        else:
            self.say(f"{what}, through {engine.name}; what it prints: {folder.path}/solver")
            run_on_engine(commands, here, folder.path, engine, self.settings.cores, self.settings.together, self.say)

    def _command(self, folder: ExchangeFolder, event: str, done_with: Sequence[str]) -> Command:
        """With the paths that it names; for one earthquake, or all of these."""
        path = folder.path.absolute()
        where = {
            "python": sys.executable, "folder": path, "model": path / "model", "sources": path / "sources", "event": event,
            "source": path / "sources" / f"CMTSOLUTION_{event}", "stations": path / "STATIONS", "windows": path / "windows.csv",
            "seismograms": path / "seismograms" / event,
        }  # fmt: skip
        words = [word.format(**where) for word in shlex.split(self.settings.command)]
        return Command(event, words, [folder.done(name) for name in done_with])

    def _read(self, folder: ExchangeFolder, model: f64) -> f64:
        """All windows, from whatever files the solver has left. UserError names the first that is not right."""
        return read_windows(folder, self.paths_at(model), self.config)
