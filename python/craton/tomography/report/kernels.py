"""What a seismogram of each component sees, of a run with NACT."""

from __future__ import annotations

import numpy as np

from craton.errors import UserError
from craton.pages.page import Block, Picture, Section, Text
from craton.runs.words import range_text
from craton.tomography.results import Results
from craton.tomography.theory.plane_kernels import draw
from craton.tomography.theory.typical_kernels import kernels_of_windows

COMPONENT_TEXT = {"Z": "Vertical motion", "R": "Radial motion", "T": "Transverse motion"}
KERNEL_TEXT = (
    "What a change of dlnVs at each point below the path does to the seismogram at one moment, as a part of its "
    "largest motion. Of each component one window: of those near the median distance, one toward which its earthquake "
    "radiates well. Path averages (PAVA, upper row) let a wave see each depth the same all along the path: at late "
    "times the fundamental mode, a surface wave, which sees the upper mantle; earlier, sums of overtones, which reach "
    "deeper. Coupled overtones (NACT, lower row) interfere along the path as body waves do: "
    "sensitivity follows the S waves where they dive, turn and come up again, in zones as wide as the waves are long. "
    "Near source and station and from zone to zone the sign alternates: there, what is scattered arrives out of phase."
)


def kernel_section(results: Results) -> Section | None:
    """A figure for each component; a line where they cannot be drawn; None without NACT."""
    if results.path_averages:
        return None
    blocks: list[Block]
    try:
        found = kernels_of_windows(results.record.config, results.observations, "record.json")
    except UserError as problem:
        blocks = [Text(f"No sensitivities: {problem}. Any other: craton tomography kernel.", muted=True)]
    else:
        of = results.record.config["theory"]["kind"]
        rows = {"pava": "upper"}
        which = f"This run's seismograms are of the {rows.get(of, 'lower')} row, its derivatives of the "
        blocks = [Text(f"{KERNEL_TEXT} {which}{rows.get(results.theory_of_derivatives, 'lower')}.")]
        for pair in found:
            first = pair[0]
            caption = (
                f"{COMPONENT_TEXT[first.component]} of {first.title}, {first.distance_deg:.0f}° away, in the run's band "
                "and window, for the reference Earth. Top: the seismogram, with the moments that the columns below are "
                "of. Blue: faster rock there moves the seismogram up at that moment; red: down. Dashed: 410 and 660 km."
            )
            largest = float(1e6 * np.abs(first.displacement_m).max())
            seen = (
                f"A seismogram of up to {largest:.2g} µm {range_text(first.times_s, 's', 4)} after the earthquake, above slices of "
                f"the Earth {first.distance_deg:.0f}° wide with red and blue zones: broad in the upper row, along S waves below."
            )
            blocks.append(Picture(draw(pair), caption, seen))
    return Section("What a seismogram sees", blocks, "kernels", "Kernels")
