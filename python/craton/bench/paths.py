"""The rate at which panels, the derivatives of one path's samples to the unknowns it touches, are computed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from craton import _craton
from craton.bench.registry import Measurement, Run, benchmark

SHORTEST_PERIOD_S = 120.0
LEVEL, RADIAL = 3, 10
PATHS = 24
SAMPLE_INTERVAL_S = 10.0
SAMPLES = 180


@benchmark(
    "paths", f"panels of random paths, T > {SHORTEST_PERIOD_S:g} s, each rank one at a time", limit="the product G^T G"
)
def paths(run: Run) -> Iterator[Measurement]:
    """The limit is the rate of the product that every panel is made for, at the BLAS rate of this run."""
    earth = _craton.EarthModel.prem_isotropic()
    modes = _craton.ModeCatalogue.solve(earth, SHORTEST_PERIOD_S)
    basis = _craton.ModelBasis(LEVEL, np.linspace(earth.cmb_radius_m, earth.surface_radius_m, RADIAL))
    filter_periods_s = (400.0, 250.0, 1.25 * SHORTEST_PERIOD_S, SHORTEST_PERIOD_S)
    forward = _craton.ForwardProblem(modes, basis, filter_periods_s)
    chosen = random_paths(forward, np.random.default_rng(2015))
    model = np.zeros(basis.size)
    touched: list[int] = []

    def work() -> None:
        touched.clear()
        for index in range(PATHS):
            touched.append(len(forward.panel(chosen[index], model)[1]))

    seconds = run.seconds(work)
    rates = [run.comm.size * PATHS / time for time in seconds]
    products = []
    for _ in range(run.repeats):
        run.comm.barrier()
        rate = 1e9 * run.comm.allreduce(_craton.gemm_gflops(1024, single=True, threads=1))
        # a symmetric product needs n (n + 1) k floating-point operations
        products.append(rate / float(np.mean([size * (size + 1.0) * SAMPLES for size in touched])))
    yield Measurement("panel", rates, "paths/s", products)


def random_paths(forward: _craton.ForwardProblem, generator: np.random.Generator) -> _craton.PathSet:
    """Events and stations anywhere, the i-th event to the i-th station, 60 degrees or so apart."""
    event_latitude = np.degrees(np.arcsin(generator.uniform(-0.8, 0.8, PATHS)))
    event_longitude = generator.uniform(-180, 180, PATHS)
    order = np.arange(PATHS, dtype=np.int64)
    return _craton.PathSet(
        forward,
        event_latitude,
        event_longitude,
        np.full(PATHS, 30e3),
        generator.normal(size=(PATHS, 6)) * 1e18,
        np.full(PATHS, 3.0),
        -0.5 * event_latitude,
        event_longitude + generator.uniform(40, 80, PATHS),
        order,
        order,
        np.full(PATHS, 500.0),
        SAMPLE_INTERVAL_S,
        np.full(PATHS, SAMPLES, dtype=np.int64),
    )
