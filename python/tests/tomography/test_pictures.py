"""`craton tomography slice`, `section`, `profile`, `fit` and `export`: what they draw is what the model is.

Other programs read what they write.
"""

import csv
import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import h5netcdf
import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI")

from craton import UserError
from craton.commands import main as cli
from craton.pages import maps, projection
from craton.runs.files import read_hdf5, write_hdf5
from craton.seismology.geometry.latitudes import geographic_deg
from craton.tomography import start as inversion
from craton.tomography.folder import RunFolder
from craton.tomography.model import export as model_export
from craton.tomography.model import fields, vtk_files
from craton.tomography.model.sphere import unit_vectors
from craton.tomography.report import drawing
from craton.tomography.results import read_results


@pytest.fixture(scope="module")
def folder(small_config, tmp_path_factory):
    """A run of one iteration."""
    place = tmp_path_factory.mktemp("pictures") / "run"
    config = small_config.replaced("run", directory=str(place)).replaced("inversion", max_iterations=1)
    inversion.run(config.replaced("paths", maximum=40), MPI.COMM_SELF, report=False)
    return place


@pytest.fixture
def model(folder):
    return fields.read_fields(folder)


def rows(path):
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def spline_sum(model, latitude_deg, longitude_deg, depth_km):
    """DlnVs in percent from its definition, with a distance of its own; latitude is geocentric."""
    basis = model.basis
    knots = unit_vectors(np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
    point = unit_vectors(np.array([latitude_deg]), np.array([longitude_deg]))[0]
    d = np.arccos(np.clip(knots @ point, -1, 1)) / basis.spacing_rad
    lateral = np.where(d < 1, 0.75 * d**3 - 1.5 * d**2 + 1, np.where(d < 2, 0.25 * (2 - d) ** 3, 0.0))
    radial = basis.radial_values(np.array([6371e3 - 1e3 * depth_km]))[0]
    return 100.0 * lateral @ model.parameters["dlnVs"].reshape(len(lateral), -1) @ radial


def test_values_are_the_sum_of_splines_at_geocentric_latitudes(model):
    for latitude, longitude, depth in ((19.4, -155.3, 300.0), (-70.0, 170.0, 2000.0), (45.0, 359.0, 3.0)):
        found = model.percent("dlnVs", latitude, longitude, depth)
        geocentric = np.degrees(np.arctan((1 - 1 / 298.257223563) ** 2 * np.tan(np.radians(latitude))))
        assert float(found) == pytest.approx(spline_sum(model, geocentric, longitude, depth), rel=1e-9)
        assert float(geographic_deg(np.float64(geocentric))) == pytest.approx(latitude)
    assert float(model.percent("dlnVs", 45.0, 10.0, 300.0)) != pytest.approx(
        spline_sum(model, 45.0, 10.0, 300.0), rel=1e-4
    )


def test_slices_as_numbers(model, tmp_path):
    path = drawing.save(drawing.slices(model, [100.0, 300.0], centre_deg=150.0), tmp_path / "slices.csv")
    table = rows(path)
    assert len(table) == 2 * 180 * 360
    one = table[180 * 360 + 12345]
    assert one["parameter"] == "dlnVs" and float(one["depth_km"]) == 300.0
    expected = model.percent("dlnVs", float(one["latitude_deg"]), float(one["longitude_deg"]), 300.0)
    assert float(one["percent"]) == pytest.approx(float(expected), rel=1e-7)


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_pictures_of_each_kind(model, tmp_path, ending):
    path = drawing.save(drawing.profile(model, [(19.4, -155.3)]), tmp_path / f"profile.{ending}")
    assert path.read_bytes().startswith({"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[ending])


def test_maps_have_a_symmetric_scale_in_percent(model):
    figure = drawing.slices(model, [100.0, 600.0]).figure
    meshes = [
        item
        for axes in figure.findobj(lambda a: hasattr(a, "get_clim"))
        for item in [axes]
        if item.get_array() is not None
    ]
    limits = {item.get_clim() for item in meshes if item.get_cmap().name == maps.VELOCITY_COLOURS}
    assert len(limits) == 1
    low, high = limits.pop()
    assert low == -high and (2 * high) % 1 == 0
    texts = [item.get_text() for item in figure.findobj(lambda a: hasattr(a, "get_text"))]
    assert "dlnVs at 600 km" in texts and any(text.startswith("dlnVs, %") for text in texts)


def test_a_section_goes_from_end_to_end(model, tmp_path):
    arc = drawing.arc_between((40.0, -125.0), (30.0, 140.0))
    ends = [(float(geographic_deg(arc.latitude_deg[i])), float(arc.longitude_deg[i])) for i in (0, -1)]
    assert ends[0] == pytest.approx((40.0, -125.0)) and ends[1] == pytest.approx((30.0, 140.0))
    points = unit_vectors(arc.latitude_deg, arc.longitude_deg)
    normal = np.cross(points[0], points[-1])
    assert np.abs(points @ normal).max() < 1e-12  # one plane through the Earth's centre
    table = rows(drawing.save(drawing.section(model, arc), tmp_path / "section.csv"))
    one = table[len(table) // 3]
    at = [float(one[name]) for name in ("latitude_deg", "longitude_deg", "depth_km")]
    assert float(one["percent"]) == pytest.approx(float(model.percent("dlnVs", *at)), rel=1e-6)


def test_a_section_through_a_place_has_it_in_the_middle(model):
    arc = drawing.arc_through((-20.0, 170.0), 90.0, 45.0)
    middle = len(arc.angle_deg) // 2
    assert arc.angle_deg[middle] == pytest.approx(0.0, abs=1e-12)
    assert float(geographic_deg(arc.latitude_deg[middle])) == pytest.approx(-20.0)
    assert projection.relative_longitude(arc.longitude_deg[middle + 1] - 170.0, 0.0) > 0  # to the east
    assert len(drawing.section(model, drawing.arc_through((0.0, 0.0), 0.0, 180.0)).figure.axes) == 3


def test_a_profile_has_speeds_beside_the_reference(model, tmp_path):
    table = rows(drawing.save(drawing.profile(model, [(10.0, 20.0), (-30.0, 100.0)]), tmp_path / "profile.csv"))
    assert len(table) == 2 * 201
    for one in table[:: len(table) // 7]:
        change = 1 + float(one["dlnVs_percent"]) / 100
        assert float(one["vs_km_s"]) == pytest.approx(change * float(one["vs_reference_km_s"]), rel=1e-7)
    near_1000_km = min(table, key=lambda one: abs(float(one["depth_km"]) - 1000.0))
    assert 6.2 < float(near_1000_km["vs_reference_km_s"]) < 6.6  # PREM: 6.38 km/s at 1000 km


def test_a_fit_is_the_runs_own_waveform(folder, tmp_path):
    results = read_results(RunFolder(folder))
    table = results.observations.paths
    name = f"{table.events.name[table.event[7]]},{table.stations.name[table.station[7]]}"
    path = drawing.find_path(results, name)
    found = rows(drawing.save(drawing.fit(results, path), tmp_path / "fit.csv"))
    assert drawing.find_path(results, name, "T") == 7
    with pytest.raises(UserError, match="--component Z: not of .*; allowed: T"):
        drawing.find_path(results, name, "Z")
    assert path == 7 and len(found) == table.samples[7]
    part = slice(table.offsets[7], table.offsets[8])
    assert [float(row["observed_m"]) for row in found] == pytest.approx(results.observations.observed[part], rel=1e-8)
    assert [float(row["final_m"]) for row in found] == pytest.approx(results.model["waveforms/final"][part], rel=1e-6)
    assert float(found[1]["time_s"]) - float(found[0]["time_s"]) == pytest.approx(15.0)


def test_iterations_targets_and_other_files_are_other_models(folder, tmp_path):
    content = read_hdf5(folder / "model.h5")
    assert not fields.read_fields(folder, iteration=0).parameters["dlnVs"].any()
    assert np.array_equal(fields.read_fields(folder, target=True).parameters["dlnVs"], content["target"])
    content["models"] = 2.0 * content["models"]
    write_hdf5(tmp_path / "model.h5", content)
    doubled = fields.read_fields(folder, model=tmp_path / "model.h5").parameters["dlnVs"]
    assert np.array_equal(doubled, 2.0 * fields.read_fields(folder).parameters["dlnVs"])


def test_two_parameters_are_drawn_and_written_side_by_side(folder, tmp_path):
    content = read_hdf5(folder / "model.h5")
    content["models"] = np.concatenate([content["models"], -0.5 * content["models"]], axis=1)
    write_hdf5(tmp_path / "model.h5", {**content, "parameters": 2})
    both = fields.read_fields(folder, model=tmp_path / "model.h5")
    assert list(both.parameters) == ["dlnVs", "dlnxi"]
    table = rows(drawing.save(drawing.profile(both, [(0.0, 0.0)]), tmp_path / "profile.csv"))
    assert float(table[50]["dlnxi_percent"]) == pytest.approx(-0.5 * float(table[50]["dlnVs_percent"]), rel=1e-6)
    assert "xi_km_s" not in table[0]
    grid = model_export.export(both, tmp_path / "both.nc", 30.0, 500.0)
    assert list(grid.values) == ["dvs", "vs", "dxi"]
    assert list(model_export.sample(both, 30.0, 500.0, "dlnxi").values) == ["dxi"]
    drawing.save(drawing.slices(both, [100.0]), tmp_path / "both.png")
    drawing.save(drawing.section(both, drawing.arc_through((0.0, 0.0), 90.0)), tmp_path / "section.png")


# ------------------------------------------------------------------------------------------------------- other programs


def test_netcdf_has_what_the_repository_asks_for(model, tmp_path):
    grid = model_export.export(model, tmp_path / "model.nc", 10.0, 200.0)
    with h5netcdf.File(tmp_path / "model.nc", "r") as file:
        assert file["dvs"].dimensions == file["vs"].dimensions == ("depth", "latitude", "longitude")
        assert file["vs"].shape == (len(grid.depth_km), 19, 37)
        units = {name: file[name].attrs["units"] for name in file.variables}
        assert units == {
            "depth": "km", "latitude": "degrees_north", "longitude": "degrees_east", "dvs": "percent", "vs": "km.s-1",
        }  # fmt: skip
        assert file["depth"].attrs["positive"] == "down"
        for name, first, last, unit in (
            ("lat", -90.0, 90.0, "degrees_north"), ("lon", -180.0, 180.0, "degrees_east"), ("vertical", 3.0, 2891.0, "km"),
        ):  # fmt: skip
            assert float(file.attrs[f"geospatial_{name}_min"]) == first
            assert float(file.attrs[f"geospatial_{name}_max"]) == last
            assert file.attrs[f"geospatial_{name}_units"] == unit
        assert {"title", "id", "summary", "keywords", "Conventions", "history"} <= set(file.attrs)
        assert "synthetic" in file.attrs["summary"]
        i, j, k = 5, 12, 3
        at = file["latitude"][j], file["longitude"][k], file["depth"][i]
        percent = float(model.percent("dlnVs", *map(float, at)))
        assert float(file["dvs"][i, j, k]) == pytest.approx(percent, rel=1e-5)
        speed = float(model.reference("Vs", float(at[2]))) * (1 + percent / 100)
        assert float(file["vs"][i, j, k]) == pytest.approx(speed, rel=1e-6)


def test_xarray_reads_the_netcdf_file(model, tmp_path):
    xarray = pytest.importorskip("xarray")
    model_export.export(model, tmp_path / "model.nc", 10.0, 400.0)
    with xarray.open_dataset(tmp_path / "model.nc", engine="h5netcdf") as found:
        assert set(found.data_vars) == {"dvs", "vs"} and set(found.coords) == {"depth", "latitude", "longitude"}
        assert not bool(found.vs.isnull().any())
        value = float(found.dvs.sel(latitude=20, longitude=-160).interp(depth=400))
        assert value == pytest.approx(float(model.percent("dlnVs", 20.0, -160.0, 400.0)), abs=1e-4)


def appended(path):
    """A file of VTK's XML with appended raw data, read without the code that wrote it."""
    content = path.read_bytes()
    head, _, tail = content.partition(b'<AppendedData encoding="raw">\n_')
    root = ElementTree.fromstring(head + b"</VTKFile>")
    kinds = {"Float32": "<f4", "Int64": "<i8", "UInt8": "u1"}
    found = {}
    for item in root.iter("DataArray"):
        start = int(item.get("offset"))
        count = int.from_bytes(tail[start : start + 8], "little")
        found[item.get("Name")] = np.frombuffer(tail[start + 8 : start + 8 + count], kinds[item.get("type")])
    return root, found


def test_vts_is_the_same_grid_in_a_shell(model, tmp_path):
    grid = model_export.export(model, tmp_path / "model.vts", 15.0, 500.0)
    root, found = appended(tmp_path / "model.vts")
    layers, latitudes, longitudes = grid.shape
    assert root.find("StructuredGrid").get("WholeExtent") == f"0 {longitudes - 1} 0 {latitudes - 1} 0 {layers - 1}"
    points = found["Points"].reshape(layers, latitudes, longitudes, 3).astype(float)
    radius = np.linalg.norm(points, axis=-1)
    assert np.allclose(radius, 6371.0 - grid.depth_km[:, None, None], rtol=1e-6)
    assert points[0, latitudes // 2, longitudes // 2] == pytest.approx((6368.0, 0.0, 0.0), abs=1e-2)  # 0 N 0 E is x
    assert points[0, -1, 5] == pytest.approx((0.0, 0.0, 6368.0), abs=1e-2)
    assert np.array_equal(found["dvs"], grid.values["dvs"].ravel())


def test_vtu_is_a_closed_shell_of_hexahedra_that_meshio_reads(model, tmp_path):
    meshio = pytest.importorskip("meshio")
    step = 5.0
    grid = model_export.export(model, tmp_path / "model.vtu", step, 400.0)
    mesh = meshio.read(tmp_path / "model.vtu")
    layers, latitudes, longitudes = grid.shape
    assert len(mesh.points) == layers * ((latitudes - 2) * (longitudes - 1) + 2)
    cells, points = mesh.cells_dict["hexahedron"], mesh.points.astype(float)
    assert len(cells) == (layers - 1) * (latitudes - 1) * (longitudes - 1)
    assert np.array_equal(np.unique(cells), np.arange(len(points)))
    # each hexahedron as five tetrahedra of VTK's corner order: positive, and together the shell
    volume = np.zeros(len(cells))
    for a, b, c, d in ((0, 1, 3, 4), (1, 2, 3, 6), (1, 4, 5, 6), (3, 4, 6, 7), (1, 3, 4, 6)):
        p = points[cells]
        volume += np.einsum(
            "ij,ij->i", np.cross(p[:, b] - p[:, a], p[:, c] - p[:, a]), p[:, d] - p[:, a]
        ) / 6.0  # fmt: skip
    assert volume.min() > 0.0
    assert volume.sum() == pytest.approx(4 / 3 * np.pi * (6368.0**3 - 3480.0**3), rel=0.01)
    assert mesh.point_data["vs"].min() > 2.0


def test_vtk_writers_keep_double_precision_and_names(tmp_path):
    points = np.arange(24.0).reshape(8, 3)
    vtk_files.write_structured_grid(tmp_path / "g.vts", (2, 2, 2), points, {"a & b": np.arange(8.0)})
    content = (tmp_path / "g.vts").read_bytes()
    assert b'type="Float64" Name="a &amp; b"' in content and np.arange(8.0).tobytes() in content


def test_csv_has_a_row_for_each_point(model, tmp_path):
    grid = model_export.export(model, tmp_path / "model.csv", 30.0, 1000.0)
    table = rows(tmp_path / "model.csv")
    assert len(table) == np.prod(grid.shape)
    assert list(table[0]) == ["depth_km", "latitude_deg", "longitude_deg", "dvs_percent", "vs_km_s"]
    assert float(table[-1]["depth_km"]) == 2891.0 and float(table[-1]["latitude_deg"]) == 90.0


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["slice", "--depth", "1,2"], r"--depth 1: outside the model; allowed: 3 to 2891 km"),
        (["slice", "--depth", "x"], r"--depth 'x'; allowed: depths in km"),
        (["slice", "--depth", ",".join(["100"] * 25)], r"25 depths; allowed: at most 24"),
        (["slice", "--parameter", "dlnVp"], r"--parameter dlnVp: not in this model; allowed: dlnVs"),
        (["slice", "--iteration", "9"], r"--iteration 9: not in .*model\.h5; allowed: 0 to 1"),
        (["slice", "--iteration", "1", "--target"], r"together; allowed: one of them"),
        (["slice", "--model", "none.h5"], r"none\.h5: no such file"),
        (["slice", "-o", "OUT/maps.txt"], r"ends in '\.txt'; allowed: \.png, \.pdf, \.svg or \.csv"),
        (["slice", "-o", "OUT/none/maps.png"], r"--output .*: no such folder"),
        (["section"], r"where is the section\? allowed: --from with --to, or --through with --azimuth"),
        (["section", "--from", "1,2"], r"where is the section\?"),
        (["section", "--from", "1,2", "--to", "1,2"], r"0 degrees apart; allowed: 1 to 179\.9"),
        (["section", "--from", "91,2", "--to", "1,2"], r"--from '91,2'; allowed: latitude from -90 to 90"),
        (["section", "--through", "1,2", "--azimuth", "400"], r"--azimuth 400; allowed"),
        (["section", "--through", "1,2", "--azimuth", "0", "--half-angle", "0"], r"--half-angle 0; allowed: 1 to 180"),
        (["profile", "--at", "1"], r"--at '1'; allowed: LAT,LON"),
        (["fit", "--path", "one"], r"--path 'one'; allowed: EVENT,STATION"),
        (["fit", "--path", "one,two"], r"no path of event 'one'; allowed: C2018"),
        (["export", "-o", "OUT/model.xyz"], r"ends in '\.xyz'; allowed: \.nc, \.vts, \.vtu, \.csv"),
        (["export", "--step", "7"], r"--step 7; allowed: degrees from 0\.05 to 30 that divide 180"),
        (["export", "--depth-step", "0"], r"--depth-step 0; allowed: 1 to 1444 km"),
        (["export", "--step", "0.05", "--depth-step", "1"], r"points; allowed: 50000000"),
    ],
)  # fmt: skip
def test_errors_say_what_is_allowed(folder, tmp_path, words, message):
    words = [word.replace("OUT", str(tmp_path)) for word in words]
    with pytest.raises(UserError, match=message):
        cli.invoke(["tomography", words[0], str(folder), *words[1:]])


def test_a_fit_of_events_and_stations_without_a_path(folder):
    results = read_results(RunFolder(folder))
    table = results.observations.paths
    event = table.events.name[table.event[0]]
    without = next(
        table.stations.name[row]
        for row in table.station_rows
        if row not in table.station[table.event == table.event[0]]
    )
    with pytest.raises(UserError, match="the run has no such path; allowed for this event"):
        drawing.find_path(results, f"{event},{without}")
    unfinished = dataclasses.replace(results, record=dataclasses.replace(results.record, finished=False))
    with pytest.raises(UserError, match="the run has no waveforms"):
        drawing.fit(unfinished, 0)


def test_figures_are_names_of_the_package(folder):
    from craton import tomography
    from matplotlib.figure import Figure

    assert isinstance(tomography.slices(tomography.read_fields(folder), [300.0]).figure, Figure)
    assert isinstance(tomography.fit(tomography.read_results(folder), 0).figure, Figure)


def test_damaged_models_are_the_users_fault(folder, tmp_path):
    with pytest.raises(UserError, match=r"record\.json"):
        fields.read_fields(tmp_path)
    content = read_hdf5(folder / "model.h5")
    write_hdf5(tmp_path / "a.h5", {**content, "parameters": 2})
    with pytest.raises(UserError, match=r"models has shape \(2, 972\); allowed: \(models, 1944\) for dlnVs, dlnxi"):
        fields.read_fields(folder, model=tmp_path / "a.h5")
    del content["lateral_level"]
    write_hdf5(tmp_path / "b.h5", content)
    with pytest.raises(UserError, match="'lateral_level' is missing"):
        fields.read_fields(folder, model=tmp_path / "b.h5")
    del content["target"]
    with pytest.raises(UserError, match=r"--target: c\.h5 holds none"):
        fields.pick(Path("c.h5"), content, None, True)


def test_the_commands_write_beside_the_run_unless_told_otherwise(folder, capsys):
    assert cli.invoke(["tomography", "profile", str(folder), "--at", "0,0"]) == 0
    assert cli.invoke(["tomography", "export", str(folder), "--step", "30", "--depth-step", "500"]) == 0
    printed = capsys.readouterr().out.split()
    assert printed == [str(folder / "profile.png"), str(folder / "model.nc")]
    with h5netcdf.File(folder / "model.nc", "r") as file:
        assert re.search(r"craton .*: craton", str(file.attrs["history"]))
