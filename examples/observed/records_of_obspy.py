"""Lays a record that ObsPy brings for its own tests out as `craton tomography data fetch` would, in bolivia-fetched.

Raw counts are MiniSEED, the instrument is StationXML. The record is of Alert, Canada (ALE), 10 s apart, of three days after the
earthquake of 9 June 1994 below Bolivia. Its format, AH, keeps the instrument with the samples: counts per metre, poles and zeros,
scaled to 1 at 0.01 Hz. In this file the conjugate of the first pole is missing, and the list of poles ends in 0 instead. With it in
its place the scale is 1 to six digits, which is checked.
"""

from pathlib import Path

import numpy as np
import obspy
from obspy.core.inventory import Channel, Inventory, Network, Station
from obspy.core.inventory.response import Response

EVENT = "060994A"
SCALED_AT_HZ = 0.01

trace = obspy.read(str(Path(obspy.__file__).parent / "io" / "ah" / "tests" / "data" / "st.ah"))[0]
header = trace.stats.ah.station
poles, zeros = [header.poles[0].conjugate(), *header.poles[:-1]], header.zeros
at = 2j * np.pi * SCALED_AT_HZ
scale = abs(header.normalization * np.prod([at - zero for zero in zeros]) / np.prod([at - pole for pole in poles]))
assert abs(scale - 1) < 1e-6, scale

response = Response.from_paz(
    zeros, poles, header.gain, SCALED_AT_HZ, "M", "COUNTS", normalization_frequency=SCALED_AT_HZ
)
response.response_stages[0].normalization_factor = header.normalization
place = header.latitude, header.longitude, header.elevation
channel = Channel("VHZ", "", *place, 0.0, azimuth=0.0, dip=-90.0, sample_rate=0.1, response=response)
station = Station("ALE", *place, channels=[channel])

target = Path("bolivia-fetched")
(target / "waveforms" / EVENT).mkdir(parents=True, exist_ok=True)
Inventory([Network("XX", [station])], "ObsPy's st.ah").write(str(target / "stations.xml"), format="STATIONXML")
trace.data = np.round(trace.data).astype(np.int32)
trace.stats.network, trace.stats.delta = "XX", 10.0
trace.write(str(target / "waveforms" / EVENT / "XX.ALE.mseed"), format="MSEED")
print(target)
