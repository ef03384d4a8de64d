"""Hazard curves beside OpenQuake's own calculator, its sources and its ground-motion models."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from craton.errors import UserError
from craton.hazard.curves import ground_motion_models
from craton.hazard.curves.curves import combined, levels_g
from craton.hazard.curves.ground_motion_models import (
    MODELS,
    SiteConditions,
    model_curves,
    model_exceedances,
    openquake_source,
)
from craton.hazard.forecast.faults import Floating, fault_ruptures, simple_fault, whole_surface_ruptures
from craton.hazard.forecast.forecast import Forecast
from craton.hazard.forecast.magnitude_frequency import characteristic, gutenberg_richter
from craton.hazard.forecast.nrml import read_nrml
from craton.hazard.forecast.rupture import Rupture
from craton.hazard.forecast.surfaces import joyner_boore_distance, rupture_distance
from hazard_faults import PLACE, SIMPLE_SOURCE, nrml, straight

pytest.importorskip("openquake.hazardlib.calc.hazard_curve")

from openquake.hazardlib import contexts, site
from openquake.hazardlib import nrml as openquake_nrml
from openquake.hazardlib.calc.hazard_curve import calc_hazard_curves
from openquake.hazardlib.geo import Point
from openquake.hazardlib.geo.surface.simple_fault import SimpleFaultSurface
from openquake.hazardlib.gsim import get_available_gsims
from openquake.hazardlib.sourceconverter import SourceConverter
from openquake.hazardlib.stats import truncnorm_sf
from scipy.special import ndtr

MEASURES = ("PGA", "SA(3.0)")
SITES = [
    SiteConditions("near", -118.05, 34.02, 390.0, True, 300.0, 2.0),
    SiteConditions("far", -117.5, 34.6, 760.0),
    SiteConditions("soft", -118.3, 33.9, 250.0, False, 600.0, 3.0),
]


def openquake_sites():
    """As hazardlib makes them of sites one by one."""
    made = []
    for one in SITES:
        z1, z2 = one.basin_m_km
        at = Point(one.longitude_deg, one.latitude_deg)
        made.append(site.Site(at, vs30=one.vs30_m_s, vs30measured=one.vs30_measured, z1pt0=z1, z2pt5=z2))
    return site.SiteCollection(made)


def forecast_of_faults() -> Forecast:
    """Floating ruptures on a dipping fault and a characteristic one."""
    floating = fault_ruptures(
        straight(60e3, dip_deg=60.0, rake_deg=90.0, top_m=1e3),
        gutenberg_richter(1.0, 6.5, 7.1, moment_rate_Nm=2e17, bin_width=0.2),
        Floating(2000.0, 10e3, 1.5),
    )
    whole = whole_surface_ruptures("whole", straight(80e3).surface(2000.0), characteristic(7.4, 1e17, sigma=0.1))
    return Forecast((*floating, Rupture("never", 0, 7.0, 0.0, floating[0].surface), *whole))


@pytest.mark.parametrize("truncation", [3.0, None])
@pytest.mark.parametrize("model", MODELS)
def test_curves_are_those_of_openquakes_calculator(model, truncation):
    """The same ruptures through calc_hazard_curves, to 1e-6.

    It keeps probabilities of not exceeding in 32 bits, so rare levels are compared once more below.
    """
    forecast, levels = forecast_of_faults(), levels_g()
    found = model_curves(forecast, PLACE, SITES, MEASURES, models=[model], years=50.0, truncation=truncation)[model]
    theirs = calc_hazard_curves(
        [openquake_source(forecast, PLACE, 50.0)],
        openquake_sites(),
        {measure: list(levels) for measure in MEASURES},
        {"Active Shallow Crust": get_available_gsims()[model]()},
        truncation_level=99.0 if truncation is None else truncation,
    )
    assert [(one.measure, one.site) for one in found] == [(m, one.name) for m in MEASURES for one in SITES]
    for one in found:
        expected = theirs[one.measure][[other.name for other in SITES].index(one.site)]
        assert np.abs(one.probability - expected).max() < 1e-6
        often = expected > 0.2
        assert often.any() and np.abs(one.probability[often] / expected[often] - 1).max() < 1e-6, one.site


@pytest.mark.parametrize("truncation", [3.0, None])
def test_rare_levels_are_those_of_openquakes_arithmetic(truncation):
    """To 1e-6 of the probability itself, however small.

    Against hazardlib's Poisson process and truncated distribution, one rupture after the other, in 64 bits.
    """
    forecast, levels = forecast_of_faults(), levels_g()[5:41]
    name = "ChiouYoungs2008"
    found = model_curves(
        forecast, PLACE, SITES, ["SA(3.0)"], models=[name], years=50.0, levels=levels, truncation=truncation
    )[name]
    model = get_available_gsims()[name]()
    maker = contexts.ContextMaker("*", [model], {"imtls": {"SA(3.0)": [0.1]}, "investigation_time": 50.0})
    source = openquake_source(forecast, PLACE, 50.0)
    rates = [one.occurrence_rate for one in source.iter_ruptures()]
    none = np.ones((len(SITES), len(levels)))
    phi = float(ndtr(99.0 if truncation is None else truncation))
    for context in maker.get_ctxs(source, openquake_sites()):
        mean, sigma = maker.get_mean_stds([context])[:2, 0, 0]
        for at, m, s in zip(context.sids, mean, sigma, strict=True):
            poes = truncnorm_sf(phi, (np.log(levels) - m) / s)
            none[at] *= source.temporal_occurrence_model.get_probability_no_exceedance(rates[context.rup_id[0]], poes)
    for at, one in enumerate(found):
        expected = 1 - none[at]
        known = expected > 1e-9  # 1 less what is almost 1 keeps 16 digits behind the point
        assert known.sum() > 15 and np.abs(one.probability[known] / expected[known] - 1).max() < 1e-6


def fault_source(
    trace: str, dip: float, depths: tuple[float, float], rake: float, magnitudes: tuple[float, float]
) -> str:
    """A simple fault in NRML. Magnitudes and depths: lowest and highest."""
    return f"""
    <simpleFaultSource id="1" name="one" tectonicRegion="Active Shallow Crust">
      <simpleFaultGeometry>
        <gml:LineString><gml:posList>{trace}</gml:posList></gml:LineString>
        <dip>{dip}</dip>
        <upperSeismoDepth>{depths[0]}</upperSeismoDepth>
        <lowerSeismoDepth>{depths[1]}</lowerSeismoDepth>
      </simpleFaultGeometry>
      <magScaleRel>WC1994</magScaleRel>
      <ruptAspectRatio>1.5</ruptAspectRatio>
      <truncGutenbergRichterMFD aValue="3.0" bValue="0.9" minMag="{magnitudes[0]}" maxMag="{magnitudes[1]}"/>
      <rake>{rake}</rake>
    </simpleFaultSource>
