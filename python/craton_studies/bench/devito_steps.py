"""Steps of the same equations by Devito, whose generated code the wave solver is measured beside."""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

RELAXATION_S = 0.1
"""Of the one mechanism of the viscoelastic equations."""


def steps_of_devito(
    cells: int, anelastic: bool, spacing_m: float, dt_s: float, threads: int
) -> Callable[[int], float] | None:
    """A function that takes so many steps of a cube and returns the seconds; None where Devito is not installed.

    Velocity-stress equations on a staggered grid, fourth order in space, float32, with OpenMP: the same cells and differences as
    the wave solver's, with media in 32 bits, without free surface, absorbing layers or sources. Viscoelastic: one relaxation
    mechanism with a memory variable per stress (Robertsson et al. 1994), where the wave solver has eight in as many variables.
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    with contextlib.redirect_stderr(io.StringIO()):  # warnings of its libraries, which switch filters back on
        try:
            import devito
        except ImportError:
            return None
        devito.configuration["language"] = "openmp"
        devito.configuration["log-level"] = "WARNING"
        operator, velocity = _operator(devito, cells, anelastic, spacing_m)
        velocity[2].data[0, cells // 2, cells // 2, cells // 2] = 1.0

        def run(steps: int) -> float:
            begun = time.perf_counter()
            operator.apply(time_m=0, time_M=steps - 1, dt=dt_s)
            return time.perf_counter() - begun

        run(2)  # compiles
    return run


def _operator(devito: Any, cells: int, anelastic: bool, spacing_m: float) -> tuple[Any, Any]:
    shape = (cells,) * 3
    grid = devito.Grid(shape=shape, extent=(spacing_m * (cells - 1),) * 3, dtype=np.float32)
    order = {"grid": grid, "space_order": 4}
    v = devito.VectorTimeFunction(name="v", time_order=1, **order)
    tau = devito.TensorTimeFunction(name="tau", time_order=1, **order)
    media = {name: devito.Function(name=name, **order) for name in ("lam", "mu", "b")}
    for name, value in (("lam", 2.0e10), ("mu", 2.0e10), ("b", 1 / 2600.0)):
        media[name].data[:] = value
    dt = grid.stepping_dim.spacing
    velocity = devito.Eq(v.forward, v + dt * media["b"] * devito.div(tau))
    gradient = devito.grad(v.forward) + devito.grad(v.forward).transpose(inner=False)
    elastic = media["lam"] * devito.diag(devito.div(v.forward)) + media["mu"] * gradient
    if not anelastic:
        return devito.Operator([velocity, devito.Eq(tau.forward, tau + dt * elastic)]), v
    weight = devito.Function(name="w", **order)
    weight.data[:] = 0.02
    r = devito.TensorTimeFunction(name="r", time_order=1, **order)
    relaxed = devito.Eq(r.forward, r - dt / RELAXATION_S * (r + weight * elastic))
    return devito.Operator([velocity, relaxed, devito.Eq(tau.forward, tau + dt * (elastic + r.forward))]), v
