"""Draws docs/images/demo.png, the README's picture, from a finished run of the demo.

To draw it: python tools/make_demo_picture.py demo-run
"""

import io
import pathlib
import sys

import numpy as np
import PIL.Image
from craton.pages import maps, projection
from craton.pages.figures import new_figure, png
from craton.pages.style import styled
from craton.runs.files import replaced
from craton.tomography.folder import RunFolder
from craton.tomography.report import model as report
from craton.tomography.results import read_results

TARGET = pathlib.Path(__file__).resolve().parent.parent / "docs/images/demo.png"
DEPTHS_KM = (300.0, 1200.0)
COLOURS = 200


def picture(results):
    """Input on the left, output on the right: two depths and the section through the plume."""
    limit, plume = report.sampled_limit(results), results.plume
    half = report.SECTION_HALF_ANGLE_DEG
    angle = np.linspace(-half, half, 181)
    arc = projection.great_circle(plume["latitude"], plume["longitude"], report.section_azimuth(plume), angle)
    figure = new_figure(10.0, 8.4)
    axes = figure.subplots(len(DEPTHS_KM) + 1, 2)
    for column, (name, model) in enumerate(results.shown):
        for row, depth in enumerate(DEPTHS_KM):
            place = axes[row, column]
            mesh = maps.field_on_map(place, results.basis, model, depth, results.centre_deg, limit)
            maps.draw_globe(place, results.centre_deg)
            maps.draw_arc(place, *arc, results.centre_deg, colors=maps.INK, linewidths=1.2)
            place.set_title(f"{name}, {depth:.0f} km", loc="left", pad=2.0)
        maps.field_on_section(axes[-1, column], results.basis, model, arc, angle, limit)
        axes[-1, column].set_title(f"{name}, through {plume['name']}", loc="left", pad=2.0)
    maps.velocity_bar(figure, mesh, axes)
    return figure


def main():
    results = read_results(RunFolder(sys.argv[1]))
    with styled():
        drawn = PIL.Image.open(io.BytesIO(png(picture(results)))).convert("RGB")
    with replaced(TARGET) as aside:
        drawn.quantize(COLOURS, dither=PIL.Image.Dither.NONE).save(aside, format="png", optimize=True)
    print(TARGET)


if __name__ == "__main__":
    main()
