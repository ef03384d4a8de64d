"""Reports of runs in whose files every text is hostile: what a browser might run, ask for or go to if a page let it.

Each application runs once, in small. Then every text that its report may show is replaced in the files of the run, and the
report is drawn again.
"""

import csv
import json
from fnmatch import fnmatch

import command_line
import h5py
import numpy as np

HOST = "http://hostile.invalid"
"""Where requests go; no name server knows it."""
PRODUCT = 7919 * 7907
"""Its digits stand in no text: where they are found, something has computed it."""


def _mark(kind):
    """A script without blanks and quotes: it writes the product and its kind in the title, and asks for a picture of that kind."""
    return f"document.title+=`+${{7919*7907}}{kind}`;new(Image)().src=`{HOST}/{kind}`"


SCRIPTS = {
    "script": f"<script>{_mark('script')}</script>",
    "onerror": f"<img src=x onerror={_mark('onerror')}>",
    "svg": f"<svg onload={_mark('svg')}></svg>",
    "animation": f"<svg><animate attributeName=x dur=1s onbegin={_mark('animation')} /></svg>",
    "toggle": f"<details open ontoggle={_mark('toggle')}></details>",
    "focus": f"<input autofocus onfocus={_mark('focus')}>",
    "address": f'<iframe src="javascript:with(parent){{{_mark("address")}}}"></iframe>',
    "srcdoc": f"<iframe srcdoc='<script>with(parent){{{_mark('srcdoc')}}}</script>'></iframe>",
}
"""Markup that runs a script by itself: kind, markup."""

REQUESTS = {
    "image": f"<img src={HOST}/image>",
    "srcset": f'<img srcset="{HOST}/srcset 1x">',
    "background": f"<p style=background:url({HOST}/background)>p</p>",
    "import": f"<style>@import'{HOST}/import';</style>",
    "sheet": f"<link rel=stylesheet href={HOST}/sheet>",
    "prefetch": f"<link rel=prefetch href={HOST}/prefetch>",
    "frame": f"<iframe src={HOST}/frame></iframe>",
    "data": f"<object data='data:text/html,<img src={HOST}/data>'></object>",
    "sound": f"<audio autoplay src={HOST}/sound></audio>",
    "code": f"<script src={HOST}/code></script>",
    "use": f"<svg><image href={HOST}/use width=9 height=9 /></svg>",
    "base": f"<base href={HOST}/><img src=base>",
}
"""Markup that asks somebody else for a file by itself; the path of the request is the kind."""

REFRESH = f'<meta http-equiv=refresh content="0;url={HOST}/refresh">'
"""Markup that goes elsewhere by itself. No policy can forbid it; only a text that makes no element does."""

CLOSED = "\"'--></title></style></pre></b>"
"""Closes whatever a text of a page may stand in."""
ELEMENTS = CLOSED + "".join(SCRIPTS.values()) + "".join(REQUESTS.values())
HOSTILE = ELEMENTS + REFRESH + "&lt;{{7919*7907}}${x}$\\frac{$"
"""A name with all of these, a template's expression, a character reference and a formula."""


def poisoned(value, keep=(), path=""):
    """JSON with HOSTILE for each text but those whose path fits one of `keep`, and with one more entry in each table of texts."""
    if isinstance(value, dict):
        changed = {key: poisoned(entry, keep, f"{path}.{key}".lstrip(".")) for key, entry in value.items()}
        texts = value and all(isinstance(entry, str) for entry in value.values())
        return changed | ({HOSTILE: HOSTILE} if texts and not any(fnmatch(path, one) for one in keep) else {})
    if isinstance(value, list):
        return [poisoned(entry, keep, path) for entry in value]
    return HOSTILE if isinstance(value, str) and not any(fnmatch(path, one) for one in keep) else value


def _poison(file, keep=()):
    file.write_text(json.dumps(poisoned(json.loads(file.read_text()), keep)))


