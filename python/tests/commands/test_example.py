"""`craton example`: what it lists and copies, and that what it says to type next can be typed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from command_line import craton
from craton.commands.example import examples, folder
from craton.commands.main import invoke
from craton.errors import UserError


def test_every_folder_is_an_example() -> None:
    assert {file.name for file in folder().iterdir() if file.is_dir()} == set(examples())


def test_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["example"]) == 0
    shown = capsys.readouterr().out
    for one in examples().values():
        assert one.name in shown and one.about.split()[0] in shown
    assert invoke(["example", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert "demo.toml" in listed["global"]["files"] and "stations.csv" in listed["global"]["files"]


@pytest.mark.parametrize("name", sorted(examples()))
def test_a_copy_is_complete_and_its_commands_find_their_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["example", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["directory"] == name
    copied = sorted(str(file.relative_to(tmp_path / name)) for file in (tmp_path / name).rglob("*") if file.is_file())
    assert copied == told["files"]
    for file in told["files"]:
        assert (tmp_path / name / file).read_bytes() == (folder() / name / file).read_bytes()
    for command in told["commands"]:
        words = shlex.split(command, comments=True)
        assert words[0] in ("craton", "python", "mpiexec", "jupyter")
        named = [word for word in words if Path(word).suffix in (".toml", ".py", ".xyz", ".ipynb")]
        assert named and all(word in told["files"] for word in named)


@pytest.mark.parametrize(
    ("name", "file"),
    [("waves", "layer.toml"), ("waves", "hill.toml"), ("waves", "soft_layer.toml"), ("hazard", "basin.toml")],
)
def test_the_copied_configuration_is_accepted(name: str, file: str, tmp_path: Path) -> None:
    done = craton("example", name, tmp_path / "mine")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"cd {tmp_path / 'mine'}\n" in done.stdout and file in done.stdout
    done = craton(name, "check", tmp_path / "mine" / file)
    assert done.returncode == 0, done.stderr


def test_refuses_to_replace_files(tmp_path: Path) -> None:
    (tmp_path / "scf").mkdir()
    (tmp_path / "scf" / "water.xyz").write_text("mine")
    with pytest.raises(UserError, match=r"water\.xyz is there already; allowed: another folder, or --overwrite"):
        invoke(["example", "scf", str(tmp_path / "scf")])
    assert (tmp_path / "scf" / "water.xyz").read_text() == "mine"
    assert not (tmp_path / "scf" / "benzene.xyz").exists()
    assert invoke(["example", "scf", str(tmp_path / "scf"), "--overwrite"]) == 0
    assert (tmp_path / "scf" / "water.xyz").read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["globl"], ["no such example", "did you mean 'global'", "allowed: global, observed"]),
        (["scf", "/proc/nowhere"], ["/proc/nowhere", "allowed: a folder that may be written to"]),
    ],
)
def test_wrong_command_lines(arguments: list[str], words: list[str]) -> None:
    done = craton("example", *arguments)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("craton: error: ")
    for word in words:
        assert word in line
