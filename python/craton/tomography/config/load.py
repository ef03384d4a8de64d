"""A whole configuration: read, checked, written, and printed with all its defaults."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any, Self, get_args, get_type_hints

from craton.errors import UserError
from craton.settings import Configuration, check_keys, read_table, read_toml, shown, template_of
from craton.tomography.config.prior import PriorConfig, check_grid, prior_from_dict, with_whole_prior
from craton.tomography.config.tables import (
    AssemblyConfig,
    BasisConfig,
    CorrectionsConfig,
    DataConfig,
    EarthConfig,
    EventsConfig,
    InversionConfig,
    ModesConfig,
    PathsConfig,
    ReportConfig,
    RunConfig,
    StartConfig,
    StationsConfig,
    SyntheticsConfig,
    TargetConfig,
    TheoryConfig,
)

BARE_KIND = re.compile(r"^(\s*kind\s*=\s*)([A-Za-z_]\w*)\s*$")
"""On the command line kind=matern needs no quotes, which a shell would take away."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Config(Configuration):
    """A whole configuration, checked. Paths in it are absolute."""

    optional = ("target",)
    elsewhere = {"craton tomography data": ("input", "fetch", "processing", "windows", "output", "phases")}

    run: RunConfig
    earth: EarthConfig
    theory: TheoryConfig
    modes: ModesConfig
    basis: BasisConfig
    start: StartConfig
    events: EventsConfig
    stations: StationsConfig
    paths: PathsConfig
    data: DataConfig
    synthetics: SyntheticsConfig
    target: TargetConfig | None
    corrections: CorrectionsConfig
    prior: PriorConfig
    inversion: InversionConfig
    assembly: AssemblyConfig
    report: ReportConfig

    @classmethod
    def build(cls, raw: Mapping[str, Any], path: Path) -> Self:
        """From what a TOML file holds, checked. UserError names the file, the key, the value and what is allowed."""
        return super().build(with_whole_prior(raw), path)

    def check(self) -> None:
        """Refuses what no single setting can be wrong about alone."""
        check_grid(self.prior, str(self.path))
        paths, data, modes = self.paths, self.data, self.modes
        if paths.min_distance_deg >= paths.max_distance_deg:
            raise self.wrong(
                f"[paths] min_distance_deg = {paths.min_distance_deg:g}; "
                f"allowed: less than max_distance_deg = {paths.max_distance_deg:g}"
            )
        if data.slowest_km_s >= data.fastest_km_s:
            raise self.wrong(
                f"[data] slowest_km_s = {data.slowest_km_s:g}; allowed: less than fastest_km_s = {data.fastest_km_s:g}"
            )
        longest_s, *_, shortest_s = data.filter_periods_s
        for period_s in self.inversion.first_periods_s:
            if not shortest_s < period_s <= longest_s:
                raise self.wrong(
                    f"[inversion] first_periods_s = [{', '.join(f'{each:g}' for each in self.inversion.first_periods_s)}] has "
                    f"{period_s:g} s; allowed: above {shortest_s:g} and at most {longest_s:g} s, the ends of [data] "
                    "filter_periods_s"
                )
        if self.target is not None and self.target.random_rms and self.prior.kind != "gaussian":
            raise self.wrong(
                f'[target] random_rms = {self.target.random_rms:g} with [prior] kind = "{self.prior.kind}"; allowed: 0, or kind = '
                '"gaussian", whose covariance it is drawn from'
            )
        if self.start.prior_mean and not self.start.file:
            raise self.wrong("[start] prior_mean = true without a file; allowed: false, or [start] file")
        if self.start.file and not self.start.prior_mean and self.prior.kind != "gaussian":
            raise self.wrong(
                f'[start] file = {shown(self.start.file)} with [prior] kind = "{self.prior.kind}"; allowed: prior_mean = true, '
                'or kind = "gaussian", whose C_m^-1 weighs the deviation of a starting model from the prior\'s mean'
            )
        if not self.basis.xi and self.basis.xi_level:
            raise self.wrong(f"[basis] xi_level = {self.basis.xi_level} with xi = false; allowed: 0, or xi = true")
        if not self.basis.xi and self.basis.xi_depths_km:
            depths = ", ".join(f"{depth:g}" for depth in self.basis.xi_depths_km)
            raise self.wrong(f"[basis] xi_depths_km = [{depths}] with xi = false; allowed: [], or xi = true")
        if self.earth.crust and not self.earth.file and self.earth.model == "prem_iso_light":
            raise self.wrong(
                f'[earth] crust = {shown(self.earth.crust)} with model = "prem_iso_light", which has no crust; allowed: '
                'model = "prem_isotropic" or "prem"'
            )
        if self.target is not None and self.target.finer and max(self.basis.lateral_levels) > 7:
            raise self.wrong(
                f"[target] finer = true with [basis] of level {max(self.basis.lateral_levels)}; allowed: at most 7, because the "
                "finest splines are of level 8"
            )
        if data.filter_periods_s[3] < modes.shortest_period_s:
            raise self.wrong(
                f"[data] filter_periods_s ends at {data.filter_periods_s[3]:g} s; allowed: not below "
                f"[modes] shortest_period_s = {modes.shortest_period_s:g} s, because shorter modes are not computed"
            )
        if data.noise_in_band and data.correlation_s:
            raise self.wrong(
                f"[data] correlation_s = {data.correlation_s:g} with noise_in_band = true; allowed: one of the two, because the "
                "filter's band says how noise is correlated"
            )
        if 2 * data.sample_interval_s > data.filter_periods_s[3]:
            raise self.wrong(
                f"[data] sample_interval_s = {data.sample_interval_s:g}; allowed: at most half of the shortest period "
                f"let through, {data.filter_periods_s[3] / 2:g} s"
            )
        if self.report.resolution and self.inversion.keep_hessians == "none":
            raise self.wrong(
                '[report] resolution = true; allowed: false, because [inversion] keep_hessians = "none" keeps no Hessian '
                "that it could come from"
            )
        if self.synthetics.kind != "modes" and self.theory.derivatives:
            raise self.wrong(
                f'[theory] derivatives = "{self.theory.derivatives}" with [synthetics] kind = "{self.synthetics.kind}"; allowed: '
                '"", because `kind` is the theory of the derivatives where seismograms come from outside'
            )
        for line in wrong_command(self.synthetics):
            raise self.wrong(line)
        whole = 180.0 / self.synthetics.step_deg if self.synthetics.step_deg else 1.0
        if abs(whole - round(whole)) > 1e-9:
            raise self.wrong(f"[synthetics] step_deg = {self.synthetics.step_deg:g}; allowed: degrees that divide 180")
        solved = self.inversion
        if solved.reproducible:
            for key, value, allowed in (
                ("[inversion] precision", solved.precision, "float64"),
                ("[inversion] in_place", solved.in_place, False),
                ("[prior] kind", self.prior.kind, "gaussian"),
            ):
                if value != allowed:
                    raise self.wrong(
                        f"[inversion] reproducible = true with {key} = {json.dumps(value)}; allowed: {json.dumps(allowed)}"
                    )
        if solved.in_place and (solved.solve_precision, solved.precision) == ("float64", "float32"):
            raise self.wrong(
                '[inversion] in_place = true with solve_precision = "float64"; allowed: "refined" or "float32", because the factor '
                'takes the memory of a Hessian of precision = "float32"'
            )
        if data.kind == "file" and not data.file:
            raise self.wrong('[data] file is missing; allowed: an HDF5 file, because kind = "file"')
        if data.kind == "synthetic" and self.target is None:
            raise self.wrong(
                'the table [target] is missing; allowed: a [target] table, because [data] kind = "synthetic"'
            )

    def command_line(self, ranks: int, ranks_per_node: int = 0) -> str:
        """The command that repeats a run: options are what differs from the configuration file."""
        try:
            written = load_config(self.path)
        except UserError:
            written = self
        words = ["craton", "tomography", "run", str(self.path), "--ranks", str(ranks)]
        if ranks_per_node:
            words += ["--ranks-per-node", str(ranks_per_node)]
        if self.assembly.threads != written.assembly.threads:
            words += ["--threads", str(self.assembly.threads)]
        if self.inversion.max_iterations != written.inversion.max_iterations:
            words += ["--iterations", str(self.inversion.max_iterations)]
        if self.run.directory != written.run.directory:
            directory, here = Path(self.run.directory), Path.cwd()
            words += ["--directory", str(directory.relative_to(here) if directory.is_relative_to(here) else directory)]
        return shlex.join(words)


