"""The whole configuration of an application: read, checked, written, changed."""

import dataclasses
import pickle
import tomllib
from pathlib import Path

import pytest
from craton.errors import UserError
from craton.settings import (
    REQUIRED,
    Configuration,
    directory_setting,
    integer,
    number,
    setting,
    template_of,
    text,
)


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """Where results go."""

    directory: str = directory_setting()
    threads: int = setting(1, integer(1, 8), "of each rank")


@dataclasses.dataclass(frozen=True)
class SourceConfig:
    """What radiates."""

    name: str = setting(REQUIRED, text, "name")
    strength: float = setting(1.0, number(0, 10, "N"), "N")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ToyConfig(Configuration):
    tables = {"run": RunConfig, "attenuation": SourceConfig}
    listed = {"source": SourceConfig}
    optional = ("attenuation",)
    run: RunConfig
    attenuation: SourceConfig | None
    sources: tuple[SourceConfig, ...]

    def check(self):
        if len({one.name for one in self.sources}) < len(self.sources):
            raise self.wrong("[[source]] names; allowed: one of its own for each")


TEXT = """
[run]
threads = 2
[[source]]
name = "a"
[[source]]
name = "b"
strength = 2
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return ToyConfig.build(tomllib.loads(TEXT), tmp_path / "toy.toml")


def test_read_and_written(config, tmp_path):
    assert config.run == RunConfig(str(tmp_path / "toy-run"), 2) and config.attenuation is None
    assert [(one.name, one.strength) for one in config.sources] == [("a", 1.0), ("b", 2.0)]
    assert ToyConfig.build(tomllib.loads(config.to_toml()), config.path) == config
    assert ToyConfig.build(config.to_dict(), config.path) == config == pickle.loads(pickle.dumps(config))
    assert "[run]" not in config.to_toml(leave_out=("run",)) and "attenuation" not in config.to_dict()


def test_a_changed_copy(config):
    assert config.replaced("run", threads=3).run.threads == 3 and config.run.threads == 2
    assert config.replaced("attenuation", name="x").attenuation == SourceConfig("x")
    with pytest.raises(UserError, match=r"toy.toml: \[run\] threads = 9; allowed: a whole number in \[1, 8\]"):
        config.replaced("run", threads=9)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[rum]", "toy.toml: unknown table [rum]; did you mean [run]? allowed: run, attenuation, source"),
        ("[source]\nname = 'a'", "[source] is one table; allowed: [[source]], in double brackets, for each source"),
        ("[[source]]", "toy.toml: [[source]] 1 name is missing; allowed: name"),
        ("[[source]]\nname = 'a'\nstrength = -1", "[[source]] 1 strength = -1; allowed: a number in [0, 10] N"),
        ("[[source]]\nname = 'a'\n[[source]]\nname = 'a'", "toy.toml: [[source]] names; allowed: one of its own"),
        ("[attenuation]\nname = 3", "[attenuation] name = 3; allowed: a string in quotes"),
    ],
)
def test_what_is_refused(content, says):
    with pytest.raises(UserError) as error:
        ToyConfig.build(tomllib.loads(content), Path("toy.toml"))
    assert says in str(error.value) and "\n" not in str(error.value)


def test_template():
    made = template_of(
        "A toy.", {"run": RunConfig, "[source]": SourceConfig}, {"name": "a", "source.strength": 3.0}, 30
    )
    assert made.startswith("# A toy.\n\n# Where results go.\n[run]\n")
    assert f"{'strength = 3.0':<30} # N" in made and "[[source]]" in made
    read = tomllib.loads(made)
    assert read == {"run": {"directory": "", "threads": 1}, "source": [{"name": "a", "strength": 3.0}]}
