"""The report is one page that needs nothing else; maps put places where they belong."""

import dataclasses
import html
import json
import re
import shutil

import matplotlib
import numpy as np
import pytest
from html_pages import checked

MPI = pytest.importorskip("mpi4py.MPI")

from craton import UserError
from craton.pages import maps, projection
from craton.pages.page import render_part
from craton.runs.files import read_hdf5
from craton.tomography import start as inversion
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.driver import Inversion
from craton.tomography.model.sphere import unit_vectors
from craton.tomography.report import coverage
from craton.tomography.report.kernels import kernel_section
from craton.tomography.report.model import section_arc
from craton.tomography.report.page import SECTIONS, draw_share, write_report, write_sections
from craton.tomography.report.posterior import posterior_section
from craton.tomography.results import read_results
from craton.tomography.theory import typical_kernels
from craton.tomography.theory.typical_kernels import typical_windows


@pytest.fixture(scope="module")
def folder(small_config, tmp_path_factory):
    config = small_config.replaced("run", directory=str(tmp_path_factory.mktemp("report") / "run"))
    inversion.run(config.replaced("inversion", max_iterations=1), MPI.COMM_SELF, report=True)
    return RunFolder(config.run.directory)


@pytest.fixture(scope="module")
def page(folder):
    return folder.report.read_text(encoding="utf-8")


def test_page_is_well_formed_and_self_contained(page):
    read = checked(page)
    assert len(read.pictures) == 10
    assert all(source.startswith(("data:", "#")) for source in read.sources)
    assert not re.search(r"https?://|@import|url\(", page)


def test_pictures_have_words_of_this_run(folder, page):
    """Their values are of the model's coefficients and of the data, by other ways than the page's."""
    seen, results = [picture["alt"] for picture in checked(page).pictures], read_results(folder)
    table, last = results.observations.paths, results.observations.observed - results.model["waveforms/final"]
    rows = zip(table.offsets[:-1], table.offsets[1:], strict=True)
    fits = [100 * (1 - np.sum(last[a:b] ** 2) / np.sum(results.observations.observed[a:b] ** 2)) for a, b in rows]
    coverage = np.asarray(results.model["coverage"])
    below = [results.fields.percent("dlnVs", 19.4, -155.3, depth) for depth in np.linspace(3, 2891, 30)]
    for text in (
        f"{len(set(table.event))} earthquakes, {len(set(table.station))} stations and thin lines between them, of ",
        f"coverage from {coverage.min():.3g} to {coverage.max():.3g}, most at ",
        f"fits of {max(fits):.0f}% (best), {np.median(fits):.0f}% (median) and {min(fits):.0f}% (worst)",
        f"dlnVs from {min(below):.2g}% to {max(below):.2g}% below 19.4°N 155.3°W and from ",
        f"at distances from {table.distance_deg().min():.3g}° to {table.distance_deg().max():.3g}°",
        "at 12 depths from 50 to 2850 km; dlnVs varies most at ",
        "A slice of the mantle through Hawaii, from the core to the surface, in the same colours: dlnVs from ",
        "A stacked bar for each of 1 rank, from ",
    ):
        assert any(text in one for one in seen), (text, seen)


def test_page_says_what_it_must(page):
    for text in (
        "The observed data are synthetic",
        "variance reduction",
        "seed 2015",
        "color-scheme: light",
        "--ranks 1 --iterations 1 --directory run",
        "1 rank × 1 thread",
        "from 100 to 2800 km",
        "A trace weaker than 10% of its event's median",
        "noise ceiling",
        "(19.4°N 155.3°W), 60° to either side",
        "in the azimuth 60° at the middle",
        "The recovered model at 12 depths, one colour scale",
        "below Hawaii and 90° east of there",
        "by number of paths and by epicentral distance",
        "craton tomography posterior run --at 19.4,-155.3,300\ncraton tomography report run",
    ):
        assert text in html.unescape(page)


def test_page_names_no_folder_of_the_machine(page, small_config):
    assert str(inversion.RunFolder(small_config.run.directory).path.parent) not in page


