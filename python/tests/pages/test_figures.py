"""A page takes the smaller file of a figure: lines and letters, or pixels with a palette; either shows what the figure shows."""

import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from craton.pages import maps
from craton.pages.figures import new_figure, png, smallest
from craton.pages.page import Picture
from craton.pages.palettes import with_palette
from craton.pages.style import drawing
from craton.pages.svg import _path, svg
from html_pages import only_drawn
from PIL import Image

MOST_WRONG = 16
"""Of 255: how far a colour of a palette may be from that of the figure."""


@drawing
def globes(count):
    """World maps of one size, with a smooth field that has small extremes of both signs."""
    figure = new_figure(3.0 * count, 2.2)
    latitude, longitude = np.meshgrid(np.arange(-89.0, 90.0, 2.0), np.arange(-179.0, 180.0, 2.0), indexing="ij")
    field = np.sin(np.radians(3 * longitude)) * np.cos(np.radians(latitude))
    field -= 4 * np.exp(-((latitude - 20) ** 2 + (longitude + 60) ** 2) / 60)
    for axes in np.ravel(figure.subplots(1, count)):
        maps.mesh_on_map(axes, field, 2.0, maps.VELOCITY_COLOURS, -4.0, 4.0)
        maps.draw_globe(axes, 180.0)
        axes.set_title("a map")
    return figure


@drawing
def noise():
    figure = new_figure(3.0, 3.0)
    axes = figure.subplots()
    axes.plot(np.random.default_rng(1).normal(size=20_000), linewidth=0.3)
    return figure


@drawing
def few_lines():
    figure = new_figure(9.0, 6.0)
    for axes in np.ravel(figure.subplots(2, 2)):
        axes.plot([0.0, 1.0], [0.0, 1.0])
    return figure


def pixels(content):
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGBA")).astype(int)


def test_lines_are_kept_as_lines_and_noise_as_pixels():
    lines, dense = smallest(few_lines()), smallest(noise())
    assert lines.startswith(b"<svg") and dense.startswith(b"\x89PNG")
    assert len(lines) <= len(with_palette(png(few_lines()))) * 4 / 3
    only_drawn(lines.decode())


def test_a_figure_gives_one_file():
    assert smallest(globes(2)) == smallest(globes(2))


def test_coastlines_of_many_maps_are_there_once():
    """Twelve maps' coastlines would be as long as all else together."""
    lengths = []
    for count in (1, 3):
        text = svg(globes(count), 10**6, 50.0)
        only_drawn(text)
        paths = sorted((len(one) for one in re.findall(r' d="([^"]*)"', text)), reverse=True)
        lengths.append(paths[:3])
        assert text.count("<use") >= 3 * count
        assert paths[3] < 0.5 * paths[2]
    assert len(lengths[0]) == len(lengths[1]) == 3


def test_a_page_knows_how_wide_lines_are():
    picture = Picture(smallest(few_lines()), "c", "s")
    assert picture.width == 9 * 96 and picture.source.startswith("data:image/svg+xml,%3Csvg")
    assert not set("\"'<>&#\n") & set(picture.source)


def test_a_file_that_would_be_too_long_is_given_up():
    assert svg(few_lines(), 1000, 50.0) == "" and len(svg(few_lines(), 10**6, 50.0)) > 1000


@pytest.mark.parametrize("draw", [lambda: globes(1), few_lines, noise])
def test_no_colour_is_far_from_its_own(draw):
    """A plume of a few pixels has the colour of its value, not of what is beside it."""
    whole = png(draw())
    few = with_palette(whole)
    assert len(few) < 0.6 * len(whole)
    assert np.abs(pixels(whole) - pixels(few)).max() <= MOST_WRONG


def test_few_colours_are_kept_as_they_are():
    values = np.random.default_rng(2).integers(0, 255, (40, 4))
    values[:, 3] = 255
    values[0] = 0
    picture = values[np.random.default_rng(3).integers(0, 40, (30, 50))].astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    np.testing.assert_array_equal(pixels(with_palette(buffer.getvalue(), 64)), picture)


def walked(text):
    """Corners of a path of steps."""
    at, corners = np.zeros(2), []
    for letter, rest in re.findall(r"([mlz])([^mlz]*)", text):
        numbers = [float(one) for one in re.findall(r"-?\d*\.?\d+", rest)]
        for step in np.reshape(numbers, (-1, 2)) if letter != "z" else ():
            at = at + step
            corners.append(at)
    return np.array(corners)


def test_steps_lead_where_coordinates_were():
    """Errors of rounding do not add up over a thousand steps."""
    corners = np.cumsum(np.random.default_rng(4).normal(size=(1000, 2)), axis=0)
    text = "M " + " L ".join(f"{x:f} {y:f}" for x, y in corners)
    short = _path(text, exact=False)
    assert np.abs(walked(short) - corners).max() <= 0.0501
    assert len(short) < 0.5 * len(text)


def test_a_letter_keeps_its_outline():
    """Letters of matplotlib are of whole numbers, with curves and several closed lines."""
    figure = new_figure(2.0, 1.0)
    figure.text(0.1, 0.5, "8%")
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg")
    found = [one.get("d", "") for one in ElementTree.fromstring(drawn.getvalue()).iter() if "transform" in one.attrib]
    letters = [one for one in found if "Q" in one or "C" in one]
    assert letters
    for letter in letters:
        short = _path(letter, exact=True)
        assert short.count("z") == letter.count("z") and len(short) < len(letter)
