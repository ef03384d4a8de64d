"""Steps of GMRES under a Matern prior with either form of P (prior/matern_near.py): matern_steps.py DIRECTORY [LENGTH_KM...].

The Hessian is that of examples/global/checkerboard.toml with 642 x 5 parameters, T > 120 s and 200 paths, after one iteration. The
directory keeps it. Prints the steps, and by how much the two models differ, relative to the largest parameter.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import numpy as np
from craton.tomography import start
from craton.tomography.config.load import load_config
from craton.tomography.config.prior import PriorConfig
from craton.tomography.folder import RunFolder
from craton.tomography.prior import matern_near
from craton.tomography.stored.solve import solve_again
from mpi4py import MPI
from rich.console import Console

EXAMPLE = Path(__file__).parents[3] / "examples" / "global" / "checkerboard.toml"
CHANGES = {
    "data": {"filter_periods_s": (400.0, 250.0, 150.0, 120.0), "sample_interval_s": 15.0},
    "basis": {"lateral_level": 4, "radial": 5, "radial_depths_km": ()},
    "paths": {"maximum": 200},
    "inversion": {"max_iterations": 1},
}

here = Path(sys.argv[1])
config = load_config(EXAMPLE).replaced("run", directory=str(here / "run"))
for table, settings in CHANGES.items():
    config = config.replaced(table, **settings)
config = config.replaced("modes", shortest_period_s=120.0, cache=str(here / "modes"))
if not (here / "run" / "hessian.h5").exists():
    start.run(config, MPI.COMM_SELF, report=False)
for length_km in [float(each) for each in sys.argv[2:]] or [500.0, 1000.0, 3000.0]:
    prior, models, steps = PriorConfig(kind="matern", correlation_km=length_km, strength=0.03), [], []
    for most in (1000, 10):
        matern_near.KNOTS_OF_DENSE = most
        folder, said = here / f"solved-{length_km:g}-{most}", io.StringIO()
        solve_again(
            here / "run" / "hessian.h5", prior, folder, MPI.COMM_SELF, console=Console(file=said), overwrite=True
        )
        steps.append(re.findall(r"Matern prior: (\d+) steps to", said.getvalue())[-1])
        models.append(RunFolder(folder).read_model()["models"][-1])
    apart = np.abs(models[1] - models[0]).max() / np.abs(models[0]).max()
    print(
        f"{length_km:g} km: {steps[0]} steps with all pairs of knots, {steps[1]} with finite elements; apart {apart:.1e}"
    )
