"""Unknowns of earthquakes and stations: how they act on a window, and that they are found where a catalogue is wrong."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

import command_line
from craton.regional.config import CorrectionsConfig
from craton.regional.corrections import Corrections, drawn
from craton.regional.folder import RegionalFolder
from craton.runs.files import read_hdf5
from regional_config import written

FREQUENCIES_HZ = np.linspace(0.05, 0.3, 40)
SOME = Corrections(CorrectionsConfig(0.5, 0.2, 0.0, 0.1), 3, 4)


def test_unknowns_are_numbered_kind_after_kind():
    assert SOME.size == 3 + 3 + 4
    assert list(SOME.of(2, 1)) == [(2, True), (5, False), (7, False)]
    assert np.allclose(SOME.precision, [4.0] * 3 + [25.0] * 3 + [100.0] * 4)
    assert (
        Corrections(CorrectionsConfig(), 3, 4).size == 0 and drawn(Corrections(CorrectionsConfig(), 3, 4), 1).size == 0
    )


def test_a_time_shifts_and_an_amplitude_multiplies():
    values = np.arange(10) / 10.0
    found = SOME.factor(values, 2, 1, FREQUENCIES_HZ)
    assert np.allclose(found, np.exp(0.5 + 0.7) * np.exp(-2j * np.pi * FREQUENCIES_HZ * 0.2))


def test_derivatives_are_those_of_small_changes():
    random = np.random.default_rng(1)
    plain = random.standard_normal(40) + 1j * random.standard_normal(40)
    values, step = 0.1 * random.standard_normal(SOME.size), 1e-6
    at = SOME.factor(values, 1, 3, FREQUENCIES_HZ) * plain
    for number, found in SOME.derivatives(at, 1, 3, FREQUENCIES_HZ).items():
        moved = values.copy()
        moved[number] += step
        other = SOME.factor(moved, 1, 3, FREQUENCIES_HZ) * plain
        assert np.allclose((other - at) / step, found, rtol=1e-4, atol=1e-4)


@pytest.mark.long
def test_a_wrong_catalogue_is_found(tmp_path):
    """Origin times wrong by about half a second: with [corrections] they are found, without the data cannot be fitted."""
    fits, errors = {}, None
    for name, more in (("without", ""), ("with", "[corrections]\nevent_time_s = 1.0\n")):
        text = ("[inversion]\n", f"{more}[errors]\nevent_time_s = 0.6\n[inversion]\n")
        config = written(tmp_path, text, ("iterations = 2", "iterations = 3"), name=f"{name}.toml")
        done = command_line.craton("regional", "run", config, "--no-report", cwd=tmp_path, seconds=300)
        assert done.returncode == 0, done.stderr
        folder = RegionalFolder(tmp_path / f"{name}-run")
        fits[name] = folder.read_record().fit
        found = read_hdf5(folder.model)["corrections"]
        if name == "with":
            from craton.regional.config import load_config
            from craton.regional.study import Study

            errors = Study(load_config(config)).errors
            print("wrong by", errors, "found", found)
            assert np.abs(found - errors).max() < 0.35 * np.abs(errors).max()
        else:
            assert len(found) == 0
    print(fits)
    assert fits["with"] < 0.5 * fits["without"]
