"""Wave runs of an inversion, each a task that leaves the folder of `craton waves run`.

That of an earthquake gives g(m) and one half of its kernels; that of a force at a station the other half, by reciprocity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.regional.config import Config, source_of
from craton.runs.files import replaced
from craton.runs.hdf5_writing import written_hdf5
from craton.seismology.sources.point_sources import PointSource, point_source
from craton.seismology.sources.source_time import source_time
from craton.seismology.wave_run import config as waves
from craton.seismology.wave_run import started
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.setup import AbsorbingSides
from craton.tasks import Task

__all__ = [
    "FORCE_N",
    "Steady",
    "event_config",
    "receiver_config",
    "receiver_force",
    "spectra_table",
    "tables_in",
    "wave_task",
    "write_ground",
]

f64 = NDArray[np.float64]

FORCE_N = 1e15
SAMPLED_EVERY = 4
"""Steps between samples of strains at the earthquakes."""
SHORTER = 0.45
"""A station's force has a Gaussian time function of this over f4: at f4 its spectrum is 2 % of the largest, at 1.3 f4 0.1 %."""


def spectra_table(config: Config) -> dict[str, Any]:
    """[spectra] of a run whose transforms kernels are made of."""
    model, (f1, _, _, f4), (low, high) = config.model, config.data.filter_hz, config.summed_m
    return {
        "band_hz": [f1, f4],
        "fields": ["strain", "velocity"] if "rho" in config.changed else ["strain"],
        "coarsen": model.coarsen,
        "low_m": list(low),
        "high_m": list(high),
        "bits": model.bits,
    }


class Steady(NamedTuple):
    """What all wave runs of an inversion have alike, so that seismograms differ by the ground alone."""

    dt_s: float
    sides: AbsorbingSides
    """Those of the starting model: a PML that followed the ground would change what it sends back with the model."""


def tables_in(ground: Path, config: Config, steady: Steady) -> dict[str, Any]:
    """The tables of all wave runs in the ground of a file."""
    tables = config.wave_tables()
    if config.boundary.absorbing == "pml":
        sides = steady.sides
        tables["boundary"] = tables["boundary"] | {
            "damping_speed_m_s": sides.speed_m_s,
            "frequency_shift_per_s": sides.shift_per_s,
        }
    tables["media"] = {
        "kind": "file",
        "file": str(ground),
        "outside": "nearest",
        "subsamples": 1,
        "water": config.media.water,
    }
    tables["time"] = tables["time"] | {"dt_s": steady.dt_s}
    tables["grid"] = tables["grid"] | {"points_per_wavelength": 0.0}  # the starting model was checked
    return tables


def _config(
    config: Config, ground: Path, source: dict[str, Any], steady: Steady, spectra: bool, folder: Path, sgt: Any = None
) -> waves.Config:
    own = {"run": {"directory": str(folder), "threads": config.run.threads}, "source": [source]}
    more = {"spectra": spectra_table(config)} if spectra else {}
    return waves.Config.build(
        tables_in(ground, config, steady) | own | more | ({"sgt": sgt} if sgt else {}), config.path
    )


def event_config(
    config: Config, event: int, ground: Path, steady: Steady, folder: Path, spectra: bool = True
) -> waves.Config:
    """The run of an earthquake in the ground of a file. UserError for what `craton waves run` would refuse."""
    return _config(config, ground, source_of(config.events[event]), steady, spectra, folder)


def receiver_config(
    config: Config, position_m: f64, component: str, ground: Path, points: Path, steady: Steady, folder: Path
) -> waves.Config:
    """The run of a force at a station along a component. points: the file of the earthquakes' places, whose strains are kept."""
    source = {
        "mode": f"force_{component}",
        "position_m": [float(at) for at in position_m],
        "force_N": [FORCE_N],
        "time_function": "gaussian",
        "sigma_s": SHORTER / config.data.filter_hz[3],
    }
    return _config(config, ground, source, steady, True, folder, {"points": str(points), "every": SAMPLED_EVERY})


def receiver_force(config: Config, component: str) -> PointSource:
    """The force of a station's run, but for its place."""
    series = source_time("gaussian", SHORTER / config.data.filter_hz[3], None)
    return point_source(f"force_{component}", (0.0, 0.0, 0.0), [FORCE_N], series)


def write_ground(path: Path, config: Config, planes: Iterable[dict[str, f64]]) -> None:
    """vp, vs, rho (qp, qs) at the middles of all cells, as [media] file takes them. UserError where it cannot be written.

    planes: of cells, (x, y), from the top down; so wave runs read them.
    """
    (nx, ny, nz), h = config.grid.cells, config.grid.spacing_m
    with replaced(path) as aside, written_hdf5(aside, "w") as file:
        for number, plane in enumerate(planes):
            for name, field in plane.items():
                if not number:
                    made: h5py.Dataset = file.create_dataset(name, (nz, ny, nx), np.float32)
                    made.attrs["axes"] = "z y x"
                file[name][number] = field.T
        for name, n in zip("xyz", (nx, ny, nz), strict=True):
            file[name] = (np.arange(n) + 0.5) * h


def wave_task(name: str, config: waves.Config, folder: Path, ranks: int, steps: int, kind: str) -> Task:
    """The task of a run whose configuration is written beside its folder when it begins."""
    path = folder.with_name(f"{folder.name}.toml")

    def command(text: str) -> list[str]:
        path.write_text(text, encoding="utf-8")
        return started.words(path, ranks, config.run.threads)

    return Task(
        name=name,
        kind=kind,
        cores=ranks * config.run.threads,
        ranks=ranks,
        start_ranks=started.start_ranks(ranks),
        module=started.forked_module(ranks),
        result=WavesFolder(folder).record,
        command=partial(command, config.to_toml()),
        log=folder.with_name(f"{folder.name}.log"),
        cost=started.predicted_s(config.cells, steps, ranks) * (1.0 + 0.3 * bool(config.spectra.band_hz)),
    )


def most_runs(config: Config, stations: int) -> int:
    """Wave runs of an iteration whose first step is taken: forces at stations, and the earthquakes once."""
    return stations * len(config.data.components) + len(config.events)


def disk_bytes(config: Config, stations: int, one: int) -> int:
    """Of spectra at a time: those of the model and of one that is tried, or with keep_spectra of all. one: of a run."""
    iteration = most_runs(config, stations)
    tried = len(config.events) if config.inversion.predicted_by == "events" else stations * len(config.data.components)
    return math.ceil(one * ((config.inversion.iterations if config.run.keep_spectra else 1) * iteration + tried))
