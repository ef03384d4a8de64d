"""craton_studies' extension: it works on craton's objects, and the product does without it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from craton import _craton
from craton._launch import run_under_mpi
from craton.commands.main import invoke
from craton.errors import UserError

PROGRAM = Path(__file__).parents[1] / "programs" / "studies_share_objects.py"


@pytest.mark.parametrize("ranks", [1, 2])
def test_worlds_and_matrices_are_the_same_in_both_extensions(ranks: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_under_mpi([str(PROGRAM)], ranks, program=[sys.executable]) == 0
    assert f"shared on {ranks} ranks" in capfd.readouterr().out


def test_the_product_measures_no_benchmark() -> None:
    assert [name for name in dir(_craton) if "bench" in name] == []
    memcpy, triad = _craton.memory_rates(1)
    assert memcpy > 0 and triad > 0 and _craton.memory_in_place_rate(1) > 0
    with pytest.raises(UserError, match="0 threads; allowed: at least 1"):
        _craton.memory_in_place_rate(0)


@pytest.mark.parametrize("missing", ["craton_studies", "craton_studies._studies"])
def test_without_the_studies_bench_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import importlib.util

    found = importlib.util.find_spec
    with monkeypatch.context() as without:
        without.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == missing else found(name))
        without.delitem(sys.modules, "craton.commands.main")
        main = importlib.import_module("craton.commands.main")
        with pytest.raises(UserError, match="craton_studies is not installed; install it with `CRATON_STUDIES=ON pip"):
            main.invoke(["bench", "assembly", "--ranks", "2"])
    assert invoke(["bench", "--help"]) == 0
