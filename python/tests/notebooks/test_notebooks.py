"""The notebooks of examples/notebooks do what they say: executed from the first cell to the last, their results compared.

Each has assertions of its own, which are executed after its last cell and which no reader sees.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
nbformat = pytest.importorskip("nbformat")

from notebooks import FOLDER, complaints, execute, nothing_left_running

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the examples are not beside the tests")
NAMES = ("first_inversion", "waves_with_a_movie", "molecule", "distributed_arrays", "ranks_in_a_notebook")


@pytest.fixture(autouse=True)
def own_settings(tmp_path, monkeypatch):
    """IPython's and ipyparallel's files are this test's own, and ranks may share a core."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"):
        monkeypatch.setenv(name, "1")


def test_these_are_all_and_hold_no_outputs():
    assert {file.stem for file in FOLDER.glob("*.ipynb")} == set(NAMES)
    listed = tomllib.loads((FOLDER.parent / "examples.toml").read_text())["notebooks"]
    for name in NAMES:
        notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
        nbformat.validate(notebook)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert cells and not any(cell.outputs or cell.execution_count for cell in cells)
        assert any(f"{name}.ipynb" in command for command in listed["commands"])


def test_first_inversion(tmp_path):
    done = execute(
        "first_inversion.ipynb",
        tmp_path,
        """
        import numpy as np
        from craton.tomography.model.fields import read_fields

        reductions = [one.variance_reduction for one in record.iterations]
        assert reductions == sorted(reductions) and reductions[0] < 0.9 and reductions[-1] > 0.98
        assert 0.9 < record.judgement.fit < 1.1
        assert record.correlation.overall > 0.7
        # the answer and what was found, at 300 km below twelve places of the checkerboard: as the maps have them
        places = np.array([(lat, lon) for lat in (-40.0, 0.0, 40.0) for lon in (-120.0, -30.0, 60.0, 150.0)]).T
        answer = read_fields(record.directory, target=True).percent("dlnVs", *places, 300.0)
        found = read_fields(record.directory).percent("dlnVs", *places, 300.0)
        assert np.corrcoef(answer, found)[0, 1] > 0.8, (answer, found)
        assert (record.directory / "report.html").is_file()
        """,
    )
    assert complaints(done) == []
    running = done.cell("record = tomography.run")
    bars = [output for output in running.outputs if output.output_type == "display_data"]
    assert len(bars) == 1 and "<progress" in bars[0].data["text/html"] and "400/400 paths" in bars[0].data["text/plain"]
    assert done.text("record = tomography.run").count("assembling") == 2  # once as text, once as HTML
    for words in ('figures["fit"]', 'figures["maps"]', 'figures["section"]', "drawing.figure"):
        assert done.has(words, "image/png"), words
    assert "correlation where paths are many: 0." in done.text("correlation where paths")
    assert "report.html" not in done.text("record = tomography.run")  # drawn only when asked


def test_waves_with_a_movie(tmp_path):
    done = execute(
        "waves_with_a_movie.ipynb",
        tmp_path,
        """
        assert earliest_s < arrival_s < earliest_s + 1.0
        # at 45 degrees from the fault a double couple sends P and SV alone: the stations move along their diagonal
        north, east = seismograms.velocity[:, 0], seismograms.velocity[:, 1]
        assert np.abs(north - east).max() < 0.02 * np.abs(north).max()
        # from one station to the next the waves run along the rock below the layer, at 6 km/s or less
        arrivals = np.array([seismograms.time_s[np.argmax(one > 0.01 * one.max())] for one in np.abs(north)])
        assert np.all(np.diff(arrivals) > 0.05) and arrivals[-1] - arrivals[1] > 0.8 * np.hypot(2400, 2400) / 6000, arrivals
        # four lobes: opposite quarters alike, neighbours of opposite sign
        vz = waves.read_snapshots(record.directory / "snapshots.h5").fields["vz"][2, 0]
        at, by = 20, 6
        first, second = vz[at + by, at + by], vz[at - by, at + by]
        assert first * second < 0 and abs(first + second) < 0.1 * abs(first)
        assert movie[:6] in (b"GIF87a", b"GIF89a") and len(surface.time_s) > 30
        assert not (record.directory / "report.html").exists()
        """,
    )
    assert complaints(done) == []
    running = done.cell("record = waves.run")
    bars = [output for output in running.outputs if output.output_type == "display_data"]
    assert len(bars) == 1 and bars[0].data["text/plain"].startswith("Waves: 100%  430/430 steps")
    assert done.updates < 430  # a few a second, not one for each step
    for words in ('figures["seismograms"]', 'figures["snapshots"]'):
        assert done.has(words, "image/png"), words
    assert done.has("Image(data=movie", "image/gif")