def test_an_interrupted_run_has_a_report_without_what_it_lacks(small_config, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Inversion, "finish", interrupted)
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("inversion", max_iterations=1)
    with pytest.raises(KeyboardInterrupt):
        inversion.run(config, MPI.COMM_SELF, report=True)
    text = write_report(tmp_path / "run").read_text(encoding="utf-8")
    assert len(checked(text).pictures) == 6
    assert "unfinished: this is what was saved up to iteration 1" in text
    assert "<h2>Waveforms" not in text and "stopped because" not in text


def test_report_on_data_from_a_file_speaks_of_no_input_model(small_config, tmp_path):
    config = small_config.replaced("inversion", max_iterations=1).replaced("paths", maximum=20)
    first = config.replaced("run", directory=str(tmp_path / "first"))
    inversion.run(first, MPI.COMM_SELF, report=False)
    second = config.replaced("run", directory=str(tmp_path / "second"))
    second = second.replaced("data", kind="file", file=str(tmp_path / "first" / "data.h5"))
    inversion.run(second, MPI.COMM_SELF, report=True)
    text = (tmp_path / "second" / "report.html").read_text(encoding="utf-8")
    assert "<b>The observed data are synthetic.</b> They were read from a file" in text
    assert "input model" not in text and "spline basis" not in text and "Input and output" not in text
    assert "The recovered model from the core to the surface" in text and "slowest place" in text


def test_several_processes_draw_the_page_of_one(folder, page):
    shares = [draw_share(folder.path, share, 3) for share in range(3)]
    assert all(shares) and sorted(name for share in shares for name in share) == sorted(SECTIONS)
    assert write_sections(folder.path, shares).read_text(encoding="utf-8") == page


def test_report_of_nothing_is_the_users_fault(tmp_path):
    with pytest.raises(UserError, match=r"model\.h5: no such file"):
        write_report(tmp_path)
    with pytest.raises(UserError, match=r"run folder .*nowhere: no such folder; allowed: the folder of a run"):
        write_report(tmp_path / "nowhere")


def test_robinson_projection():
    """Published table: the pole is 0.5322 as long as the equator and the map's height is 0.5072 of its width."""
    right, _ = projection.robinson(np.array([180.0]), np.array([0.0]))
    corner, top = projection.robinson(np.array([180.0]), np.array([90.0]))
    assert corner[0] / right[0] == pytest.approx(0.5322)
    assert top[0] / right[0] == pytest.approx(0.5072, abs=1e-4)


def test_lines_are_cut_at_the_edge_of_the_map():
    longitude = np.array([170.0, 179.0, -179.0, -170.0])
    assert len(list(projection.pieces_within_map(longitude, np.zeros(4), 0.0))) == 2
    assert len(list(projection.pieces_within_map(longitude, np.zeros(4), 180.0))) == 1


def test_coastlines_know_the_world():
    """The table's easternmost point of Africa is Cape Hafun (51.4 E, 10.4 N); Iceland is an island of its own."""
    points = np.concatenate(projection.coastlines())
    assert np.min(np.hypot(points[:, 0] - 51.1, points[:, 1] - 10.6)) < 1.0
    iceland = [
        line for line in projection.coastlines() if np.all((line[:, 0] > -25) & (line[:, 0] < -13) & (line[:, 1] > 63))
    ]
    assert len(iceland) == 1


def test_great_circle_keeps_its_distance():
    latitude, longitude = projection.great_circle(19.4, -155.3, 60.0, np.array([-90.0, 0.0, 30.0]))
    here, there = (np.radians([latitude[i], longitude[i]]) for i in (1, 2))
    cosine = np.sin(here[0]) * np.sin(there[0]) + np.cos(here[0]) * np.cos(there[0]) * np.cos(here[1] - there[1])
    assert np.degrees(np.arccos(cosine)) == pytest.approx(30.0)
    assert (latitude[1], longitude[1]) == pytest.approx((19.4, -155.3))


# -------------------------------------------------------------------------------------------------------- sensitivities


@pytest.fixture(scope="module")
def three_components(small_config, tmp_path_factory):
    """NACT on Z, R and T beyond 260 s, for dlnVs and dlnxi, with its resolution."""
    config = small_config.replaced("run", directory=str(tmp_path_factory.mktemp("nact") / "run"))
    config = config.replaced(
        "data", filter_periods_s=(900.0, 700.0, 310.0, 260.0), sample_interval_s=20.0, components="ZRT"
    )
    config = (
        config.replaced("modes", shortest_period_s=260.0).replaced("theory", kind="nact").replaced("paths", maximum=16)
    )
    config = config.replaced("basis", lateral_level=2, radial=5, xi=True).replaced("inversion", max_iterations=1)
    inversion.run(config.replaced("report", resolution=True), MPI.COMM_SELF, report=True)
    return RunFolder(config.run.directory)