"""


FAULTS = {
    "bent": fault_source("-118.20 34.00 -118.10 34.10 -118.00 34.15", 60, (1, 12), 90, (6.1, 6.6)),
    "strike-slip": fault_source("-118.2 34.02 -117.95 34.021", 90, (0, 13.4), 180, (6.3, 6.8)),
    "thrust": fault_source("-118.1 33.9 -117.83 34.05", 30, (2.3, 10.7), 90, (6.2, 6.5)),
    "normal": fault_source("-117.9 34.2 -117.93 33.97", 50, (0.5, 9.2), -90, (5.8, 6.3)),
    "short": fault_source("-118.05 34.06 -117.97 34.09", 75, (0, 7.6), 0, (5.6, 6.0)),
}
"""Lengths and widths are no whole kilometres."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_gives_openquakes_curves(tmp_path, name):
    """Read and expanded by each, by five models, within 2 %: as many ruptures, with the same rates and, to its sphere, places.

    Evenly cut faults differed by up to 8 %: hazardlib cuts them to whole kilometres, so that they, and ruptures, have other sizes.
    """
    path = tmp_path / "model.xml"
    path.write_text(nrml(FAULTS[name]))
    forecast = read_nrml(path, PLACE, floating=Floating(spacing_m=1000.0))
    source = openquake_fault(path)
    theirs = list(source.iter_ruptures())
    assert len(theirs) == len(forecast.ruptures)
    for magnitude in {round(one.mag, 6) for one in theirs}:
        rates = [one.occurrence_rate for one in theirs if round(one.mag, 6) == magnitude]
        mine = [one.annual_rate for one in forecast.ruptures if round(one.magnitude, 6) == magnitude]
        assert mine == pytest.approx(rates, rel=1e-9)
    levels = np.array([0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4])
    for model in (*MODELS, "BooreEtAl2014"):
        above = model_exceedances(forecast, PLACE, SITES, MEASURES, levels, model=model)
        gsim = ground_motion_models.hazardlib.model_class(model)()
        imtls = {measure: list(levels) for measure in MEASURES}
        maker = contexts.ContextMaker("*", [gsim], {"imtls": imtls, "investigation_time": 50.0})
        expected = np.zeros((len(SITES), len(MEASURES), len(levels)))
        for context in maker.get_ctxs(source, openquake_sites()):
            mean, sigma = maker.get_mean_stds([context])[:2, 0]
            poes = truncnorm_sf(float(ndtr(3.0)), (np.log(levels) - mean[..., None]) / sigma[..., None])
            rate = context.occurrence_rate[None, :, None]
            np.add.at(expected, context.sids, np.transpose(poes * rate, (1, 0, 2)))
        for site_number in range(len(SITES)):
            for measure in range(len(MEASURES)):
                found = combined(above[:, site_number, measure], forecast.annual_rates, 50.0)
                wanted = -np.expm1(-50.0 * expected[site_number, measure])
                some = wanted > 1e-4
                assert found[some] == pytest.approx(wanted[some], rel=0.02), (model, site_number, measure)


