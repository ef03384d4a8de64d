"""Every file that Craton reads: how a small one is made, and who reads it. The campaign of mutated inputs goes over all of them."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

EXAMPLES = Path(__file__).parents[3] / "examples"
CORPORA = Path(__file__).parents[1] / "corpora"
"""A folder for each reader of which an input is kept: what has failed once, or takes a way that others do not."""
LON, LAT = -118.0, 34.0
FEW_CELLS = (4, 4, 4)


@dataclass(frozen=True)
class Reader:
    """A kind of file. make writes one into a folder and gives its path; read reads one, and gives what it holds."""

    make: Callable[[Path], Path]
    read: Callable[[Path], Any]
    ours: bool = False
    """Craton writes it, with a seal or checksums of the elements: a flipped bit is refused, or changes nothing."""
    foreign: bool = False
    """Another program writes it: a child process reads it first, which takes a fraction of a second."""


READERS: dict[str, Reader] = {}


def reader(name: str, **settings: Any) -> Callable[[Any], Any]:
    """A class with `make` and `read` becomes a reader of that name."""

    def entered(cls: Any) -> Any:
        READERS[name] = Reader(cls.make, cls.read, **settings)
        return cls

    return entered


def slug(name: str) -> str:
    """A name of a reader as one of a folder."""
    return re.sub(r"\W+", "-", name).strip("-").lower()


def support(name: str) -> Any:
    """A module of the tests' own, also for a process that is no test."""
    here = str(Path(__file__).parent)
    if here not in sys.path:
        sys.path.insert(0, here)
    return importlib.import_module(name)


