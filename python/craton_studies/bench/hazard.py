"""Seismograms of many rupture variations through one site's strain Green's tensors, and what measuring them costs."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import craton
import numpy as np
from craton import _craton
from craton.errors import UserError
from craton.hazard.forecast.rupture import Rupture, Surface, Variation
from craton.hazard.motion.green_tensors import GreenTensors, write_tensors
from craton.hazard.motion.intensity import measure_records
from craton.hazard.motion.reciprocity import measure
from craton.hazard.motion.seismograms import BATCH, RuptureAtSite, seismograms
from numpy.typing import NDArray

from craton_studies.bench.registry import Measurement, Option, Run, benchmark

PERIODS_S = (2.0, 3.0, 5.0, 10.0)
GEMM_SIDE = 1024
LINEAR = 1.10
"""Seconds per variation of the whole number, in times of those of a tenth of it, at most."""
SPACING_M, VS_M_S, VP_M_S, MU_PA = 1000.0, 3000.0, 5200.0, 3e10
MIB = 2**20


@benchmark(
    "hazard",
    "seismograms of rupture variations at a site, per second and core, and their intensity measures; memory",
    limit="matrix product, Gflop/s",
    options={
        "variations": Option(100_000, "of all ruptures together"),
        "ruptures": Option(10, "that they are of"),
        "rows": Option(12, "subfaults down dip"),
        "columns": Option(40, "subfaults along strike"),
        "duration": Option(150.0, "s of the tensors"),
        "dt": Option(0.1, "s between samples"),
        "sigma": Option(0.3, "s: of the Gaussian pulse that the tensors have gone through"),
        "directions": Option("xyz", "of the force, and so of the seismograms"),
    },
)
def hazard(run: Run) -> Iterator[Measurement]:
    """Made-up tensors of one site: noise after the P and S waves of each point, through a Gaussian pulse.

    Ruptures lie beside each other on one fault, each with a point of the tensors at every subfault. Variations have a hypocentre,
    speed, slip and rise times of their own. All ranks do some of the ruptures, from a work queue.

    - "sum over subfaults" is the kernel alone, beside a matrix product (sgemm) of the same run.
    - "seismograms" are time series in memory, with all Python round them.
    - "with measures" adds PSA at four periods, RotD50 and RotD100, PGA, PGV and durations.

    Both are done for a tenth of the variations, too: seconds per variation must stay as they are, and so must memory. "memory" is
    how much the process grew, beside the bound that craton.hazard states (rupture, batch and results).
    """
    o = run.options
    count, ruptures = o["variations"], o["ruptures"]
    if not (
        o["directions"] and set(o["directions"]) <= set("xyz") and len(set(o["directions"])) == len(o["directions"])
    ):
        raise UserError(f"--set directions={o['directions']}; allowed: some of x, y and z, such as xyz")
    if min(count, ruptures, o["rows"], o["columns"]) < 1 or count < 10 * ruptures:
        raise UserError(
            f"--set variations={count}: of {ruptures} ruptures; allowed: at least 10 of each, and whole numbers above 0"
        )
    with tempfile.TemporaryDirectory() as own:
        folder = Path(run.comm.bcast(own))
        forecast = [_rupture(n, o["rows"], o["columns"]) for n in range(ruptures)]
        if run.comm.rank == 0:
            run.say("tensors ...")
            _write(folder, forecast, o)
        run.comm.barrier()
        green = GreenTensors.open([folder / f"{axis}.h5" for axis in o["directions"]])
        yield from _measured(run, green, forecast, count // ruptures)
        run.comm.barrier()


def _measured(run: Run, green: GreenTensors, forecast: Sequence[Rupture], each: int) -> Iterator[Measurement]:
    size = run.comm.size
    group = (
        f"{each * len(forecast)} variations of {len(forecast)} ruptures, {len(forecast[0].surface)} subfaults, "
        f"{len(green.directions)} directions, {green.samples} samples"
    )
    kernel, gemm, note = _kernel(run, green, forecast[0])
    yield Measurement("sum over subfaults", kernel, "Gflop/s", gemm, note=note, group=group, ranks=1)
    world = craton.World(run.comm, run.ranks_per_node)
    for name, with_measures in (("seismograms", False), ("with measures", True)):
        seconds = {}
        for some in (each // 10, each):
            run.say(f"{name}, {some * len(forecast)} variations ...")
            begun, before = time.perf_counter(), _peak_mib()
            _all(world, run, green, forecast, some, with_measures)
            run.comm.barrier()
            seconds[some] = time.perf_counter() - begun
            grown = max(run.comm.allgather(_peak_mib() - before))
        made = each * len(forecast)
        rate = made / seconds[each] / size
        yield Measurement(
            name,
            [rate],
            "variations/s per core",
            note=f"{rate * len(green.directions):.0f} seismograms/s per core",
            group=group,
        )
        yield Measurement(
            f"{name}: s per variation, all / a tenth",
            [1e3 * seconds[each] / made],
            "ms",
            [1e3 * seconds[each // 10] / (each // 10 * len(forecast))],
            "a tenth",
            LINEAR,
            less_is_better=True,
            group=group,
        )
        bound = _bound_mib(green, forecast[0], made if with_measures else 0)
        yield Measurement(
            f"{name}: memory, all beyond a tenth",
            [grown],
            "MiB",
            [bound],
            "bound of all",
            1.0,
            less_is_better=True,
            group=group,
        )


def _all(
    world: Any, run: Run, green: GreenTensors, forecast: Sequence[Rupture], each: int, with_measures: bool
) -> None:
    if with_measures:
        found = measure(
            green, forecast, lambda n: _variations(forecast[n], n, each), PERIODS_S, world=world, comm=run.comm
        )
        assert run.comm.rank or len(found) == each * len(forecast)
        return
    queue = _craton.WorkQueue(world, len(forecast))
    for n in queue:
        for velocity in seismograms(green, forecast[n], _variations(forecast[n], n, each)):
            assert velocity.shape[1] == len(green.directions)
    world.barrier()  # until then others may steal from the queue


def _kernel(run: Run, green: GreenTensors, rupture: Rupture) -> tuple[list[float], list[float], str]:
    """Gflop/s of the sum over subfaults and of a matrix product, on one core, in turn."""
    site = RuptureAtSite(green, rupture)
    some = list(_variations(rupture, 0, BATCH))
    site.velocities(some)
    kernel, gemm = [], []
    for _ in range(run.repeats):
        gemm.append(_craton.gemm_gflops(GEMM_SIDE, True, 1))
        seconds = min(site.seconds_of_sum(some) for _ in range(10))
        kernel.append(1e-9 * BATCH * site.operations_per_variation / seconds)
    microseconds = site.operations_per_variation / (1e3 * max(kernel))
    note = f"{microseconds:.1f} us for a variation, {site.frequencies} frequencies"
    return kernel, gemm, note


def _bound_mib(green: GreenTensors, rupture: Rupture, rows: int) -> float:
    """MiB in memory at a time: a rupture, a batch with its records measured in double precision, and the results."""
    site = RuptureAtSite(green, rupture)
    some = list(_variations(rupture, 0, BATCH))
    velocity = site.velocities(some)
    measures = measure_records(velocity, green.dt_s, PERIODS_S, components=green.directions)
    batch = BATCH * site.bytes_per_variation + 4 * velocity.nbytes
    # rows are sent to rank 0 as they are and joined there
    results = 4 * rows * 8 * (2 + len(measures.columns()))
    return (site.bytes + batch + results) / MIB


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ------------------------------------------------------------------------------------------------------ what is made up


def _rupture(number: int, rows: int, columns: int) -> Rupture:
    """Dipping 60 degrees, each further along strike than the one before."""
    row, column = (grid.ravel() for grid in np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    down = SPACING_M * (row + 0.5)
    along = SPACING_M * (column + number * columns + 0.5)
    dip = np.radians(60.0)
    at = np.column_stack([20e3 + along, 40e3 + down * np.cos(dip), 1e3 + down * np.sin(dip)])
    full = np.full(len(at), 1.0)
    surface = Surface(at, 0 * full, 60 * full, 90 * full, SPACING_M**2 * full, rows, columns)
    return Rupture("made up", number, 7.0, 0.005, surface)


def _variations(rupture: Rupture, index: int, count: int) -> Iterator[Variation]:
    """Slip with a random amplitude in each subfault, a front of random speed from a random hypocentre, rise times of 1 to 5 s."""
    surface, at = rupture.surface, rupture.surface.positions
    for number in range(count):
        random = np.random.default_rng((index, number))
        values: Any = random.random(2 * len(surface), np.float32)
        hypocentre = int(random.integers(len(surface)))
        offset = at - at[hypocentre]
        distance = np.sqrt(np.einsum("ij,ij->i", offset, offset))
        onset = distance / random.uniform(2200.0, 2900.0)
        slip, rise = 2 * values[: len(surface)], 1 + 4 * values[len(surface) :]
        yield Variation(index, number, slip, onset, rise, hypocentre, number)


def _write(folder: Path, forecast: Sequence[Rupture], o: Mapping[str, Any]) -> None:
    position = np.concatenate([rupture.surface.positions for rupture in forecast])
    site = np.array([20e3, 20e3, 0.0])
    samples = int(o["duration"] / o["dt"])
    centre = 6 * o["sigma"]
    for axis in o["directions"]:
        tensors = _tensors(position - site, samples, o["dt"], o["sigma"], centre, seed="xyz".index(axis))
        write_tensors(
            folder / f"{axis}.h5",
            tensors,
            position,
            direction=axis,
            site_m=site.tolist(),
            dt_s=o["dt"],
            first_time_s=0.0,
            h_m=0.2 * SPACING_M,
            lambda_Pa=MU_PA,
            mu_Pa=MU_PA,
            force_N=1e15,
            pulse="gaussian",
            pulse_integral_s=float(np.sqrt(2 * np.pi) * o["sigma"]),
            pulse_centre_s=centre,
        )


def _tensors(
    offset: NDArray[np.float64], samples: int, dt_s: float, sigma_s: float, centre_s: float, seed: int
) -> NDArray[np.float32]:
    """Noise that begins with the P wave and is strongest at the S wave, through the pulse."""
    random = np.random.default_rng(seed)
    distance = np.sqrt((offset**2).sum(axis=1))
    times = dt_s * np.arange(samples)
    low_pass = np.exp(-0.5 * (2 * np.pi * np.fft.rfftfreq(2 * samples, dt_s) * sigma_s) ** 2)
    out = np.empty((len(offset), 6, samples), np.float32)
    for n, r in enumerate(distance):
        since = times - centre_s - r / VP_M_S
        swell = np.where(since > 0, since**2 * np.exp(-since / (0.5 * r / VS_M_S + 3)), 0)
        noise = random.standard_normal((6, samples), np.float32) * (swell / swell.max() / r)
        out[n] = (
            np.fft.irfft(np.fft.rfft(noise, 2 * samples, axis=1) * low_pass, 2 * samples, axis=1)[:, :samples] * 1e-6
        )
    return out
