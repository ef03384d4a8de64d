"""What objects say of themselves: no addresses, and no HTML of a user's making."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import craton
import numpy as np
import pytest
import toy_run
from craton import _craton
from craton.described import Described, facts_html
from craton.errors import UserError
from craton.multigrid.config import load_config
from craton.pages.figures import Figures, new_figure
from craton.runs.record import Record, facts_of
from mpi4py import MPI

PACKAGES = (
    "craton", "craton.linalg", "craton.tomography", "craton.waves", "craton.hazard", "craton.multigrid", "craton.scf",
    "craton.tasks",
)  # fmt: skip


@pytest.mark.parametrize("package", PACKAGES)
def test_public_classes_do_not_show_addresses(package):
    module = importlib.import_module(package)
    classes = {name: one for name in module.__all__ if inspect.isclass(one := getattr(module, name))}
    kinds = {name: one for name, one in classes.items() if not getattr(one, "_is_protocol", False)}
    assert {name for name, one in kinds.items() if one.__repr__ is object.__repr__} == set()


def test_objects_of_the_extension_say_what_they_are():
    earth = _craton.EarthModel.by_name("prem")
    basis = _craton.ModelBasis(1, np.linspace(earth.cmb_radius_m, earth.solid_surface_radius_m, 4))
    modes = _craton.ModeCatalogue.solve(earth, 400.0)
    forward = _craton.ForwardProblem(modes, basis, (1000.0, 800.0, 500.0, 400.0))
    event, stations = np.zeros(1), np.array([30.0, 60.0])
    first_s, index = np.array([600.0, 900.0]), np.array([0, 1])
    paths = _craton.PathSet(
        forward, event, event, event + 2e4, np.ones((1, 6)), event + 5, 0 * stations, stations,
        0 * index, index, first_s, 10.0, np.array([40, 50]),
    )  # fmt: skip
    world = craton.World(MPI.COMM_SELF)
    things = (earth, basis, modes, forward, paths, paths[1], craton.NeighbourSync(world))
    assert [repr(each) for each in things] == [
        "<EarthModel: prem, radius 6371 km, core 3480 km>",
        "<ModelBasis: 48 coefficients of 1 parameter, dlnVs on 12 lateral x 4 radial knots>",
        "<ModeCatalogue: 30 modes, periods 402.4 to 2637.4 s, l up to 17>",
        "<ForwardProblem: theory pava, 30 toroidal modes, 48 coefficients>",
        "<PathSet: 2 paths, 90 samples>",
        "<Path: 50 samples from 900 s, distance 60.0 degrees, azimuth 90.0 degrees>",
        "<NeighbourSync: signals between ranks that name each other>",
    ]


@pytest.mark.parametrize("package", PACKAGES[2:7])
def test_applications_have_the_same_names(package):
    module = importlib.import_module(package)
    assert all(callable(getattr(module, name)) for name in ("load_config", "run", "resume", "figures", "write_report"))


def test_a_line_and_a_table():
    class Thing(Described):
        def _facts(self):
            return {"cells": "2 x 3", "name": "<b>&</b>"}

    assert repr(Thing()) == "<Thing: cells 2 x 3, name <b>&</b>>"
    html = Thing()._repr_html_()
    assert html == facts_html("Thing", Thing()._facts())
    assert "<caption>Thing</caption>" in html and "&lt;b&gt;&amp;&lt;/b&gt;" in html and "<b>" not in html


def record(title: str) -> Record:
    return Record(**facts_of("multigrid", Path(f"{title}.toml"), {}, 2, 1, 3))


def test_a_record_is_short_and_its_table_is_escaped():
    found = record("<img src=x>")
    assert len(repr(found)) < 200 and "not finished" in repr(found) and "2 ranks of 3 threads" in repr(found)
    assert "<img" not in found._repr_html_() and "&lt;img" in found._repr_html_()


def test_a_record_without_a_folder_draws_nothing():
    for draw in (record("a").figures, record("a").write_report):
        with pytest.raises(UserError, match=r"its folder is not known; allowed: the record that run\(\) returns"):
            draw()


def test_a_folder_gives_its_record_its_place(tmp_path):
    toy_run.run(MPI.COMM_SELF, tmp_path / "run")
    folder = toy_run.ToyFolder(tmp_path / "run")
    found = folder.read_record()
    assert found.directory == tmp_path / "run" and "directory" not in found.to_dict()
    assert str(tmp_path / "run") in repr(folder) and "record.json" in repr(folder) and " at 0x" not in repr(folder)


def test_a_configuration_shows_its_settings(tmp_path):
    path = tmp_path / "<i>.toml"
    path.write_text("[run]\nthreads = 2\n")
    config = load_config(path)
    assert repr(config).startswith("<Config of <i>.toml: [problem], ") and len(repr(config)) < 200
    html = config._repr_html_()
    assert "threads = 2" in html and "<i>" not in html and "&lt;i&gt;.toml" in html


def test_figures_show_themselves():
    found = Figures({"<b>one": new_figure(2.0, 1.0)})
    assert repr(found) == "<Figures: <b>one>"
    assert found._repr_html_().count("<img") == 1 and "<b>" not in found._repr_html_()
    png, size = found["<b>one"]._repr_png_()
    assert png.startswith(b"\x89PNG") and size == {"width": 160}
