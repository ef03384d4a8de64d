"""The Python package with its extension, and the command `craton`."""

import os

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyCraton(PythonPackage):
    """Craton for Python: distributed arrays on MPI, and tomography, waves, hazard, multigrid and
    Hartree-Fock on them.

    The source has no public address yet. Put craton-0.2.0.tar.gz in the folder in which you call
    Spack, or in a mirror; packaging/README.md says how to make it. The package craton has the C++
    library alone.
    """

    url = f"file://{os.getcwd()}/craton-0.2.0.tar.gz"
    manual_download = True
    import_modules = ["craton", "craton_command"]

    license("BSD-3-Clause")

    # Without a checksum until a release has a file that stays: spack install --no-checksum.
    version("0.2.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@0.11:1", type="build")
    depends_on("py-nanobind@2.4:3", type="build")

    depends_on("mpi@3:")
    depends_on("hdf5@1.10:1+mpi")
    depends_on("netlib-scalapack")
    depends_on("openblas")
    depends_on("fmt")

    depends_on("python@3.11:", type=("build", "link", "run"))
    depends_on("py-numpy@1.26:2", type=("build", "run"))
    depends_on("py-scipy@1.11:1", type=("build", "run"))
    depends_on("py-h5py@3.10:3", type=("build", "run"))
    depends_on("py-h5netcdf@1.3:1", type=("build", "run"))
    depends_on("py-mpi4py@4.0:4", type=("build", "run"))
    depends_on("py-typer@0.12:0", type=("build", "run"))
    depends_on("py-rich@13:15", type=("build", "run"))
    depends_on("py-matplotlib@3.8:3", type=("build", "run"))
    depends_on("py-jinja2@3.1:3", type=("build", "run"))
    depends_on("py-threadpoolctl@3.2:3", type=("build", "run"))

    conflicts("%gcc@:11", msg="Craton needs a C++20 compiler such as GCC 12")

    def setup_build_environment(self, env):
        # Spack's compiler wrappers say which processor is meant.
        env.set("CRATON_NATIVE", "OFF")
