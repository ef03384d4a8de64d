"""Regional tomography: full waveforms inverted by wave runs in three dimensions, and kernels by the scattering-integral method.

    from craton import regional

    record = regional.run(regional.load_config("basin.toml"))            # as `craton regional run basin.toml`
    results = regional.read_results(record.directory)
    results.field("vs", [[20000.0, 15000.0, 4000.0]])                     # dln vs at a point

    knots = regional.Knots.over(lattice, spacing_m=3200.0)              # functions that a change of the ground is made of
    weights = regional.KnotWeights.of(source, knots)
    pair = regional.Pair(source, receiver, force)                       # spectra of two runs of `craton waves` with [spectra]
    touched = knots.within_reach(source_m, receiver_m, window.reach_s, fastest_m_s)
    panel = regional.panel(pair, weights, touched, window, ("vp", "vs"))  # (sample, unknown): what the unknowns change

A panel is what `SymmetricMatrix.update_gram` takes (docs/regional.md). Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.regional.config import Config, load_config
    from craton.regional.folder import RegionalFolder, RegionalRecord
    from craton.regional.forces import force_spectrum
    from craton.regional.knots import Knots
    from craton.regional.panels import KnotWeights, Pair, panel
    from craton.regional.report.page import write_report
    from craton.regional.report.pictures import figures
    from craton.regional.results import Results, read_results
    from craton.regional.start import resume, run, status
    from craton.regional.study import Study
    from craton.regional.windows import Band, Window, filtered

__all__ = [
    "Band",
    "Config",
    "KnotWeights",
    "Knots",
    "Pair",
    "RegionalFolder",
    "RegionalRecord",
    "Results",
    "Study",
    "Window",
    "figures",
    "filtered",
    "force_spectrum",
    "load_config",
    "panel",
    "read_results",
    "resume",
    "run",
    "status",
    "write_report",
]

_, __getattr__, __dir__ = lazy_names(__name__)