def text(name: str, content: str) -> Callable[[Path], Path]:
    """Writes a text file."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_text(content, encoding="utf-8")
        return path

    return make


# --------------------------------------------------------------------------------------------------------- seismology, waves


def grid() -> Any:
    """20 x 16 x 8 km at 34 N, 118 W."""
    from craton.seismology.geometry.grid import Grid
    from craton.seismology.geometry.projection import projection_about

    return Grid((200, 160, 80), 100.0, projection_about("azimuthal_equidistant", LON, LAT), 20.0, (10000.0, 8000.0))


def fault() -> list[Any]:
    """Six subfaults of nine samples."""
    from craton.seismology.sources.srf import Subfault

    none = np.empty(0, np.float32)
    rates = np.sin(np.arange(9, dtype=np.float32)) ** 2
    place = grid()
    made = []
    for n in range(6):
        lon, lat = place.lon_lat(4000.0 + 900.0 * n, 5000.0)
        made.append(
            Subfault(
                float(lon), float(lat), 2000.0, 30.0, 60.0, 90.0, area_m2=1e6, start_s=0.1 * n, sample_s=0.05,
                slip_rates_m_s=(rates, none, none), slips_m=(1.0, 0.0, 0.0), vs_m_s=3000.0, density_kg_m3=2500.0,
            )
        )  # fmt: skip
    return made


def rigidity(x: Any, _y: Any, _z: Any) -> Any:
    """Moduli of the ground: lambda and mu, Pa."""
    return np.full(x.shape, 3.0e10), np.full(x.shape, 2.0e10)


@reader("SRF, text")
class _Srf:
    @staticmethod
    def make(folder: Path) -> Path:
        from craton.seismology.sources.srf import Plane, write_srf

        write_srf(folder / "fault.srf", fault(), [Plane(LON, LAT, 3, 2, 3.0, 2.0, 30.0, 60.0, 0.5, 1.0, 1.0)])
        return folder / "fault.srf"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.sources.srf import iterate_subfaults

        return list(iterate_subfaults(path))


@reader("SRF, HDF5", foreign=True)
class _SrfHdf5:
    @staticmethod
    def make(folder: Path) -> Path:
        rows = fault()
        from craton.seismology.sources import srf

        with h5py.File(folder / "fault.h5", "w") as file:
            for name, field in zip(srf.HDF5_NEEDED, vars(rows[0]), strict=False):
                file[name] = [float(getattr(row, field)) for row in rows]
            file["slip_rate_m_s"] = np.array([row.slip_rates_m_s[0] for row in rows])
            file.attrs["sample_s"] = 0.05
        return folder / "fault.h5"

    read = _Srf.read


@reader("partitioned source", ours=True)
class _Partitioned:
    @staticmethod
    def make(folder: Path) -> Path:
        from craton.seismology.sources.partitioned_source import partition_source

        return partition_source(_Srf.make(folder), folder / "parts.h5", grid(), rigidity)

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.sources.streamed_source import StreamedSource

        with StreamedSource(path, grid(), 0.01) as source:
            return source.position_m, [rates for _, rates in source.blocks(0, 60)]


@reader("source time function")
class _Series:
    make = staticmethod(text("series.txt", "# t rate\n0.0 0.0\n0.1 1.0\n0.2 2.0\n0.3 1.0\n0.4 0.0\n"))

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.sources.source_time import read_series

        return read_series(path)


@reader("receivers, CSV")
class _Stations:
    make = staticmethod(text("stations.csv", "name,x_m,y_m,z_m\nA,1000,2000,0\nB,3000.5,4000,10\n"))

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.wave_run.receivers import read_stations

        return read_stations(path, grid())


@reader("receivers, text")
class _Points:
    make = staticmethod(text("points.txt", "# x y z\n1400 1500 600\n1450 1450 50\n2000 900 1234\n"))

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.wave_run.receivers import read_points

        return read_points(path, grid())


@reader("receivers, NumPy")
class _PointsNumpy:
    @staticmethod
    def make(folder: Path) -> Path:
        np.save(folder / "points.npy", np.array([[1400.0, 1500.0, 600.0], [2000.0, 900.0, 1234.0]]))
        return folder / "points.npy"

    read = _Points.read


@reader("receivers, HDF5", foreign=True)
class _PointsHdf5:
    @staticmethod
    def make(folder: Path) -> Path:
        with h5py.File(folder / "points.h5", "w") as file:
            file["position_m"] = np.array([[1400.0, 1500.0, 600.0], [2000.0, 900.0, 1234.0]])
        return folder / "points.h5"

    read = _Points.read


def netcdf(path: Path, classic: bool, axes: dict[str, Any], fields: dict[str, Any], units: dict[str, str]) -> Path:
    """A file of axes and of fields over all of them, float32; units of those that have any."""
    import h5netcdf
    from scipy.io import netcdf_file

    with netcdf_file(path, "w") if classic else h5netcdf.File(path, "w") as file:
        for name, values in axes.items():
            if classic:
                file.createDimension(name, len(values))
            else:
                file.dimensions[name] = len(values)
        for name, values in {**axes, **fields}.items():
            over = (name,) if name in axes else tuple(axes)
            made = file.createVariable(name, "f", over) if classic else file.create_variable(name, over, "f4")
            made[...] = values
            if classic and name in units:
                made.units = units[name]
            elif name in units:
                made.attrs["units"] = units[name]
    return path


def gridded(folder: Path, name: str, classic: bool) -> Path:
    """A medium in the convention of the Earth Model Collaboration, 3 x 4 x 5 points."""
    axes = {
        "depth": np.linspace(0, 10, 3),
        "latitude": LAT + np.linspace(-1, 1, 4),
        "longitude": LON + np.linspace(-1, 1, 5),
    }
    fields = {"vp": 6.0, "vs": 3.5, "rho": 2.7}
    units = {
        "depth": "km",
        "latitude": "degrees_north",
        "longitude": "degrees_east",
        "vp": "km/s",
        "vs": "km/s",
        "rho": "g.cm-3",
    }
    values = {name: np.full((3, 4, 5), value, np.float32) for name, value in fields.items()}
    return netcdf(folder / name, classic, axes, values, units)


def medium_read(path: Path) -> Any:
    """Its values at some points."""
    from craton.seismology.ground import media_files

    opener = media_files.open_netcdf if path.suffix == ".nc" else media_files.open_hdf5
    place = grid()
    return opener(path).at(place, np.array([1e4, 1.1e4]), np.array([8e3, 8e3]), np.array([500.0, 900.0]))


@reader("media, NetCDF classic")
class _MediaClassic:
    @staticmethod
    def make(folder: Path) -> Path:
        return gridded(folder, "m.nc", classic=True)

    read = staticmethod(medium_read)


@reader("media, NetCDF 4", foreign=True)
class _MediaNetcdf4:
    @staticmethod
    def make(folder: Path) -> Path:
        return gridded(folder, "m.nc", classic=False)

    read = staticmethod(medium_read)


@reader("media, HDF5", foreign=True)
class _MediaHdf5:
    @staticmethod
    def make(folder: Path) -> Path:
        with h5py.File(folder / "m.h5", "w") as file:
            sides = [np.linspace(0, side, n) for side, n in zip((2e4, 1.6e4, 8e3), (5, 4, 3), strict=True)]
            for name, values in zip("xyz", sides, strict=True):
                file[name] = values
            for name, value in {"vp": 6000.0, "vs": 3500.0, "rho": 2700.0}.items():
                file[name] = np.full((5, 4, 3), value, np.float32)
                file[name].attrs["axes"] = "x y z"
        return folder / "m.h5"

    read = staticmethod(medium_read)


def even_ground(x: Any, _y: Any, _z: Any) -> list[Any]:
    """Vp, vs and rho at points."""
    return [value + 0 * x for value in (6000.0, 3500.0, 2700.0)]


def model_read(path: Path, opener: str, module: str = "sw4_files") -> Any:
    """Values of a model in degrees in the middle of it, and far below."""
    from craton.seismology.geometry.grid import Grid
    from craton.seismology.geometry.projection import projection_about

    opened = getattr(importlib.import_module(f"craton.seismology.ground.{module}"), opener)(path)
    place = Grid((4, 4, 8), 100.0, projection_about("azimuthal_equidistant", LON, LAT), 20.0)
    return opened.at(place, np.array([100.0, 250.0]), np.array([100.0, 300.0]), np.array([50.0, 750.0]))


@reader("media, rfile of SW4")
class _Rfile:
    @staticmethod
    def make(folder: Path) -> Path:
        models = support("sw4_models")
        frame, blocks = models.Frame(size_m=(2400.0, 2400.0)), [(400.0, 200.0, -200.0, 4), (800.0, 400.0, 400.0, 4)]
        return models.write_rfile(folder / "m.rfile", even_ground, lambda x, _y: 0.05 * x, blocks, frame)

    @staticmethod
    def read(path: Path) -> Any:
        return model_read(path, "open_rfile")


@reader("media, sfile of SW4", foreign=True)
class _Sfile:
    @staticmethod
    def make(folder: Path) -> Path:
        models = support("sw4_models")
        depths = [lambda x, _y, z=z: z - 0.05 * x for z in (0.0, 500.0)] + [lambda x, _y: 1500.0 + 0 * x]
        frame, blocks = models.Frame(size_m=(2400.0, 2400.0)), [(400.0, 4), (800.0, 4)]
        return models.write_sfile(folder / "m.sfile", even_ground, depths, blocks, frame)

    @staticmethod
    def read(path: Path) -> Any:
        return model_read(path, "open_sfile")


@reader("media, rows of UCVM")
class _UcvmText:
    @staticmethod
    def make(folder: Path) -> Path:
        axes = [LON + np.array([-0.1, 0.1]), LAT + np.array([-0.1, 0.1]), np.array([0.0, 2000.0])]
        return support("sw4_models").write_ucvm_text(folder / "m.ucvm", axes, even_ground)

    @staticmethod
    def read(path: Path) -> Any:
        return model_read(path, "open_ucvm_text", "ucvm_text")


def vs30_read(path: Path) -> Any:
    """Vs30 at two places in the map."""
    from craton.seismology.geometry.grid import Grid
    from craton.seismology.geometry.projection import projection_about
    from craton.seismology.ground.near_surface import open_vs30

    place = Grid(FEW_CELLS, 100.0, projection_about("azimuthal_equidistant", LON, LAT))
    return open_vs30(path)(place, np.array([100.0, 250.0]), np.array([100.0, 300.0]))


@reader("Vs30, rows")
class _Vs30Rows:
    make = staticmethod(text("vs30.txt", "".join(f"{LON + a} {LAT + b} 400\n" for a in (-1, 0, 1) for b in (-1, 1))))
    read = staticmethod(vs30_read)


@reader("Vs30, NetCDF classic")
class _Vs30Classic:
    @staticmethod
    def make(folder: Path) -> Path:
        from scipy.io import netcdf_file

        axes = {"y": LAT + np.linspace(-1, 1, 3), "x": LON + np.linspace(-1, 1, 4)}
        with netcdf_file(folder / "vs30.grd", "w") as file:
            for name, values in axes.items():
                file.createDimension(name, len(values))
                file.createVariable(name, "d", (name,))[:] = values
            file.createVariable("z", "f", ("y", "x"))[:] = np.full((3, 4), 400.0)
        return folder / "vs30.grd"

    read = staticmethod(vs30_read)


def elevation_read(path: Path) -> Any:
    """Elevations at two places in the map."""
    from craton.seismology.geometry.grid import Grid
    from craton.seismology.geometry.projection import projection_about
    from craton.seismology.ground.topography import open_elevation

    place = Grid((8, 8, 8), 100.0, projection_about("azimuthal_equidistant", LON, LAT), 0.0, (400.0, 400.0))
    return open_elevation(path, degrees=True)(place, np.array([100.0, 250.0]), np.array([100.0, 300.0]))


@reader("elevations, rows")
class _ElevationRows:
    make = staticmethod(text("dem.txt", "".join(f"{LON + a} {LAT + b} 400\n" for a in (-1, 0, 1) for b in (-1, 1))))
    read = staticmethod(elevation_read)


@reader("elevations, ESRI")
class _ElevationEsri:
    make = staticmethod(
        text(
            "dem.asc",
            f"ncols 3\nnrows 2\nxllcorner {LON - 3}\nyllcorner {LAT - 2}\ncellsize 2\nNODATA_value -9999\n1 2 3\n4 5 -6\n",
        )
    )
    read = staticmethod(elevation_read)


@reader("elevations, NetCDF classic")
class _ElevationClassic:
    make = staticmethod(_Vs30Classic.make)
    read = staticmethod(elevation_read)


@reader("media, mesh of AWP")
class _AwpMesh:
    @staticmethod
    def make(folder: Path) -> Path:
        np.tile(np.array([6000, 3500, 2700], "<f4"), 64).tofile(folder / "m.awp")
        return folder / "m.awp"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.geometry.grid import Grid
        from craton.seismology.ground.media_files import open_awp

        place = Grid(FEW_CELLS, 100.0)
        return open_awp(path, FEW_CELLS, 100.0, axes="yx").sample(place, place.box)


@reader("media in parts", ours=True)
class _MediaParts:
    @staticmethod
    def make(folder: Path) -> Path:
        from craton.seismology.geometry.grid import Grid
        from craton.seismology.ground.media import Layers
        from craton.seismology.ground.media_partition import write_partitions

        layers = Layers(rows=((300.0, 4000, 2000, 2600), (0.0, 6000, 3464, 2700)))
        write_partitions(layers, Grid((6, 5, 8), 100.0), (1, 1, 1), folder / "media", subsamples=(1, 1, 1), margin=2)
        return folder / "media" / "media-0-0-0.h5"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.geometry.grid import Grid
        from craton.seismology.ground.media_partition import open_partitions

        place = Grid((6, 5, 8), 100.0)
        return open_partitions(path.parent / "media.json").sample(place, place.box, (1, 1, 1))


def wave_run(folder: Path) -> Path:
    """The folder of a small run."""
    from craton.seismology.wave_run.config import load_config
    from craton.waves.start import run
    from mpi4py import MPI

    config = support("wave_config").write_config(folder)
    run(load_config(config, directory=folder / "run"), MPI.COMM_SELF, report=False)
    return folder / "run"


@reader("seismograms", ours=True)
class _Seismograms:
    @staticmethod
    def make(folder: Path) -> Path:
        return wave_run(folder) / "seismograms.h5"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.wave_run.results import read_seismograms

        return read_seismograms(path.parent)


@reader("snapshots", ours=True)
class _Snapshots:
    @staticmethod
    def make(folder: Path) -> Path:
        return wave_run(folder) / "snapshots.h5"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.wave_run.results import read_snapshots

        return read_snapshots(path)


# -------------------------------------------------------------------------------------------------------------------- hazard


@reader("strain Green's tensors", ours=True)
class _Tensors:
    @staticmethod
    def make(folder: Path) -> Path:
        return Path(support("hazard_runs").made_up(folder, points=5, samples=40, axes="x")[0][0])

    @staticmethod
    def read(path: Path) -> Any:
        from craton.hazard.motion.green_tensors import GreenTensors

        green = GreenTensors.open([path])
        return green.position_m, green.extract(np.arange(len(green.position_m)))


@reader("hazard, a site's results", ours=True)
class _Site:
    @staticmethod
    def make(folder: Path) -> Path:
        pipeline = support("hazard_pipeline")
        results = pipeline.run_here(support("hazard_config").write_config(folder), folder / "run")
        return Path(results.folder.finished("A"))

    @staticmethod
    def read(path: Path) -> Any:
        from craton.hazard.pipeline.post_processing import read_measures
        from craton.hazard.results import read_results

        found = read_results(path.parents[2] if path.parents[1].name == "sites" else path.parents[1])
        return read_measures(path, "measures"), found.all_curves(), found.chosen("A"), found.at_first_probability("A")


@reader("hazard, configuration")
class _HazardConfig:
    @staticmethod
    def make(folder: Path) -> Path:
        return Path(support("hazard_config").write_config(folder))

    @staticmethod
    def read(path: Path) -> Any:
        from craton.hazard.config import load_config

        return load_config(path)


@reader("regional, configuration")
class _RegionalConfig:
    @staticmethod
    def make(folder: Path) -> Path:
        return Path(support("regional_config").written(folder))

    @staticmethod
    def read(path: Path) -> Any:
        from craton.regional.config import load_config

        return load_config(path)


@reader("regional, data", ours=True)
class _RegionalData:
    @staticmethod
    def make(folder: Path) -> Path:
        from craton.regional.observations import make_data

        study = small_study(str(folder))
        random = np.random.default_rng(1)
        make_data(study, random.standard_normal(study.samples), add_noise=True).write(folder / "data.h5")
        return folder / "data.h5"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.regional.observations import read_data

        found = read_data(path, small_study(str(path.parent)))
        return found.observed, found.sigma


@functools.cache
def small_study(folder: str) -> Any:
    """Of a regional inversion."""
    from craton.regional.config import load_config
    from craton.regional.study import Study

    return Study(load_config(support("regional_config").written(Path(folder))))


@reader("regional, a model", ours=True)
class _RegionalModel:
    @staticmethod
    def make(folder: Path) -> Path:
        from craton.regional.folder import StateFolder

        state = StateFolder(folder, 0)
        state.write_model(model=np.linspace(-0.1, 0.1, 60), weights=np.linspace(0.0, 1.0, 60))
        return state.model

    @staticmethod
    def read(path: Path) -> Any:
        from craton.regional.folder import StateFolder

        state = StateFolder(path.parent, 0)
        state.model = path
        return state.read_model(60)


@reader("waves, configuration")
class _WavesConfig:
    @staticmethod
    def make(folder: Path) -> Path:
        return Path(support("wave_config").write_config(folder))

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.wave_run.config import load_config

        return load_config(path)


# ----------------------------------------------------------------------------------------------------------------- multigrid


def solver_of(cells: tuple[int, int, int]) -> Any:
    """A multigrid solver on this rank."""
    import craton
    from craton import multigrid
    from mpi4py import MPI

    return multigrid.Solver(craton.World(MPI.COMM_SELF), cells)


@reader("multigrid, problem", foreign=True)
class _Problem:
    @staticmethod
    def make(folder: Path) -> Path:
        draw = np.random.default_rng(1)
        with h5py.File(folder / "p.h5", "w") as file:
            file["f"], file["alpha"] = draw.normal(size=FEW_CELLS), draw.uniform(0, 3, FEW_CELLS)
            file["beta"] = draw.uniform(1, 10, FEW_CELLS)
            file["boundary_values/x_before"] = 2.0
            file.attrs["boundary"], file.attrs["a"] = "dirichlet periodic neumann:dirichlet", 100
        return folder / "p.h5"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.multigrid.files import read_problem

        return read_problem(path)


# ----------------------------------------------------------------------------------------------------------------------- scf


@reader("molecule, XYZ")
class _Xyz:
    make = staticmethod(text("w.xyz", "3\nwater\nO 0 0 0.117\nH 0 0.757 -0.469\nH 0 -0.757 -0.469\n"))

    @staticmethod
    def read(path: Path) -> Any:
        from craton.scf import Molecule

        return Molecule.from_xyz(path)


@reader("scf, checkpoint", ours=True)
class _ScfCheckpoint:
    @staticmethod
    def make(folder: Path) -> Path:
        from craton.scf import RHF, Molecule

        RHF(Molecule.from_xyz(_Xyz.make(folder)), "sto-3g").run(checkpoint=folder / "w.h5")
        return folder / "w.h5"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.scf.files.checkpoint import Checkpoint
        from craton.scf.files.orbitals import StoredOrbitals

        found = StoredOrbitals(path)
        return Checkpoint.read(path), found.mo_energy, found.orbital("homo"), found.orbitals(0, 2)


@reader("molecule, formatted checkpoint")
class _Fchk:
    @staticmethod
    def make(folder: Path) -> Path:
        from craton.scf import RHF, Molecule
        from craton.scf.interchange.fchk import write_fchk

        write_fchk(RHF(Molecule.from_xyz(_Xyz.make(folder)), "sto-3g").run(), folder / "w.fchk")
        return folder / "w.fchk"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.scf.interchange.fchk import read_fchk

        return read_fchk(path)


@reader("scf, QCSchema")
class _QCSchema:
    make = staticmethod(
        text(
            "w.json",
            '{"schema_name": "qcschema_input", "schema_version": 1, "molecule": {"symbols": ["He", "H"], "geometry": [0, 0, 0, '
            '0, 0, 1.5], "molecular_charge": 1, "molecular_multiplicity": 1}, "driver": "energy", "model": {"method": "hf", '
            '"basis": "sto-3g"}, "keywords": {"max_cycle": 2}}\n',
        )
    )

    @staticmethod
    def read(path: Path) -> Any:
        from craton.scf.qcschema import run_qcschema_file

        return run_qcschema_file(path, path.with_suffix(".out"))


# ---------------------------------------------------------------------------------------------------------------- tomography


def inversion(folder: Path) -> Path:
    """The folder of a small run of three iterations."""
    from craton.tomography.config.load import load_config
    from craton.tomography.start import run
    from mpi4py import MPI

    config = (
        load_config(EXAMPLES / "global" / "checkerboard.toml")
        .replaced("run", directory=str(folder / "run"))
        .replaced("data", filter_periods_s=(400.0, 250.0, 150.0, 120.0), sample_interval_s=15.0)
        .replaced("modes", shortest_period_s=120.0, cache=str(folder / "modes"))
        .replaced("basis", lateral_level=1, radial=5, radial_depths_km=())
        .replaced("paths", maximum=40)
        .replaced("target", checkerboard_degree=5, checkerboard_depth_nodes=1, plume_radius_km=1200.0)
        .replaced("prior", correlation_km=1500.0, correlation_depth_km=500.0)
        .replaced("inversion", max_iterations=1)
    )
    run(config, MPI.COMM_SELF)
    return folder / "run"


@reader("tomography, data.h5", ours=True)
class _Data:
    @staticmethod
    def make(folder: Path) -> Path:
        return inversion(folder) / "data.h5"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.tomography.waveforms.table import WindowTable

        return WindowTable.load(path)


@reader("tomography, hessian.h5", ours=True)
class _Hessian:
    @staticmethod
    def make(folder: Path) -> Path:
        return inversion(folder) / "hessian.h5"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.tomography.inversion.hessian_file import read_system
        from craton.tomography.stored.run import read_problem
        from mpi4py import MPI

        problem = read_problem(path, MPI.COMM_SELF)
        return read_system(path), np.asarray(problem.hessian.gather())


@reader("tomography, model.h5", ours=True)
class _Model:
    @staticmethod
    def make(folder: Path) -> Path:
        return inversion(folder) / "model.h5"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.tomography.folder import RunFolder

        return RunFolder(path.parent).read_model()


def global_model(folder: Path, classic: bool) -> Path:
    """A model of the whole mantle: dvs."""
    import h5netcdf
    from scipy.io import netcdf_file

    axes = {
        "depth": np.linspace(50, 2850, 8),
        "latitude": np.linspace(-90, 90, 10),
        "longitude": np.arange(0.0, 360.0, 40.0),
    }
    path = folder / "start.nc"
    shape = tuple(map(len, axes.values()))
    values = np.cos(np.arange(np.prod(shape))).reshape(shape).astype("f4")
    with netcdf_file(path, "w") if classic else h5netcdf.File(path, "w") as file:
        for axis, points in axes.items():
            if classic:
                file.createDimension(axis, len(points))
                file.createVariable(axis, "f4", (axis,))[:] = points
            else:
                file.dimensions[axis] = len(points)
                file.create_variable(axis, (axis,), "f4")[...] = points
        made = (
            file.createVariable("dvs", "f4", tuple(axes)) if classic else file.create_variable("dvs", tuple(axes), "f4")
        )
        made[...] = values
    return path


def read_start(path: Path) -> Any:
    """What the file says: dlnVs."""
    from craton import _craton
    from craton.tomography.model.netcdf_model import read_netcdf

    return read_netcdf(path, _craton.EarthModel.prem())


@reader("starting model, NetCDF classic")
class _StartClassic:
    @staticmethod
    def make(folder: Path) -> Path:
        return global_model(folder, classic=True)

    read = staticmethod(read_start)


@reader("starting model, NetCDF 4", foreign=True)
class _StartNetcdf4:
    @staticmethod
    def make(folder: Path) -> Path:
        return global_model(folder, classic=False)

    read = staticmethod(read_start)


@reader("synthetics, ASDF", foreign=True)
class _Asdf:
    @staticmethod
    def make(folder: Path) -> Path:
        with h5py.File(folder / "synthetic.h5", "w") as file:
            for channel in ("MXZ", "MXN"):
                trace = file.create_dataset(
                    f"Waveforms/II.AAA/II.AAA.S3.{channel}__2013-05-24T05:45:00__2013-05-24T06:45:00__synthetic",
                    data=np.sin(np.arange(300.0)).astype("f4"),
                )
                trace.attrs["starttime"], trace.attrs["sampling_rate"] = 1369374300 * 10**9, 0.1
        return folder / "synthetic.h5"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.tomography.waveforms.records.asdf import traces_of

        return [(which, trace.read("2013-05-24T05:45:07.9")) for which, trace in traces_of(path)]


def columns(name: str) -> Callable[[Path], Path]:
    """A seismogram of ten minutes in two columns, seconds and metres, in a folder that holds nothing else."""

    def make(folder: Path) -> Path:
        place = folder / "seismograms"
        place.mkdir()
        return text(name, "".join(f"{n - 20.0:.1f} {1e-3 * np.sin(0.1 * n):.6e}\n" for n in range(600)))(place)

    return make


def read_columns(path: Path) -> Any:
    """What an outside solver left of the vertical motion, in the band and at the times of the data."""
    from craton.tomography.data.catalogue import Events, Stations
    from craton.tomography.waveforms.config import WaveformConfig
    from craton.tomography.waveforms.synthetics import FolderSynthetics

    zero = np.zeros(1)
    events = Events(("E1",), ("2013-05-24T05:45:07.9",), zero, zero, zero, zero, np.ones((1, 6)), ("",))
    config = WaveformConfig.build({}, path).replaced("synthetics", kind="folder", folder=str(path.parent))
    return FolderSynthetics(config, events, Stations(("AE.113A",), zero, zero, zero), 60).trace(0, 0, "Z")


@reader("synthetics, SPECFEM")
class _Specfem:
    make = staticmethod(columns("AE.113A.MXZ.sem.ascii"))
    read = staticmethod(read_columns)


@reader("synthetics, AxiSEM")
class _Axisem:
    make = staticmethod(columns("113A_AE_disp_post_mij_conv0000_Z.dat"))
    read = staticmethod(read_columns)


@reader("tomography, configuration")
class _TomographyConfig:
    @staticmethod
    def make(folder: Path) -> Path:
        for path in (EXAMPLES / "global").glob("*.[ct][so][vm]*"):
            (folder / path.name).write_bytes(path.read_bytes())
        return folder / "checkerboard.toml"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.tomography.config.load import load_config

        return load_config(path)


def earthquake() -> Any:
    """An ObsPy catalogue of one event with a moment tensor."""
    import io

    from obspy import read_events

    return read_events(io.BytesIO(CMT.encode()), format="CMTSOLUTION")


CMT = """ PDE 2013  5 24  5 44 49.60  33.9000 -118.1000 10.0 7.9 7.9 SOMEWHERE
event name:     201305240544A
time shift:     10.0
half duration:  2.0
latitude:       33.9500
longitude:      -118.0500
depth:          9.0000
Mrr:      -1.670000e+25
Mtt:       3.820000e+24
Mpp:       1.290000e+25
Mrt:      -7.850000e+24
Mrp:      -3.570000e+25
Mtp:       8.950000e+24
"""


@reader("earthquake, CMTSOLUTION")
class _Cmt:
    make = staticmethod(text("CMTSOLUTION", CMT))

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.sources.point_sources import read_catalogue_event

        return read_catalogue_event(path)


@reader("earthquake, QuakeML")
class _QuakeMl:
    @staticmethod
    def make(folder: Path) -> Path:
        earthquake().write(str(folder / "quake.xml"), format="QUAKEML")
        return folder / "quake.xml"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.tomography.waveforms.decisions import Ledger
        from craton.tomography.waveforms.records.earthquakes import read_earthquakes

        return _Cmt.read(path), read_earthquakes([path], [], Ledger())


@reader("stations, StationXML")
class _StationXml:
    @staticmethod
    def make(folder: Path) -> Path:
        from obspy.core.inventory import Inventory, Network, Station

        stations = [Station(code, LAT, LON, 100.0) for code in ("AAA", "BBB")]
        Inventory([Network("CI", stations)], source="Craton").write(str(folder / "s.xml"), format="STATIONXML")
        return folder / "s.xml"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.wave_run.receivers import read_stations
        from craton.tomography.waveforms.decisions import Ledger
        from craton.tomography.waveforms.records.responses import read_instruments

        read_instruments([path], [], Ledger())
        return read_stations(path, grid())


def recorded(folder: Path, name: str, form: str) -> Path:
    """A record of a minute."""
    from obspy import Trace, UTCDateTime

    header = {
        "network": "CI",
        "station": "AAA",
        "channel": "BHZ",
        "delta": 0.1,
        "starttime": UTCDateTime("2013-05-24T05:45"),
    }
    trace = Trace(np.cos(np.arange(600.0)).astype("f4"), header)
    trace.write(str(folder / name), format=form)
    return folder / name


def read_records(path: Path) -> Any:
    """What its station recorded, and what the ledger says."""
    from craton.tomography.waveforms.decisions import Ledger
    from craton.tomography.waveforms.records.archive import open_archive
    from obspy import UTCDateTime

    ledger = Ledger()
    archive = open_archive([path], ledger)
    first = UTCDateTime("2013-05-24T05:45:05")
    found = [archive.read(station, first, first + 40, ledger) for station in archive.stations]
    return [(trace.id, trace.data) for stream in found for trace in stream], ledger.decisions


@reader("records, MiniSEED")
class _MiniSeed:
    @staticmethod
    def make(folder: Path) -> Path:
        return recorded(folder, "a.mseed", "MSEED")

    read = staticmethod(read_records)


@reader("records, SAC")
class _Sac:
    @staticmethod
    def make(folder: Path) -> Path:
        return recorded(folder, "a.sac", "SAC")

    read = staticmethod(read_records)


@reader("mode catalogue", ours=True)
class _Modes:
    @staticmethod
    def make(folder: Path) -> Path:
        _Modes.read(folder / "modes" / "none")
        return next((folder / "modes").iterdir())

    @staticmethod
    def read(path: Path) -> Any:
        from craton import _craton
        from craton.tomography.theory.modes import toroidal_catalogue

        return toroidal_catalogue(_craton.EarthModel.prem(), 600.0, path.parent, note=lambda _: None).arrays()


def first_rows(name: str, rows: int) -> Callable[[Path], Path]:
    """The first rows of a table among the examples, without its comments."""

    def make(folder: Path) -> Path:
        lines = (EXAMPLES / "global" / name).read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not line.startswith("#")][: rows + 1]
        return text(name, "\n".join(kept) + "\n")(folder)

    return make


def harmonics(folder: Path) -> Path:
    """Degree 1 of 21 splines."""
    rows = [" ".join(f"{0.01 * np.cos(n + 7 * row):.5f}" for n in range(4)) for row in range(21)]
    return text("m.sph", "\n".join(rows) + "\n")(folder)


def s40rts(folder: Path) -> Path:
    """The same, below a line with the degree."""
    from craton.tomography.model.harmonics import read_harmonics, write_harmonics

    write_harmonics(folder / "degree.sph", read_harmonics(harmonics(folder)))
    return folder / "degree.sph"


def earth_rows() -> list[tuple[float, ...]]:
    """A simple Earth, from the surface down: depth, vp, vs, density, and the qualities of both waves."""
    rows: list[tuple[float, ...]] = []
    for depth_km in (0, 24, 24, 220, 670, 670, 2000, 2891, 2891, 4000, 5149, 5149, 6371):
        solid = not 2891 <= depth_km <= 5149 or len(rows) in (7, 11)
        rows.append((depth_km, 8 + depth_km / 1000, 4.5 if solid else 0.0, 3.3 + depth_km / 1000, 1000, 300))
    return rows


def earth_table(name: str, head: str, columns: int) -> Callable[[Path], Path]:
    """That Earth as rows of depth."""
    return text(name, head + "".join(" ".join(map(str, row[:columns])) + "\n" for row in earth_rows()))


def earth_deck(folder: Path) -> Path:
    """That Earth as mineos reads it: from the centre up, in SI."""
    rows = []
    for depth_km, vp, vs, density, _, q_s in reversed(earth_rows()):
        numbers = [6371 - depth_km, density, vp, vs, 57.823, (q_s if vs else 0) / 1000, vp, vs]
        rows.append(" ".join(f"{1e3 * number:g}" for number in numbers) + " 1")
    return text("a.deck", "\n".join(["simple", "0 1. 1", f"{len(rows)} 2 5", *rows]) + "\n")(folder)


def crust(folder: Path) -> Path:
    """The Moho every 30 degrees."""
    rows = [f"{lon} {lat} {20 + abs(lat) / 10} 3.5" for lat in range(-75, 90, 30) for lon in range(0, 360, 30)]
    return text("moho.txt", "\n".join(rows) + "\n")(folder)


def crust_netcdf(folder: Path, classic: bool) -> Path:
    """The same, with Vs, as NetCDF."""
    axes = {"latitude": np.arange(-75.0, 90.0, 30.0), "longitude": np.arange(0.0, 360.0, 30.0)}
    moho = np.repeat(20.0 + np.abs(axes["latitude"])[:, None] / 10.0, 12, axis=1)
    return netcdf(folder / "moho.nc", classic, axes, {"moho": moho, "vs": np.full(moho.shape, 3.5)}, {})


def plain(
    name: str,
    make: Callable[[Path], Path],
    module: str,
    function: str,
    *more: Callable[[], Any],
    foreign: bool = False,
) -> None:
    """A reader that is one function of the package, called with the path and what `more` make."""

    def read(path: Path) -> Any:
        return getattr(importlib.import_module(f"craton.{module}"), function)(path, *(each() for each in more))

    READERS[name] = Reader(make, read, foreign=foreign)


def forecasts(name: str) -> str:
    """A text of the tests of forecasts."""
    return str(getattr(support("hazard_forecasts"), name))


def nrml() -> str:
    """A fault source of OpenQuake."""
    return str(support("hazard_faults").nrml(support("hazard_faults").SIMPLE_SOURCE))


plain("earthquakes, CSV", first_rows("earthquakes.csv", 5), "tomography.data.catalogue", "read_events")
plain("stations, CSV", first_rows("stations.csv", 5), "tomography.data.catalogue", "read_stations")
plain("starting model, harmonics", harmonics, "tomography.model.harmonics", "read_harmonics")
plain("starting model, harmonics after a degree", s40rts, "tomography.model.harmonics", "read_harmonics")
for named, made in (
    ("table", earth_table("a.nd", "", 6)),
    ("tvel", earth_table("a.tvel", "a simple Earth - P\na simple Earth - S\n", 4)),
    ("deck of mineos", earth_deck),
):
    plain(f"Earth, {named}", made, "tomography.model.earth_table", "read_earth")
plain("crust, text", crust, "tomography.theory.crust", "read_crust")
plain(
    "crust, NetCDF classic",
    lambda folder: crust_netcdf(folder, classic=True),
    "tomography.theory.crust",
    "read_crust",
)
plain(
    "crust, NetCDF 4",
    lambda folder: crust_netcdf(folder, classic=False),
    "tomography.theory.crust",
    "read_crust",
    foreign=True,
)
plain(
    "media, layers",
    text("layers.txt", "450 4000 2000 2600 80 40\n0 6000 3464 2700 100 50\n"),
    "seismology.ground.media",
    "read_layers",
)
plain(
    "ruptures, table", lambda folder: text("r.csv", forecasts("TABLE"))(folder), "hazard.forecast.tables", "read_table", grid
)  # fmt: skip
plain("ruptures, NRML", lambda folder: text("m.xml", nrml())(folder), "hazard.forecast.nrml", "read_nrml", grid)
plain(
    "hazard curves, CSV",
    text(
        "c.csv",
        "measure,years,site,longitude_deg,latitude_deg,level,probability\nPGA,50,A,10,45,0.1,0.5\n"
        "PGA,50,A,10,45,0.2,0.2\nPGA,50,A,10,45,0.3,0.01\n",
    ),
    "hazard.curves.export",
    "read_curves_csv",
)
plain(
    "multigrid, configuration",
    lambda folder: text("c.toml", (EXAMPLES / "multigrid" / "charges.toml").read_text(encoding="utf-8"))(folder),
    "multigrid.config",
    "load_config",
)
plain(
    "scf, configuration",
    lambda folder: text("c.toml", f'[molecule]\nfile = "{_Xyz.make(folder).name}"\n\n[method]\nbasis = "sto-3g"\n')(
        folder
    ),
    "scf.config",
    "load_config",
)


@reader("ruptures, OpenSHA")
class _OpenSha:
    @staticmethod
    def make(folder: Path) -> Path:
        return text("r.txt", forecasts("OPENSHA"))(folder)

    @staticmethod
    def read(path: Path) -> Any:
        from craton.hazard.forecast.tables import read_opensha_rupture

        return read_opensha_rupture(path, grid(), source="0")


@reader("record of a run")
class _Record:
    @staticmethod
    def make(folder: Path) -> Path:
        return wave_run(folder) / "record.json"

    @staticmethod
    def read(path: Path) -> Any:
        from craton.seismology.wave_run.folder import WavesFolder

        return WavesFolder(path.parent).read_record()


# -------------------------------------------------------------------------------------------------------------------- arrays


@reader("matrix", ours=True)
class _Matrix:
    @staticmethod
    def make(folder: Path) -> Path:
        import craton
        from mpi4py import MPI

        matrix = craton.ConvergentMatrix(craton.World(MPI.COMM_SELF), 40, 30, block=8)
        rows, cols = np.arange(40), np.arange(30)
        matrix.update(np.cos(np.arange(1200.0)).reshape(40, 30), rows, cols)
        matrix.commit()
        matrix.save(str(folder / "m.h5"), "m")
        return folder / "m.h5"

    @staticmethod
    def read(path: Path) -> Any:
        import craton
        from mpi4py import MPI

        matrix = craton.ConvergentMatrix(craton.World(MPI.COMM_SELF), 40, 30, block=8)
        matrix.load(str(path), "m")
        return np.asarray(matrix.gather())


@reader("distributed array", ours=True)
class _DistArray:
    @staticmethod
    def make(folder: Path) -> Path:
        import craton
        from mpi4py import MPI

        array = craton.DistArray(craton.World(MPI.COMM_SELF), (7, 5, 6), "float32")
        array[...] = np.cos(np.arange(210.0)).reshape(7, 5, 6).astype("f4")
        array.save(str(folder / "a.h5"), "a")
        return folder / "a.h5"

    @staticmethod
    def read(path: Path) -> Any:
        import craton
        from mpi4py import MPI

        array = craton.DistArray(craton.World(MPI.COMM_SELF), (7, 5, 6), "float32")
        array.load(str(path), "a")
        return np.asarray(array[...].get())


@reader("symmetric matrix", ours=True)
class _Symmetric:
    @staticmethod
    def make(folder: Path) -> Path:
        import craton
        from mpi4py import MPI

        matrix = craton.SymmetricMatrix(craton.World(MPI.COMM_SELF), 40, block=8)
        draw = np.random.default_rng(2).normal(size=(40, 40))
        matrix.update_symmetric(draw + draw.T, np.arange(40))
        matrix.commit()
        matrix.save(str(folder / "s.h5"), "s")
        return folder / "s.h5"

    @staticmethod
    def read(path: Path) -> Any:
        import craton
        from mpi4py import MPI

        matrix = craton.SymmetricMatrix(craton.World(MPI.COMM_SELF), 40, block=8)
        matrix.load(str(path), "s")
        return np.asarray(matrix.gather())
