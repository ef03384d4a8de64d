"""PyVista opens a wave run's XDMF and a model's VTK files with the values that were written."""

import h5py
import numpy as np
import pytest

pyvista = pytest.importorskip("pyvista")

from craton.seismology.wave_run.config import load_config
from craton.tomography.model.vtk_files import write_structured_grid, write_unstructured_grid
from craton.waves import run
from mpi4py import MPI
from wave_config import write_config


def test_snapshots(tmp_path):
    run(load_config(write_config(tmp_path), directory=tmp_path / "run"), MPI.COMM_SELF, report=False)
    reader = pyvista.get_reader(tmp_path / "run" / "snapshots.xdmf")
    with h5py.File(tmp_path / "run" / "snapshots.h5") as file:
        names = [name for name, item in file.items() if item.ndim == 4]
        times = sorted(
            float(file[name].attrs["first_time_s"]) + float(file[name].attrs["dt_s"]) * n
            for name in names
            for n in range(len(file[name]))
        )
        np.testing.assert_allclose(sorted(reader.time_values), np.unique(np.round(times, 9)), atol=1e-7)
        for name in names:
            field = file[name]
            last = float(field.attrs["first_time_s"]) + float(field.attrs["dt_s"]) * (len(field) - 1)
            reader.set_active_time_value(min(reader.time_values, key=lambda at, last=last: abs(at - last)))
            blocks = [block for block in reader.read() if block is not None and name in block.point_data]
            assert len(blocks) == 1
            found = np.asarray(blocks[0].point_data[name]).reshape(field.shape[1:])
            np.testing.assert_array_equal(found, field[-1])
            np.testing.assert_allclose(blocks[0].points[0], field.attrs["origin_xyz_m"], rtol=1e-6)
            assert np.abs(field[-1]).max() > 0


def test_files_of_vtk(tmp_path):
    shape = (3, 2, 2)
    points = np.stack(np.meshgrid([0.0, 1], [0.0, 2], [0.0, 1, 5], indexing="ij"), -1).reshape(-1, 3).astype(np.float32)
    values = np.arange(12, dtype=np.float32)
    write_structured_grid(tmp_path / "model.vts", shape, points, {"dvs": values})
    corners = np.array([[0, 1, 4, 3, 6, 7, 10, 9]])
    write_unstructured_grid(tmp_path / "model.vtu", points, corners, {"dvs": values})
    for name, cells in (("model.vts", 2), ("model.vtu", 1)):
        mesh = pyvista.read(tmp_path / name)
        assert mesh.n_cells == cells
        np.testing.assert_array_equal(mesh.points, points)
        np.testing.assert_array_equal(mesh.point_data["dvs"], values)