def openquake_fault(path):
    converter = SourceConverter(50.0, rupture_mesh_spacing=1.0, width_of_mfd_bin=0.1)
    (group,) = openquake_nrml.to_python(str(path), converter).src_groups
    (source,) = group.sources
    return source


def test_a_source_model_gives_the_calculators_curves(tmp_path):
    """By hazardlib's own calculator too, within 2 %."""
    path = tmp_path / "model.xml"
    path.write_text(nrml(SIMPLE_SOURCE))
    forecast = read_nrml(path, PLACE, floating=Floating(spacing_m=1000.0))
    source, levels = openquake_fault(path), [0.01, 0.03, 0.1, 0.2, 0.4]
    model = ground_motion_models.hazardlib.model_class("BooreAtkinson2008")()
    imtls = {measure: levels for measure in MEASURES}
    expected = calc_hazard_curves(
        [source], openquake_sites(), imtls, {"Active Shallow Crust": model}, truncation_level=3.0
    )
    mine = model_curves(
        forecast, PLACE, SITES, MEASURES, models=["BooreAtkinson2008"], years=50.0, levels=np.array(levels)
    )["BooreAtkinson2008"]
    for one in mine:
        at = [other.name for other in SITES].index(one.site)
        assert one.probability == pytest.approx(expected[one.measure][at], rel=0.02, abs=1e-6)


@pytest.mark.parametrize("name", FAULTS)
def test_nodes_are_openquakes(tmp_path, name):
    """As many, within a part in 200 of the distance along the fault: hazardlib's Earth is a sphere."""
    path = tmp_path / "model.xml"
    path.write_text(nrml(FAULTS[name]))
    source = openquake_fault(path)
    words = FAULTS[name].split("posList>")[1].removesuffix("</gml:").split()
    trace = np.array([float(word) for word in words]).reshape(-1, 2)
    mine = simple_fault(
        "f",
        trace_lon_lat=trace,
        place=PLACE,
        upper_depth_m=1e3 * source.upper_seismogenic_depth,
        lower_depth_m=1e3 * source.lower_seismogenic_depth,
        dip_deg=source.dip,
        rake_deg=source.rake,
    ).nodes(1000.0, "exactly")
    mesh = SimpleFaultSurface.from_fault_data(
        source.fault_trace, source.upper_seismogenic_depth, source.lower_seismogenic_depth, source.dip, 1.0
    ).mesh
    assert mine.shape == (*mesh.shape, 3)
    x, y = PLACE.x_y(mesh.lons.ravel(), mesh.lats.ravel())
    theirs = np.column_stack([x, y, 1e3 * mesh.depths.ravel()]).reshape(mine.shape)
    apart = np.linalg.norm(mine - theirs, axis=2)
    assert apart.max() < 10 + 5e-3 * np.linalg.norm(mine[-1, -1] - mine[0, 0])


