"""`craton hazard run`: a small one from end to end, killed in each of its phases, and what is said of what cannot be."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import asdict
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.hazard import queries
from craton.hazard.config import load_config, template
from craton.hazard.curves.curves import HazardCurve
from craton.hazard.curves.export import read_curves_csv, read_openquake_curves
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.work import Work
from craton.hazard.report import pictures
from craton.hazard.report.page import write_page
from craton.hazard.results import read_results
from craton.hazard.start import resume, run, status
from craton.pages import figures
from craton.pages.figures import png
from craton.runs.progress_file import Progress, Start
from hazard_config import write_config
from hazard_pipeline import assert_refused, command, contents, craton, kill_when, same_results
from helpers import environment_without_mpi
from html_pages import checked

MEASURES = ("SA(3.0)", "SA(5.0)")
LEFT = ("hazard.h5", "curves.csv", "maps.csv", "disaggregation.csv", "report.html", "record.json", "pictures/map.png")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run in a pipeline."""
    folder = tmp_path_factory.mktemp("hazard")
    done = craton("run", write_config(folder), "--directory", "whole", cwd=folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "variations/s" in done.stdout and "points/s" in done.stdout
    return folder / "whole"


def test_a_run_leaves_everything_a_person_asks_for(finished):
    for name in LEFT:
        assert (finished / name).stat().st_size > 100, name
    assert not list(finished.rglob("*.new")) and not list(finished.rglob("*.partial"))
    page = (finished / "report.html").read_text()
    assert len(checked(page).pictures) == 13
    seen, results = [picture["alt"] for picture in checked(page).pictures], read_results(HazardFolder(finished))
    levels = [results.curve(site, "SA(3.0)").level_at(results.work.config.hazard.probabilities[0]) for site in "AB"]
    assert (
        f"2 sites as dots, pale yellow (low) to dark red (high): SA(3.0) from {min(levels):.3g} to {max(levels):.3g} g"
        in seen[0]
    )
    speeds = [
        max(np.abs(part["velocity_m_s"]).max() for part in results.chosen(site).variations.values()) for site in "AB"
    ]
    for text in (
        *(f"the largest velocity is {speed:.2g} m/s" for speed in speeds),
        *(f"SA(3.0) {level:.4g} g" for level in levels),
    ):
        assert any(text in one for one in seen), (text, seen)
    for site in "AB":
        for step in ("site", "curve", "disaggregation", "rupture", "seismogram"):
            assert page.count(f'id="{step}-{site}"') == 1, (step, site)
        assert f'href="#seismogram-{site}"' in page
    sites, curves = read_openquake_curves(finished / "openquake" / "hazard_curve-mean-SA(3.0).csv")
    assert len(sites) == len(curves) == 2


def test_curves_are_those_of_the_measures(finished):
    """By the formula itself, in plain loops."""
    work = Work.of(load_config(finished / "config.toml"))
    for site in "AB":
        with h5py.File(finished / "sites" / site / "site.h5") as file:
            rupture, rotd50 = file["measures/rupture"][()], file["measures/rotd50"][()] / 9.80665
            assert list(np.bincount(rupture)) == list(work.counts) == [4, 4]
            for column, period in enumerate((3.0, 5.0)):
                curve = file[f"curves/SA({period})"]
                for level, found in zip(curve["levels"], curve["probability"], strict=True):
                    none = 1.0
                    for index, one in enumerate(work.forecast.ruptures):
                        above = [value > level for value in rotd50[rupture == index, column]]
                        none *= (1 - (1 - np.exp(-50 * one.annual_rate))) ** (sum(above) / len(above))
                    assert found == pytest.approx(1 - none, rel=1e-12, abs=1e-15)
            assert 0 < curve["probability"][4] < 1, "levels that say something"


def test_the_record_says_what_each_core_did(finished):
    record = HazardFolder(finished).read_record()
    assert len(record.tasks) == 13 and record.resumed == 0 and record.cores == 2
    for core in range(2):
        mine = sorted((task["begun_s"], task["ended_s"]) for task in record.tasks if core in task["cores"])
        assert all(end <= begin for (_, end), (begin, _) in zip(mine, mine[1:], strict=False))
    assert 0 < record.computed <= 1.05 and 0.3 < record.given <= 1
    # a pipeline: waves have a core each, two at a time (what fills the cores then: tests/tasks)
    waves = sorted((task for task in record.tasks if task["kind"] == "waves"), key=lambda task: task["begun_s"])
    assert [len(task["cores"]) for task in waves] == [1] * 4
    assert waves[1]["begun_s"] < waves[0]["ended_s"]


@pytest.mark.long
def test_phase_after_phase_gives_the_same(finished, tmp_path):
    done = craton("run", write_config(tmp_path), "--directory", "run", "--schedule", "sequential", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    same_results(finished, tmp_path / "run")
    tasks = HazardFolder(tmp_path / "run").read_record().tasks
    waves = [task for task in tasks if task["kind"] == "waves"]
    assert [len(task["cores"]) for task in waves] == [2] * 4
    for wave in waves:
        assert not [
            t for t in tasks if t is not wave and t["begun_s"] < wave["ended_s"] and wave["begun_s"] < t["ended_s"]
        ]


PHASES = {
    "waves": lambda run: bool(list(run.glob("sites/A/*/sgt.h5.partial"))),
    "measures": lambda run: (run / "sites/A/measures-0000-0000.log").is_file(),
    "curves": lambda run: (run / "sites/A/curves.log").is_file(),
    "pictures": lambda run: (run / "sites/A/pictures.log").is_file(),
}


@pytest.mark.long
def test_a_run_that_is_killed_goes_on_where_it_was(finished, tmp_path):
    """In waves, in post-processing and in what follows, one after the other, with kill -9."""
    config, run = write_config(tmp_path), tmp_path / "run"
    for number, (phase, reached) in enumerate(PHASES.items()):
        before = kept(run)
        kill_when(
            command("resume", run) if number else command("run", config, "--directory", run),
            tmp_path,
            partial(reached, run),
        )
        after = kept(run)
        assert before.items() <= after.items(), f"{phase}: finished files were touched"
        assert not (run / "report.html").exists()
    before = kept(run)
    done = craton("resume", run, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert before.items() <= kept(run).items()
    record = HazardFolder(run).read_record()
    tasks = sum(1 for name in before if name.endswith((".h5", "record.json", ".html")) and "sgt" not in name)
    assert record.resumed == tasks >= 3 and len(record.tasks) == 13 - record.resumed
    same_results(finished, run)


def kept(run: Path) -> dict[str, tuple[int, str]]:
    """Results that have their names, when they were written and what is in them."""
    names = ("sites/*/*.h5", "sites/*/*/record.json", "sites/*/section.part", "overview.part")
    files = [path for name in names for path in run.glob(name)]
    files += [path.with_name("sgt.h5") for path in run.glob("sites/*/*/record.json")]
    return {
        str(path.relative_to(run)): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in files
    }


# --------------------------------------------------------------------------------------------------------------- bad input


def refused(folder: Path, *changes: tuple[str, str]) -> str:
    """By a check of the configuration and all it names."""
    with pytest.raises(UserError) as caught:
        Work.of(load_config(write_config(folder, *changes)))
    line = str(caught.value)
    assert "\n" not in line and "allowed" in line, line
    return line


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("probabilities = [0.1]", "probabilities = [1.5]"), ("[hazard] probabilities = [1.5]", "above 0 and below 1")),
        (("probabilities = [0.1]", "probabilities = [0.0]"), ("[hazard] probabilities",)),
        (("[run]", "[runs]"), ("unknown table [runs]", "did you mean [run]")),
        (("years = 50.0", "yeers = 50.0"), ("[forecast] unknown key 'yeers'", "'years'")),
        (("sigma_s = 1.0", ""), ("[green] neither of highest_hz and sigma_s",)),
        (("sigma_s = 1.0", "sigma_s = 1.0\nhighest_hz = 0.5"), ("[green] both of highest_hz and sigma_s",)),
        (('name = "B"', 'name = "A"'), ('[[site]] 2 name = "A" again',)),
        (('name = "B"', 'name = "B/.."'), ("[[site]] 2 name", "letters")),
        (("position_m = [9000.0, 9000.0]", ""), ("[[site]] 1 neither of position_m and lon_lat",)),
        (
            ("position_m = [9000.0, 9000.0]", "position_m = [1000.0, 9000.0]"),
            ("[[site]] A at (1000, 9000, 0) m", "[4000, 26000]"),
        ),
        (("[8000.0, 16000.0], [20000.0", "[8000.0, 16000.0], [28000.0"), ("'north'", "outside the volume", "subfault")),
        (("lower_depth_km = 5.0", "lower_depth_km = 13.0"), ("'south'", "outside the volume", "z in [0, 10000] m")),
        (("origin_lon_lat = [10.0, 45.0]", ""), ("[grid] origin_lon_lat",)),
        (("years = 50.0", "years = 0.0"), ("[forecast] years = 0.0",)),
        (("periods_s = [3.0, 5.0]", "periods_s = [5.0, 3.0]"), ("[measures] periods_s", "each above the one before")),
        (
            ("unresolved_periods_s = [3.0, 5.0]", "unresolved_periods_s = [4.0]"),
            ("has 4; allowed: some of periods_s: 3, 5",),
        ),
        (("[[fault]]", "[[faults]]"), ("unknown table [faults]",)),
        (
            ("lower_depth_km = 5.0", "lower_depth_km = 0.5"),
            ("small.toml: [[fault]] 2 lower_depth_km = 0.5; allowed: above upper_depth_km = 1 km",),
        ),
        (
            ("[green]", '[media]\nkind = "layers"\nlayers = [[1.0, 3.8, 1.9, 2.3], [0.0, 6.0, 3.464, 2.7]]\n\n[green]'),
            ("small.toml: [media] layers: layer 1 has vp = 3.8 m/s; allowed: 20 or more (m/s, not km/s?)",),
        ),
    ],
)
def test_a_configuration_that_cannot_be(tmp_path, change, words):
    line = refused(tmp_path, change)
    for word in words:
        assert word in line, line


