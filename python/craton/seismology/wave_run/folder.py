"""The folder that `craton waves run` leaves behind.

    config.toml        the configuration with every default written out, but for [run] and [checkpoint]
    seismograms.h5     velocity [station][x, y, z][time], m/s          stations.csv   who and where they are
    sgt.h5             sgt [point][xx, yy, zz, xy, xz, yz][time]       strains
    spectra-strain.h5, spectra-velocity.h5       spectra [point][component][2 f, 2 f + 1]: real and imaginary parts
    snapshots.h5       a dataset per field [time][z][y][x]
    surface.h5         the same of the surface, for the movie
    *.xdmf             beside either: what ParaView opens
    record.json        what was run, and how fast; written last: a folder with it holds a whole run
    pictures/          record section, snapshots, movie                report.html

While a run goes on, its files end in .partial, and checkpoint.h5 and what begins with its name are what it can be resumed from.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from craton.runs.folder import RunFile, RunFolder
from craton.runs.record import Record
from craton.runs.words import rate_text
from craton.seismology.wave_run.refinement import COARSER

SOURCES_TOLD = 2000


@dataclass(kw_only=True)
class ToldMoment:
    """A moment rate at a point."""

    position_m: list[float]
    moment_Nm: list[float]
    """xx, yy, zz, xy, xz, yz along the grid's axes"""
    centroid_s: float
    """Centre of its moment rate, from t = 0."""


@dataclass(kw_only=True, repr=False)
class WavesRecord(Record):
    """record.json of a wave run. `seconds` has set-up, steps, and in them what modules took."""

    bricks: list[int]
    """along x, y, z"""
    sources_m: list[list[float]]
    """x, y, z of points, the first SOURCES_TOLD of them: [[source]]s at points in their order, then points of faults."""
    strongest: ToldMoment | None = None
    """Of moment-rate sources at points, that of the largest moment."""
    origin_time: str = ""
    """UTC of t = 0, ISO 8601; "" where nothing says it"""
    cells: list[int]
    """along x, y, z, of side spacing_m; those above coarser ones, where there are any"""
    lower_cells: list[int] = field(default_factory=list)
    """of three times the side, below [grid] coarser_below_m; [] where all are alike"""
    spacing_m: float
    dt_s: float
    steps: int
    resumed_at_step: int = 0
    points_per_s: float = 0.0
    bytes_per_point: float = 0.0
    memory_gb_s: float = 0.0
    """Measured before the first step, all ranks together."""
    peak_velocity_m_s: float = 0.0
    """Largest |v| of a component anywhere at the end."""
    files: list[str]

    @property
    def points(self) -> int:
        """Cells in all."""
        return math.prod(self.cells) + (math.prod(self.lower_cells) if self.lower_cells else 0)

    @property
    def grid_text(self) -> str:
        """Cells and their side."""
        return grid_text(self.cells, self.spacing_m, self.lower_cells)

    @property
    def told(self) -> dict[str, str]:
        """Grid and speed."""
        speed = f"{rate_text(self.points_per_s, 'points')}, {self.memory_fraction:.0%} of memory's {self.memory_gb_s:.1f} GB/s"
        return {"grid": self.grid_text, "speed": speed}

    @property
    def memory_fraction(self) -> float:
        """Of the measured bandwidth."""
        return self.points_per_s * self.bytes_per_point / (1e9 * self.memory_gb_s) if self.memory_gb_s else 0.0


def grid_text(cells: Sequence[int], spacing_m: float, lower_cells: Sequence[int] = ()) -> str:
    """Cells and their side; those below after those above."""
    found = f"{' x '.join(map(str, cells))} cells of {spacing_m:g} m"
    below = f"{' x '.join(map(str, lower_cells))} of {COARSER * spacing_m:g} m"
    return f"{found} above {below}" if lower_cells else found


class WavesFolder(RunFolder[WavesRecord]):
    """Names of the files."""

    app, record_type = "waves", WavesRecord

    seismograms = RunFile("seismograms.h5")
    sgt = RunFile("sgt.h5")
    strain_spectra = RunFile("spectra-strain.h5")
    velocity_spectra = RunFile("spectra-velocity.h5")
    snapshots = RunFile("snapshots.h5")
    snapshots_xdmf = RunFile("snapshots.xdmf")
    surface = RunFile("surface.h5")
    surface_xdmf = RunFile("surface.xdmf")
    pictures = RunFile("pictures")
    stations = RunFile("stations.csv", "input")
    checkpoint = RunFile("checkpoint.h5", "working")

    def spectra(self, field: str) -> pathlib.Path:
        """The file of "strain" or "velocity"."""
        return {"strain": self.strain_spectra, "velocity": self.velocity_spectra}[field]

    @property
    def working(self) -> list[pathlib.Path]:
        """The checkpoint, and files that are not yet whole."""
        return [file for file in self.path.glob("*.h5.partial") if file.is_file()] + super().working

    @property
    def worth_resuming(self) -> bool:
        """Files that are not yet whole are worth nothing without a checkpoint."""
        return self.checkpoint.is_file()
