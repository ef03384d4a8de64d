"""The demo through Python, in a dozen lines.

To run it: mpiexec -n 2 python demo.py
"""

from pathlib import Path

from craton import tomography
from craton.runs.progress import make_console
from mpi4py import MPI

config = tomography.load_config(Path(__file__).with_name("demo.toml")).replaced("run", directory="demo-python-run")
console = make_console() if MPI.COMM_WORLD.rank == 0 else None
record = tomography.run(config, MPI.COMM_WORLD, console=console, overwrite=True, report=True)
if MPI.COMM_WORLD.rank == 0:
    print(f"variance reduction {100 * record.iterations[-1].variance_reduction:.1f}%")
    print(f"correlation with the target where paths are many: {record.correlation.overall:.2f}")
