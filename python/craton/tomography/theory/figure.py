"""What the Earth's ellipticity and rotation do to the frequencies of its modes.

Below a place of colatitude theta the elliptical Earth is the spherical one, stretched by s = -2/3 P_2(cos theta) times its
ellipticity at each radius (figure.hpp). A mode's local frequency there is that of the same degree in the stretched Earth, and a
path takes the mean of s along it. The rates d omega / d s are differences of modes that are solved for in Earths stretched to
both sides. Higher overtones of toroidal modes are body waves, which see the depths of their path one after the other. What their
rays see beyond the mean is added, on minor arcs, where seismograms are summed (src/apps/tomography/shear_rays.hpp). The Coriolis
force splits modes by chi; along a great circle that is a shift with the cosine of the angle between its axis and the Earth's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton._craton import ModeCatalogue
from craton.runs.agreement import on_root
from craton.tomography.theory.modes import cache_folder, frequencies, mode_options

if TYPE_CHECKING:
    from mpi4py import MPI

    from craton._craton import EarthModel, SpheroidalCatalogue
    from craton.tomography.config.load import Config, TheorySettings

f64 = NDArray[np.float64]
Note = Callable[[str], None]

ROTATION_RAD_S = 7.292115e-5
STEP = 0.5
"""Of s, to either side. What is not linear in it is ellipticity squared."""
SHORTER = 0.98
"""The stretched Earths' modes are solved for to periods this much shorter, so that none is missing."""


def shared_figure(
    earth: EarthModel,
    config: Config | TheorySettings,
    modes: ModeCatalogue,
    spheroidal: SpheroidalCatalogue | None,
    comm: MPI.Comm,
    note: Note = lambda _: None,
) -> dict[str, f64]:
    """Collective: what [earth] ellipticity and rotation ask for, as ForwardProblem takes it; the same on every rank."""
    return on_root(comm, lambda: figure_effects(earth, config, modes, spheroidal, note))


def figure_effects(
    earth: EarthModel,
    config: Config | TheorySettings,
    modes: ModeCatalogue,
    spheroidal: SpheroidalCatalogue | None,
    note: Note = lambda _: None,
) -> dict[str, f64]:
    """The same, not collective. Rates in rad/s, an entry for each mode of a catalogue."""
    found = {}
    if config.earth.ellipticity:
        found["toroidal_stretch"] = stretch_rates(earth, config, modes, note)
        if spheroidal is not None:
            found["spheroidal_stretch"] = stretch_rates(earth, config, spheroidal, note)
    if config.earth.rotation:
        found["toroidal_turn"] = turn_rates(modes)
        if spheroidal is not None:
            found["spheroidal_turn"] = turn_rates(spheroidal)
    return found


def stretch_rates(
    earth: EarthModel, config: Config | TheorySettings, modes: ModeCatalogue | SpheroidalCatalogue, note: Note
) -> f64:
    """D omega / d s of each mode, from the cache or by solving for the modes of two stretched Earths.

    Gravity is left out there: that of the elliptical Earth is not a stretched sphere's, and its part in a frequency is small.
    """
    options, folder = mode_options(config), cache_folder(config)
    shortest_s = SHORTER * options.pop("shortest_period_s")

    own = options if isinstance(modes, ModeCatalogue) else {**of_spheroidal(options), "gravity": "none"}

    def solved(s: float) -> dict[tuple[int, int], float]:
        return frequencies(type(modes), earth.stretched(s), folder, note, shortest_period_s=shortest_s, **own)

    less, more = solved(-STEP), solved(STEP)
    names, omega = names_of(modes), 2.0 * np.pi / np.asarray(modes.period_s)
    rates = np.array([more.get(name, np.nan) / less.get(name, np.nan) for name in names])
    relative = np.log(rates) / (2.0 * STEP)
    relative[np.isnan(relative)] = np.nanmedian(relative)  # a mode that is there with gravity alone
    return np.asarray(omega * relative)


def of_spheroidal(options: dict[str, Any]) -> dict[str, Any]:
    """Of the options of toroidal modes those that spheroidal ones have too."""
    return {name: options[name] for name in ("dispersion", "attenuation")}


def names_of(modes: ModeCatalogue | SpheroidalCatalogue) -> list[tuple[int, int]]:
    """Overtone number and degree of each mode."""
    return list(zip(np.asarray(modes.n).tolist(), np.asarray(modes.l).tolist(), strict=True))


def turn_rates(modes: ModeCatalogue | SpheroidalCatalogue) -> f64:
    """What a wave towards the east along the equator loses to the Coriolis force, below 0."""
    degree = np.asarray(modes.l, float)
    chi = 1.0 / (degree * (degree + 1.0)) if isinstance(modes, ModeCatalogue) else np.asarray(modes.coriolis())
    return -ROTATION_RAD_S * (degree + 0.5) * chi
