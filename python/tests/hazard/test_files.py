"""Forecasts from files, anelastic ground and ground-motion models, each through a whole run."""

from __future__ import annotations

import csv
import math

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.hazard import jobs
from craton.hazard.config import load_config
from craton.hazard.curves.ground_motion_models import SiteConditions, model_curves
from craton.hazard.folder import HazardFolder
from craton.hazard.forecast.variations import VariationRules, variation
from craton.hazard.pipeline.work import Work
from craton.hazard.results import Results, read_results
from craton.seismology.sources.srf import Plane, Subfault, write_srf
from hazard_config import CONFIG
from hazard_faults import nrml
from hazard_pipeline import craton, run_here

TRACE_M = ((8000.0, 14000.0), (20000.0, 14000.0))
MAGNITUDE, RATE, RAKE = 6.3, 0.01, 180.0
PROBABILITY = -math.expm1(-RATE)
ONE_SITE = (
    CONFIG[: CONFIG.index("[[site]]")]
    .replace("origin_lon_lat = [10.0, 45.0]", "origin_lon_lat = [10.0, 45.0]\nazimuth_deg = 30.0")
    .replace("years = 50.0", "years = 1.0")
    .replace("slips = 2", "slips = 1\nvariability = 0.0")
    .replace("strike_spacing_km = 5.0", "strike_spacing_km = 50.0")
    .replace("levels_g = [1e-5, 1e-4, 3e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1.0]", "levels_g = [1e-5, 1e-3, 1.0]")
    .replace("probabilities = [0.1]", "probabilities = [0.005]")
    .replace("variations_per_task = 4", "variations_per_task = 100")
    + '[[site]]\nname = "A"\nposition_m = [9000.0, 9000.0]\n'
)
FAULT = f"""
[[fault]]
name = "straight"
trace_m = {[list(at) for at in TRACE_M]}
upper_depth_km = 1.0
lower_depth_km = 7.0
rake_deg = {RAKE}
magnitude = {MAGNITUDE}
annual_rate = {RATE}
"""
"""12 by 6 km on end, in squares of 2 km; even slip from the middle."""
ANELASTIC = '[attenuation]\nqp = "2 qs"\nqs = 15.0\nreference_frequency_hz = 0.3\n'


def characteristic_source(trace: str) -> str:
    return nrml(f"""
    <characteristicFaultSource id="characteristic" name="n" tectonicRegion="Active Shallow Crust">
      <arbitraryMFD><occurRates>{RATE}</occurRates><magnitudes>{MAGNITUDE}</magnitudes></arbitraryMFD>
      <rake>{RAKE}</rake>
      <surface><simpleFaultGeometry>
        <gml:LineString><gml:posList>{trace}</gml:posList></gml:LineString>
        <dip>90.0</dip><upperSeismoDepth>1.0</upperSeismoDepth><lowerSeismoDepth>7.0</lowerSeismoDepth>
      </simpleFaultGeometry></surface>
    </characteristicFaultSource>
    <simpleFaultSource id="floating" name="f" tectonicRegion="Active Shallow Crust">
      <simpleFaultGeometry>
        <gml:LineString><gml:posList>{trace}</gml:posList></gml:LineString>
        <dip>90.0</dip><upperSeismoDepth>1.0</upperSeismoDepth><lowerSeismoDepth>7.0</lowerSeismoDepth>
      </simpleFaultGeometry>
      <magScaleRel>WC1994</magScaleRel><ruptAspectRatio>2.0</ruptAspectRatio>
      <incrementalMFD minMag="5.9" binWidth="0.1"><occurRates>0.001</occurRates></incrementalMFD>
      <rake>{RAKE}</rake>
    </simpleFaultSource>
""")


