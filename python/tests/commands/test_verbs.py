"""The six applications by the six verbs: every cell is a command that runs, ends with code 0 and prints JSON if asked to.

The run that is resumed was killed after its first checkpoint, or has not converged.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hazard_config
import hazard_pipeline
import pytest
import regional_config
import wave_config
from command_line import craton
from craton.cli.group import VERBS
from craton.commands.main import APPLICATIONS, invoke
from craton.errors import UserError
from helpers import command_of
from scf_molecules import WATER

Done = subprocess.CompletedProcess[str]


@dataclass
class Case:
    """A small run of an application."""

    application: str
    config: Path
    ranks: tuple[str, ...] = ("--ranks", "2")
    unconverged: str = ""
    """A change of the configuration with which it does not converge, where no run is killed."""
    more: tuple[str, ...] = ()
    """With which the unconverged run is resumed."""
    done: dict[str, Done] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.results = self.config.parent / "finished-run"
        self.ended = self.config.parent / "ended-run"

    def craton(self, verb: str, *arguments: object) -> Done:
        return craton(self.application, verb, *map(str, arguments), seconds=300)

    def go_through(self) -> None:
        """All six, in the order of a run's life."""
        self.done["template"] = self.craton("template")
        self.done["check"] = self.craton("check", self.config, "--json")
        self.done["run"] = self.craton(
            "run", self.config, "--directory", self.results, *self.ranks, "--no-report", "--json"
        )
        self.done["status"] = self.craton("status", self.results, "--json")
        self.done["report"] = self.craton("report", self.results)
        self.end_a_run()
        self.done["resume"] = self.craton("resume", self.ended, *self.more, "--no-report", "--json")

    def end_a_run(self) -> None:
        arguments = ("run", self.config, "--directory", self.ended, "--no-report")
        if self.unconverged:
            text = self.config.read_text()
            self.config.write_text(f"{text}\n{self.unconverged}\n")
            assert self.craton(*arguments).returncode == 3
            return
        command = command_of(self.application, *map(str, arguments))
        for attempt in range(5):
            try:
                hazard_pipeline.kill_when(command, self.config.parent, self.has_saved)
                return
            except hazard_pipeline.EndedTooSoon:
                if attempt == 4:
                    raise
                shutil.rmtree(self.ended)

    def has_saved(self) -> bool:
        """Whether the run has a checkpoint, or results of its first jobs."""
        for file in self.ended.rglob("progress.json"):
            progress = json.loads(file.read_text())
            if progress["saved"] or (self.application in ("hazard", "regional") and progress["done"]):
                return True
        return False


def tomography(folder: Path, config: Any) -> Case:
    small = config.replaced("basis", lateral_level=2, radial=5).replaced("paths", maximum=100)
    small = small.replaced("inversion", max_iterations=1).replaced("assembly", checkpoint_minutes=1e-4, subset=2)
    (folder / "small.toml").write_text(small.to_toml())
    return Case("tomography", folder / "small.toml")


def waves(folder: Path, _: Any) -> Case:
    return Case("waves", wave_config.write_config(folder, ("every_steps = 50", "every_steps = 10")))


def hazard(folder: Path, _: Any) -> Case:
    return Case("hazard", hazard_config.write_config(folder), ranks=())


def multigrid(folder: Path, _: Any) -> Case:
    (folder / "small.toml").write_text("[problem]\ncells = 32\n[run]\n[solver]\n")
    return Case(
        "multigrid", folder / "small.toml", unconverged="cycles = 1\ntolerance = 1e-10", more=("--cycles", "50")
    )


def scf(folder: Path, _: Any) -> Case:
    pytest.importorskip("basis_set_exchange")
    (folder / "water.xyz").write_text(WATER)
    tables = '[molecule]\nfile = "water.xyz"\n[method]\nbasis = "sto-3g"\n[convergence]\n'
    (folder / "small.toml").write_text(tables)
    return Case("scf", folder / "small.toml", unconverged="iterations = 2", more=("--iterations", "50"))


def regional(folder: Path, _: Any) -> Case:
    return Case("regional", regional_config.written(folder, ("iterations = 2", "iterations = 1")), ranks=())


CASES: dict[str, Callable[[Path, Any], Case]] = {
    "tomography": tomography,
    "waves": waves,
    "hazard": hazard,
    "multigrid": multigrid,
    "scf": scf,
    "regional": regional,
}


@pytest.fixture(scope="module", params=APPLICATIONS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, small_config: Any) -> Case:
    made = CASES[request.param](tmp_path_factory.mktemp(request.param), small_config)
    made.go_through()
    return made


@pytest.mark.parametrize("verb", VERBS)
def test_every_application_has_every_verb(case: Case, verb: str) -> None:
    done = case.done[verb]
    assert done.returncode == 0, done.stderr
    if verb == "template":
        assert tomllib.loads(done.stdout)
    elif verb == "report":
        assert Path(done.stdout.strip()).name == "report.html" and "<html" in Path(done.stdout.strip()).read_text()
    else:
        content = json.loads(done.stdout)
        assert content
        if verb in ("run", "resume"):
            assert content["app"] == case.application
        if verb == "status":
            assert content["app"] == case.application and content["state"] == "finished"


def test_a_finished_run_is_left_alone(case: Case, capfd: pytest.CaptureFixture[str]) -> None:
    """Every application says so; hazard's makes results that were deleted again."""
    before = (case.results / "record.json").read_text()
    try:
        invoke([case.application, "resume", str(case.results)])
        said = capfd.readouterr().out
    except UserError as refused:
        said = str(refused)
    assert "finished" in said or case.application == "hazard"
    assert case.application == "hazard" or (case.results / "record.json").read_text() == before


def test_results_are_kept_unless_they_may_be_replaced(case: Case) -> None:
    with pytest.raises(UserError, match="--overwrite") as refused:
        invoke([case.application, "run", str(case.config), "--directory", str(case.results)])
    assert str(case.results) in str(refused.value)


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("verb", ["resume", "status", "report"])
def test_a_folder_that_is_not_there(application: str, verb: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing"):
        invoke([application, verb, str(tmp_path / "nothing")])


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("verb", ["resume", "status", "report"])
def test_a_file_in_place_of_the_folder(application: str, verb: str, tmp_path: Path) -> None:
    """The configuration, from which the run's folder has its name."""
    (tmp_path / "mine.toml").write_text("")
    with pytest.raises(UserError) as refused:
        invoke([application, verb, str(tmp_path / "mine.toml")])
    assert f"run folder {tmp_path}/mine.toml: is a file; allowed: the folder of a run" in str(refused.value)
    assert str(refused.value).endswith(f", such as {tmp_path}/mine-run")


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_a_folder_of_the_users_own_files(case: Case, overwrite: list[str], tmp_path: Path) -> None:
    """Neither written to nor, with --overwrite, emptied of what has the name of a result."""
    own = tmp_path / "records"
    (own / "pictures").mkdir(parents=True)
    (own / "pictures" / "mine.png").write_text("mine")
    (own / "mine.mseed").write_text("mine")
    with pytest.raises(UserError) as refused:
        invoke([case.application, "run", str(case.config), "--directory", str(own), *overwrite])
    assert str(refused.value) == (
        f"output folder {own}: holds mine.mseed, but no run; allowed: an empty or new folder, or that of a run with --overwrite "
        "(or move it away)"
    )
    assert sorted(file.name for file in own.rglob("*")) == ["mine.mseed", "mine.png", "pictures"]


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("verb", ["run", "check"])
def test_a_configuration_that_is_not_there(application: str, verb: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.toml"):
        invoke([application, verb, str(tmp_path / "none.toml")])