def test_probabilities_in_a_table_are_checked(tmp_path):
    (tmp_path / "ruptures.csv").write_text(
        "source,rupture,magnitude,probability,rake,dip,upper_depth_km,lower_depth_km,trace\n"
        "a,0,6.2,1.2,180,90,1,5,10.15 45.1; 10.2 45.1\n"
    )
    line = refused(
        tmp_path, ('[[site]]\nname = "A"', '[[model]]\nkind = "table"\nfile = "ruptures.csv"\n\n[[site]]\nname = "A"')
    )
    assert "ruptures.csv" in line and "probability = 1.2" in line and "0 to 1" in line


def test_a_truncated_srf_file(finished, tmp_path):
    """Refused by the command in a line; what an earlier run has left stays."""
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    before = contents(run)
    (tmp_path / "cut.srf").write_text(
        "2.0\nPLANE 1\n10.2 45.1 2 1 2.0 1.0\n0 90 0 0 0\nPOINTS 2\n10.19 45.1 2.0 0 90 1e10 0.0 0.1\n"
    )
    config = write_config(
        tmp_path,
        (
            '[[site]]\nname = "A"',
            '[[model]]\nkind = "srf"\nfile = "cut.srf"\nannual_rate = 0.01\n\n[[site]]\nname = "A"',
        ),
    )
    done = craton("run", config, "--directory", "run", "--overwrite", cwd=tmp_path)
    assert_refused(done, "cut.srf")
    assert contents(run) == before and (run / "report.html").is_file()