def write_files(folder) -> str:
    """The fault of FAULT as all kinds of files have it; the tables that name them."""
    config = folder / "fault.toml"
    config.write_text(ONE_SITE + FAULT)
    work = Work.of(load_config(config))
    (rupture,) = work.forecast.ruptures
    surface = rupture.surface
    x, y = np.array(TRACE_M).T
    ends = list(zip(*(values.tolist() for values in work.grid.lon_lat(x, y)), strict=True))
    (folder / "model.xml").write_text(characteristic_source(" ".join(f"{a!r} {b!r}" for a, b in ends)))
    trace = "; ".join(f"{a!r} {b!r}" for a, b in ends)
    (folder / "ruptures.csv").write_text(
        "source,rupture,magnitude,probability,rake,dip,upper_depth_km,lower_depth_km,trace\n"
        f'table,7,{MAGNITUDE},{PROBABILITY!r},{RAKE},90,1,7,"{trace}"\n'
    )
    lon, lat = work.grid.lon_lat(surface.positions[:, 0], surface.positions[:, 1])
    # of a fault along the x axis, from true north where each subfault is
    strike = -work.grid.north_deg(surface.positions[:, 0], surface.positions[:, 1])
    rows = np.column_stack([lat, lon, 1e-3 * surface.positions[:, 2], surface.rake, surface.dip, strike])
    header = f"Probability = {PROBABILITY!r}\nMagnitude = {MAGNITUDE}\nGridSpacing = 2.0\nNumRows = 3\nNumCols = 6\n"
    (folder / "0_0.txt").write_text(header + "".join(" ".join(map(repr, row)) + "\n" for row in rows.tolist()))
    write_fault(folder / "fault.srf", rupture, lon, lat, strike)
    kinds = (("nrml", "model.xml"), ("table", "ruptures.csv"), ("opensha", "0_0.txt"), ("srf", "fault.srf"))
    return "".join(
        f'\n[[model]]\nkind = "{kind}"\nfile = "{name}"\n{f"annual_rate = {RATE}" if kind == "srf" else ""}\n'
        for kind, name in kinds
    )


def write_fault(path, rupture, lon, lat, strike):
    """As the run itself would have it slip, in ground of its rigidity."""
    surface, none = rupture.surface, np.empty(0, np.float32)
    vs, rho = 3464.0, 2700.0
    own = variation(0, rupture, 0, VariationRules(variability=0.0, rigidity_Pa=rho * vs**2))
    subfaults = [
        Subfault(
            float(lon[k]), float(lat[k]), float(surface.positions[k, 2]), float(strike[k]), 90.0, RAKE, float(surface.area[k]),
            float(own.onset[k]), float(own.rise[k] / 20), (np.full(20, own.slip[k] / own.rise[k], np.float32), none, none),
            (float(own.slip[k]), 0.0, 0.0), vs, rho,
        )
        for k in range(len(surface))
    ]  # fmt: skip
    plane = Plane(float(lon.mean()), float(lat.mean()), 6, 3, 12.0, 6.0, float(strike[0]), 90.0, 1.0, 0.0, 3.0)
    write_srf(path, subfaults, [plane])


def checked(results: Results) -> None:
    """The same earthquake in five ways, and one that floats."""
    with h5py.File(results.folder.finished("A")) as file:
        source = file["ruptures/source"].asstr()[()].tolist()
        rotd50 = dict(zip(source, file["measures/rotd50"][()], strict=True))
        rate = dict(zip(source, file["ruptures/annual_rate"][()], strict=True))
        magnitude = dict(zip(source, file["ruptures/magnitude"][()], strict=True))
        disaggregated = file["disaggregation/sources"].asstr()[()].tolist()
    names = ["straight", "characteristic", "floating", "table", "0_0", "fault"]
    assert sorted(rotd50) == sorted(names) == sorted(set(disaggregated))
    first = rotd50.pop("straight")
    floating = rotd50.pop("floating")
    assert first.min() > 1e-4 and np.all((floating > 0.01 * first) & (floating < first))
    for name, found in rotd50.items():
        print(f"{name}: {np.abs(found / first - 1).max():.1e} from the fault in the configuration")
        assert np.abs(found / first - 1).max() < (1e-5 if name != "fault" else 2e-4), name  # SRF: decimals of text
        assert rate[name] == pytest.approx(RATE) and magnitude[name] == pytest.approx(MAGNITUDE, abs=1e-4)


def test_a_fault_is_the_same_whoever_describes_it(tmp_path):
    """As [[fault]], NRML, table, OpenSHA's and SRF, in degrees on a turned grid: the same shaking, to their decimals."""
    config = tmp_path / "all.toml"
    config.write_text(ONE_SITE + FAULT + write_files(tmp_path))
    checked(run_here(config, tmp_path / "run"))


