"""What is to be computed for each site, as far as its cost depends on it: of a configuration, or of a published study."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from craton.hazard.config import Config
from craton.hazard.pipeline.wave_runs import waves_of
from craton.hazard.pipeline.work import Work
from craton.seismology.wave_run.check import memory_bytes

__all__ = ["CUI_2013", "STUDIES", "Study", "study_of"]


@dataclass(frozen=True)
class Study:
    """Numbers of one site. Every site is taken to cost the same."""

    name: str
    sites: tuple[int, ...]
    """numbers of sites that are looked at"""
    cells: float
    steps: int
    anelastic: bool
    directions: int
    points: int
    """of strain Green's tensors"""
    samples: int
    """of each"""
    frequencies: int
    """of a seismogram that matter"""
    ruptures: int
    variations: int
    subfaults: float
    """of a rupture, mean over variations"""
    bytes_per_cell: float
    origin: dict[str, str] = field(default_factory=dict)
    """where each number comes from"""

    @property
    def tensor_bytes(self) -> float:
        """Of a site: six components of each direction, float32."""
        return 4.0 * 6 * self.points * self.directions * self.samples


PAPER = "Cui et al. 2013"
CUI_2013 = Study(
    name="CyberShake at 1 Hz, as Cui et al. 2013 have it",
    sites=(1144, 5000),
    cells=1.2e9,
    steps=20_000,
    anelastic=True,
    directions=2,
    points=500_000,
    samples=2_000,
    frequencies=400,
    ruptures=14_000,
    variations=415_000,
    subfaults=1_000.0,
    bytes_per_cell=80.0,
    origin={
        "sites": f"a study of the Los Angeles region and, {PAPER} section V, all of California",
        "cells": f"{PAPER}, section III.A",
        "steps": f"{PAPER}, section III.A",
        "anelastic": f"{PAPER}: AWP-ODC is",
        "directions": f"{PAPER}, section VII: two parallel calculations",
        "points": f"{PAPER}, section III.B: over half a million",
        "samples": "assumed: every tenth step",
        "frequencies": "assumed: to 1 Hz in 400 s",
        "ruptures": "assumed, about that of UCERF2 within 200 km",
        "variations": "of such a study: more than 400,000",
        "subfaults": "assumed: a rupture of 1,000 km2 in cells of 1 km",
        "bytes_per_cell": "of Craton's solver",
    },
)
STUDIES = {"cui2013": CUI_2013}


def study_of(config: Config) -> Study:
    """What a configuration asks for. UserError for what cannot be computed."""
    work = Work.of(config)
    waves = waves_of(work)
    cells = math.prod(config.ground.cells)
    anelastic = config.ground.attenuation is not None
    counts = np.array(work.counts, float)
    subfaults = np.array([len(one.surface) for one in work.forecast.ruptures], float)
    samples = waves.steps // config.green.every
    length_s = samples * config.green.every * waves.dt_s
    memory = sum(memory_bytes(box, waves.setup.config, anelastic) for box in waves.boxes)
    names = (
        *("sites", "cells", "steps", "anelastic", "directions", "points"),
        *("samples", "frequencies", "ruptures", "variations", "subfaults", "bytes_per_cell"),
    )
    return Study(
        name=config.path.name,
        sites=(len(work.position_m),),
        cells=float(cells),
        steps=waves.steps,
        anelastic=anelastic,
        directions=len(config.green.directions),
        points=len(work.points_m),
        samples=samples,
        frequencies=max(1, round(2 * length_s * waves.highest_hz)),
        ruptures=len(counts),
        variations=int(counts.sum()),
        subfaults=float((subfaults * counts).sum() / counts.sum()),
        bytes_per_cell=memory / cells,
        origin=dict.fromkeys(names, "the configuration"),
    )
