"""What a seismogram sees of the great circle's plane: sensitivity to dlnVs at its points, by path averages and by NACT.

Not collective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton._craton import EarthModel, ForwardProblem, ModeCatalogue, ModelBasis, Path, PathSet, SpheroidalCatalogue
from craton.errors import UserError
from craton.pages import maps
from craton.pages.figures import new_figure
from craton.pages.style import COLOURS, OBSERVED, drawing
from craton.tomography.model.sphere import EARTH_RADIUS_KM

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

__all__ = ["PlaneKernel", "draw", "kernel_of_path", "plane_kernel", "small_basis"]

f64 = NDArray[np.float64]

OVERTONES_KM_S = 5.0
"""Group velocity that the fundamental mode does not reach: what comes earlier is overtones, which are body waves."""
FASTEST_KM_S, SLOWEST_KM_S = 9.0, 3.2
ANGLES, RADII = 181, 61
MOMENT_NM = 1e20
BASIS_LEVEL, BASIS_RADIAL = 2, 5
"""Of a basis that is asked for nothing: kernels are without splines."""


@dataclass(frozen=True)
class PlaneKernel:
    """Sensitivity of one seismogram of the reference Earth."""

    theory: str
    component: str
    distance_deg: float
    depth_km: float
    periods_s: tuple[float, float, float, float]
    times_s: f64
    displacement_m: f64
    angle_deg: f64
    radius_km: f64
    kernel: NDArray[np.float32]
    """samples x angles x radii: metres per kilometre of radius, degree of angle and unit of dlnVs"""
    title: str
    """Which seismogram it is, in a title's words."""

    def extremes(self, time_s: float) -> dict[str, float]:
        """The sample nearest to a time: its time, and the least and the greatest sensitivity of the plane then."""
        sample = int(np.argmin(np.abs(self.times_s - time_s)))
        least, greatest = float(self.kernel[sample].min()), float(self.kernel[sample].max())
        return {"time_s": float(self.times_s[sample]), "least_m_per_km_deg": least, "greatest_m_per_km_deg": greatest}


def small_basis(earth: EarthModel) -> ModelBasis:
    """A basis for forward problems that are asked for kernels only: these know of no splines."""
    return ModelBasis(BASIS_LEVEL, np.linspace(earth.cmb_radius_m, earth.solid_surface_radius_m, BASIS_RADIAL))


def plane_kernel(
    earth: EarthModel,
    toroidal: ModeCatalogue,
    spheroidal: SpheroidalCatalogue | None,
    theory: str,
    component: str,
    distance_deg: float,
    depth_km: float,
    periods_s: tuple[float, float, float, float],
    interval_s: float = 10.0,
) -> PlaneKernel:
    """The kernel of a source of 1e20 N m: equal parts of dip slip and strike slip that radiate most toward the station.

    spheroidal: may be None for T. theory: pava or nact. component: Z, R or T. depth_km: of the source. periods_s: corners of the
    filter, decreasing. interval_s: between samples. UserError where there is no such path.
    """
    if not 1.0 <= distance_deg <= 179.0:
        raise UserError(f"distance {distance_deg:g} degrees; allowed: 1 to 179")
    forward = ForwardProblem(toroidal, small_basis(earth), periods_s, theory, spheroidal)
    phi = 0.5 * np.pi  # the station is east of the source, which is where Phi is 90 degrees
    shear = MOMENT_NM * np.array([0.0, -np.sin(2 * phi), np.sin(2 * phi), -np.sin(phi), np.cos(phi), np.cos(2 * phi)])
    vertical = MOMENT_NM * np.array([1.0, 0.0, -1.0, np.cos(phi), np.sin(phi), 0.0])
    length_km = np.radians(distance_deg) * EARTH_RADIUS_KM
    first = np.floor(length_km / FASTEST_KM_S / interval_s) * interval_s
    samples = int((length_km / SLOWEST_KM_S + 2 * periods_s[1] - first) / interval_s) + 1
    zero, none, moment = np.zeros(1), np.zeros(1, np.int64), shear if component == "T" else vertical
    path = PathSet(
        forward, zero, zero, np.array([1e3 * depth_km]), moment[None, :], zero, zero, np.array([distance_deg]), none, none,
        np.array([first]), interval_s, np.array([samples]), component=[component],
    )[0]  # fmt: skip
    title = f"moment of {MOMENT_NM:.0e} N m that radiates most toward the station"
    return kernel_of_path(earth, forward, path, theory, component, depth_km, periods_s, title)


