"""Global seismic waveform tomography.

    from mpi4py import MPI
    from craton import tomography
    config = tomography.load_config("demo.toml")
    record = tomography.run(config, MPI.COMM_WORLD)
    print(record.iterations[-1].variance_reduction)
    record.figures()    # matplotlib Figures by name; record.write_report() draws report.html
    tomography.slices(tomography.read_fields("demo-run"), [100.0, 300.0]).figure    # a matplotlib Figure; section, profile, fit

Names are loaded when they are first used, so that reading a configuration does not start MPI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.inverse.posterior import Posterior
    from craton.tomography.config.load import Config, load_config, load_prior
    from craton.tomography.folder import RunFolder, RunRecord
    from craton.tomography.model.dataset import from_dataset, to_dataset
    from craton.tomography.model.fields import Fields, read_fields
    from craton.tomography.posterior.questions import Questions
    from craton.tomography.posterior.run import posterior_of_run
    from craton.tomography.posterior.strength import choose_strength
    from craton.tomography.report.drawing import Drawing, fit, profile, section, slices
    from craton.tomography.report.figures import figures
    from craton.tomography.report.page import write_report
    from craton.tomography.results import Results, read_results
    from craton.tomography.start import resume, run
    from craton.tomography.stored.solve import solve_again, solve_all

__all__ = [
    "Config",
    "Drawing",
    "Fields",
    "Posterior",
    "Questions",
    "Results",
    "RunFolder",
    "RunRecord",
    "choose_strength",
    "figures",
    "fit",
    "from_dataset",
    "load_config",
    "load_prior",
    "posterior_of_run",
    "profile",
    "read_fields",
    "read_results",
    "resume",
    "run",
    "section",
    "slices",
    "solve_again",
    "solve_all",
    "to_dataset",
    "write_report",
]

_, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "craton.tomography.config": ["Config", "load_config", "load_prior"],
        "craton.tomography.start": ["resume", "run"],
        "craton.tomography.folder": ["RunFolder", "RunRecord"],
        "craton.tomography.stored.solve": ["solve_again", "solve_all"],
        "craton.inverse.posterior": ["Posterior"],
        "craton.tomography.posterior.run": ["Questions", "posterior_of_run"],
        "craton.tomography.posterior.strength": ["choose_strength"],
        "craton.tomography.report.figures": ["figures"],
        "craton.tomography.report.page": ["write_report"],
        "craton.tomography.model.dataset": ["from_dataset", "to_dataset"],
        "craton.tomography.model.fields": ["Fields", "read_fields"],
        "craton.tomography.report.drawing": ["Drawing", "fit", "profile", "section", "slices"],
        "craton.tomography.results": ["Results", "read_results"],
    },
)