def test_probabilities_of_a_magnitude_7_2_at_9_km():
    """M 7.2, strike-slip, 9.045 km from the fault, vs30 390 m/s, once in 200 years: SA(3.0) > 0.1 g within a year.

    By hazardlib 3.26: 2.539635e-3, 2.744496e-3 and 2.478540e-3, with the distance known to three digits after the point.
    """
    surface = straight(100e3, bottom_m=15e3).surface(1000.0)
    forecast = Forecast((Rupture("s", 0, 7.2, 1 / 200, surface),))
    lon, lat = PLACE.lon_lat(100e3, 109.045e3)
    here = [SiteConditions("s", float(lon), float(lat), 390.0, True, 300.0, 2.0)]
    found = model_curves(forecast, PLACE, here, ["SA(3.0)"], models=MODELS[:3], levels=np.array([0.1]), truncation=None)
    expected = dict(zip(MODELS, (2.539635e-3, 2.744496e-3, 2.478540e-3), strict=False))
    for model, (curve,) in found.items():
        assert curve.probability[0] == pytest.approx(expected[model], rel=2e-3), model


def test_distances_are_openquakes():
    """Own distances, along straight lines of the projection, beside hazardlib's on its sphere: within half a percent."""
    forecast = forecast_of_faults()
    gsim = get_available_gsims()["ChiouYoungs2008"]()
    maker = contexts.ContextMaker("*", [gsim], {"imtls": {"PGA": [0.1]}, "investigation_time": 1.0})
    source = openquake_source(forecast, PLACE)
    at = np.column_stack(PLACE.x_y([one.longitude_deg for one in SITES], [one.latitude_deg for one in SITES]))
    for context in maker.get_ctxs(source, openquake_sites()):
        surface = forecast.ruptures[source.indices[context.rup_id[0]]].surface
        assert context.rrup * 1e3 == pytest.approx(rupture_distance(surface, at[context.sids]), rel=5e-3, abs=50)
        near = joyner_boore_distance(surface, at[context.sids])
        assert context.rjb * 1e3 == pytest.approx(near, rel=5e-3, abs=1500)  # seen from above, 0 within the nodes' hull


def test_exceedances_are_of_the_forecasts_ruptures():
    """A rupture that never happens is left at 0, and the rest stay in their places."""
    forecast = forecast_of_faults()
    levels = np.array([0.01, 0.1, 1.0])
    above = model_exceedances(forecast, PLACE, SITES, MEASURES, levels, model="BooreAtkinson2008")
    never = [index for index, one in enumerate(forecast.ruptures) if one.source == "never"]
    assert above.shape == (len(forecast.ruptures), 3, 2, 3) and len(never) == 1 and not above[never].any()
    alone = Forecast(forecast.ruptures[-2:])
    again = model_exceedances(alone, PLACE, SITES, MEASURES, levels, model="BooreAtkinson2008")
    assert np.allclose(again, above[-2:], rtol=1e-12) and np.all(np.diff(above, axis=3) <= 0)


def test_models_that_cannot_be(monkeypatch):
    forecast = forecast_of_faults()

    def curves(**change):
        given = {
            "forecast": forecast,
            "place": PLACE,
            "sites": SITES,
            "measures": ["PGA"],
            "models": [MODELS[0]],
        } | change
        return model_curves(
            given.pop("forecast"), given.pop("place"), given.pop("sites"), given.pop("measures"), **given
        )

    for change, words in (
        ({"models": ["BooreAtkinson1908"]}, "ground-motion model 'BooreAtkinson1908'; allowed: BooreAtkinson2008"),
        ({"measures": ["SA"]}, "measure 'SA'; allowed: PGA, PGV, SA"),
        ({"measures": []}, "0 measures"),
        ({"years": 0.0}, "0 years"),
        ({"truncation": -1.0}, "truncation = -1"),
        ({"levels": np.array([0.0, 0.1])}, "2 levels"),
        ({"sites": [SITES[0], SITES[0]]}, "duplicate sites"),
    ):
        with pytest.raises(UserError) as caught:
            curves(**change)
        assert words in str(caught.value) and "allowed" in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(UserError, match="site 'a': vs30_m_s = -1; allowed: above 0"):
        SiteConditions("a", 0.0, 0.0, -1.0)
    ground_motion_models._hazardlib.cache_clear()
    monkeypatch.setitem(sys.modules, "openquake", None)
    with pytest.raises(
        UserError, match=r"hazardlib .*allowed: pip install 'craton\[hazard\]', then pip install --no-deps"
    ):
        curves()
    ground_motion_models._hazardlib.cache_clear()


