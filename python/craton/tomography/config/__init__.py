"""The configuration of an inversion: what may be written in its file, the defaults, and what is allowed.

values       readers of single values      tables, prior    what each table holds
load         the whole: read, checked, written, printed by `craton tomography template`
matern_grid  how large the grid of a Matern prior is
"""

from craton.tomography.config.load import Config, check_ranks, load_config, load_prior, template
from craton.tomography.config.prior import PriorConfig, prior_from_dict

__all__ = ["Config", "PriorConfig", "check_ranks", "load_config", "load_prior", "prior_from_dict", "template"]
