"""Every key of a configuration with a wrong value, as `craton tomography check` meets it: exit code 2 and one line.

The line names the file, the table, the key, the value and what is allowed. The command runs in this process: the table of all keys
takes seconds.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import tomllib
from pathlib import Path

import pytest
from craton.commands import main
from craton.settings import toml_value
from craton.tomography.config.load import TABLES

EXAMPLE = Path(__file__).parents[3] / "examples" / "global"
REQUIRED = {"events": 'file = "events.csv"', "stations": 'file = "stations.csv"', "target": ""}

BOOLEAN = "true or false"
PATH = "a file, relative to this configuration's folder"
OUTPUT = "a folder that can be made"
OR_NONE = "0, or a number in "
PAIRS = ", or a list of [depth_km, {}] pairs with increasing depths in [0, 2891] km"
KNOTS = "increasing depths in km, at least four and 1 km apart, from 0 (surface) to 2891 (core), or [] for even knots"
AMPLITUDE = "0, or a number of size 1e-06 to 0.2 and either sign"
THEORIES = '"" or "pava" or "nact" or "nact_in_plane"'

WRONG = {
    "run": {
        "directory": [("3", "a string in quotes"), ('"~no-such-user/x"', OUTPUT)],
        "seed": [("-1", "a whole number in [0, 2147483647]"), ("1.5", "a whole number in [0, 2147483647]")],
    },
    "earth": {
        "model": [('"ak135"', '"prem_isotropic" or "prem_iso_light" or "prem"')],
        "file": [('"none.nd"', PATH), ("1", "a string in quotes"), ('"."', PATH)],
        "dispersion": [("1", BOOLEAN)],
        "attenuation": [('"yes"', BOOLEAN)],
        "ellipticity": [("1", BOOLEAN), ('"true"', BOOLEAN)],
        "rotation": [("0", BOOLEAN), ("[true]", BOOLEAN)],
        "crust": [
            ('"none.txt"', PATH),
            ("true", "a string in quotes"),
            ('"a\\u0000b"', "a string without the character NUL"),
        ],
    },
    "theory": {
        "kind": [('"born"', '"pava" or "nact" or "nact_in_plane"')],
        "derivatives": [('"born"', THEORIES), ("2", THEORIES), ("[]", THEORIES)],
        "complete": [('"yes"', '"auto" or "always" or "never"'), ("true", '"auto" or "always" or "never"')],
        "vp_over_vs": [
            ("2.5", "a number in [-2, 2]" + PAIRS.format("ratio")),
            ("[[600, 0.5], [100, 0.5]]", "a number in [-2, 2]" + PAIRS.format("ratio")),
            ("[[0, 0.5, 1]]", "a number in [-2, 2]" + PAIRS.format("ratio")),
            ("[]", "a number in [-2, 2]" + PAIRS.format("ratio")),
        ],
        "density_over_vs": [
            ("nan", "a number in [-2, 2]" + PAIRS.format("ratio")),
            ('"0.3"', "a number in [-2, 2]" + PAIRS.format("ratio")),
            ("[0, 0.3]", "a number in [-2, 2]" + PAIRS.format("ratio")),
            ("[[3000, 0.3]]", "a number in [-2, 2]" + PAIRS.format("ratio")),
        ],
        "check_windows": [("-1", "a whole number in [0, 1000000]"), ("10.0", "a whole number in [0, 1000000]")],
    },
    "modes": {
        "shortest_period_s": [("1", "a number in [5, 1000] s")],
        "element_km": [("0", "a number in [1, 500] km")],
        "order": [("1", "a whole number in [2, 8]")],
        "cache": [("0", "a string in quotes"), ('"~no-such-user/x"', OUTPUT)],
    },
    "basis": {
        "lateral_level": [("9", "a whole number in [1, 8]")],
        "radial": [("3", "a whole number in [4, 100]")],
        "radial_depths_km": [("[0, 100, 2891]", KNOTS)],
        "xi": [("1", BOOLEAN)],
        "xi_level": [("9", "a whole number in [0, 8]"), ('"3"', "a whole number in [0, 8]"), ("2", "0, or xi = true")],
        "xi_depths_km": [
            ("[0, 100, 2891]", KNOTS),
            ("[0, 100, 100.5, 2891]", KNOTS),
            ("2891", KNOTS),
            ("[0, 670, 1500, 2891]", "[], or xi = true"),
        ],
    },
    "start": {
        "file": [('"none.nc"', PATH), ("[]", "a string in quotes")],
        "prior_mean": [('"yes"', BOOLEAN), ("true", "false, or [start] file")],
    },
    "events": {"file": [('"none.csv"', PATH)], "maximum": [("-1", "a whole number in [0, 1000000]")]},
    "stations": {"file": [('"none.csv"', PATH)], "maximum": [("1e3", "a whole number in [0, 1000000]")]},
    "paths": {
        "min_distance_deg": [("-1", "a number in [0, 180] degrees"), ("170", "less than max_distance_deg = 155")],
        "max_distance_deg": [("181", "a number in [0, 180] degrees")],
        "maximum": [("-1", "a whole number in [0, 1000000000]")],
    },
    "data": {
        "kind": [('"synthetics"', '"synthetic" or "file"')],
        "file": [('"none.h5"', PATH)],
        "noise": [("0", "a number in [0.0001, 10]")],
        "filter_periods_s": [("[80, 100, 250, 400]", "four decreasing periods in seconds")],
        "components": [('"TZ"', '"T" or "Z" or "R" or "ZR" or "ZT" or "RT" or "ZRT"')],
        "sample_interval_s": [("0", "a number in [0.1, 200] s"), ("50", "at most half of the shortest period")],
        "fastest_km_s": [("0", "a number in [0.5, 50] km/s")],
        "slowest_km_s": [("9", "less than fastest_km_s = 9")],
        "pad_s": [("-1", "a number in [0, 10000] s")],
        "correlation_s": [("-1", "a number in [0, 10000] s")],
        "redundancy_km": [("-1", "a number in [0, 5000] km"), ('"far"', "a number in [0, 5000] km")],
        "noise_in_band": [("1", BOOLEAN), ("0.5", BOOLEAN)],
    },
    "synthetics": {
        "kind": [('"specfem"', '"modes" or "command" or "wait"'), ("1", '"modes" or "command" or "wait"')],
        "command": [("[1]", "a string in quotes"), ('"a\\u0000b"', "a string without the character NUL")],
        "together": [("0", "a whole number in [1, 10000]"), ("1.5", "a whole number in [1, 10000]")],
        "engine": [('"dask"', '"local" or "parsl"'), ("[]", '"local" or "parsl"')],
        "parsl_config": [('"none.py"', PATH), ("7", "a string in quotes")],
        "cores": [("0", "a whole number in [1, 1000000]"), ("true", "a whole number in [1, 1000000]")],
        "convolve": [('"yes"', BOOLEAN), ("1", BOOLEAN)],
        "taper_s": [("-1", "a number in [0, 10000] s"), ("inf", "a number in [0, 10000] s")],
        "step_deg": [
            ("0.01", OR_NONE + "[0.05, 30] degrees"),
            ('"1"', OR_NONE + "[0.05, 30] degrees"),
            ("0.7", "degrees that divide 180"),
        ],
        "depth_step_km": [("0.5", OR_NONE + "[1, 1000] km"), ("[100]", OR_NONE + "[1, 1000] km")],
    },
    "target": {
        "checkerboard_degree": [("0", "a whole number in [1, 60]")],
        "checkerboard_amplitude": [("0.3", AMPLITUDE)],
        "checkerboard_depth_nodes": [("21", "a whole number in [0, 20]")],
        "plume_latitude_deg": [("91", "a number in [-90, 90] degrees")],
        "plume_longitude_deg": [("361", "a number in [-180, 360] degrees")],
        "plume_radius_km": [("0", "a number in [10, 5000] km")],
        "plume_amplitude": [("nan", AMPLITUDE)],
        "plume_name": [("3", "a string in quotes")],
        "random_rms": [("0.3", "a number in [0, 0.2]"), ("true", "a number in [0, 0.2]")],
        "finer": [("2", BOOLEAN), ('"yes"', BOOLEAN)],
        "theory": [('"born"', '"" or "pava" or "nact"'), ('"nact_in_plane"', '"" or "pava" or "nact"')],
        "wrong_origin_time_s": [("0.001", OR_NONE + "[0.01, 100] s"), ("-2", OR_NONE + "[0.01, 100] s")],
        "wrong_centroid_km": [("0.01", OR_NONE + "[0.1, 500] km"), ("false", OR_NONE + "[0.1, 500] km")],
        "wrong_moment_tensor": [("11", OR_NONE + "[0.001, 10] of the moment"), ('"10%"', OR_NONE + "[0.001, 10] of")],
        "wrong_station_time_s": [("1e9", OR_NONE + "[0.01, 100] s"), ("nan", OR_NONE + "[0.01, 100] s")],
        "wrong_station_gain": [("4", OR_NONE + "[0.001, 3] of the amplitude"), ("[0.1]", OR_NONE + "[0.001, 3] of")],
    },
    "corrections": {
        "origin_time_s": [("-1", OR_NONE + "[0.01, 100] s"), ("true", OR_NONE + "[0.01, 100] s")],
        "centroid_km": [("501", OR_NONE + "[0.1, 500] km"), ("[10, 10, 10]", OR_NONE + "[0.1, 500] km")],
        "moment_tensor": [("1e-4", OR_NONE + "[0.001, 10] of the moment"), ("inf", OR_NONE + "[0.001, 10] of")],
        "station_time_s": [("0.001", OR_NONE + "[0.01, 100] s"), ('"2 s"', OR_NONE + "[0.01, 100] s")],
        "station_gain": [("-0.1", OR_NONE + "[0.001, 3] of the amplitude"), ("nan", OR_NONE + "[0.001, 3] of")],
    },
    "prior": {
        "kind": [('"exponential"', '"gaussian" or "matern"')],
        "correlation_km": [("0", "a number in [1, 20000] km" + PAIRS.format("length"))],
        "correlation_depth_km": [("0", "a number in [1, 3000] km" + PAIRS.format("length"))],
        "strength": [("-1", "a number in [1e-06, 1]" + PAIRS.format("strength"))],
        "xi_strength": [("2", "a number in [1e-06, 1]" + PAIRS.format("strength"))],
        "nugget": [("0", "a number in [1e-12, 1]")],
        "cells": [("-16", "a whole number in [0, 10000]")],
    },
    "inversion": {
        "max_iterations": [("0", "a whole number in [1, 100]")],
        "tolerance": [("2", "a number in [0, 1]")],
        "robust": [('"l1"', '"none" or "huber" or "student"'), ("true", '"none" or "huber" or "student"')],
        "long_periods_first": [("1", BOOLEAN), ('"auto"', BOOLEAN)],
        "first_periods_s": [
            ("[100, 200]", "decreasing periods in seconds, above 0 and at most 100000, or []"),
            ("200", "decreasing periods in seconds, above 0 and at most 100000, or []"),
            ("[900, 200]", "above 80 and at most 400 s, the ends of [data] filter_periods_s"),
        ],
        "first_misfit": [
            ('"phase"', '"arrival_time" or "envelope" or "waveform"'),
            ("0", '"arrival_time" or "envelope" or "waveform"'),
        ],
        "precision": [('"half"', '"float32" or "float64"')],
        "solve_precision": [
            ('"half"', '"refined" or "float64" or "float32"'),
            ("64", '"refined" or "float64" or "float32"'),
        ],
        "in_place": [('"yes"', BOOLEAN), ("1", BOOLEAN)],
        "reproducible": [("1", BOOLEAN), ("true", '"float64"')],
        "block": [("0", "a whole number in [1, 4096]")],
        "damping": [("-1", "a number in [0, 1000000.0]".replace("1000000.0", "1e+06"))],
        "step_percent": [("-1", OR_NONE + "[0.001, 1000] %")],
        "step_halvings": [("31", "a whole number in [0, 30]")],
        "keep_hessians": [('"some"', '"last" or "all" or "none"'), ("true", '"last" or "all" or "none"')],
    },
    "assembly": {
        "subset": [("0", "a whole number in [1, 100000]")],
        "threads": [("0", "a whole number in [1, 1024]")],
        "compress": [("1.5", "a number in [0, 0.1]")],
        "checkpoint_minutes": [("1e-9", OR_NONE + "[0.0001, 100000] minutes")],
        "checkpoint_local": [("1", "a string in quotes"), ('"~no-such-user/x"', OUTPUT)],
    },
    "report": {"resolution": [("1", BOOLEAN), ('"yes"', BOOLEAN)]},
}
"""Of each table and key: values as TOML has them, and what the line says is allowed."""

PARSL = 'kind = "command"\ncommand = "solve"\nengine = "parsl"'
CONTRADICTIONS = [
    ("[theory] derivatives", {"theory": 'derivatives = "pava"', "synthetics": 'kind = "wait"'}, '"", because'),
    ("[earth] crust", {"earth": 'crust = "moho.txt"\nmodel = "prem_iso_light"'}, 'model = "prem_isotropic" or "prem"'),
    (
        "[target] random_rms = 0.01",
        {"target": "random_rms = 0.01", "prior": 'kind = "matern"'},
        '0, or kind = "gaussian"',
    ),
    ("[target] finer = true", {"target": "finer = true", "basis": "lateral_level = 8"}, "at most 7"),
    (
        "[start] file",
        {"start": 'file = "start.sph"', "prior": 'kind = "matern"'},
        'prior_mean = true, or kind = "gaussian"',
    ),
    ("[data] correlation_s = 30", {"data": "correlation_s = 30\nnoise_in_band = true"}, "one of the two"),
    ("[data] file is missing", {"data": 'kind = "file"'}, "an HDF5 file"),
    ("[basis] xi_level = 2", {"basis": "xi_level = 2\nxi = false"}, "0, or xi = true"),
    (
        "[inversion] in_place = true",
        {"inversion": 'in_place = true\nsolve_precision = "float64"'},
        '"refined" or "float32"',
    ),
    ("[inversion] precision", {"inversion": "reproducible = true"}, '"float64"'),
    (
        "[inversion] in_place = true",
        {"inversion": 'reproducible = true\nprecision = "float64"\nin_place = true'},
        "allowed: false",
    ),
    (
        '[prior] kind = "matern"',
        {"inversion": 'reproducible = true\nprecision = "float64"', "prior": 'kind = "matern"'},
        'allowed: "gaussian"',
    ),
    ("[report] resolution = true", {"inversion": 'keep_hessians = "none"', "report": "resolution = true"}, "false"),
    ("[synthetics] command is missing", {"synthetics": 'kind = "command"'}, "that of a solver"),
    ("[synthetics] command", {"synthetics": 'kind = "command"\ncommand = "solve {modl}"'}, "{model}"),
    ("[synthetics] command", {"synthetics": 'kind = "command"\ncommand = "solve {"'}, "names in braces"),
    ("[synthetics] command", {"synthetics": 'kind = "command"\ncommand = "solve {}"'}, "{model}"),
    ("[synthetics] command", {"synthetics": 'kind = "command"\ncommand = "solve {model.nc}"'}, "{model}"),
    ("[synthetics] command", {"synthetics": 'kind = "command"\ncommand = "solve {model:{width}}"'}, "{model}"),
    ("[synthetics] command", {"synthetics": 'kind = "command"\ncommand = "solve {model!x}"'}, "{model}"),
    ("[synthetics] command", {"synthetics": 'kind = "command"\ncommand = "solve \'a"'}, "names in braces"),
    ('[synthetics] engine = "parsl"', {"synthetics": PARSL}, 'parsl_config = "FILE"'),
]
"""What the line begins with after the file's name, the tables, and what is allowed."""

