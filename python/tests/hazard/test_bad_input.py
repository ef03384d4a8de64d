"""What is said of forecasts that cannot be: one line, with the file and line where there is one."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from craton.errors import UserError
from craton.hazard.curves.curves import combined, exceedance, hazard_curve, rupture_exceedances
from craton.hazard.curves.disaggregation import disaggregate
from craton.hazard.curves.export import (
    Site,
    read_curves_csv,
    read_openquake_curves,
    write_curves_csv,
    write_hdf5,
    write_openquake_curves,
    write_openquake_map,
)
from craton.hazard.curves.maps import hazard_map
from craton.hazard.forecast.faults import Floating, fault_ruptures, simple_fault, whole_surface_ruptures
from craton.hazard.forecast.forecast import Forecast, annual_rate
from craton.hazard.forecast.magnitude_area import relation
from craton.hazard.forecast.magnitude_frequency import (
    characteristic,
    gutenberg_richter,
    magnitude_frequency,
    youngs_coppersmith,
)
from craton.hazard.forecast.nrml import read_nrml
from craton.hazard.forecast.srf_ruptures import read_srf_rupture
from craton.hazard.forecast.surfaces import joined, surface_of_nodes
from craton.hazard.forecast.tables import read_opensha_rupture, read_table
from craton.hazard.forecast.variations import DepthProfile, VariationRules, perturbed_rake, variation
from craton.seismology.sources.srf import Subfault, write_srf
from hazard_curves import AT, SITES, curves_of, forecast_of
from hazard_faults import CHARACTERISTIC_SOURCE, PLACE, PLANAR_SOURCE, SIMPLE_SOURCE, nrml, straight
from hazard_forecasts import FAULT as CONFIGURED
from hazard_forecasts import OPENSHA, TABLE, configured, srf_of


def refused(call, *words: str) -> None:
    """With one line that has all the words, and what is allowed."""
    with pytest.raises(UserError) as caught:
        call()
    line = str(caught.value)
    assert "\n" not in line and "allowed" in line, line
    for word in words:
        assert word in line, line


FAULT = {
    "trace_m": [[0, 0], [10e3, 0]],
    "upper_depth_m": 0.0,
    "lower_depth_m": 10e3,
    "dip_deg": 90.0,
    "rake_deg": 0.0,
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dip_deg": 95.0}, "dip = 95"),
        ({"dip_deg": 0.0}, "dip = 0"),
        ({"dip_deg": math.nan}, "dip = nan"),
        ({"lower_depth_m": 0.0}, "depths from 0 to 0 m"),
        ({"upper_depth_m": -1.0}, "depths from -1"),
        ({"rake_deg": 400.0}, "rake = 400"),
        ({"trace_m": [[0, 0]]}, "two or more points"),
        ({"trace_m": [[0, 0], [0, 0]]}, "same point twice"),
        ({"trace_m": [[0, 0], [math.nan, 0]]}, "finite"),
        ({"trace_m": [[0, 0], [10e3, 0], [5e3, 3e3]]}, "turns back"),
        ({"trace_m": [[0, 0], [6e6, 0]]}, "a trace of 6000 km; allowed: 5000 km at most"),
        ({"trace_m": None}, "or neither"),
        ({"trace_lon_lat": [[0, 0], [1, 1]]}, "a trace in metres and one in degrees"),
        ({"trace_m": None, "trace_lon_lat": [[0, 0], [1, 1]]}, "no place on the Earth"),
        ({"trace_m": None, "trace_lon_lat": [[34, -118], [34.1, -118]], "place": PLACE}, "longitude first"),
    ],
)
def test_faults_that_cannot_be(change, words):
    refused(lambda: simple_fault("f", **{**FAULT, **change}), "fault 'f'", words)


def test_subfaults_and_ruptures_that_cannot_be():
    fault, one = straight(), characteristic(7.0, 1e17)
    refused(lambda: fault.surface(0.0), "subfaults of 0 m")
    refused(lambda: fault.surface(1.0), "12000 x 40000 subfaults")
    refused(lambda: fault.moment_rate_Nm(-1.0), "slip rate in mm a year -1")
    refused(lambda: fault.moment_rate_Nm(1.0, math.nan), "rigidity")
    refused(lambda: fault_ruptures(fault, one, Floating(aspect_ratio=0)), "aspect ratio 0")
    refused(lambda: fault_ruptures(fault, one, Floating(step_m=-1)), "step of -1 m")
    refused(lambda: fault_ruptures(fault, one, Floating(relation="WC1993")), "WC1993", "WC1994")
    refused(lambda: relation("x"), "PeerMSR")
    refused(lambda: surface_of_nodes(np.zeros((2, 2, 3)), 0), "without area")
    refused(lambda: surface_of_nodes(np.zeros((1, 2, 3)), 0), "rows + 1")
    refused(lambda: surface_of_nodes(straight(dip_deg=30).nodes(4e3)[::-1], 0), "left of its strike")
    refused(lambda: joined([straight().surface(4e3), straight().surface(3e3)]), "segments of 3, 4 rows")


def test_magnitudes_and_rates_that_cannot_be():
    refused(lambda: magnitude_frequency([6, 7], [1e-3]), "2 magnitudes and 1 rates")
    refused(lambda: magnitude_frequency([6, 70], [1e-3, 1]), "magnitude 70")
    refused(lambda: magnitude_frequency([6, 7], [1e-3, -1]), "rate -1 per year")
    refused(lambda: magnitude_frequency([6, 7], [1e-3, math.inf]), "rate inf per year")
    refused(lambda: characteristic(7.0, -1.0), "moment rate -1")
    refused(lambda: characteristic(7.0, 1.0, sigma=-0.1), "sigma = -0.1")
    refused(lambda: gutenberg_richter(1.0, 7.0, 6.0, a_value=1), "from 7 to 6")
    refused(lambda: gutenberg_richter(1.0, 7.0, 7.0, a_value=1), "a range")
    refused(lambda: gutenberg_richter(-1.0, 6.0, 7.0, a_value=1), "b_value = -1")
    refused(lambda: gutenberg_richter(0.0, 6.0, 7.0, a_value=1), "b_value = 0")
    refused(lambda: gutenberg_richter(1.0, 6.0, 7.0, a_value=100), "a_value = 100")
    refused(lambda: gutenberg_richter(1.0, 6.0, 7.0), "or neither")
    refused(lambda: gutenberg_richter(1.0, 6.0, 7.0, a_value=1, bin_width=0), "bin_width = 0")
    refused(lambda: youngs_coppersmith(1.0, 6.9, 7.0, 1e17), "smallest magnitude 6.9", "below 6.75")
    for wrong in (-0.1, 1.0, 1.5, math.nan):
        refused(lambda wrong=wrong: annual_rate(wrong, 1.0), f"probability = {wrong:g}", "0 to 1")
    refused(lambda: annual_rate(0.5, 0.0), "0 years")


def test_a_rupture_outside_the_volume_is_named():
    forecast = Forecast(tuple(whole_surface_ruptures("f", straight().surface(2e3), characteristic(7.0, 1e17))))
    forecast.check_inside((100e3, 200e3, 20e3))
    refused(
        lambda: forecast.check_inside((80e3, 200e3, 20e3), "sgt.h5"),
        "rupture 0 of 'f' (M 7)",
        "(81000, 100000, 1000) m",
        "sgt.h5",
    )


BROKEN_MODELS = {
    "another source": (nrml('<pointSource id="9"/>'), ":4:", "pointSource '9'", "simpleFaultSource"),
    "an area source in a group": (nrml(SIMPLE_SOURCE, '<areaSource id="7"/>'), "areaSource '7'"),
    "another namespace": (nrml(SIMPLE_SOURCE).replace("nrml/0.5", "nrml/0.4"), ":2:", "nrml/0.5"),
    "not a model": ('<a xmlns="b"/>', "<a> of namespace 'b'"),
    "another relation": (nrml(SIMPLE_SOURCE.replace("WC1994", "PointMSR")), ":12:", "magScaleRel PointMSR", "WC1994"),
    "another distribution": (
        nrml(SIMPLE_SOURCE.replace("truncGutenbergRichterMFD", "YoungsCoppersmithMFD")),
        ":14:",
        "Youngs",
    ),
    "a number that is none": (nrml(SIMPLE_SOURCE.replace("60.0", "steep")), ":8:", "dip = 'steep'"),
    "a dip that cannot be": (nrml(SIMPLE_SOURCE.replace("60.0", "95")), ":5:", "dip = 95"),
    "an odd list": (nrml(SIMPLE_SOURCE.replace("-118.00 34.15", "-118.00")), ":7:", "posList of 5 numbers"),
    "no rake": (nrml(SIMPLE_SOURCE.replace("<rake>90.0</rake>", "")), ":5:", "0 rake in simpleFaultSource"),
    "no largest magnitude": (nrml(SIMPLE_SOURCE.replace(' maxMag="6.6"', "")), ":14:", "without maxMag"),
    "magnitudes upside down": (nrml(SIMPLE_SOURCE.replace("6.6", "5.6")), ":14:", "from 6 to 5.6"),
    "a rate below 0": (nrml(CHARACTERISTIC_SOURCE.replace("0.005", "-0.005")), ":6:", "rate -0.005"),
    "too few rates": (nrml(CHARACTERISTIC_SOURCE.replace("0.005 ", "")), ":6:", "2 magnitudes and 1 rates"),
    "the same id twice": (nrml(SIMPLE_SOURCE, SIMPLE_SOURCE), "id '1'", "each once"),
    "no id": (nrml(SIMPLE_SOURCE.replace('id="1"', "")), "id ''"),
    "hypocentres of its own": (nrml(SIMPLE_SOURCE.replace("<rake>", "<hypoList/><rake>")), ":15:", "hypoList"),
    "sources that exclude each other": (nrml(SIMPLE_SOURCE, group='src_interdep="mutex"'), ":4:", "mutex", "indep"),
    "a cluster": (nrml(SIMPLE_SOURCE, group='cluster="true"'), ":4:", "cluster", "false"),
    "no Poisson process": (
        nrml(SIMPLE_SOURCE.replace('id="1"', 'id="1" temporalOccurrenceModel="NegativeBinomialTOM"')),
        ":5:",
        "Poisson",
    ),
    "two planes": (
        nrml(PLANAR_SOURCE.replace("</planarSurface>", "</planarSurface><planarSurface/>")),
        "planarSurface, planarSurface",
    ),
    "a corner without depth": (nrml(PLANAR_SOURCE.replace(' depth="10.0"', "")), "without depth"),
    "another surface": (
        nrml(
            re.sub(
                "(?s)<simpleFaultGeometry>.*</simpleFaultGeometry>", "<complexFaultGeometry/>", CHARACTERISTIC_SOURCE
            )
        ),
        "complexFaultGeometry",
    ),
    "nothing": (nrml(), "no ruptures"),
}


@pytest.mark.parametrize("what", BROKEN_MODELS)
def test_models_of_openquake_that_are_not_understood(tmp_path, what):
    text, *words = BROKEN_MODELS[what]
    path = tmp_path / "model.xml"
    path.write_text(text)
    refused(lambda: read_nrml(path, PLACE), f"{path}:", *words)


def test_files_that_are_no_xml(tmp_path):
    path = tmp_path / "model.xml"
    refused(lambda: read_nrml(path, PLACE), "No such file")
    path.write_text('<nrml xmlns="http://openquake.org/xmlns/nrml/0.5">\n<logicTree logicTreeID="lt"/>\n</nrml>\n')
    refused(
        lambda: read_nrml(path, PLACE),
        f"{path}:2: a logicTree; allowed: a source model; each that the tree names as a [[model]]",
    )
    path.write_text("<nrml>\n<a></b></nrml>")
    with pytest.raises(UserError, match="model.xml:2: not valid XML: mismatched tag"):
        read_nrml(path, PLACE)


BROKEN_TABLES = {
    "a probability above 1": (TABLE.replace("0.01", "1.2"), ":3:", "probability = 1.2", "0 to 1"),
    "a probability below 0": (TABLE.replace("0.5,90", "-0.5,90"), ":5:", "probability = -0.5"),
    "a probability that is no number": (TABLE.replace("0.01", "often"), ":3:", "probability = often"),
    "a probability of nan": (TABLE.replace("0.01", "nan"), ":3:", "probability = nan"),
    "a certain rupture": (TABLE.replace("0.01", "1.0"), ":3:", "probability = 1", "below 1"),
    "too few values": (TABLE.replace("0.01,180,", "0.01,"), ":3:", "8 values", "9"),
    "an unknown column": (TABLE.replace("rake", "rack"), ":2:", "column 'rack'"),
    "a column twice": (TABLE.replace("dip,", "rake,"), ":2:", "column 'rake' twice"),
    "a column of several lines": (TABLE.replace("source,", '"source\n,', 1) + '"', ":", "column 'source ,"),
    "no magnitude": (TABLE.replace("magnitude,", ""), ":2:", "no column 'magnitude'"),
    "both rates": (TABLE.replace("source", "annual_rate"), ":2:", "annual_rate and probability"),
    "a magnitude that cannot be": (TABLE.replace("6.8", "68"), ":3:", "magnitude = 68"),
    "a dip that cannot be": (TABLE.replace("90,45", "90,-45"), ":5:", "dip = -45"),
    "a trace of one point": (TABLE.replace("-118.4 33.8; ", ""), ":5:", "two points"),
    "a trace of words": (TABLE.replace("-118.4 33.8", "here there"), ":5:", "here there"),
    "a rupture twice": (TABLE.replace("a,1,", "a,0,"), ":4:", "rupture 0 of 'a' again", "line 3"),
    "a number with a sign": (TABLE.replace("a,1,", "a,-1,"), ":4:", "rupture = -1"),
    "a superscript": (TABLE.replace("a,1,", "a,²,"), ":4:", "rupture = ²"),
    "more digits than a number has": (TABLE.replace("a,1,", f"a,{5000 * '1'},"), ":4:", "rupture = 1111"),
    "no ruptures": ("\n".join(TABLE.splitlines()[:2]) + "\n", "no ruptures"),
    "nothing": ("", "empty file"),
}


@pytest.mark.parametrize("what", BROKEN_TABLES)
def test_tables_that_are_not_understood(tmp_path, what):
    text, *words = BROKEN_TABLES[what]
    path = tmp_path / "ruptures.csv"
    path.write_text(text)
    refused(lambda: read_table(path, PLACE), str(path), *words)


def test_tables_that_cannot_be_read(tmp_path):
    path = tmp_path / "ruptures.csv"
    refused(lambda: read_table(path, PLACE), "No such file")
    path.write_bytes(b"source,\xff")
    refused(lambda: read_table(path, PLACE), "not UTF-8 text at byte 7")
    path.write_text(TABLE)
    refused(lambda: read_table(path, PLACE, years=0.0), "0 years")
    refused(lambda: read_table(path), ":3:", "no place on the Earth")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("0.02", "1.02", "probability = 1.02"),
        ("NumRows = 2", "NumRows = 3", "6 points; allowed: 3 x 3"),
        ("NumCols = 3\n", "", "no number for NumCols"),
        ("6.05", "big", "no number for Magnitude"),
        ("34.02 -118.0 0.5 180.0 90.0 0.0", "34.02 -118.0 0.5", ":9: '34.02 -118.0 0.5'"),
        ("34.02 -118.0 0.5 180.0 90.0 0.0", "34.02 -118.0 0.5 180.0 99.0 0.0", "dip of subfault 2"),
    ],
)
def test_ruptures_of_opensha_that_are_not_whole(tmp_path, old, new, words):
    path = tmp_path / "0_1.txt"
    path.write_text(OPENSHA.replace(old, new))
    refused(lambda: read_opensha_rupture(path, PLACE, source="0"), str(path), words)


def test_rupture_models_that_are_not_whole(tmp_path):
    path = tmp_path / "fault.srf"

    def read():
        return read_srf_rupture(path, PLACE, source="s", annual_rate=0.01)

    subfaults = srf_of(path)
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    refused(read, f"{path}:")
    path.write_text(whole.replace("-118.0 34.0 3 2 3 2", "-118.0 34.0 4 2 3 2"))
    refused(read, "10 points in segments of 2 x 4, 2 x 2")
    path.write_text(whole)
    refused(lambda: read_srf_rupture(path, PLACE, source="s", annual_rate=-1.0), str(path), "annual_rate = -1.0")
    none = np.zeros(0, np.float32)
    still = Subfault(-118.0, 34.0, 500.0, 0, 90, 0, 1e6, 0.0, 0.1, (np.zeros(3, np.float32), none, none))
    write_srf(path, [still])
    refused(read, "no subfault slips")
    opens = Subfault(
        -118.0, 34.0, 500.0, 0, 90, 0, 1e6, 0.0, 0.1, (none, none, np.ones(3, np.float32)), (0.0, 0.0, 0.3)
    )
    write_srf(path, [subfaults[0], opens])
    refused(read, "subfault 1 opens by 0.3 m")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("slips", 0),
        ("strike_spacing_m", 0.0),
        ("dip_spacing_m", math.inf),
        ("seed", -1),
        ("variability", -0.1),
        ("hurst", 0.0),
        ("lengths_m", (0.0, 1.0)),
        ("speed", 0.0),
        ("vs_m_s", -3.0),
        ("rigidity_Pa", math.nan),
        ("rise_times", "soon"),
    ],
)
def test_plans_that_cannot_be(setting, value):
    refused(lambda: VariationRules(**{setting: value}), f"variations: {setting} = ")


def test_variations_that_cannot_be():
    (rupture,) = whole_surface_ruptures("f", straight().surface(4e3), characteristic(7.0, 1e17))
    refused(lambda: variation(0, rupture, 2, VariationRules()), "rupture 0 of 'f': variation 2", "0 to 1")
    refused(lambda: perturbed_rake(0, rupture, -1.0, 0), "-1 degrees")
    refused(lambda: DepthProfile((0.0, 0.0), (1.0, 2.0)), "growing depths")
    refused(lambda: DepthProfile((0.0, 1.0), (1.0,)), "2 depths and 1 values")
    refused(lambda: DepthProfile((0.0, 1.0), (1.0, 0.0)), "above 0")


def test_curves_that_cannot_be():
    forecast = forecast_of(0.01, 0.02)
    refused(lambda: hazard_curve(forecast, [0, 0], [0.1, 0.2]), "1 of 2 ruptures have no shaking", "rupture 1")
    refused(lambda: hazard_curve(forecast, [0, 2], [0.1, 0.2]), "variation of rupture 2")
    refused(lambda: hazard_curve(forecast, [0, 1], [0.1]), "2 variations and 1 values")
    refused(lambda: hazard_curve(forecast, [0, 1], [0.1, math.nan]), "no number")
    refused(lambda: hazard_curve(forecast, [0, 1], [0.1, -0.1]), "0 or more")
    refused(lambda: hazard_curve(forecast, [0, 1], [0.1, 0.1], years=-1), "-1 years")
    refused(lambda: hazard_curve(forecast, [0, 1], [0.1, 0.1], levels=[0.2, 0.1]), "do not grow")
    refused(lambda: exceedance([], [0.1]), "no shaking")
    refused(lambda: combined([[0.5]], [0.1, 0.2], 1), "2 rates")
    refused(lambda: combined([[1.5]], [0.1], 1), "outside 0 to 1")
    refused(lambda: combined([[0.5]], [-0.1], 1), "below 0")
    refused(lambda: rupture_exceedances([], [], 1, [0.1]), "1 of 1 ruptures")
    for probability in (0.0, 1.0, 1.5, math.nan):
        refused(lambda p=probability: curves_of(0.5, 0.3, 0.8, 0.4)[0].level_at(p), f"probability = {probability:g}")


def test_shares_and_maps_that_cannot_be():
    forecast = forecast_of(0.01, 0.02)
    refused(lambda: disaggregate(forecast, [0, 0], [1e3, 1e3], 0.3), "no rupture exceeds 0.3")
    refused(lambda: disaggregate(forecast, [1], [1e3, 1e3], 0.3), "1 exceedances and 2 distances")
    refused(lambda: disaggregate(forecast, [1, 1], [1e3, 1e3], 0.3, magnitude_width=0), "bins of 0")
    curves = curves_of(0.5, 0.3, 0.8, 0.4)
    refused(lambda: hazard_map(curves, AT[:3], 0.1), "4 curves")
    refused(lambda: hazard_map([*curves[:3], *curves_of(1, 1, 1, 0.5, measure="PGA")[3:]], AT, 0.1), "PGA")
    refused(lambda: hazard_map(curves[:2], AT[:2], 0.1).at(0, 0), "2 sites")
    refused(lambda: hazard_map(curves, [[0, 0], [1, 0], [2, 0], [3, 0]], 0.1).at(0, 0), "on one line")
    refused(lambda: hazard_map(curves, AT, 0.1).at(0, 0, kind="smooth"), "interpolation 'smooth'", "linear, cubic")


def test_files_that_cannot_be_written_or_read(tmp_path):
    curves = curves_of(0.5, 0.3, 0.8, 0.4)
    maps = [hazard_map(curves, AT, 0.1)]
    nowhere = tmp_path / "no" / "folder"
    refused(lambda: write_curves_csv(nowhere / "c.csv", SITES, curves), "cannot be written")
    refused(lambda: write_hdf5(nowhere / "c.h5", SITES, curves), "cannot be written")
    refused(lambda: write_openquake_curves(nowhere, SITES, curves), "cannot be written")
    refused(lambda: write_curves_csv(tmp_path / "c.csv", [Site("Z", 0, 0)], curves), "site 'A'", "allowed: Z")
    refused(lambda: write_openquake_curves(tmp_path, [*SITES, Site("Z", 0, 0)], curves), "no curve of site 'Z'")
    refused(lambda: write_openquake_map(tmp_path, SITES[:2], maps), "4 sites", "2 that are named")
    refused(lambda: write_openquake_map(tmp_path, SITES, []), "0 maps")
    assert not list(tmp_path.iterdir())
    path = tmp_path / "curve.csv"
    refused(lambda: read_curves_csv(path), "cannot be read")
    refused(lambda: read_openquake_curves(path), "cannot be read")
    again = read_curves_csv(write_curves_csv(path, SITES, curves))
    assert [(one.site, one.measure, one.years) for one in again] == [
        (one.site, one.measure, one.years) for one in curves
    ]
    assert all(np.array_equal(a.probability, b.probability) for a, b in zip(again, curves, strict=True))
    assert all(np.array_equal(a.levels, b.levels) for a, b in zip(again, curves, strict=True))
    assert [one.site for one in read_curves_csv(path, "B")] == ["B"]
    whole = path.read_text()
    for text, words in (
        ("", ":1: nothing; allowed: measure,years"),
        ("site\nA\n", ":1: site;"),
        (whole.rpartition(",")[0], ":"),
    ):
        path.write_text(text)
        refused(lambda: read_curves_csv(path), f"{path}{words}")
    path.write_text("lon,lat\n1,2\n")
    refused(lambda: read_openquake_curves(path), "lon, lat, poe-")
    (good,) = write_openquake_curves(tmp_path, SITES, curves)
    path.write_text(good.read_text().replace("34.25000", "north"))
    refused(lambda: read_openquake_curves(path), f"{path}:4:")


def test_configurations_that_cannot_be(tmp_path):
    srf_of(tmp_path / "fault.srf")
    (tmp_path / "ruptures.csv").write_text(TABLE)
    rate = {"slip_rate_mm_yr": 1.0}
    for faults, models, words in (
        ([CONFIGURED], [], "[[fault]] 1: neither of slip_rate_mm_yr and annual_rate"),
        ([CONFIGURED | rate | {"annual_rate": 1.0}], [], "[[fault]] 1: both of slip_rate_mm_yr and annual_rate"),
        (
            [CONFIGURED | rate, CONFIGURED | rate | {"name": "b", "upper_depth_km": 20.0}],
            [],
            "[[fault]] 2 lower_depth_km = 12; allowed: above upper_depth_km = 20 km",
        ),
        (
            [CONFIGURED | rate | {"frequency": "gutenberg_richter", "smallest": 8.6}],
            [],
            "[[fault]] 1 smallest = 8.6; allowed: below 6.71 (largest, that of the fault's area, or another largest)",
        ),
        (
            [CONFIGURED | rate | {"frequency": "gutenberg_richter", "smallest": 8.6, "largest": 8.0}],
            [],
            "[[fault]] 1 smallest = 8.6; allowed: below 8 (largest)",
        ),
        (
            [CONFIGURED | rate | {"frequency": "youngs_coppersmith", "smallest": 6.9, "magnitude": 7.0}],
            [],
            "[[fault]] 1 smallest = 6.9; allowed: below 6.75 (magnitude - 0.25, where the box begins)",
        ),
        (
            [CONFIGURED | rate | {"trace_m": [[0, 0], [0, 0]]}],
            [],
            "[[fault]] 1: fault 'a': a trace with the same point",
        ),
        ([CONFIGURED | rate | {"dip_deg": 95.0}], [], "[fault] dip_deg = 95"),
        ([CONFIGURED | rate | {"trace_m": [[0, 0]]}], [], "trace_m = [[0, 0]]; allowed: a list of two points"),
        ([CONFIGURED | rate | {"trace_m": [[0, 0], [0, "x"]]}], [], "allowed: a list of two points"),
        ([CONFIGURED | rate | {"frequency": "often"}], [], "frequency = "),
        ([CONFIGURED | rate, CONFIGURED | rate], [], "[[fault]] 2: rupture 0 of 'a' again"),
        ([CONFIGURED | rate], [{"kind": "table", "file": "ruptures.csv"}], "rupture 0 of 'a' again"),
        ([], [{"kind": "table", "file": "none.csv"}], "none.csv"),
        ([], [{"kind": "srf", "file": "fault.srf"}], "without ruptures that happen"),
        ([], [], "without ruptures that happen"),
    ):
        refused(lambda f=faults, m=models: configured(tmp_path, f, m), words)