def tomography(folder, small_config):
    """Makes the report; returns its path. So do the next."""
    from craton.tomography import start
    from craton.tomography.folder import RunFolder
    from craton.tomography.report.page import write_report
    from mpi4py import MPI

    config = (
        small_config.replaced("run", directory=str(folder / "run"))
        .replaced("data", filter_periods_s=(800.0, 600.0, 250.0, 200.0), sample_interval_s=20.0)
        .replaced("modes", shortest_period_s=200.0)
        .replaced("basis", lateral_level=2, radial=5)
        .replaced("paths", maximum=12)
        .replaced("inversion", max_iterations=1)
    )
    start.run(config, MPI.COMM_SELF, report=False)
    run = RunFolder(folder / "run")
    _poison(run.record, keep=("app", "config.earth.model", "config.earth.file", "data_kind"))
    (run.path / "posterior").mkdir()
    (run.path / "posterior" / "posterior.json").write_text(json.dumps({"linearised_at_iteration": HOSTILE}))
    with h5py.File(run.data, "r+") as file:
        file.attrs["seed"], file.attrs["origin"], file.attrs["units"] = HOSTILE, HOSTILE, HOSTILE
        for kind in ("event", "station"):
            names = file[f"{kind}s/name"].asstr()[:]
            new = {name: f"{HOSTILE}{number}" for number, name in enumerate(names)}
            file[f"{kind}s/name"][:] = [new[name] for name in names]
            file[f"paths/{kind}"][:] = [new[name] for name in file[f"paths/{kind}"].asstr()[:]]
    return write_report(run.path)


def waves(folder, _):
    from craton.seismology.wave_run.config import load_config
    from craton.waves.report import write_report
    from craton.waves.start import run
    from mpi4py import MPI
    from wave_config import write_config

    run(load_config(write_config(folder), directory=folder / "run"), MPI.COMM_SELF, report=False)
    folder /= "run"
    _poison(folder / "record.json", keep=("app",))
    with (folder / "stations.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    with (folder / "stations.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([rows[0], *([f"{HOSTILE}{row[0]}", *row[1:]] for row in rows[1:])])
    return write_report(folder)


def hazard(folder, _):
    """Names of sites are those of folders: letters, digits, '.', '_' and '-'."""
    from craton import hazard
    from craton.hazard.curves.curves import HazardCurve
    from craton.hazard.report.page import write_page
    from hazard_config import write_config
    from hazard_pipeline import run_here
    from matplotlib.figure import Figure

    name = json.dumps(HOSTILE)
    results = run_here(write_config(folder, ('name = "north"', f"name = {name}")), folder / "run")
    run = results.folder
    assert isinstance(hazard.map_figure(hazard.read_results(run.path), "SA(3.0)", 0.1), Figure)
    _poison(run.record, keep=("app", "schedule"))
    record = run.read_record()
    record.failures.append(HOSTILE)
    task = {"cores": [0], "begun_s": 0.0, "ended_s": 1.0, "cpu_s": 1.0}
    record.tasks.append(task | {"name": HOSTILE, "site": HOSTILE, "kind": HOSTILE})
    levels = np.array([1e-4, 1e-3, 1e-2])
    curves = [HazardCurve(site, measure, 50.0, levels, levels[::-1]) for site in "AB" for measure in results.imts]
    return write_page(results, record, {HOSTILE: curves}, anew=True)


def _craton(folder, *words):
    command_line.craton(*words, cwd=folder, seconds=300).check_returncode()


def multigrid(folder, _):
    from craton.multigrid.report import write_report

    (folder / "small.toml").write_text("[problem]\ncells = 32\n")
    _craton(folder, "multigrid", "run", "small.toml", "--no-report")
    _poison(folder / "small-run" / "record.json", keep=("app", "method"))
    return write_report(folder / "small-run")


def scf(folder, _):
    from craton.scf.report import write_report

    (folder / "w.xyz").write_text("3\n\nO 0 0 0\nH 0 0.757 0.587\nH 0 -0.757 0.587\n")
    _craton(folder, "scf", "run", "w.xyz", "--basis", "sto-3g", "--no-report")
    _poison(folder / "w-run" / "record.json", keep=("app", "symbols", "config.output.pictures"))
    return write_report(folder / "w-run")


def regional(folder, _):
    """Names of stations and earthquakes are those of folders."""
    from craton.regional.report.page import write_report
    from regional_config import written

    _craton(folder, "regional", "run", written(folder, ("iterations = 2", "iterations = 1")), "--no-report")
    _poison(folder / "small-run" / "record.json", keep=("app", "parameters"))
    return write_report(folder / "small-run")


REPORTS = {made.__name__: made for made in (tomography, waves, hazard, multigrid, scf, regional)}