@pytest.mark.long
@pytest.mark.parametrize("what", ["another site", "another time step"])
def test_tensors_that_do_not_belong_there(finished, tmp_path, what):
    """The site that they are of fails, in a line; the other one's results are made and kept."""
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    for path in [*run.glob("sites/*/*.h5"), run / "hazard.h5"]:
        if path.parent.name != "B" or path.name == "site.h5":
            path.unlink()
    for part in (run / "sites/B/section.part", run / "overview.part"):  # of the results that are made anew
        part.write_text("<p>old</p>")
    own = run / "sites" / "A" / "y" / "sgt.h5"
    if what == "another site":
        shutil.copy(run / "sites" / "B" / "y" / "sgt.h5", own)
    else:
        with h5py.File(own, "r+") as file:
            file["sgt"].attrs["dt_s"] *= 1.5
    done = craton("resume", "run", cwd=tmp_path)
    assert_refused(
        done, "A: measures ", "SGT file of another site or time step", "sites/A/", f"craton hazard resume {run}"
    )
    assert not (run / "sites/A/site.h5").exists()
    with h5py.File(run / "hazard.h5") as file:
        assert [name.decode() for name in file["sites/name"]] == ["B"]
    page = (run / "report.html").read_text()
    assert "Not finished: A." in checked(page).text and 'id="seismogram-B"' in page and "<p>old</p>" not in page
    # with the right file again, what is missing is done
    shutil.copy(finished / "sites/A/y/sgt.h5", own)
    done = craton("resume", "run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    same_results(finished, run)


def test_results_are_kept_unless_told_otherwise(finished, tmp_path):
    config = write_config(tmp_path)
    assert_refused(
        craton("run", config, "--directory", finished, cwd=tmp_path),
        "is there already",
        "another folder",
        "--overwrite",
    )
    other = write_config(tmp_path, ("slips = 2", "slips = 3"))
    assert_refused(
        craton("resume", finished, other, cwd=tmp_path),
        "not the configuration of this run",
        "slips = 2",
    )


def test_a_run_says_where_it_is(finished, tmp_path):
    """When it has finished, and when it was killed; resuming a finished run makes what was deleted, and nothing else."""
    found = status(finished)
    assert (found.state, found.app) == ("finished", "hazard") and len(found.sessions) == 1
    assert found.rows["sites finished"] == "2 of 2: A, B" and found.files["sites"] > 10**5
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    folder = HazardFolder(run)
    folder.finished("B").unlink()
    (run / "curves.csv").unlink()
    before = kept(run)
    again = resume(run, report=True)
    assert {one["name"] for one in again.tasks} == {"B: curves", "B: pictures", "all sites: pictures"}
    assert {name for name, what in before.items() if kept(run)[name] != what} == {
        "sites/B/section.part",
        "overview.part",
    }
    assert again.title == "small" and again.resumed == 10 and len(status(run).sessions) == 2
    same_results(finished, run)
    # as if it had been killed now
    text = json.dumps(progress_of(run) | {"phase": "jobs", "done": 12, "total": 13, "unit": "tasks"})
    folder.progress.write_text(text)
    folder.finished("A").unlink()
    done = craton("status", run, "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert (done.returncode, told["state"], told["done"], told["total"]) == (0, "interrupted", 12, 13)
    assert told["rows"]["sites finished"] == "1 of 2: B"
    assert ("to go on", f"craton hazard resume {run}") in status(run).lines()
    for what, words in (("status", "no such folder"), ("resume", "no such folder")):
        assert_refused(craton(what, tmp_path / "none", cwd=tmp_path), words, "allowed: the folder of a run")


def progress_of(run: Path) -> dict[str, object]:
    """What progress.json holds when a run begins."""
    config = load_config(run / "config.toml")
    return asdict(Progress.of(Start("hazard", config.to_dict(), "small.toml", ("jobs", "results"))))


def test_results_without_a_report(finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    for name in ("report.html", "overview.part", "hazard.h5", "sites/A/section.part"):
        (run / name).unlink()
    half_written = [run / folder / "a.csv.123.new" for folder in ("openquake", "sites/A", "pictures")]
    for file in half_written:
        file.write_text("half")
    done = craton("resume", run, "--no-report", "--json", cwd=tmp_path)
    assert done.returncode == 0 and (run / "hazard.h5").is_file()
    assert not any(file.exists() for file in half_written)
    assert len(json.loads(done.stdout)["tasks"]) == 13 and "pipeline, 2 cores" in done.stderr
    assert not any((run / name).exists() for name in ("report.html", "overview.part", "sites/A/section.part"))


def test_a_record_draws_the_figures_of_its_folder(finished):
    record = HazardFolder(finished).read_record()
    assert list(record.figures()) == ["map", "curves", "disaggregation, A", "disaggregation, B", "timeline"]
    assert "ruptures" in repr(record) and len(repr(record)) < 500


def test_the_report_is_written_again_from_what_there_is(finished, tmp_path):
    """Parts that jobs have drawn are taken as they are, but drawn again by `craton hazard report`; the same page."""
    run = tmp_path / finished.name  # which the commands on the page have
    shutil.copytree(finished, run)
    page = (run / "report.html").read_text()
    for part in (run / "sites/A/section.part", run / "overview.part"):
        assert part.read_text() in page
        part.write_text("<p>old</p>")
    results, record = read_results(HazardFolder(run)), HazardFolder(run).read_record()
    write_page(results, record, {})
    assert (run / "report.html").read_text().count("<p>old</p>") == 2
    done = craton("report", run, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (run / "report.html").read_text() == page


@pytest.mark.long
def test_jobs_draw_what_is_missing(finished, tmp_path, monkeypatch):
    """Beside models' curves that the run has written before; where one cannot, the run does. The record of the computing stays."""
    folder = HazardFolder(tmp_path / "run")
    shutil.copytree(finished, folder.path)
    model = ("probabilities = [0.1]", 'probabilities = [0.1]\nmodels = ["BooreAtkinson2008"]')
    config = load_config(write_config(tmp_path, model), directory=folder.path)
    folder.config.write_text(config.to_toml(leave_out=("run",)))
    work = Work.of(config)
    falling = np.linspace(0.9, 0.1, len(work.levels_g()))
    curves = [HazardCurve(site, measure, 50.0, work.levels_g(), falling) for site in "AB" for measure in MEASURES]
    monkeypatch.setattr("craton.hazard.start.models_beside", lambda *_: {"BooreAtkinson2008": curves})
    recorded = folder.record.read_text()
    logs, broken = [folder.site(site) / "pictures.log" for site in "AB"], folder.models / "BooreAtkinson2008.csv"
    for written in (True, False):
        for site in "AB":
            folder.section(site).unlink()
        if not written:
            monkeypatch.setattr("craton.hazard.start.write_beside", lambda *_: broken.write_text(""))
        resume(folder.path, report=True)
        assert folder.report.read_text().count("<figcaption>Solid: simulated") == 2
        assert folder.record.read_text() == recorded
        assert ["BooreAtkinson2008.csv:1: nothing; allowed" in log.read_text() for log in logs] == [not written] * 2


def test_what_waves_do_not_resolve_is_hatched_everywhere(finished, tmp_path):
    """Both periods of this run: its pulse is too long for them."""
    why = ("the pulse leaves 11 % of it", "the pulse leaves 45 % of it")
    page = (finished / "report.html").read_text()
    for measure, reason in zip(MEASURES, why, strict=True):
        assert f"{measure}: {reason}" in page and f"{measure} (not resolved), 0.1" in page
        assert f"not_resolved=&#39;{measure}&#39;" not in page
        first = (finished / "openquake" / f"hazard_curve-mean-{measure}.csv").read_text().splitlines()[0]
        assert f"not_resolved='{measure}'" in first
        with h5py.File(finished / "hazard.h5") as file:
            assert file[f"curves/{measure}"].attrs["note"] == f"not resolved: {reason}"
            assert file[f"maps/{measure}/{MEASURES.index(measure)}"].attrs["note"] == f"not resolved: {reason}"
        assert f"{measure} of 0.1 in 50 years (not resolved: {reason})" in (finished / "maps.csv").read_text()
    lines = (finished / "curves.csv").read_text().splitlines()
    assert lines[0].endswith(",note") and all(line.split(",")[-1] in why for line in lines[1:])
    shares = (finished / "disaggregation.csv").read_text().splitlines()
    assert shares[0].endswith(",note") and all(line.endswith(why[0]) for line in shares[1:])
    assert [curve.note for curve in read_curves_csv(finished / "curves.csv", "A")] == list(why)
    results = read_results(HazardFolder(finished))
    answers = (
        queries.curve(results, None, None, tmp_path / "c.svg"),
        queries.hazard_map(results, None, None, tmp_path / "m.svg"),
        queries.disaggregation(results, None, None, None, 0.0003, tmp_path / "d.svg"),
    )
    for answer, name in zip(answers, "cmd", strict=True):
        assert answer.note == why[0] and answer.to_dict()["note"] == f"not resolved: {why[0]}"
        assert 'id="unresolved"' in (tmp_path / f"{name}.svg").read_text(), name


def test_nothing_is_cut_off_a_picture(finished, tmp_path):
    """Legends, titles and labels lie within each picture; pictures shrink with a narrow screen as a whole."""
    results, record = read_results(HazardFolder(finished)), HazardFolder(finished).read_record()
    curves, chosen = results.curves("SA(3.0)"), results.chosen("A")
    others = {f"A model of a long name {n}": curve for n, curve in enumerate(curves * 2)}
    drawn = {
        "map": pictures.map_figure(results, "SA(3.0)", 0.1),
        "curves": pictures.curves_figure(curves, 0.1, title="site A", others=others, background=curves),
        "disaggregation": pictures.disaggregation_figure(results.disaggregation("A", "SA(3.0)", 3e-4), "above"),
        "rupture": pictures.rupture_figure(chosen, "median"),
        "seismogram": pictures.seismogram_figure(chosen, "site A"),
        "timeline": pictures.timeline_figure(record),
    }
    for name, figure in drawn.items():
        legends = cut_off(figure)
        assert legends == (name != "rupture"), name
    page = (finished / "report.html").read_text()
    assert page.count("<figure") == 13 == page.count('<figure class="narrow"') + in_columns(page)


def cut_off(figure) -> int:
    """Looks at everything that is written; the number of legends."""
    width_inches = figure.get_figwidth()
    assert width_inches <= 6.4, "letters that a narrow screen can show"
    png(figure)  # lays it out
    with figures._laid_out(figure, figure.dpi):
        renderer = figure.canvas.get_renderer()
        figure.draw(renderer)
        legends = [*figure.legends, *(one for axes in figure.axes if (one := axes.get_legend()) is not None)]
        texts = [
            one for axes in figure.axes for one in (axes.xaxis.label, axes.yaxis.label, axes.title, axes._left_title)
        ]
        for artist in [*legends, *texts, *figure.texts, *(text for axes in figure.axes for text in axes.texts)]:
            if artist in legends or (artist.get_text() and artist.get_visible()):
                box, whole = artist.get_window_extent(renderer), figure.bbox
                inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= whole.width + 1 and box.y1 <= whole.height + 1
                assert inside, (artist, box, whole)
    return len(legends)


def in_columns(page: str) -> int:
    """Figures that stand in columns: those shrink too."""
    found, rest = 0, page
    while '<div class="columns">' in rest:
        rest = rest.partition('<div class="columns">')[2]
        depth, at = 1, 0
        for tag in re.finditer(r"<div|</div", rest):
            depth += 1 if tag[0] == "<div" else -1
            if not depth:
                at = tag.start()
                break
        found += len(re.findall(r"<figure(?! class=.narrow.)", rest[:at]))
    return found


def test_questions_are_answered_from_the_folder(finished, tmp_path):
    done = craton(
        "curve", finished, "--site", "B", "--measure", "SA(5.0)", "--output", tmp_path / "b.csv", cwd=tmp_path
    )
    assert done.returncode == 0 and "SA(5.0) at B, 50 years" in done.stdout
    assert len((tmp_path / "b.csv").read_text().splitlines()) == 9
    told = json.loads(craton("map", finished, "--json", cwd=tmp_path).stdout)
    assert [row["site"] for row in told["rows"]] == ["A", "B"] and told["rows"][0]["level_g"] > 0
    results = read_results(HazardFolder(finished))
    queries.hazard_map(results, None, 0.2, tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000
    told = json.loads(craton("disagg", finished, "--epsilon", "--level", "0.0003", "--json", cwd=tmp_path).stdout)
    assert sum(row["share_percent"] for row in told["rows"]) == pytest.approx(100.0)
    assert {"magnitude", "distance_km", "epsilon_from", "epsilon_to"} < set(told["rows"][0])
    filled = told["filled_bins"]
    assert filled == len(told["rows"]) > 1
    printed = craton("disagg", finished, "--level", "0.0003", cwd=tmp_path).stdout  # rows by source: the number stays
    assert f"{filled} filled bins of magnitude, distance and epsilon" in printed
    queries.disaggregation(results, "A", None, None, 0.0003, tmp_path / "d.csv")
    rows = [line.split(",") for line in (tmp_path / "d.csv").read_text().splitlines()[1:]]
    assert sum(float(row[3]) for row in rows) == pytest.approx(100.0)
    for ask, words in (
        (lambda: queries.curve(results, "C", None, None), "site C; allowed: A, B"),
        (lambda: queries.curve(results, None, "PGA", None), "measure PGA; allowed: SA(3.0)"),
        (lambda: queries.hazard_map(results, None, 1.5, None), "--probability 1.5"),
        (lambda: queries.disaggregation(results, None, None, None, 50.0, None), "no rupture exceeds 50"),
    ):
        with pytest.raises(UserError) as caught:
            ask()
        assert words in str(caught.value)
    assert_refused(craton("curve", tmp_path, cwd=tmp_path), "config.toml", "craton hazard run")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("cores = 2", "cores = 2\nranks = 3"), ("A: waves x: needs 3 cores; allowed: 2",)),
        (("cores = 2", "cores = 900\nranks = 900"), ("900 ranks for 30 x 26 x 14 cells",)),
        (
            ("cores = 2", "cores = 2\nranks = 2\ndecomposition = [3, 1, 1]"),
            ("decomposition = [3, 1, 1]; allowed: 2 bricks",),
        ),
        (("every = 2", "every = 2000"), ("[green] every = 2000", "allowed: at most that")),
        (("duration_s = 20.0", "duration_s = 20.0\ndt_s = 0.5"), ("[time] dt_s = 0.5: unstable",)),
        (
            ("sigma_s = 1.0", "sigma_s = 0.05"),
            ("small.toml: [green] sigma_s = 0.05: its spectrum reaches", "Hz", "allowed: a longer sigma_s, cells of"),
        ),
        (
            ("sigma_s = 1.0", "highest_hz = 10.0"),
            ("small.toml: [green] highest_hz = 10: its spectrum reaches", "allowed: a lower highest_hz, cells of"),
        ),
        (
            ("duration_s = 20.0", "duration_s = 4.0"),
            (
                "small.toml: [time] duration_s = 4: the pulse has its middle at 6 s, from which seismograms begin",
                "allowed: at least 11 s, for the longest of [measures] periods_s",
            ),
        ),
        (
            ("unresolved_periods_s = [3.0, 5.0]", "unresolved_periods_s = [3.0]"),
            (
                "[measures] periods_s: the waves do not resolve 5 s, because the pulse leaves 45 % of it",
                "allowed: no period: 19.6 s or more would be, but seismograms last 14 s, or unresolved_periods_s = [5]",
            ),
        ),
        (
            ("duration_s = 20.0", "duration_s = 8.0"),
            (
                "[time] duration_s = 8: seismograms end 2 s after",
                "rupture 0 of 'north'",
                "to site A",
                "allowed: longer",
            ),
        ),
    ],
)
def test_what_cannot_run_costs_no_results(finished, tmp_path, change, words):
    """--overwrite does not touch an earlier run's results where the new one could never begin."""
    shutil.copytree(finished, tmp_path / "run")
    config = load_config(write_config(tmp_path, change), directory=tmp_path / "run")
    with pytest.raises(UserError) as caught:
        run(config, overwrite=True)
    assert all(word in str(caught.value) for word in words), caught.value
    assert contents(tmp_path / "run") == contents(finished) and (tmp_path / "run" / "report.html").is_file()


def test_the_template_is_a_configuration(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(template())
    assert Work.of(load_config(path)).points_m.shape[1] == 3


def test_check_says_what_a_run_needs(tmp_path):
    done = craton("check", write_config(tmp_path), "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert [found[name] for name in ("sources", "ruptures", "variations", "cores")] == [2, 2, 8, 2]
    assert found["wave_memory_bytes"] > 1e6 and found["time_s"] > 0.0 and 0.0 < found["missed_of_peak"] < 0.1
    done = craton("check", write_config(tmp_path), cwd=tmp_path)
    for words in ("2 of 2 sources, 8 variations", "MiB of a wave run", "s on 2 cores"):
        assert words in done.stdout
    assert not (tmp_path / "small-run").exists()


def test_check_of_a_run_that_no_machine_holds(tmp_path):
    """In units that people read, and with a warning."""
    huge = write_config(tmp_path, ("spacing_m = 1000.0", "spacing_m = 0.5"), ("width_cells = 4", "width_cells = 20"))
    done = craton("check", huge, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in (
        "TiB of a wave run",
        " days on 2 cores",
        "memory does not suffice: a wave run needs",
        "spacing_m, or a",
    ):
        assert words in " ".join(done.stdout.replace("│", " ").split())
    [warning] = json.loads(craton("check", huge, "--json", cwd=tmp_path).stdout)["warnings"]
    assert warning.startswith("memory does not suffice")
    assert json.loads(craton("check", write_config(tmp_path), "--json", cwd=tmp_path).stdout)["warnings"] == []


EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "hazard" / "basin.toml"


def test_the_example_is_what_its_page_says():
    work = Work.of(load_config(EXAMPLE))
    assert len(work.position_m) == 33 and len(set(work.forecast.sources)) == 2
    assert (len(work.forecast.ruptures), sum(work.counts)) == (69, 980)
    assert len(work.config.sites) == 3 and len(work.config.hazard.models) == 4


@pytest.mark.long
def test_the_example_runs(tmp_path):
    """A map of 25 sites and more, curves beside four models, disaggregations of many bins."""
    done = subprocess.run(
        command("run", EXAMPLE, "--directory", "run"),
        env=environment_without_mpi(),
        cwd=tmp_path,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0
    with h5py.File(tmp_path / "run" / "hazard.h5") as file:
        probability = file["curves/SA(5.0)/probability"][()]
        on_map = file["maps/SA(5.0)/0/value"][()]
    assert probability.shape == (33, 51) and np.all(np.diff(probability, axis=1) <= 0)
    assert np.all(probability[:, 15] > 0.01) and np.all(np.isfinite(on_map) & (on_map > 0))
    results = read_results(HazardFolder(tmp_path / "run"))
    for name in results.described:
        found = results.at_first_probability(name)
        assert found is not None and found.filled_bins >= 10, name
        assert np.count_nonzero(found.by_magnitude_distance()) >= 8, name
    page = checked((tmp_path / "run" / "report.html").read_text())
    assert page.text.count("Dashed: ground-motion models") == 3
    # between the sites the map leaves nothing blank
    x, y = np.meshgrid(np.linspace(9e3, 51e3, 60), np.linspace(9e3, 39e3, 60))
    assert np.isfinite(results.map("SA(5.0)", 0.1).at(x, y)).all()