def test_a_run_without_hazardlib_says_so_and_has_no_models(tmp_path, monkeypatch):
    from types import SimpleNamespace

    from craton.hazard.curves.ground_motion_models import is_installed
    from craton.hazard.folder import HazardFolder
    from craton.hazard.pipeline.beside_models import models_beside, read_beside, stored_beside, write_beside

    assert is_installed()
    monkeypatch.setitem(sys.modules, "openquake", None)
    monkeypatch.delitem(sys.modules, "openquake.hazardlib", raising=False)
    assert not is_installed()
    settings = SimpleNamespace(hazard=SimpleNamespace(models=("BooreAtkinson2008",)))
    work, folder, told = SimpleNamespace(config=settings, sites=[], levels_g=list), HazardFolder(tmp_path), []
    assert models_beside(work, told.append) == {}
    assert len(told) == 1
    assert "no ground-motion models beside the curves: OpenQuake's hazardlib is not installed; for them: pip" in told[0]
    write_beside(work, folder, {})
    assert read_beside(work, folder, "a") == stored_beside(work, folder) == {}


ALONE = """
import sys
from craton.hazard.curves import hazardlib

hazardlib.load()
made = [hazardlib.model_class(name) for name in sys.argv[1:]]
modules = [name for name in sys.modules if name.startswith("openquake.hazardlib.gsim.")]
print(*("-" if one is None else one.__name__ for one in made), len(modules))
"""


def test_models_are_imported_by_themselves():
    """Four models, and one that there is not, cost a few modules of some hundred; they are what the whole package has."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *MODELS, "Nobody2008"], capture_output=True, text=True, timeout=240, check=True
    )
    *names, modules = done.stdout.split()
    assert names == [*MODELS, "-"]
    assert int(modules) < 20
    for name in MODELS:
        assert ground_motion_models.hazardlib.model_class(name) is get_available_gsims()[name]


NOT_COMPILED = """
import time
begun = time.process_time()
from craton.hazard.curves import ground_motion_models
import numba

njit = numba.njit
library = ground_motion_models._hazardlib()
for name in ground_motion_models.MODELS:
    ground_motion_models._model(library, name)
from openquake.hazardlib.geo import geodetic, line, multiline, utils
from openquake.hazardlib.geo.surface import planar

declared = [
    one
    for module in (geodetic, line, multiline, utils, planar)
    for one in vars(module).values()
    if isinstance(one, numba.core.dispatcher.Dispatcher)
]
print(len(declared), sum(len(one.signatures) for one in declared), numba.njit is njit, time.process_time() - begun)
"""


def test_nothing_is_compiled_before_it_is_called(tmp_path):
    """Where nobody has used hazardlib before: numba's own folder is empty. It took 59 s of a core."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", NOT_COMPILED], capture_output=True, text=True, timeout=240, check=True, env=environment
    )
    declared, compiled, restored, cpu_s = done.stdout.split()
    assert int(declared) > 20 and int(compiled) == 0 and restored == "True"
    assert float(cpu_s) < 20


ALL = """
from craton.hazard.curves import hazardlib

library = hazardlib.load()
one = hazardlib.model_class("ChiouYoungs2008")
known = library.gsim.get_available_gsims()
assert len(known) > 500 and known["ChiouYoungs2008"] is one, len(known)
assert library.gsim.get_available_gsims() == known == library.valid.GSIM
print("all of them")
"""


@pytest.mark.long
def test_all_models_are_there_for_who_asks():
    done = subprocess.run([sys.executable, "-c", ALL], capture_output=True, text=True, timeout=900, check=False)
    assert (done.returncode, done.stdout) == (0, "all of them\n"), done.stderr


def test_what_is_done_is_told():
    said = []
    forecast = Forecast(tuple(whole_surface_ruptures("s", straight().surface(4000.0), characteristic(7.0, 1e17))))
    model_curves(forecast, PLACE, SITES[:1], ["SA(3.0)"], models=MODELS[:2], say=said.append)
    assert said == [
        "loading OpenQuake's hazardlib for ground-motion models",
        "ground-motion model 1 of 2: BooreAtkinson2008",
        "ground-motion model 2 of 2: CampbellBozorgnia2008",
    ]


def test_a_rake_of_minus_180_is_one_of_180():
    """Hazardlib knows the one and not the other; files and faults may say either."""
    found = []
    for rake in (180.0, -180.0):
        surface = straight(rake_deg=rake).surface(4000.0)
        forecast = Forecast(tuple(whole_surface_ruptures("s", surface, characteristic(7.0, 1e17))))
        (curve,) = model_curves(forecast, PLACE, SITES[:1], ["SA(3.0)"], models=MODELS[:1])[MODELS[0]]
        found.append(curve.probability)
    assert np.array_equal(*found) and found[0].max() > 0