def kernel_of_path(
    earth: EarthModel,
    forward: ForwardProblem,
    path: Path,
    theory: str,
    component: str,
    depth_km: float,
    periods_s: tuple[float, float, float, float],
    title: str,
) -> PlaneKernel:
    """The kernel of a path along the minor arc; all but the first three arguments are for the picture."""
    angle = np.linspace(0.0, path.distance_rad, ANGLES)
    radius = np.linspace(earth.cmb_radius_m, earth.solid_surface_radius_m, RADII)
    kernel = forward.plane_kernel(path, angle, radius) * np.float32(1e3 * np.pi / 180)
    displacement = np.asarray(forward.seismogram(path, np.zeros(forward.basis.size)))
    return PlaneKernel(
        theory, component, float(np.degrees(path.distance_rad)), depth_km, periods_s, np.asarray(path.times_s),
        displacement, np.degrees(angle), 1e-3 * radius, kernel, title,
    )  # fmt: skip


def usual_times(kernel: PlaneKernel) -> list[float]:
    """Times of the largest motion before the fundamental mode can be there, and from then on; fewer in a shorter window."""
    early = kernel.times_s < np.radians(kernel.distance_deg) * EARTH_RADIUS_KM / OVERTONES_KM_S
    size = np.abs(kernel.displacement_m)
    return [float(kernel.times_s[part][np.argmax(size[part])]) for part in (early, ~early) if part.any()]


@drawing
def draw(kernels: Sequence[PlaneKernel], times_s: Sequence[float] = ()) -> Figure:
    """Draws a row for the seismogram, then one for each theory: the plane between source and station at each time.

    Colours: by how much of its largest motion 1% of dlnVs in a cell of 100 km by 1 degree changes the seismogram. A
    column has one scale, so that theories can be compared. times_s: none for usual_times. UserError for a time outside.
    """
    first = kernels[0]
    times = list(times_s) or usual_times(first)
    for time in times:
        if not first.times_s[0] <= time <= first.times_s[-1]:
            raise UserError(
                f"time {time:g} s; allowed: {first.times_s[0]:g} to {first.times_s[-1]:g} s, the seismogram's"
            )
    columns = len(times)
    wide = 4.8 if columns > 1 else 6.5
    tall = sector_height(first, wide)
    figure = new_figure(max(6.5, wide * columns), 2.7 + tall * len(kernels))
    grid = figure.add_gridspec(1 + len(kernels), columns, height_ratios=[1.5] + [tall] * len(kernels))
    trace = figure.add_subplot(grid[0, :])
    largest = float(np.abs(first.displacement_m).max()) or 1.0
    trace.plot(first.times_s, 1e6 * first.displacement_m, color=OBSERVED, linewidth=1.0)
    trace.axhline(0.0, color="0.7", linewidth=0.5, zorder=0)
    trace.set_xlabel("time after the origin, s")
    trace.set_ylabel(f"{first.component}, μm")
    corners = ", ".join(f"{period:g}" for period in first.periods_s)
    trace.set_title(
        f"{first.title}\n{first.distance_deg:.3g}°, source at {first.depth_km:g} km, {corners} s", fontsize=10
    )
    change = [0.01 * 100.0 * kernel.kernel / largest for kernel in kernels]
    for column, time in enumerate(times):
        sample = int(np.argmin(np.abs(first.times_s - time)))
        trace.axvline(first.times_s[sample], color=COLOURS[column % len(COLOURS)], linewidth=1.5)
        limit = 100.0 * (max(float(np.quantile(np.abs(each[sample]), 0.995)) for each in change) or 1.0)
        places = [figure.add_subplot(grid[1 + row, column]) for row in range(len(kernels))]
        for axes, kernel, each in zip(places, kernels, change, strict=True):
            mesh = draw_plane(axes, kernel, 100.0 * each[sample], limit)
            axes.set_title(
                f"{kernel.theory.upper()}, {first.times_s[sample]:.0f} s",
                fontsize=10,
                color=COLOURS[column % len(COLOURS)],
                pad=9,
            )
        bar = figure.colorbar(mesh, ax=places, orientation="horizontal", shrink=0.7, aspect=30, pad=0.02, extend="both")
        bar.set_label("% of the largest motion, for 1% in 100 km × 1°", fontsize=8)
        bar.ax.tick_params(labelsize=8)
    return figure


