"""Draws docs/images/applications.png, the README's picture: a panel per application.

    craton waves run examples/waves/layer.toml
    craton multigrid run examples/multigrid/charges.toml
    python tools/make_applications_picture.py layer-run charges-run

The panels of tomography, hazard, regional and scf are cut from docs/images/{demo,hazard_basin,regional_basin,graphene_lumo}.png.
"""

import io
import pathlib
import sys

import h5py
import numpy as np
import PIL.Image
from craton.pages.figures import new_figure, png
from craton.pages.style import styled
from craton.runs.files import replaced

IMAGES = pathlib.Path(__file__).resolve().parent.parent / "docs/images"
TARGET = IMAGES / "applications.png"


def part_of(name, left, upper, right, lower):
    """A rectangle of a picture, given in fractions of its width and height."""
    image = PIL.Image.open(IMAGES / name).convert("RGB")
    width, height = image.size
    return np.asarray(image.crop((int(left * width), int(upper * height), int(right * width), int(lower * height))))


def surface(folder):
    """Vertical velocity at the surface, a third of the way through the run."""
    with h5py.File(folder / "surface.h5") as file:
        return np.asarray(file["vz"][len(file["vz"]) // 3, 0])


def potential(folder):
    """The middle plane of the solution."""
    with h5py.File(folder / "solution.h5") as file:
        return np.asarray(file["u"][:, :, file["u"].shape[2] // 2])


def picture(waves, multigrid):
    """The six panels in a row."""
    figure = new_figure(16.4, 3.1)
    axes = figure.subplots(1, 6, width_ratios=(1.7, 1, 1, 1, 1, 1))
    fields = {"waves": surface(waves), "multigrid": potential(multigrid)}
    pictures = {
        "tomography": part_of("demo.png", 0.52, 0.0372, 1.0, 0.305),
        "hazard": part_of("hazard_basin.png", 0.07, 0.14, 0.276, 0.375),
        "regional": part_of("regional_basin.png", 0.0555, 0.545, 0.247, 0.898),
        "scf": part_of("graphene_lumo.png", 0.0, 0.1, 1.0, 1.0),
    }
    names = ("tomography", "waves", "hazard", "regional", "multigrid", "scf")
    for axis, name in zip(axes, names, strict=True):
        if name in fields:
            field = fields[name]
            limit = np.percentile(np.abs(field), 99.5)
            axis.imshow(field.T, cmap="RdBu_r", vmin=-limit, vmax=limit, origin="lower", interpolation="bilinear")
        else:
            axis.imshow(pictures[name], interpolation="lanczos")
        axis.set_axis_off()
    figure.draw_without_rendering()  # the layout is known from here on
    for axis, name in zip(axes, names, strict=True):
        box = axis.get_position()
        figure.text(box.x0 + box.width / 2, 0.93, name, fontsize=11, fontweight="bold", ha="center")
    return figure


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with styled():
        drawn = png(picture(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
    image = PIL.Image.open(io.BytesIO(drawn)).convert("P", palette=PIL.Image.Palette.ADAPTIVE, colors=200)
    with replaced(TARGET) as aside:
        image.save(aside, format="PNG", optimize=True)
    print(TARGET)
