"""Windows out of the files that an outside solver has left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.tomography.outside.exchange import ExchangeFolder, last_window_s
from craton.tomography.waveforms.config import WaveformConfig
from craton.tomography.waveforms.synthetics import FolderSynthetics, predicted

if TYPE_CHECKING:
    from craton.tomography.config.load import Config
    from craton.tomography.data.paths import PathTable

f64 = NDArray[np.float64]


def read_windows(folder: ExchangeFolder, table: PathTable, config: Config) -> f64:
    """G of all windows, one after the other, in metres, in the band and at the times of the data. Not collective.

    table: the windows, with their corrections.

    UserError names the first file that cannot be used, or the first window that none holds.
    """
    data, settings = config.data, config.synthetics
    as_data = WaveformConfig.build({}, config.path)
    processing = replace(
        as_data.processing,
        filter_periods_s=data.filter_periods_s,
        sample_interval_s=table.sample_interval_s,
        taper_s=settings.taper_s,
    )
    pattern = str((folder.seismograms / "{event}").absolute())
    source = replace(as_data.synthetics, kind="folder", folder=pattern, convolve=settings.convolve)
    samples = int(np.ceil(last_window_s(table) / table.sample_interval_s - 1e-9)) + 1
    files = FolderSynthetics(
        replace(as_data, processing=processing, synthetics=source, path=Path(config.path)),
        table.events,
        table.stations,
        samples,
    )
    return predicted(files, table)
