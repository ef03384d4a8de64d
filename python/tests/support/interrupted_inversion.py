"""An inversion that is interrupted after its first iteration, as by Ctrl-C."""

import pytest
from craton.tomography import start
from craton.tomography.config.load import Config
from craton.tomography.inversion.driver import Inversion
from mpi4py import MPI


def run_one_iteration(config: Config) -> None:
    """On one rank; what is left can be resumed."""
    accept = Inversion.accept

    def interrupted(self, *given):
        accept(self, *given)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Inversion, "accept", interrupted)
        start.run(config, MPI.COMM_SELF, report=False)