@pytest.mark.long
def test_a_page_of_nact_shows_what_a_window_of_each_component_sees(three_components):
    text = three_components.report.read_text(encoding="utf-8")
    captions = checked(text).captions
    data = read_results(three_components).observations
    for row, what in zip(typical_windows(data), ("Vertical", "Radial", "Transverse"), strict=True):
        event = data.paths.events.name[data.paths.event[row]]
        assert sum(caption.startswith(f"{what} motion of {event} to") for caption in captions) == 1
    assert "What a seismogram sees" in text and "coupled branches, NACT" in text
    assert "parameters: 42 lateral knots × 5 radial × dlnVs and dlnxi" in text and "<b>420</b>" in text


def test_typical_windows_are_near_the_median_distance(folder, three_components):
    for place in (folder, three_components):
        data = read_results(place).observations
        distance = data.paths.distance_deg()
        rows = typical_windows(data)
        assert [data.paths.component[row] for row in rows] == list(dict.fromkeys(data.paths.component))
        for row in rows:
            off = np.abs(distance - np.median(distance))
            assert np.mean(off < off[row]) <= 0.1
    long_way = dataclasses.replace(data, paths=dataclasses.replace(data.paths, arc=("major",) * len(data.paths)))
    assert typical_windows(long_way) == []


def test_too_many_modes_are_a_line_of_the_page(three_components, monkeypatch):
    monkeypatch.setattr(typical_kernels, "MOST_MODES", 50)
    text = render_part([kernel_section(read_results(three_components))])
    assert re.search(r"No sensitivities: [0-9]+ modes in the band; allowed: 50 of one type", text)


# ----------------------------------------------------------------------------------------------------------- resolution


def test_a_run_can_end_with_its_resolution(three_components):
    """[report] resolution: the posterior is in the folder, and in the page with a figure for each parameter and place."""
    summary = json.loads((three_components.path / "posterior" / "posterior.json").read_text())
    arrays = read_hdf5(three_components.path / "posterior" / "posterior.h5")
    assert summary["resolved"] == pytest.approx(arrays["resolution_diagonal"].sum())
    assert arrays["parameters"] == 2 and arrays["parameter_order"].startswith("(parameter * n_lateral")
    assert 1.0 < summary["resolved"] < summary["parameters"] == 420
    assert [point["depth_km"] for point in summary["points"]] == [300.0, 2000.0]
    assert (summary["points"][0]["latitude_deg"], summary["points"][0]["longitude_deg"]) == (19.4, -155.3)
    text = three_components.report.read_text(encoding="utf-8")
    assert f"Of 420 parameters the data determine {summary['resolved']:.1f}" in text
    assert "under the run&#39;s own prior" in text
    captions = checked(text).captions
    for start in (
        "Left: standard deviation σ of dlnVs",
        "Left: standard deviation σ of dlnxi",
        "19.4°N 155.3°W, 300 km: dlnVs =",
    ):
        assert sum(start in caption for caption in captions) == 1
    assert "resolution" in json.loads(three_components.record.read_text())["phase_s"][0]