PLACEHOLDERS = frozenset(
    {"python", "folder", "model", "sources", "source", "event", "stations", "windows", "seismograms"}
)
"""What the command of an outside solver may name in braces."""


def wrong_command(settings: SyntheticsConfig) -> Iterator[str]:
    """What is wrong with an outside solver, in words."""
    if settings.kind != "command":
        return
    if settings.engine == "parsl" and not settings.parsl_config:
        yield '[synthetics] engine = "parsl" without parsl_config; allowed: parsl_config = "FILE", a Parsl configuration'
    try:
        fields = [field for field in Formatter().parse(settings.command) if field[1] is not None]
        words = shlex.split(settings.command)
    except ValueError as problem:
        yield f"[synthetics] command = {shown(settings.command)}: {problem}; allowed: words, and names in braces"
        return
    named = {
        f"{name}{f'!{kind}' if kind else ''}{f':{form}' if form else ''}" for _, name, form, kind in fields
    }  # {model:>9} is no name
    if not words:
        yield '[synthetics] command is missing; allowed: that of a solver, because kind = "command"'
    for name in sorted(named - PLACEHOLDERS):
        allowed = ", ".join(f"{{{known}}}" for known in sorted(PLACEHOLDERS))
        yield f"[synthetics] command = {shown(settings.command)} names {{{name}}}; allowed: {allowed}"


