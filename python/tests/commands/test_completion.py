"""Completion on the command line, as bash and zsh ask for it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from craton.commands.main import main
from helpers import environment_without_mpi

CASES = [
    ("craton tom", {"tomography"}),
    ("craton sc", {"scf"}),
    ("craton tomography re", {"resume", "report"}),
    ("craton waves run my.toml --over", {"--overwrite"}),
    ("craton waves export layer-run --format ", {"sac", "mseed", "asdf"}),
    ("craton hazard run my.toml --schedule p", {"pipeline"}),
    ("craton tomography kernel --component ", {"Z", "R", "T"}),
    ("craton tomography run ", set()),  # the shell offers files
    ("craton tomography status de", set()),
]


@pytest.fixture(scope="module")
def path_with_craton(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A search path on which the command is found by its name, as in an environment where the package is installed."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "craton").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m craton.commands.main "$@"\n')
    (folder / "craton").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What the command prints when a shell asks it, in this process."""

    def ask(line: str, shell: str, **environment: str) -> str:
        asked = {"_TYPER_COMPLETE_ARGS": line, "_CRATON_COMPLETE": f"complete_{shell}", **environment}
        for name, value in asked.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out

    return ask


@pytest.fixture(scope="module")
def bash_script(path_with_craton: str) -> str:
    done = _shell("craton --show-completion; true", path_with_craton)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_bash(line: str, expected: set[str], path_with_craton: str, bash_script: str) -> None:
    """The script that --show-completion prints, in a shell."""
    words = [*line.split(), *([""] if line.endswith(" ") else [])]
    script = (
        f"{bash_script}\nCOMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; "
        '_craton_completion craton; printf "%s\\n" "${COMPREPLY[@]}"; complete -p craton'
    )
    done = _shell(script, path_with_craton)
    *found, rule = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert set(filter(None, found)) == expected
    assert rule == "complete -o default -F _craton_completion craton"  # default: files where nothing was found


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_zsh(line: str, expected: set[str], complete: Callable[..., str]) -> None:
    """What the shell evaluates."""
    out = complete(line, "zsh")
    if not expected:
        assert out == "_files\n"
        return
    assert out.startswith("_arguments '*: :((") and out.endswith("))'\n")
    items = out.removeprefix("_arguments '*: :((").removesuffix("))'\n").splitlines()
    assert {item.split('"')[1] for item in items} == expected


def test_names_come_with_their_meaning(complete: Callable[..., str]) -> None:
    out = complete("craton tomography ", "fish", _TYPER_COMPLETE_FISH_ACTION="get-args")
    meanings = dict(line.split("\t") for line in out.splitlines())
    assert {"template", "check", "run", "report"} <= set(meanings)
    assert all(meanings.values())


def test_installs_itself(tmp_path: Path, path_with_craton: str) -> None:
    done = _shell("craton --install-completion; true", path_with_craton, HOME=str(tmp_path))
    assert done.returncode == 0
    assert "complete" in (tmp_path / ".bash_completions" / "craton.sh").read_text()
    assert ".bash_completions/craton.sh" in (tmp_path / ".bashrc").read_text()


def test_starts_no_mpi_and_is_quick() -> None:
    look = (
        "import atexit, os, sys; os.environ.update(_CRATON_COMPLETE='complete_zsh', _TYPER_COMPLETE_ARGS='craton scf');"
        "atexit.register(lambda: print(sorted({'mpi4py.MPI', 'scipy', 'matplotlib', 'h5py'} & set(sys.modules))));"
        "import craton.commands.main as cli; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", look],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment_without_mpi(),
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def _shell(script: str, path: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = environment_without_mpi(PATH=path, **environment)
    return subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=60, env=env, check=False
    )
