"""Small faults and forecasts that several hazard tests use."""

from __future__ import annotations

from craton.hazard.forecast.faults import SimpleFault, simple_fault
from craton.seismology.geometry.grid import Grid
from craton.seismology.geometry.projection import AzimuthalEquidistant

PLACE = Grid((400, 400, 100), 500.0, AzimuthalEquidistant(-118.0, 34.0), 0.0, (100e3, 100e3))
TURNED = Grid((400, 400, 100), 500.0, AzimuthalEquidistant(-118.0, 34.0), 30.0, (100e3, 100e3))


def straight(
    length_m: float = 40e3,
    *,
    dip_deg: float = 90.0,
    rake_deg: float = 180.0,
    bottom_m: float = 12e3,
    top_m: float = 0.0,
) -> SimpleFault:
    """Along the x axis."""
    return simple_fault(
        "straight",
        trace_m=[[50e3, 100e3], [50e3 + length_m, 100e3]],
        upper_depth_m=top_m,
        lower_depth_m=bottom_m,
        dip_deg=dip_deg,
        rake_deg=rake_deg,
    )


SIMPLE_SOURCE = """
    <simpleFaultSource id="1" name="one" tectonicRegion="Active Shallow Crust">
      <simpleFaultGeometry>
        <gml:LineString><gml:posList>-118.20 34.00 -118.10 34.10 -118.00 34.15</gml:posList></gml:LineString>
        <dip>60.0</dip>
        <upperSeismoDepth>1.0</upperSeismoDepth>
        <lowerSeismoDepth>12.0</lowerSeismoDepth>
      </simpleFaultGeometry>
      <magScaleRel>WC1994</magScaleRel>
      <ruptAspectRatio>1.5</ruptAspectRatio>
      <truncGutenbergRichterMFD aValue="3.0" bValue="0.9" minMag="6.0" maxMag="6.6"/>
      <rake>90.0</rake>
    </simpleFaultSource>
"""
CHARACTERISTIC_SOURCE = """
    <characteristicFaultSource id="2" name="two" tectonicRegion="Active Shallow Crust">
      <arbitraryMFD><occurRates>0.005 0.001</occurRates><magnitudes>6.9 7.1</magnitudes></arbitraryMFD>
      <rake>180.0</rake>
      <surface>
        <simpleFaultGeometry>
          <gml:LineString><gml:posList>-118.4 33.9 -118.4 34.2</gml:posList></gml:LineString>
          <dip>90.0</dip>
          <upperSeismoDepth>0.0</upperSeismoDepth>
          <lowerSeismoDepth>12.0</lowerSeismoDepth>
        </simpleFaultGeometry>
      </surface>
    </characteristicFaultSource>
"""
PLANAR_SOURCE = """
    <characteristicFaultSource id="3" name="three" tectonicRegion="Active Shallow Crust">
      <incrementalMFD minMag="6.5" binWidth="0.2"><occurRates>0.002 0.001 0.0</occurRates></incrementalMFD>
      <rake>0.0</rake>
      <surface>
        <planarSurface>
          <topLeft lon="-117.9" lat="34.0" depth="2.0"/>
          <topRight lon="-117.9" lat="34.2" depth="2.0"/>
          <bottomLeft lon="-117.8" lat="34.0" depth="10.0"/>
          <bottomRight lon="-117.8" lat="34.2" depth="10.0"/>
        </planarSurface>
      </surface>
    </characteristicFaultSource>
"""


def nrml(*sources: str, group: str = 'name="group" tectonicRegion="Active Shallow Crust"') -> str:
    """A whole file."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<nrml xmlns="http://openquake.org/xmlns/nrml/0.5" xmlns:gml="http://www.opengis.net/gml">\n'
        f'  <sourceModel name="model">\n  <sourceGroup {group}>{"".join(sources)}  </sourceGroup>\n  </sourceModel>\n</nrml>\n'
    )