def sector_height(kernel: PlaneKernel, width: float) -> float:
    """Height of axes of some width that hold the plane, in the same unit; the half angle decides."""
    half = np.radians(0.5 * kernel.distance_deg)
    across = 2.0 * (np.sin(half) if half < 0.5 * np.pi else 1.0)
    bottom = kernel.radius_km[0] / kernel.radius_km[-1] * np.cos(half) if half < 0.5 * np.pi else np.cos(half)
    return float(np.clip(width * (1.0 - bottom) / across, 1.2, 1.1 * width)) + 0.45


def draw_plane(axes: Axes, kernel: PlaneKernel, values: NDArray[np.floating], limit: float) -> QuadMesh:
    """Draws values at angles x radii, source and station, and degrees along the surface."""
    angle = np.radians(kernel.angle_deg - 0.5 * kernel.distance_deg)
    x, y = np.outer(np.sin(angle), kernel.radius_km), np.outer(np.cos(angle), kernel.radius_km)
    colours: dict[str, Any] = {"cmap": maps.VELOCITY_COLOURS, "vmin": -limit, "vmax": limit}
    mesh = axes.pcolormesh(x, y, values, shading="gouraud", rasterized=True, **colours)
    maps.draw_sector(axes, angle, 1e3 * kernel.radius_km[0], 1e3 * kernel.radius_km[-1])
    for degrees in np.arange(0.0, kernel.distance_deg + 1e-9, degrees_between_ticks(kernel.distance_deg)):
        at = np.radians(degrees - 0.5 * kernel.distance_deg)
        inner, outer, label = (kernel.radius_km[-1] + step for step in (0.0, 90.0, 190.0))
        axes.plot(
            [inner * np.sin(at), outer * np.sin(at)], [inner * np.cos(at), outer * np.cos(at)], "k-", linewidth=0.6
        )
        axes.text(
            label * np.sin(at), label * np.cos(at), f"{degrees:.0f}°", fontsize=7, ha="center", va="bottom",
            rotation=-np.degrees(at), rotation_mode="anchor",
        )  # fmt: skip
    source, top = EARTH_RADIUS_KM - kernel.depth_km, kernel.radius_km[-1]
    star: dict[str, Any] = {"marker": "*", "color": "gold", "markersize": 11}
    triangle: dict[str, Any] = {"marker": "v", "color": "white", "markersize": 8}
    for radius, at, style in ((source, angle[0], star), (top, angle[-1], triangle)):
        axes.plot(radius * np.sin(at), radius * np.cos(at), markeredgecolor="black", clip_on=False, zorder=5, **style)
    axes.margins(0.04)
    return mesh


def degrees_between_ticks(distance_deg: float) -> float:
    """Spacing of about six ticks along the arc."""
    return next((step for step in (5.0, 10.0, 20.0, 30.0) if distance_deg / step <= 7.0), 30.0)
