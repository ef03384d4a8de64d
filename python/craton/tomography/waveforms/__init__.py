"""Observed seismograms: from files as seismologists hold them to the windows of data.h5.

from craton.tomography import waveforms
config = waveforms.load_waveform_config("okhotsk.toml")
prepared = waveforms.make_windows(config)
table = waveforms.WindowTable.load("okhotsk-data/data.h5")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.tomography.waveforms.config import WaveformConfig, load_waveform_config
    from craton.tomography.waveforms.preparation import prepare
    from craton.tomography.waveforms.records.fetch import fetch
    from craton.tomography.waveforms.records.obspy_catalogues import (
        events_from_catalog,
        events_to_catalog,
        stations_from_inventory,
        stations_to_inventory,
    )
    from craton.tomography.waveforms.synthetics import predicted, synthetic_source
    from craton.tomography.waveforms.table import Window, WindowTable
    from craton.tomography.waveforms.window_folder import make_windows

__all__ = [
    "WaveformConfig",
    "Window",
    "WindowTable",
    "events_from_catalog",
    "events_to_catalog",
    "fetch",
    "load_waveform_config",
    "make_windows",
    "predicted",
    "prepare",
    "stations_from_inventory",
    "stations_to_inventory",
    "synthetic_source",
]

_, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "craton.tomography.waveforms.config": ["WaveformConfig", "load_waveform_config"],
        "craton.tomography.waveforms.preparation": ["prepare"],
        "craton.tomography.waveforms.records.fetch": ["fetch"],
        "craton.tomography.waveforms.records.obspy_catalogues": [
            "events_from_catalog",
            "events_to_catalog",
            "stations_from_inventory",
            "stations_to_inventory",
        ],
        "craton.tomography.waveforms.synthetics": ["predicted", "synthetic_source"],
        "craton.tomography.waveforms.table": ["Window", "WindowTable"],
        "craton.tomography.waveforms.window_folder": ["make_windows"],
    },
)
