"""Regional tomography: kernels of waveforms from 3-D wave runs, by the scattering-integral method.

    from craton import regional

    knots = regional.Knots.over(lattice, spacing_m=3200.0)              # functions that a change of the ground is made of
    weights = regional.KnotWeights.of(source, knots)
    pair = regional.Pair(source, receiver, force)                       # spectra of two runs of `craton waves` with [spectra]
    touched = knots.within_reach(source_m, receiver_m, window.reach_s, fastest_m_s)
    panel = regional.panel(pair, weights, touched, window, ("vp", "vs"))  # (sample, unknown): what the unknowns change

A panel is what `SymmetricMatrix.update_gram` takes (docs/regional.md). The inversion itself is not there yet.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.regional.forces import force_spectrum
    from craton.regional.knots import Knots
    from craton.regional.panels import KnotWeights, Pair, panel
    from craton.regional.windows import Band, Window, filtered

__all__ = ["Band", "KnotWeights", "Knots", "Pair", "Window", "filtered", "force_spectrum", "panel"]

_, __getattr__, __dir__ = lazy_names(__name__)
