"""Names from files are shown as they are written: no report makes an element, an attribute or a formula of them.

Each application runs once, in small. Then every text that its report may show is replaced in the files of the run, and the
report is drawn again: it has the elements that templates write, and no other.
"""

import csv
import html
import json
from fnmatch import fnmatch

import command_line
import h5py
import numpy as np
import pytest
from html_pages import checked
from matplotlib.figure import Figure

MPI = pytest.importorskip("mpi4py.MPI")

pytestmark = pytest.mark.filterwarnings(
    "ignore:constrained_layout not applied"
)  # names are as long as a figure is wide

HOSTILE = "<script>alert(1)</script>\"><img src=x onerror='a()'>&lt;{{7919*7907}}${x}$\\frac{$"


def poisoned(value, keep=(), path=""):
    """JSON with HOSTILE for each text but those whose path fits one of `keep`, and with one more entry in each table of texts."""
    if isinstance(value, dict):
        changed = {key: poisoned(entry, keep, f"{path}.{key}".lstrip(".")) for key, entry in value.items()}
        texts = value and all(isinstance(entry, str) for entry in value.values())
        return changed | ({HOSTILE: HOSTILE} if texts and not any(fnmatch(path, one) for one in keep) else {})
    if isinstance(value, list):
        return [poisoned(entry, keep, path) for entry in value]
    return HOSTILE if isinstance(value, str) and not any(fnmatch(path, one) for one in keep) else value


def poison(file, keep=()):
    file.write_text(json.dumps(poisoned(json.loads(file.read_text()), keep)))


def nothing_interpreted(page, at_least):
    """HOSTILE stands in the page's text so many times at least, whole; nothing is made of it."""
    read = checked(page)
    assert str(7919 * 7907) not in page
    assert html.unescape(page).count(HOSTILE) >= at_least
    assert page.count("<script") == page.count("onerror='a()'>") == 0
    return read


def test_tomography(small_config, tmp_path):
    from craton.tomography import start
    from craton.tomography.folder import RunFolder
    from craton.tomography.report.page import write_report

    config = (
        small_config.replaced("run", directory=str(tmp_path / "run"))
        .replaced("data", filter_periods_s=(800.0, 600.0, 250.0, 200.0), sample_interval_s=20.0)
        .replaced("modes", shortest_period_s=200.0)
        .replaced("basis", lateral_level=2, radial=5)
        .replaced("paths", maximum=12)
        .replaced("inversion", max_iterations=1)
    )
    start.run(config, MPI.COMM_SELF, report=False)
    folder = RunFolder(tmp_path / "run")
    poison(folder.record, keep=("app", "config.earth.model", "config.earth.file", "data_kind"))
    (folder.path / "posterior").mkdir()
    (folder.path / "posterior" / "posterior.json").write_text(json.dumps({"linearised_at_iteration": HOSTILE}))
    with h5py.File(folder.data, "r+") as file:
        file.attrs["seed"], file.attrs["origin"], file.attrs["units"] = HOSTILE, HOSTILE, HOSTILE
        for kind in ("event", "station"):
            names = file[f"{kind}s/name"].asstr()[:]
            new = {name: f"{HOSTILE}{number}" for number, name in enumerate(names)}
            file[f"{kind}s/name"][:] = [new[name] for name in names]
            file[f"paths/{kind}"][:] = [new[name] for name in file[f"paths/{kind}"].asstr()[:]]
    read = nothing_interpreted(write_report(folder.path).read_text(), at_least=20)
    assert f"(seed {HOSTILE})" in read.text and f"below {HOSTILE} and 90° east" in read.text
    assert "Not drawn: posterior/posterior.json" in read.text and "No sensitivities" in read.text


def test_waves(tmp_path):
    from craton.seismology.wave_run.config import load_config
    from craton.waves.report import write_report
    from craton.waves.run import run
    from wave_config import write_config

    folder = tmp_path / "run"
    run(load_config(write_config(tmp_path), directory=folder), MPI.COMM_SELF, report=False)
    poison(folder / "record.json", keep=("app",))
    with (folder / "stations.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    with (folder / "stations.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([rows[0], *([f"{HOSTILE}{row[0]}", *row[1:]] for row in rows[1:])])
    read = nothing_interpreted(write_report(folder).read_text(), at_least=20)
    assert len(read.pictures) == 4
    assert f"{HOSTILE}NEAR 1.3 1.48 0" in read.text and "Not checked again: " in read.text


def test_hazard(tmp_path):
    """Names of sites are those of folders: letters, digits, '.', '_' and '-'."""
    from craton import hazard
    from craton.hazard.curves.curves import HazardCurve
    from craton.hazard.report.page import write_page
    from hazard_config import write_config
    from hazard_pipeline import run_here

    name = json.dumps(HOSTILE)
    results = run_here(write_config(tmp_path, ('name = "north"', f"name = {name}")), tmp_path / "run")
    folder = results.folder
    assert isinstance(hazard.map_figure(hazard.read_results(folder.path), "SA(3.0)", 0.1), Figure)
    poison(folder.record, keep=("app", "schedule"))
    record = folder.read_record()
    record.failures.append(HOSTILE)
    task = {"cores": [0], "begun_s": 0.0, "ended_s": 1.0, "cpu_s": 1.0}
    record.tasks.append(task | {"name": HOSTILE, "site": HOSTILE, "kind": HOSTILE})
    levels = np.array([1e-4, 1e-3, 1e-2])
    curves = [HazardCurve(site, measure, 50.0, levels, levels[::-1]) for site in "AB" for measure in results.imts]
    write_page(results, record, {HOSTILE: curves}, anew=True)
    read = nothing_interpreted(folder.report.read_text(), at_least=20)
    assert len(read.pictures) == 15
    assert f"Every job job cores begun, s took, s of processors, s {HOSTILE} 0 0.0 1.0 1.0" in read.text


def craton(folder, *words):
    """Runs a command."""
    command_line.craton(*words, cwd=folder, seconds=300).check_returncode()


def test_multigrid(tmp_path):
    from craton.multigrid.report import write_report

    (tmp_path / "small.toml").write_text("[problem]\ncells = 32\n")
    craton(tmp_path, "multigrid", "run", "small.toml", "--no-report")
    folder = tmp_path / "small-run"
    poison(folder / "record.json", keep=("app", "method"))
    assert len(nothing_interpreted(write_report(folder).read_text(), at_least=10).pictures) == 3


def test_scf(tmp_path):
    from craton.scf.report import write_report

    (tmp_path / "w.xyz").write_text("3\n\nO 0 0 0\nH 0 0.757 0.587\nH 0 -0.757 0.587\n")
    craton(tmp_path, "scf", "run", "w.xyz", "--basis", "sto-3g", "--no-report")
    folder = tmp_path / "w-run"
    poison(folder / "record.json", keep=("app", "symbols", "config.output.pictures"))
    nothing_interpreted(write_report(folder).read_text(), at_least=10)
