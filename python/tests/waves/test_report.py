"""Pictures of a wave run are figures of what its files hold; report.html shows them and what was computed."""

import io
from dataclasses import replace

import numpy as np
import pytest
from html_pages import checked
from PIL import Image

MPI = pytest.importorskip("mpi4py.MPI")

from craton.errors import UserError
from craton.pages.page import Picture
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import read_seismograms, read_snapshots
from craton.waves import pictures
from craton.waves.report import write_report
from craton.waves.start import run
from wave_config import write_config


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("waves")
    config = load_config(write_config(place), directory=place / "run")
    run(config, MPI.COMM_SELF, report=False)
    return WavesFolder(place / "run")


def test_a_record_section_has_a_panel_for_each_component(folder):
    found, record = read_seismograms(folder), folder.read_record()
    figure = pictures.record_section_figure(found, record)
    panels = figure.axes[:3]
    assert [axes.get_title(loc="left").split(":")[0] for axes in panels] == ["up", "north", "east"]
    for axes, (letter, values) in zip(panels, found.components().items(), strict=True):
        lines = [line.get_ydata() for line in axes.lines]
        assert len(lines) == 2
        scale = [np.ptp(line) / np.ptp(trace) for line, trace in zip(lines, values, strict=True)]
        assert scale[0] == pytest.approx(scale[1], rel=1e-4), letter  # NEAR is nearer: the order is that of the file
    assert record.sources_m[0] == [1250.0, 1430.0, 800.0]
    distance = 1e-3 * np.hypot(found.position_m[:, 0] - 1250.0, found.position_m[:, 1] - 1430.0)
    assert panels[0].get_ylabel() == "distance from the source, km"
    np.testing.assert_allclose([line.get_ydata()[0] for line in panels[0].lines], distance, atol=1e-3)


def section_of(folder, position_m, degrees=None):
    """The record section of stations at these places, all of which move as the first station of the run."""
    found, record = read_seismograms(folder), folder.read_record()
    positions = np.asarray(position_m, float)
    velocity = np.repeat(found.velocity[:1], len(positions), axis=0)
    names = [f"S{n}" for n in range(len(positions))]
    placed = None if degrees is None else np.asarray(degrees, float)
    moved = replace(
        found, names=names, position_m=positions, velocity=velocity, longitude_latitude_deg=placed, azimuth_deg=30.0
    )
    panel = pictures.record_section_figure(moved, record).axes[0]
    return panel.get_ylabel(), np.array([line.get_ydata()[0] for line in panel.lines])


def test_crowded_stations_stay_at_their_distances(folder):
    """Two of three are nearly at the same distance: they were once drawn evenly spaced."""
    words, at = section_of(folder, [[1250, 2430, 0], [1250, 2440, 0], [1250, 2730, 0]])
    assert words == "distance from the source, km"
    np.testing.assert_allclose(at, [1.0, 1.01, 1.3], atol=1e-3)


def test_a_ring_of_stations_lies_by_azimuth(folder):
    """The grid's x points to 30 degrees."""
    angles = np.radians([-30.0, 0.0, 60.0])
    ring = [[1250 + 900 * np.cos(a), 1430 + 900 * np.sin(a), 0] for a in angles]
    words, at = section_of(folder, ring)
    assert words == "azimuth from the source, degrees; all at 0.9 km"
    np.testing.assert_allclose(at, [0.0, 30.0, 90.0], atol=1e-2)


def test_stations_in_a_well_lie_by_depth(folder):
    words, at = section_of(folder, [[2250, 1430, 0], [2250, 1430, 200], [2250, 1430, 500]])
    assert words == "depth, km; all at 1 km from the source"
    np.testing.assert_allclose(at, [0.0, 0.2, 0.5], atol=1e-3)


def test_far_stations_are_at_degrees(folder):
    far = [[1250, 1430 + 111195.0 * degrees, 0] for degrees in (4, 12)]
    words, at = section_of(folder, far, [[-118, 34], [-110, 34]])
    assert words == "distance from the source, degrees"
    np.testing.assert_allclose(at, [4.0, 12.0], atol=1e-3)


def test_snapshots_lie_where_their_cells_are(folder):
    """Every third cell of 30 x 28 x 24, 100 m wide: 10 along x and along y."""
    shots = read_snapshots(folder.snapshots)
    assert shots.stride == (3, 3, 3) and shots.extent_km == pytest.approx((0.0, 3.0, 0.0, 3.0))
    figure = pictures.snapshots_figure(shots, folder.read_record(), read_seismograms(folder))
    images = [image for axes in figure.axes for image in axes.images]
    assert [list(image.get_extent()) for image in images] == [pytest.approx([0.6, 2.1, 0.6, 2.4])] * 2
    np.testing.assert_array_equal(images[0].get_array(), shots.fields["vx"][0, 0, 2:7, 2:8].T)


def test_snapshots_have_one_scale_for_the_run(folder):
    figure = pictures.snapshots_figure(read_snapshots(folder.snapshots), folder.read_record())
    images = [image for axes in figure.axes for image in axes.images]
    assert len({image.get_clim() for image in images}) == 1 and len(images) == 2
    bars = [axes for axes in figure.axes if not axes.images and axes.axison]
    assert [axes.get_ylabel() for axes in bars] == ["m/s"]