TABLES: dict[str, type] = {
    name: (get_args(kind) or (kind,))[0]  # of TargetConfig | None the table
    for name, kind in get_type_hints(Config).items()
    if name in Config.__annotations__
}
"""Every attribute of a configuration is a table of its file."""
Config.tables = TABLES


def load_config(path: str | os.PathLike[str]) -> Config:
    """Reads and checks a configuration file. UserError names the key, the value and what is allowed."""
    source = Path(path)
    return Config.build(read_toml(source, "craton tomography template"), source)


def template() -> str:
    """A commented TOML file with every table, key and default."""
    return template_of(
        "A tomography run of Craton. Start it with: craton tomography run THIS_FILE --ranks 4",
        TABLES,
        {"events.file": "events.csv", "stations.file": "stations.csv"},
    )


def process_grid(ranks: int) -> tuple[int, int]:
    """Rows and columns of ranks, over which a matrix is dealt: the most square grid, no more rows than columns."""
    rows = next(rows for rows in range(math.isqrt(ranks), 0, -1) if ranks % rows == 0)
    return rows, ranks // rows


def packed_shape(order: int, block: int) -> tuple[int, int]:
    """Rows and columns of a packed matrix, as in memory and in the file."""
    first = -(-order // block) // 2 * block
    return (2 * first + block, max(first, order - first)) if first else (order, order)


def hessian_block(wanted: int, size: int) -> int:
    """Rows of a block of a Hessian: as many as wanted, or fewer, so that a small one has 32 blocks to deal to ranks.

    The same on any number of ranks, for whoever resumes.
    """
    return min(wanted, max(1, size // 32))


def check_ranks(config: Config, ranks: int) -> None:
    """UserError unless each rank owns a block of the Hessian, whose blocks lie on the process grid."""
    unknowns = config.basis.unknowns
    rows, columns = process_grid(ranks)
    block = hessian_block(config.inversion.block, unknowns)
    down, across = (-(-extent // block) for extent in packed_shape(unknowns, block))
    if columns > across:
        largest = next(
            (
                smaller
                for smaller in range(block - 1, 0, -1)
                if packed_shape(unknowns, smaller)[1] > smaller * (columns - 1)
            ),
            0,
        )
        cure = f"a block of at most {largest}, or fewer ranks" if largest else "fewer ranks"
        raise config.wrong(
            f"[inversion] block = {config.inversion.block}: more ranks than blocks, because {unknowns} unknowns make {down} x "
            f"{across} of {block} in the packed Hessian, for a grid of {rows} x {columns} ranks; allowed: {cure}"
        )


def load_prior(spec: str, base: PriorConfig | None = None) -> PriorConfig:
    """A prior from a TOML file with a [prior] table, or from inline settings such as "strength=0.05,nugget=0.01".

    Settings that are not named keep the values of `base` (for a file: the defaults). UserError for what is neither.
    """
    if "=" in spec:
        # commas also separate the items of a list, so only those before `key =` end a setting
        lines = re.split(r",\s*(?=[A-Za-z_]\w*\s*=)", spec)
        lines = [BARE_KIND.sub(r'\1"\2"', line) for line in lines]
        try:
            values = tomllib.loads("\n".join(lines))
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"--prior {spec!r}: {error}; allowed: key=value pairs separated by commas, or a TOML file"
            ) from None
        return prior_from_dict({**(base or PriorConfig()).to_dict(), **values}, f"--prior {spec!r}")
    if not spec.strip():
        raise UserError("--prior '': says nothing; allowed: key=value pairs separated by commas, or a TOML file")
    source = Path(spec)
    tables = with_whole_prior(read_toml(source, "craton tomography template"))
    check_keys(tables, TABLES, f"{source}: unknown table", brackets=True)
    if "prior" not in tables:
        raise UserError(f"{source}: no [prior] table; allowed: a TOML file with a [prior] table, or key=value pairs")
    return prior_from_dict(tables["prior"], str(source))


@dataclass(frozen=True)
class TheorySettings:
    """What synthetics and panels depend on, beside the basis: tables of a run that has ended."""

    earth: EarthConfig
    modes: ModesConfig
    data: DataConfig
    theory: TheoryConfig
    assembly: AssemblyConfig
    corrections: CorrectionsConfig


def as_it_was(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a stored run, with what keys meant that it does not have yet."""
    complete = "auto" if config.get("data", {}).get("components", "T") == "T" else "never"
    return {
        **config,
        "theory": {"complete": complete, **config.get("theory", {})},
        "inversion": {"first_misfit": "waveform", **config.get("inversion", {})},
    }


def theory_settings(config: Mapping[str, Any], where: str) -> TheorySettings:
    """The tables in a run's configuration, as hessian.h5 and record.json hold it; what is missing has its default.

    where: begins errors. UserError for what is not allowed. [data] file is left out: it may be gone.
    """
    raw = {**as_it_was(config), "data": {**config.get("data", {}), "file": ""}}

    def table(name: str) -> Any:
        return read_table(TABLES[name], name, raw.get(name, {}), where, Path.cwd())

    return TheorySettings(
        table("earth"), table("modes"), table("data"), table("theory"), table("assembly"), table("corrections")
    )
