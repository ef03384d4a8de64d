"""Observed seismograms: from files as seismologists hold them to the windows of data.h5.

from craton.tomography import waveforms
config = waveforms.load_waveform_config("okhotsk.toml")
prepared = waveforms.make_windows(config)
table = waveforms.WindowTable.load("okhotsk-data/data.h5")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from craton.tomography.waveforms.config import WaveformConfig, load_waveform_config
    from craton.tomography.waveforms.fetch import fetch
    from craton.tomography.waveforms.preparation import prepare
    from craton.tomography.waveforms.synthetics import predicted, synthetic_source
    from craton.tomography.waveforms.table import Window, WindowTable
    from craton.tomography.waveforms.window_folder import make_windows

HOMES = {
    "WaveformConfig": "config",
    "Window": "table",
    "WindowTable": "table",
    "fetch": "fetch",
    "load_waveform_config": "config",
    "make_windows": "window_folder",
    "predicted": "synthetics",
    "prepare": "preparation",
    "synthetic_source": "synthetics",
}

__all__ = [
    "WaveformConfig",
    "Window",
    "WindowTable",
    "fetch",
    "load_waveform_config",
    "make_windows",
    "predicted",
    "prepare",
    "synthetic_source",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'craton.tomography.waveforms' has no attribute {name!r}")
    return getattr(importlib.import_module(f"craton.tomography.waveforms.{HOMES[name]}"), name)