def test_pictures_end_where_absorbing_layers_begin(folder, monkeypatch):
    """5 cells of 28 and 30 on either side. What moves only in the layers is black."""
    shots, record = read_snapshots(folder.surface), folder.read_record()
    quiet = {name: values.copy() for name, values in shots.fields.items()}
    for values in quiet.values():
        values[:, :, 5:23, 5:25] = 0.0
    seen = []
    limit = pictures._limit
    monkeypatch.setattr(pictures, "_limit", lambda values: seen.append(values) or limit(values))
    pictures.movie(replace(shots, fields=quiet), record)
    assert [values.shape for values in seen] == [(5, 18, 20)] and not seen[0].any()
    record.config["boundary"]["absorbing"] = "none"
    pictures.movie(shots, record)
    assert seen[-1].shape == (5, 28, 30)


def test_figures_are_names_of_the_package(folder):
    from craton import waves
    from matplotlib.figure import Figure

    record = waves.WavesFolder(folder.path).read_record()
    assert isinstance(waves.record_section_figure(waves.read_seismograms(folder), record), Figure)
    assert {"map_figure", "movie", "record_section_figure", "snapshots_figure"} <= set(dir(waves))


def test_a_movie_has_a_frame_for_each_snapshot_of_the_surface(folder):
    shots = read_snapshots(folder.surface)
    with Image.open(io.BytesIO(pictures.movie(shots, folder.read_record()))) as found:
        assert found.format == "GIF" and found.n_frames == len(shots.time_s) == 5


def test_a_page_has_the_frames_of_the_movie_as_webp(folder, monkeypatch):
    """As many, as long, hardly another colour; the GIF where Pillow has no WebP, or where it is smaller."""
    frames = pictures.movie_frames(read_snapshots(folder.surface), folder.read_record())
    gif = pictures.gif_of(frames)
    page = pictures.smallest_movie(frames, gif)
    with Image.open(io.BytesIO(page)) as found:
        assert (found.format, found.n_frames, found.size) == ("WEBP", 5, frames[0].size) and len(page) < 0.6 * len(gif)
        for n, frame in enumerate(frames):
            found.seek(n)
            differences = np.asarray(found.convert("RGB"), float) - np.asarray(frame.convert("RGB"), float)
            assert np.sqrt(np.mean(differences**2)) < 6.0 and found.info["duration"] == pictures.FRAME_MS
    assert Picture(page, "c", "s").width == frames[0].width
    assert pictures.smallest_movie(frames, b"GIF8") == b"GIF8"
    monkeypatch.setattr(pictures.features, "check", lambda _: False)
    assert pictures.smallest_movie(frames, gif) == gif


def test_the_report_shows_what_the_run_has_left(folder):
    assert write_report(folder.path) == folder.report
    page = folder.report.read_text(encoding="utf-8")
    read = checked(page)
    assert len(read.pictures) == 4
    x, y, z = read_seismograms(folder).velocity[1]
    peaks = np.sqrt(x**2 + y**2).max(), np.abs(z).max()
    peaks_of = np.sqrt((read_seismograms(folder).velocity[:, :2] ** 2).sum(axis=1)).max(axis=1)
    assert {file.name for file in folder.pictures.iterdir()} == {"seismograms.png", "snapshots.png", "movie.gif"}
    for text in (
        "20,160 cells: 30 × 28 × 24, 100 m wide",
        "vs from 2000, vp to 6000 m/s",
        "a source lasts to 1.02 s, longer than the run",
        "1 1.25 1.43 0.8 moment rate Mw 4 gaussian",
        "2 1.82 1.61 0 force z 1e+12 N cosine",
        f"FAR 2.21 1.95 0.73 {peaks[0]:.3g} {peaks[1]:.3g}",
        "seismograms.h5 velocity at the stations xarray, h5py; craton waves export",
        "snapshots.xdmf the same ParaView, VisIt",
        f"{peaks_of.max():.3g} m/s largest horizontal velocity of all stations: NEAR",
        "How to go on",
    ):
        assert text in read.text, text
    assert str(folder.path.parent) not in page
    movie = read_snapshots(folder.surface)
    speed = np.sqrt(sum(np.square(values[:, 0]) for values in movie.fields.values()))
    seen = [picture["alt"] for picture in read.pictures]
    assert seen[0] == "A map of 2.8 by 3 km with 2 stars and 2 triangles."
    assert f"of 2 stations; at most {peaks_of.max():.3g} m/s" in seen[1]
    first, last = (f"{at:.3g} s" for at in read_snapshots(folder.snapshots).time_s[[0, -1]])
    assert seen[2].startswith(f"2 maps of the surface from {first} to {last}: ")
    assert f"at most {speed.max():.2g} m/s, at {movie.time_s[speed.max(axis=(1, 2)).argmax()]:.3g} s" in seen[3]


def test_a_report_shows_only_what_is_there(folder):
    aside = folder.path / "aside.h5"
    folder.surface.rename(aside)
    try:
        read = checked(write_report(folder.path).read_text(encoding="utf-8"))
    finally:
        aside.rename(folder.surface)
    assert len(read.pictures) == 3 and "Movie" not in read.text


def test_no_run_is_the_users_fault(tmp_path):
    with pytest.raises(UserError, match=r"record\.json"):
        write_report(tmp_path)
