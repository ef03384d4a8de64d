"""Lays the records of two stations out as `craton tomography data fetch okhotsk.toml` would, in okhotsk-fetched.

They are from the files that the package pyasdf brings for its own tests.
"""

from pathlib import Path

import obspy
import pyasdf

EVENT = "C201305240544A"

source = Path(pyasdf.__file__).parent / "tests" / "data" / "small_sample_data_set"
target = Path("okhotsk-fetched")
(target / "waveforms" / EVENT).mkdir(parents=True, exist_ok=True)
inventory = obspy.Inventory()
for station in ("AE.113A", "TA.POKR"):
    inventory += obspy.read_inventory(str(source / f"{station}..BH_.xml"))
    obspy.read(str(source / f"{station}..BH?.mseed")).write(
        str(target / "waveforms" / EVENT / f"{station}.mseed"), format="MSEED"
    )
inventory.write(str(target / "stations.xml"), format="STATIONXML")
print(target)
