"""What jobs of `craton hazard run` do after the waves, each in a process forked from one that has imported this.

    measures FOLDER SITE PORTION      tensors -> seismograms -> intensity measures
    site FOLDER SITE                  measures -> curves, disaggregation, seismograms
    section FOLDER SITE               the site's part of the report
    overview FOLDER                   what of the report all sites have in common

Each leaves one file, whole under its name or not at all; drawing leaves its pictures before. See tasks/forked.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import scipy.fft
import scipy.interpolate
import scipy.sparse
import scipy.spatial  # noqa: F401 - jobs come to need these: loaded once, before any of them begins

from craton.hazard.config import load_config
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.beside_models import read_beside
from craton.hazard.pipeline.post_processing import finish_site, measure_portion
from craton.hazard.pipeline.work import Work
from craton.hazard.report.sections import draw, overview, site_section
from craton.hazard.results import Results

__all__ = ["main"]


def main(words: Sequence[str]) -> None:
    """Does the job that the words name. UserError for what cannot be done."""
    what, path, *more = words
    folder = HazardFolder(path)
    work = Work.of(load_config(folder.config).replaced("run", **folder.read_run()))
    names = tuple(site.name for site in work.config.all_sites)
    if what == "measures":
        measure_portion(work, folder, names.index(more[0]), int(more[1]))
    elif what == "site":
        finish_site(work, folder, names.index(more[0]))
    elif what == "section":
        (name,) = more
        beside = read_beside(work, folder, name)
        draw(folder.section(name), lambda: site_section(Results(work, folder, (name,)), name, beside))
    elif what == "overview":
        draw(folder.overview, lambda: overview(Results(work, folder, names)))
    else:
        raise ValueError(what)
