"""Parsl with workers of this machine."""

from __future__ import annotations

from pathlib import Path

WORKERS = """
from parsl import Config, HighThroughputExecutor
from parsl.providers import LocalProvider

config = Config(
    executors=[
        HighThroughputExecutor(
            label="here", max_workers_per_node={workers}, cores_per_worker=0.5, address="127.0.0.1", encrypted=False,
            heartbeat_period=2, provider=LocalProvider(init_blocks=1, max_blocks=1),
        ),
    ],
    strategy="none",
    retries={retries},
)
"""


def configuration(folder: Path, workers: int = 2, retries: int = 0) -> Path:
    """The file of one."""
    file = folder / "here.py"
    file.write_text(WORKERS.format(workers=workers, retries=retries))
    return file