def test_a_posterior_of_another_run_is_not_shown(three_components, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(three_components.path, copy)
    record = json.loads((copy / "record.json").read_text())
    record["iterations"][0]["chi_fitted"] *= 1.01
    (copy / "record.json").write_text(json.dumps(record))
    text = render_part([posterior_section(read_results(RunFolder(copy)), copy)])
    assert "Not drawn: posterior is of another run; allowed: the posterior of this one" in text
    assert "the data determine" not in text and "posterior run --at 19.4,-155.3,300 --overwrite" in text
    (copy / "posterior" / "posterior.json").write_text("{}")
    text = render_part([posterior_section(read_results(RunFolder(copy)), copy)])
    assert "Not drawn: posterior/posterior.json: not a summary of craton tomography posterior" in text
    assert str(tmp_path) not in text


def test_resolution_needs_a_hessian(small_config):
    with pytest.raises(UserError, match=r"\[report\] resolution = true; allowed: false, because .* keeps no Hessian"):
        small_config.replaced("inversion", keep_hessians="none").replaced("report", resolution=True)


# ------------------------------------------------------------------------------------------------------------ latitudes


def geocentric(latitude_deg):
    """On the ellipsoid of WGS84, by its axes in metres."""
    return np.degrees(np.arctan((6356752.314 / 6378137.0) ** 2 * np.tan(np.radians(latitude_deg))))


def test_maps_are_of_geographic_latitude(folder):
    """Their cells hold what the splines are at the geocentric latitude of each, as slices do."""
    results = read_results(folder)
    axes = matplotlib.figure.Figure().subplots()
    mesh = maps.field_on_map(axes, results.basis, results.recovered, 300.0, -160.0, 5.0, step_deg=10.0)
    found = np.asarray(mesh.get_array()).reshape(18, 36)
    latitude = np.arange(-85.0, 90.0, 10.0)
    longitude = (np.arange(-175.0, 180.0, 10.0) - 160.0 + 180.0) % 360.0 - 180.0
    for row in (3, 13):
        ones = np.ones(36)
        at = [results.basis.evaluate(results.recovered, where * ones, longitude, 6071e3 * ones)
              for where in (geocentric(latitude[row]), latitude[row])]  # fmt: skip
        np.testing.assert_allclose(found[row], 100.0 * at[0], rtol=1e-6, atol=1e-9)
        assert np.abs(at[1] - at[0]).max() > 1e-3 * np.abs(at[0]).max()
    slices = results.fields.percent("dlnVs", latitude[:, None], longitude[None, :], np.float64(300.0))
    np.testing.assert_allclose(found, slices, rtol=1e-9, atol=1e-12)


def test_coverage_is_of_geographic_latitude(folder):
    results = read_results(folder)
    figure = coverage.coverage_figure(results)
    found = np.asarray(figure.axes[0].collections[0].get_array()).reshape(90, 180)
    longitude = (np.arange(-179.0, 180.0, 2.0) + results.centre_deg + 180.0) % 360.0 - 180.0
    expected = coverage.smoothed_coverage(
        results.basis, np.asarray(results.model["coverage"]), np.full(180, geocentric(47.0)), longitude
    )
    np.testing.assert_allclose(found[68], expected, rtol=1e-6)  # 47 N


def test_sections_and_places_are_geographic(folder):
    """The arc goes through the plume's geographic place; splines are asked where it is seen from the Earth's centre."""
    results = read_results(folder)
    assert results.plume["latitude"] == 19.4
    arc = section_arc(results.plume)
    middle = len(arc.angle_deg) // 2
    assert arc.latitude_deg[middle] == pytest.approx(geocentric(19.4), abs=1e-6)
    results.record.config["target"] = None
    slowest = results.plume
    knots = geocentric(slowest["latitude"]) - np.asarray(results.basis.latitude_deg)
    assert np.abs(knots).min() < 1e-6


def test_paths_are_drawn_along_the_great_circle_that_they_are_computed_on(folder):
    table = read_results(folder).observations.paths
    both = dataclasses.replace(table, arc=("minor", "major") + table.arc[2:])
    for path, goes_round in ((0, False), (1, True)):
        latitude, longitude = coverage.path_on_map(both, path)
        event, station = table.event[path], table.station[path]
        ends = (table.events.latitude_deg[event], table.events.longitude_deg[event]), (
            table.stations.latitude_deg[station], table.stations.longitude_deg[station],
        )  # fmt: skip
        for at, (north, east) in zip((0, -1), ends, strict=True):
            assert latitude[at] == pytest.approx(north, abs=1e-6)
            assert projection.relative_longitude(longitude[at] - east, 0.0) == pytest.approx(0.0, abs=1e-6)
        points = unit_vectors(geocentric(latitude), longitude)
        assert np.abs(points @ np.cross(points[0], points[-1])).max() < 1e-6
        steps = np.degrees(np.arccos(np.clip(np.sum(points[1:] * points[:-1], axis=1), -1, 1))).sum()
        distance = table.distance_deg()[path]
        assert steps == pytest.approx(360.0 - distance if goes_round else distance, abs=1e-3)
