"""The pictures of an inversion by name, for programs and notebooks."""

from __future__ import annotations

import os

import numpy as np

from craton.pages.figures import Figures
from craton.tomography.report.drawing import fit
from craton.tomography.report.model import model_maps, profiles_figure, section_figure
from craton.tomography.results import read_results, waveform_reduction

__all__ = ["figures"]


def figures(folder: str | os.PathLike[str]) -> Figures:
    """maps, section and profile of the last model, and the seismograms of a window; of a finished run the latter.

    The window is the one whose fit has risen by the median amount: neither chosen for its beauty nor for its ugliness. Not
    collective. UserError for a folder that holds no run.
    """
    results = read_results(folder)
    found = Figures(maps=model_maps(results), section=section_figure(results), profile=profiles_figure(results))
    if results.finished:
        order = np.argsort(waveform_reduction(results, "final") - waveform_reduction(results, "initial"))
        found["fit"] = fit(results, int(order[len(order) // 2])).figure
    return found
