"""What an inversion computes, as far as its cost depends on it: of a configuration, or of a region that is stated here."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from craton.regional.config import Config
from craton.regional.study import Study as Work
from craton.seismology.wave_run.check import memory_of_ranks

__all__ = ["STUDIES", "Study", "study_of"]


@dataclass(frozen=True)
class Study:
    """Numbers of one inversion."""

    name: str
    cells: float
    steps: int
    anelastic: bool
    events: int
    stations: int
    components: int
    iterations: int
    points: float
    """of the lattice on which spectra are kept"""
    frequencies: int
    fields: int
    """components of a point's spectra: 6 of strain, 9 with velocity"""
    bytes_per_number: int
    """of the spectra on disk"""
    unknowns: int
    touched: float
    """part of all knots that a window sees, in the mean"""
    samples: int
    """of a window"""
    windows: float
    """part of all events x stations x components that are used"""
    bytes_per_cell: float
    origin: dict[str, str] = field(default_factory=dict)
    """where each number comes from"""

    @property
    def spectra_bytes(self) -> float:
        """Of a wave run, on disk."""
        return 2.0 * self.bytes_per_number * self.fields * self.points * self.frequencies

    @property
    def hessian_bytes(self) -> float:
        """The upper triangle, float64."""
        return 4.0 * self.unknowns * (self.unknowns + 1.0)


def _spread(cells: tuple[float, float, float], spacing_km: tuple[float, float, float]) -> int:
    """Knots of a box in km."""
    return math.prod(round(size / step) for size, step in zip(cells, spacing_km, strict=True))


MADE = "stated here: change it by a configuration of your own"
SOUTHERN = Study(
    name="Southern California: 600 x 300 x 60 km to 0.5 Hz, cells of 200 m",
    cells=3000 * 1500 * 300.0,
    steps=20_000,
    anelastic=True,
    events=160,
    stations=200,
    components=3,
    iterations=5,
    points=3000 * 1500 * 300.0 / 5**3,
    frequencies=180,
    fields=6,
    bytes_per_number=2,
    unknowns=_spread((600.0, 300.0, 60.0), (5.0, 5.0, 4.0)),
    touched=0.3,
    samples=200,
    windows=0.5,
    bytes_per_cell=80.0,
    origin={
        "cells": "600 x 300 x 60 km, cells of 200 m: vs from 500 m/s with 5 points per wavelength at 0.5 Hz",
        "steps": "200 s in steps of 0.01 s",
        "anelastic": MADE,
        "events": MADE,
        "stations": "about the broadband stations of the region",
        "components": MADE,
        "iterations": MADE,
        "points": "every fifth cell, 1 km: two to a shortest wavelength of 2.5 km and more where speeds are larger",
        "frequencies": "0.05 to 0.5 Hz, 1 / (2 x 200 s) apart",
        "fields": "strains: vp and vs are sought",
        "bytes_per_number": "16 bits",
        "unknowns": "vs at knots 5 x 5 x 4 km apart",
        "touched": "assumed",
        "samples": "assumed: 200 s, one a second",
        "windows": "assumed: half are too noisy",
        "bytes_per_cell": "of Craton's solver",
    },
)
STATEWIDE = Study(
    name="California: 1200 x 800 x 80 km to 0.5 Hz, cells of 200 m",
    cells=6000 * 4000 * 400.0,
    steps=30_000,
    anelastic=True,
    events=400,
    stations=600,
    components=3,
    iterations=5,
    points=6000 * 4000 * 400.0 / 5**3,
    frequencies=270,
    fields=6,
    bytes_per_number=2,
    unknowns=_spread((1200.0, 800.0, 80.0), (8.0, 8.0, 5.0)),
    touched=0.15,
    samples=300,
    windows=0.3,
    bytes_per_cell=80.0,
    origin={
        **SOUTHERN.origin,
        "cells": "1200 x 800 x 80 km, cells of 200 m",
        "steps": "300 s in steps of 0.01 s",
        "stations": "about the broadband stations of the state",
        "frequencies": "0.05 to 0.5 Hz, 1 / (2 x 300 s) apart",
        "unknowns": "vs at knots 8 x 8 x 5 km apart",
        "samples": "assumed: 300 s, one a second",
        "windows": "assumed: most pairs are too far apart",
    },
)
STUDIES = {"southern": SOUTHERN, "statewide": STATEWIDE}


def study_of(config: Config) -> Study:
    """What a configuration asks for. UserError for what cannot be computed."""
    work = Work(config)
    plan, stations = work.spectra_plan(), len(work.receivers)
    cells = math.prod(config.grid.cells)
    seen = [len(work.touched_by(one)) for one in work.pairings[:: max(1, len(work.pairings) // 50)]]
    every = len(config.events) * stations * len(config.data.components)
    names = (
        *(
            "cells",
            "steps",
            "anelastic",
            "events",
            "stations",
            "components",
            "iterations",
            "points",
            "frequencies",
            "fields",
        ),
        *("bytes_per_number", "unknowns", "touched", "samples", "windows", "bytes_per_cell"),
    )
    memory = sum(memory_of_ranks(work.setup, 1, config.attenuation is not None))
    return Study(
        name=config.path.name,
        cells=float(cells),
        steps=work.steps,
        anelastic=config.attenuation is not None,
        events=len(config.events),
        stations=stations,
        components=len(config.data.components),
        iterations=config.inversion.iterations,
        points=float(len(work.lattice)),
        frequencies=len(plan.frequencies_hz),
        fields=6 + 3 * ("rho" in config.changed),
        bytes_per_number=config.model.bits // 8,
        unknowns=work.unknowns,
        touched=float(np.mean(seen)) / len(work.knots),
        samples=max(1, round(work.samples / len(work.pairings))),
        windows=len(work.pairings) / every,
        bytes_per_cell=memory / cells,
        origin=dict.fromkeys(names, "the configuration"),
    )