def test_molecule(tmp_path):
    for package in ("basis_set_exchange", "pyscf", "ase"):
        pytest.importorskip(package)
    done = execute(
        "molecule.ipynb",
        tmp_path,
        """
        import pyscf.gto, pyscf.scf

        atoms = "O 0 0 0; H 0 0.8 0.6; H 0 -0.8 0.6"
        reference = pyscf.scf.RHF(pyscf.gto.M(atom=atoms, basis="cc-pvdz", verbose=0)).run(conv_tol=1e-11).e_tot
        assert abs(calculation.e_tot - reference) < 1e-7 and abs(record.energy_hartree - reference) < 1e-7
        assert charges[0] < -0.2 and abs(charges.sum()) < 1e-8
        # Hehre, Radom, Schleyer & Pople (1986), table 6.1: HF/6-31G* has 0.947 angstrom and 105.5 degrees
        assert abs(lengths[0] - 0.947) < 1e-3 and abs(lengths[1] - 0.947) < 1e-3 and abs(angle - 105.5) < 0.15
        assert found.converged and found.calculation.e_tot < found.steps[0].energy
        """,
    )
    assert complaints(done) == []
    assert done.has("scf.draw_orbital", "image/png")
    assert done.text("record.figures()").count("<img") >= 2
    assert "RHF: molecule H2O, basis cc-pvdz, energy -76.02" in done.text("scf.Molecule.from_xyz_text")


def test_distributed_arrays(tmp_path):
    done = execute(
        "distributed_arrays.ipynb",
        tmp_path,
        """
        assert difference < 1e-11 and np.abs(expected).max() > 10
        assert np.allclose(elements, np.triu(expected)[10:14][:, [3, 12, 13]], rtol=0, atol=1e-11) and np.any(elements)
        assert np.abs(np.linalg.solve(np.triu(expected) + np.triu(expected, 1).T, right) - solution).max() < 1e-10
        assert np.abs(solution - truth).max() < 1e-10
        assert field.sum() == 10 * 20 + 2 * 80 and field.max() == 3 and drawn == [0, 1, 2, 3, 4]
        assert abs(smooth.min() - np.exp(-1.5)) < 1e-12
        """,
    )
    assert complaints(done) == []
    assert "<World: rank 0 of 1 on 1 node>" in done.text("craton.World(")
    assert "<table>" in done.text("normal.commit()") and "<table>" in done.text("field.sync()")


def test_ranks_in_a_notebook(tmp_path):
    """Two ranks by mpiexec; execute() sees to it that none of them, and no controller, is left."""
    pytest.importorskip("ipyparallel")
    done = execute(
        "ranks_in_a_notebook.ipynb",
        tmp_path,
        """
        assert totals == [30000.0, 30000.0]
        assert record.ranks == 2 and record.converged and record.residuals[-1] < 1e-8
        assert not (record.directory / "report.html").exists()
        """,
    )
    assert complaints(done) == []
    worlds = done.text("print(world)")
    assert "<World: rank 0 of 2" in worlds and "<World: rank 1 of 2" in worlds
    assert "2 ranks" in done.text("multigrid.run") and "cycle 1" in done.text("multigrid.run")
    assert "%px" not in done.text("multigrid.run")  # no bar of ipyparallel's own
    assert done.has('figures()["solution"]', "image/png")


def test_a_process_that_stays_is_found_and_ended(tmp_path):
    import subprocess
    import sys

    with pytest.raises(RuntimeError, match="a cell failed"), nothing_left_running():
        sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=os.environ)
        raise RuntimeError("a cell failed")
    assert sleeping.wait(timeout=10) == -9


def test_an_address_and_a_warning_are_found(tmp_path: Path) -> None:
    cells = ["object()", "import warnings; warnings.warn('old')", "1 + 1"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbformat.write(notebook, tmp_path / "bad.ipynb")
    found = complaints(execute(str(tmp_path / "bad.ipynb"), tmp_path))
    assert len(found) == 2 and " at 0x" in found[0] and "old" in found[1]


def test_the_page_about_notebooks(tmp_path):
    """The blocks of docs/notebooks.md are the cells of one notebook."""
    pytest.importorskip("ipyparallel")
    page = FOLDER.parents[1] / "docs" / "notebooks.md"
    blocks = re.findall(r"^```(?:python)?\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    cells = [block for block in blocks if block.startswith(("from ", "import ", "%%px"))]
    assert len(cells) == 4 and "%%px" in cells[2]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbformat.write(notebook, tmp_path / "page.ipynb")
    done = execute(
        str(tmp_path / "page.ipynb"),
        tmp_path,
        """
        client.shutdown(hub=True, block=True)
        cluster.stop_cluster_sync()
        assert record.converged and Path("charges-run/report.html").is_file() and Path("solution.png").is_file()
        """,
    )
    assert complaints(done) == []
    assert "<World: rank 1 of 2 on 1 node>" in done.text("%%px")


START = """
import logging
import ipyparallel as ipp
cluster = ipp.Cluster(engines="mpi", n=2, log_level=logging.ERROR)
cluster.start_cluster_sync()
client = cluster.connect_client_sync()
client.wait_for_engines(2, timeout=120, interactive=False)
view = client[:]
"""
STUCK = """
import time
view.execute("from mpi4py import MPI; import craton; world = craton.World(MPI.COMM_WORLD)", block=True)
waiting = view.execute("assert world.rank == 1, 'rank 0 gives up'; world.barrier()", block=False)
time.sleep(1)
assert not waiting.ready()  # rank 1 waits
"""


@pytest.mark.parametrize("cells", [[START], [START, STUCK, "cluster.stop_cluster_sync()"]], ids=["forgotten", "stuck"])
def test_engines_end_with_the_notebook_and_when_one_waits_for_one_that_failed(cells, tmp_path):
    """execute() fails if a process is left, as the page about notebooks says that none is."""
    pytest.importorskip("ipyparallel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbformat.write(notebook, tmp_path / "engines.ipynb")
    execute(str(tmp_path / "engines.ipynb"), tmp_path)