DAMAGED = [
    ("earth", 'file = "a.nd"', "a.nd", "0 6 3.5\n", "4 or 6 numbers"),
    ("earth", 'file = "a.deck"', "a.deck", "a\nb\n", "a table of the Earth"),
    (
        "earth",
        'crust = "moho.txt"',
        "moho.txt",
        "0 0 thick\n",
        "longitude latitude moho_depth_km [vs_km_s]",
    ),
    ("earth", 'crust = "moho.nc"', "moho.nc", "no NetCDF", "a NetCDF file"),
    ("start", 'file = "a.sph"', "a.sph", "1 2 3\n", "21 splines times (L + 1)^2"),
    ("start", 'file = "a.nc"', "a.nc", "no NetCDF", "a NetCDF file"),
    ("start", 'file = "model.h5"', "model.h5", "no HDF5", "model.h5"),
]
"""Table, line, file, what is in it, and what is allowed."""

WITHOUT_CRUST = "0 8 4.5 3.3\n2891 13.7 7.2 5.5\nouter-core\n2891 8 0 9.9\n6371 11 0 13\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """With the tables that a configuration needs, and files that it may name."""
    monkeypatch.chdir(tmp_path)
    for name, source in (("events", "earthquakes"), ("stations", "stations")):
        (tmp_path / f"{name}.csv").write_text((EXAMPLE / f"{source}.csv").read_text(encoding="utf-8"))
    rows = [f"{lon} {lat} 30" for lat in range(-75, 90, 30) for lon in range(0, 360, 30)]
    (tmp_path / "moho.txt").write_text("\n".join(rows))
    (tmp_path / "start.sph").write_text("\n".join("0.01 0 0 0" for _ in range(21)))
    return tmp_path


def refused(tables, folder, monkeypatch, capfd):
    """The one line of the command that checks a file of these tables, without `craton: error: ` and the file's name."""
    content = {**REQUIRED, **{name: f"{REQUIRED.get(name, '')}\n{lines}" for name, lines in tables.items()}}
    (folder / "my.toml").write_text(
        "\n".join(f"[{name}]\n{lines}" for name, lines in content.items()), encoding="utf-8"
    )
    monkeypatch.setattr(sys, "argv", ["craton", "tomography", "check", "my.toml"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    output, error = capfd.readouterr()
    assert (ended.value.code, output) == (2, ""), error
    [line] = error.splitlines()
    assert line.startswith("craton: error: ")
    return line.removeprefix("craton: error: ")


def test_every_key_is_in_the_table():
    assert {name: set(keys) for name, keys in WRONG.items()} == {
        name: {item.name for item in dataclasses.fields(table)} for name, table in TABLES.items()
    }


@pytest.mark.parametrize(
    ("table", "key", "value", "allowed"),
    [(table, key, *one) for table, keys in WRONG.items() for key, values in keys.items() for one in values],
)
def test_a_wrong_value(folder, monkeypatch, capfd, table, key, value, allowed):
    required = f"{key} = " in REQUIRED.get(table, "")
    if required:
        monkeypatch.setitem(REQUIRED, table, "")
    line = refused({table: f"{key} = {value}"}, folder, monkeypatch, capfd)
    said = re.fullmatch(r"my\.toml: (?P<what>.*?); allowed: (?P<allowed>.*)", line)
    assert said, line
    assert f"[{table}] {key} = " in said["what"] or f"with {key} = " in said["what"]
    given = tomllib.loads(f"x = {value}")["x"]
    assert any(f"{key} = {form}" in said["what"] for form in (value, toml_value(given))), line
    assert allowed in said["allowed"], line


@pytest.mark.parametrize(("what", "tables", "allowed"), CONTRADICTIONS)
def test_a_contradiction(folder, monkeypatch, capfd, what, tables, allowed):
    line = refused(tables, folder, monkeypatch, capfd)
    before, _, after = line.partition("allowed: ")
    assert before.startswith("my.toml: ") and what in before, line
    assert allowed in f"allowed: {after}", line


@pytest.mark.parametrize(("table", "setting", "name", "content", "allowed"), DAMAGED)
def test_a_damaged_file(folder, monkeypatch, capfd, table, setting, name, content, allowed):
    """Before anything is computed."""
    (folder / name).write_text(content)
    line = refused({table: setting}, folder, monkeypatch, capfd)
    assert name in line and allowed in line, line


def test_a_crust_for_an_earth_of_ones_own_that_has_none(folder, monkeypatch, capfd):
    (folder / "a.nd").write_text(WITHOUT_CRUST)
    line = refused({"earth": 'file = "a.nd"\ncrust = "moho.txt"'}, folder, monkeypatch, capfd)
    assert line.startswith("[earth] crust: the reference Earth a.nd:")
    assert line.endswith("has no Moho; allowed: one with a crust, as prem_isotropic")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("config = 3\n", "config is of type int; allowed: config = parsl.Config(executors=[...])"),
        (
            "config = nothing\n",
            "cluster.py, line 1: NameError: name 'nothing' is not defined; allowed: Python that runs",
        ),
    ],
)
def test_a_wrong_configuration_of_an_engine(folder, monkeypatch, capfd, content, words):
    pytest.importorskip("parsl")
    (folder / "cluster.py").write_text(content)
    line = refused({"synthetics": f'{PARSL}\nparsl_config = "cluster.py"'}, folder, monkeypatch, capfd)
    assert "cluster.py" in line and words in line
