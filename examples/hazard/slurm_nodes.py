"""Nodes of Slurm for `craton hazard run basin.toml --parsl-config slurm_nodes.py`: change what your cluster has otherwise.

Needs Parsl: pip install 'parsl>=2026.1'
"""

from parsl import Config, HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider

config = Config(
    [
        HighThroughputExecutor(
            label="nodes",
            cores_per_worker=1,  # that a task may have: [run] ranks x threads of a wave run, at least
            provider=SlurmProvider(
                # partition="compute",
                cores_per_node=2,
                nodes_per_block=2,
                max_blocks=1,
                walltime="00:30:00",
                launcher=SrunLauncher(),
                # worker_init="source ~/craton/bin/activate",  # the same Python as here
            ),
        )
    ],
    retries=2,  # of a task whose worker or node has died
)
