"""Sites of a map: a grid of them in the configuration, and what a run and its report make of it."""

from __future__ import annotations

import numpy as np
import pytest
from craton.errors import UserError
from craton.hazard.check import examine
from craton.hazard.config import load_config
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.graph import tasks_of
from craton.hazard.pipeline.work import Work
from craton.hazard.report import pictures
from hazard_config import write_config
from hazard_pipeline import run_here
from html_pages import checked

GRID = (
    '[[site]]\nname = "A"',
    '[site_grid]\nfrom_m = [6000.0, 8000.0]\nto_m = [24000.0, 18000.0]\ncounts = [2, 3]\n\n[[site]]\nname = "A"',
)


def test_sites_of_a_grid_come_after_the_others(tmp_path):
    work = Work.of(load_config(write_config(tmp_path, GRID)))
    names = [site.name for site in work.config.all_sites]
    assert names == ["A", "B", "map-0-0", "map-0-1", "map-0-2", "map-1-0", "map-1-1", "map-1-2"]
    assert work.position_m[2:5] == ((6000.0, 8000.0, 0.0), (6000.0, 13000.0, 0.0), (6000.0, 18000.0, 0.0))
    assert work.position_m[-1] == (24000.0, 18000.0, 0.0)
    assert examine(work.config).wave_runs == 16
    # written out and read again it is the same
    path = tmp_path / "again.toml"
    path.write_text(work.config.to_toml())
    assert load_config(path).all_sites == work.config.all_sites
    drawn = [task.group for task in tasks_of(work, HazardFolder(tmp_path / "run")) if task.kind == "pictures"]
    assert drawn == ["A", "B", "all sites"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("to_m = [24000.0, 18000.0]", "to_m = [24000.0, 8000.0]"),
            "[site_grid] to_m = [24000.0, 8000.0]; allowed: above",
        ),
        (
            ("counts = [2, 3]", "counts = [2, 1]"),
            "[site_grid] counts = [2, 1]; allowed: a list of 2 whole numbers from 2",
        ),
        (("counts = [2, 3]\n", ""), "[site_grid] counts"),
        (
            ("from_m = [6000.0, 8000.0]", "from_m = [1000.0, 8000.0]"),
            "[[site]] map-0-0 at (1000, 8000, 0) m; allowed: x in",
        ),
        (('name = "B"', 'name = "map-1-1"'), '[[site]] 2 name = "map-1-1" again'),
    ],
)
def test_a_grid_that_cannot_be(tmp_path, change, words):
    with pytest.raises(UserError) as caught:
        Work.of(load_config(write_config(tmp_path, GRID, change)))
    assert words in str(caught.value) and "\n" not in str(caught.value) and "allowed" in str(caught.value)


def test_cells_of_two_sizes_are_refused(tmp_path):
    path = write_config(tmp_path, ("[grid]\n", "[grid]\ncoarser_below_m = 12000.0\n"))
    with pytest.raises(UserError, match=r"\[grid\] coarser_below_m.*allowed"):
        load_config(path)


def test_no_site_at_all(tmp_path):
    text = write_config(tmp_path).read_text()
    path = tmp_path / "none.toml"
    path.write_text(text[: text.index("[[site]]")] + text[text.index("[[fault]]") :])
    with pytest.raises(UserError, match=r"no \[\[site\]\] and no \[site_grid\]; allowed: one site or more"):
        load_config(path)


def test_a_map_of_a_grid(tmp_path):
    """The named site has a section; those of the grid have points on the map, curves and rows in files."""
    text = write_config(tmp_path, GRID).read_text()
    second = text.index("[[site]]", text.index("[[site]]") + 1)
    path = tmp_path / "small.toml"
    path.write_text(text[:second] + text[text.index("[[fault]]") :])
    results = run_here(path, tmp_path / "run")
    assert len(results.names) == 7 and results.described == ("A",)
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count('id="site-') == 1 and "Levels at the 6 sites of the map" in checked(page).text
    assert len((tmp_path / "run" / "maps.csv").read_text().splitlines()) == 8
    figure = pictures.map_figure(results, "SA(3.0)", 0.1)
    (axes, *_) = figure.axes
    x, y = axes.get_xlim(), axes.get_ylim()
    spanned = 1e-6 * np.prod([24000.0 - 6000.0, 18000.0 - 8000.0])
    assert spanned > 0.55 * (x[1] - x[0]) * (y[1] - y[0]), "most of the map is between sites"
    points = next(one for one in axes.collections if len(one.get_offsets()) == 7)
    assert len(np.unique(points.get_sizes())) == 2
    assert [text.get_text().split("\n")[0] for text in axes.texts if "\n" in text.get_text()] == ["A"]
    assert [line.get_text() for line in figure.legends[0].get_texts()] == ["north", "south"]
