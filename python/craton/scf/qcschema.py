"""QCSchema: a calculation as a dictionary or a JSON file in, its results as one out.

Source: the MolSSI's QCSchema, version 1 (https://molssi-qc-schema.readthedocs.io). Needs no other package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import craton
from craton.errors import UserError
from craton.foreign_text import quoted
from craton.scf.functionals.libxc import NAMES
from craton.scf.iteration.hartree_fock import HartreeFock
from craton.scf.iteration.kohn_sham import RKS, UKS, KohnSham
from craton.scf.iteration.restricted_open import ROHF
from craton.scf.iteration.spins import RHF, UHF
from craton.scf.molecule import Molecule
from craton.scf.properties import DEBYE

if TYPE_CHECKING:
    from craton._craton import World

__all__ = ["run_qcschema", "run_qcschema_file"]

METHODS: dict[str, type[HartreeFock]] = {"rhf": RHF, "uhf": UHF, "rohf": ROHF, "rks": RKS, "uks": UKS}
DRIVERS = ("energy", "gradient", "hessian", "properties")
FORM = "a QCSchema input: molecule, driver, model"


def run_qcschema(given: Mapping[str, Any], world: World | None = None) -> dict[str, Any]:
    """Computes an AtomicInput and returns an AtomicResult. With `world` collective.

    model: method HF or a functional such as B3LYP (restricted for multiplicity 1, else unrestricted), RHF, UHF, ROHF, RKS or UKS,
    and a basis set by its name; keywords: settings of HartreeFock or KohnSham, and cartesian. Not to converge is success = false
    with an error; UserError for input that is none, and for gradient and hessian of a functional.
    """
    molecule, driver, method, basis, keywords = _read(given)
    unrestricted = molecule.multiplicity != 1
    if method in NAMES and "xc" in keywords:
        raise UserError(
            f"QCSchema: keyword xc beside the method {quoted(method)}; allowed: one of them (RKS or UKS with xc)"
        )
    if method in ("rks", "uks") and not keywords.get("xc"):
        raise UserError(f"QCSchema: method {method} without the keyword xc; allowed: xc, or a functional as the method")
    if method in NAMES:
        keywords, method = {"xc": method} | keywords, "uks" if unrestricted else "rks"
    elif method == "hf":
        method = "uhf" if unrestricted else "rhf"
    cartesian = keywords.pop("cartesian", False)
    if not isinstance(cartesian, bool):
        raise UserError(f"QCSchema: keyword cartesian is {quoted(str(cartesian), 60)}; allowed: true or false")
    calculation = METHODS[method](molecule, basis, cartesian=cartesian, world=world)
    for name, value in keywords.items():
        if name not in calculation.SETTINGS or name == "callback":
            raise UserError(
                f"QCSchema: keyword {quoted(name)}; allowed: cartesian, {', '.join(calculation.SETTINGS[:-1])}"
            )
        setattr(calculation, name, value)
    if isinstance(calculation, KohnSham) and driver in ("gradient", "hessian"):
        raise UserError(
            f"QCSchema: driver {driver} of functional {quoted(str(calculation.xc))}; allowed: energy, properties"
        )
    if driver != "energy" and calculation.conv_tol_grad is None:
        calculation.conv_tol_grad = 1e-6
    calculation.kernel()
    result = {
        **{name: given[name] for name in ("molecule", "driver", "model", "keywords", "id", "extras") if name in given},
        "schema_name": "qcschema_output",
        "schema_version": 1,
        "provenance": {"creator": "Craton", "version": craton.__version__, "routine": "craton.scf"},
        "success": calculation.converged,
    }
    if not calculation.converged:
        message = f"not converged after {len(calculation.iterations)} iterations"
        return result | {"error": {"error_type": "convergence_error", "error_message": message}}
    properties = _properties(calculation)
    if driver in ("energy", "properties"):
        answer: Any = calculation.e_tot if driver == "energy" else properties
    elif driver == "gradient":
        answer = calculation.gradient().ravel().tolist()
        properties["return_gradient"] = answer
    else:
        from craton.scf.geometry.vibrations import vibrations

        answer = vibrations(calculation).hessian.ravel().tolist()
        properties["return_hessian"] = answer
    return result | {"properties": properties, "return_result": answer}


def run_qcschema_file(path: str | Path, into: str | Path) -> dict[str, Any]:
    """The same, of a JSON file into another. UserError for a file that cannot be read or written."""
    from craton.runs.files import write_text

    try:
        given = json.loads(Path(path).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"QCSchema {path}: {quoted(str(error), 120)}; allowed: a JSON file with {FORM}") from None
    found = run_qcschema(given)
    write_text(Path(into).absolute(), json.dumps(found, indent=1) + "\n")
    return found


def _read(given: Any) -> tuple[Molecule, str, str, str, dict[str, Any]]:
    def part(of: Any, name: str, kind: type, default: Any = None) -> Any:
        found = of.get(name, default) if isinstance(of, Mapping) else None
        if not isinstance(found, kind):
            raise UserError(f"QCSchema: {name} is {quoted(str(found), 60)}; allowed: {FORM}, as the schema has them")
        return found

    atoms = part(given, "molecule", Mapping)
    symbols = tuple(str(each).capitalize() for each in part(atoms, "symbols", list))
    try:
        geometry = np.array(part(atoms, "geometry", list), dtype=np.float64).ravel()
        charge = float(atoms.get("molecular_charge", 0))
        multiplicity = int(atoms["molecular_multiplicity"]) if "molecular_multiplicity" in atoms else None
    except (TypeError, ValueError):
        raise UserError(
            "QCSchema: geometry, charge or multiplicity are no numbers; allowed: numbers, geometry in bohr"
        ) from None
    if not symbols or len(geometry) != 3 * len(symbols) or not np.all(np.isfinite(geometry)) or charge != round(charge):
        raise UserError(
            f"QCSchema: {len(symbols)} symbols, {len(geometry)} coordinates, charge {charge:g}; "
            "allowed: at least one atom, 3 finite coordinates each, in bohr, a whole charge"
        )
    from craton.scf.molecule import NUMBERS

    for symbol in symbols:
        if symbol not in NUMBERS:
            raise UserError(f"QCSchema: element {quoted(symbol)}; allowed: H to Og")
    driver = part(given, "driver", str)
    if driver not in DRIVERS:
        raise UserError(f"QCSchema: driver {quoted(driver)}; allowed: {', '.join(DRIVERS)}")
    model = part(given, "model", Mapping)
    method, basis = part(model, "method", str).lower(), part(model, "basis", str)
    molecule = Molecule(symbols, geometry.reshape(-1, 3), int(charge), multiplicity)
    allowed = ["hf", *METHODS, *NAMES]
    if method not in allowed:
        raise UserError(f"QCSchema: method {quoted(method)}; allowed: {', '.join(each.upper() for each in allowed)}")
    return molecule, driver, method, basis, dict(part(given, "keywords", Mapping, {}))


def _properties(calculation: HartreeFock) -> dict[str, Any]:
    up, down = calculation.occupied
    return {
        "calcinfo_natom": len(calculation.molecule.symbols),
        "calcinfo_nbasis": calculation.basis.size,
        "calcinfo_nmo": calculation.basis.size - calculation.left_out,
        "calcinfo_nalpha": up,
        "calcinfo_nbeta": down,
        "nuclear_repulsion_energy": calculation.basis.nuclear_repulsion,
        "scf_iterations": len(calculation.iterations),
        "scf_total_energy": calculation.e_tot,
        "scf_dipole_moment": (calculation.dipole_debye() / DEBYE).tolist(),
        "return_energy": calculation.e_tot,
    }