@pytest.mark.long
def test_the_command_takes_all_files(tmp_path):
    """And anelastic ground, and ground-motion models."""
    pytest.importorskip("openquake.hazardlib.gsim")
    config = tmp_path / "all.toml"
    beside = ONE_SITE.replace("[0.005]", '[0.005]\nmodels = ["BooreAtkinson2008"]')
    config.write_text(beside + FAULT + write_files(tmp_path) + ANELASTIC)
    done = craton("run", config, "--directory", "run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    checked(read_results(HazardFolder(tmp_path / "run")))
    assert (tmp_path / "run" / "models" / "BooreAtkinson2008.csv").is_file()


def test_the_moment_is_that_of_the_ground(tmp_path):
    """Slip times the rigidity in the tensors' own files is the magnitude's moment, in ground of two layers.

    With a rigidity that the configuration has, it is not.
    """
    layers = '[media]\nkind = "layers"\nlayers = [[3500.0, 4200.0, 2400.0, 2400.0], [1.0, 6000.0, 3464.0, 2700.0]]\n'
    moments = []
    for name, more in (("ground", ""), ("given", "rigidity_Pa = 3.0e10\n")):
        config = tmp_path / f"{name}.toml"
        config.write_text((ONE_SITE + FAULT + layers).replace("variability = 0.0", f"variability = 0.5\n{more}"))
        results = run_here(config, tmp_path / name)
        with h5py.File(results.folder.waves("A", "x") / "sgt.h5") as file:
            mu, at = file["mu_Pa"][()], file["coordinates"][()]
        (rupture,) = results.work.forecast.ruptures
        place = [int(np.argmin(np.linalg.norm(at - one, axis=1))) for one in rupture.surface.positions]
        chosen = results.chosen("A")
        assert chosen is not None and np.unique(mu[place].round(-6)).size == 2
        slip = chosen.variations["median"]["slip_m"]
        moments.append(float((mu[place] * rupture.surface.area * slip).sum()) / 10 ** (1.5 * MAGNITUDE + 9.1))
    assert moments[0] == pytest.approx(1.0, rel=1e-6) and abs(moments[1] - 1) > 0.05


def test_anelastic_ground_shakes_less(tmp_path):
    found = []
    for name, more in (("elastic", ""), ("anelastic", ANELASTIC)):
        config = tmp_path / f"{name}.toml"
        config.write_text(ONE_SITE + FAULT + more)
        with h5py.File(run_here(config, tmp_path / name).folder.finished("A")) as file:
            found.append(file["measures/rotd50"][0])
    print(f"with Qs = 15: {found[1] / found[0]} of what it is without")
    # S waves of 3 s over about 9 km at 3464 m/s: exp(-pi f t / Q) = 0.83
    assert np.all(found[1] < 0.97 * found[0]) and np.all(found[1] > 0.6 * found[0])


def test_ground_motion_models_beside(tmp_path):
    """Their curves are in files of their own, for the ground at the site, and in the report."""
    pytest.importorskip("openquake.hazardlib.gsim")
    models = ("BooreAtkinson2008", "ChiouYoungs2008")
    config = tmp_path / "beside.toml"
    text = ONE_SITE.replace("[0.005]", f"[0.005]\nmodels = {list(models)}").replace("1e-3, 1.0]", "1e-3, 1e-2, 1.0]")
    config.write_text(text + FAULT)
    results = run_here(config, tmp_path / "run")
    (site,) = results.sites
    conditions = [SiteConditions("A", site.longitude_deg, site.latitude_deg, vs30_m_s=3464.0)]
    work = results.work
    wanted = model_curves(
        work.forecast, work.grid, conditions, ["SA(3.0)", "SA(5.0)"], models=models, levels=work.levels_g()
    )
    for model in models:
        with (results.folder.path / "models" / f"{model}.csv").open() as stream:
            rows = [row for row in csv.DictReader(line for line in stream if not line.startswith("#"))]
        found = [float(row["probability"]) for row in rows]
        expected = np.concatenate([curve.probability for curve in wanted[model]])
        assert np.allclose(found, expected, rtol=1e-6, atol=1e-12) and max(found) > 1e-3
    page = results.folder.report.read_text()
    assert "Dashed: ground-motion models" in page and (results.folder.pictures / "models-A.png").is_file()
    # a job of the run draws the same from the models' files
    folder = results.folder
    folder.section("A").unlink()
    jobs.main(["section", str(folder.path), "A"])
    assert folder.section("A").read_text() in page
    written = folder.models / f"{models[0]}.csv"
    written.write_text("\n".join(written.read_text().splitlines()[:-1]))
    with pytest.raises(UserError) as caught:
        jobs.main(["section", str(folder.path), "A"])
    assert f"{written}: no whole curve of SA(5.0) at A; allowed: 4 levels" in str(caught.value)
