"""Exchange-correlation functionals of libxc, opened at run time.

Source: S. Lehtola, C. Steigemann, M. J. T. Oliveira, M. A. L. Marques, SoftwareX 7, 1 (2018).
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.foreign_text import quoted
from craton.scf.found_library import find_library

__all__ = ["NAMES", "Functional", "Values", "find_libxc"]

Array = NDArray[np.float64]

NAMES = {
    "lda": "lda_x + lda_c_vwn",
    "svwn": "lda_x + lda_c_vwn",
    "spw92": "lda_x + lda_c_pw",
    "pbe": "gga_x_pbe + gga_c_pbe",
    "revpbe": "gga_x_pbe_r + gga_c_pbe",
    "blyp": "gga_x_b88 + gga_c_lyp",
    "bp86": "gga_x_b88 + gga_c_p86",
    "b3lyp": "hyb_gga_xc_b3lyp",
    "pbe0": "hyb_gga_xc_pbeh",
    "b3pw91": "hyb_gga_xc_b3pw91",
    "bhandhlyp": "hyb_gga_xc_bhandhlyp",
}
"""Names of the field and what they stand for in libxc. B3LYP has the correlation VWN of the random phase, as Gaussian has it."""

UNPOLARISED, POLARISED = 1, 2
LDA, GGA = (1, 4096), (2, 32)
"""Numbers of families in versions of libxc: their own, and of hybrids."""
HYBRID_FAMILIES = {32: "GGA", 64: "meta-GGA", 128: "LDA"}
NEGLIGIBLE_DENSITY = 1e-15
"""Electrons per cubic bohr, below which libxc gives 0."""


def find_libxc() -> str:
    """As find_library, with CRATON_LIBXC. UserError where there is none."""
    return find_library("libxc", "CRATON_LIBXC", ("lib/deps/lib/libxc.so",), "xc")


def _opened(path: str) -> Any:
    try:
        library = ctypes.CDLL(path)
        library.xc_func_alloc.restype = ctypes.c_void_p
        library.xc_func_get_info.restype = ctypes.c_void_p
        library.xc_hyb_exx_coef.restype = ctypes.c_double
    except (OSError, AttributeError) as error:
        raise UserError(f"libxc {path}: {quoted(str(error), 120)}; allowed: the file of libxc 5 or newer") from None
    return library


@dataclass(frozen=True)
class Values:
    """Of a functional at points: energy for each electron, and derivatives by densities and by products of their gradients.

    Hartree, hartree bohr^3 and so on; (points), (points, spins), (points, products of gradients), None of an LDA.
    """

    energy: Array
    by_density: Array
    by_gradients: Array | None


class Functional:
    """A sum of functionals of libxc, for one density of both spins or for two.

    `name`: one of NAMES, or names of libxc joined by "+". LDA and GGA and global hybrids of them; UserError for any other.
    """

    def __init__(self, name: str, spins: int) -> None:
        library = _opened(find_libxc())
        self.name, self.spins = name, spins
        self._library = library
        self._terms: list[tuple[ctypes.c_void_p, bool]] = []
        self.exact_exchange = 0.0
        """The part of exact exchange that belongs to it."""
        self.needs_gradients = False
        for term in NAMES.get(name.lower().replace("-", "").strip(), name).split("+"):
            self._add(term.strip().lower())

    def _add(self, term: str) -> None:
        library = self._library
        number = library.xc_functional_get_number(term.encode()) if re.fullmatch(r"[a-z0-9_]{1,80}", term) else -1
        if number < 0:
            raise UserError(
                f"functional {quoted(self.name, 60)}: {quoted(term, 40)} is not in libxc; allowed: {', '.join(NAMES)}, or names "
                "of libxc joined by +, such as gga_x_pbe + gga_c_pbe"
            )
        made = ctypes.c_void_p(library.xc_func_alloc())
        if library.xc_func_init(made, number, POLARISED if self.spins == 2 else UNPOLARISED) != 0:
            raise UserError(
                f"functional {quoted(self.name, 60)}: libxc does not begin {term}; allowed: {', '.join(NAMES)}"
            )
        info = ctypes.c_void_p(library.xc_func_get_info(made))
        family = library.xc_func_info_get_family(info)
        gradients = family in GGA
        if not gradients and family not in LDA or self._has_range(made):
            raise UserError(
                f"functional {quoted(self.name, 60)}: {term} is a meta-GGA, range-separated or another; "
                "allowed: LDA, GGA and their global hybrids"
            )
        library.xc_func_set_dens_threshold(made, ctypes.c_double(NEGLIGIBLE_DENSITY))
        if "hyb_" in term:
            self.exact_exchange += float(library.xc_hyb_exx_coef(made))
        self.needs_gradients |= gradients
        self._terms.append((made, gradients))

    def _has_range(self, made: ctypes.c_void_p) -> bool:
        """Whether exact exchange depends on the distance, or electrons far apart correlate."""
        omega, alpha, beta = (ctypes.c_double() for _ in range(3))
        self._library.xc_hyb_cam_coef(made, *map(ctypes.byref, (omega, alpha, beta)))
        b, c = ctypes.c_double(), ctypes.c_double()
        self._library.xc_nlc_coef(made, ctypes.byref(b), ctypes.byref(c))
        return omega.value != 0 or b.value != 0

    def values(self, density: Array, gradients: Array | None) -> Values:
        """density: (points, spins), electrons per cubic bohr. gradients: (points, 1 or 3), products of the densities' gradients.

        Of two spins up with up, up with down, down with down. Any threads at once.
        """
        count = len(density)
        density = np.ascontiguousarray(density)
        found = Values(
            np.zeros(count), np.zeros_like(density), np.zeros_like(gradients) if self.needs_gradients else None
        )
        for made, with_gradients in self._terms:
            energy, by_density = np.zeros(count), np.zeros_like(density)
            arrays: list[Array] = [density, energy, by_density]
            call = self._library.xc_lda_exc_vxc
            if with_gradients:
                assert gradients is not None and found.by_gradients is not None
                by_gradients = np.zeros_like(gradients)
                arrays = [density, np.ascontiguousarray(gradients), energy, by_density, by_gradients]
                call = self._library.xc_gga_exc_vxc
                call(made, ctypes.c_size_t(count), *(each.ctypes.data_as(ctypes.c_void_p) for each in arrays))
                found.by_gradients[...] += by_gradients
            else:
                call(made, ctypes.c_size_t(count), *(each.ctypes.data_as(ctypes.c_void_p) for each in arrays))
            found.energy[...] += energy
            found.by_density[...] += by_density
        return found

    def __del__(self) -> None:
        for made, _ in getattr(self, "_terms", []):
            self._library.xc_func_end(made)
            self._library.xc_func_free(made)
