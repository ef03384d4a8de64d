"""The C++ library: headers, static libraries and what `find_package(craton)` reads."""

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Craton(CMakePackage):
    """Distributed arrays for science on MPI: many ranks add to, read and rearrange one array at
    once, whoever owns the memory.

    The source has no public address yet. Put craton-0.2.0.tar.gz in the folder in which you call
    Spack, or in a mirror; packaging/README.md says how to make it. py-craton has the Python
    package and the command.
    """

    url = f"file://{os.getcwd()}/craton-0.2.0.tar.gz"
    manual_download = True

    license("BSD-3-Clause")

    # Without a checksum until a release has a file that stays: spack install --no-checksum.
    version("0.2.0")

    variant(
        "native",
        default=False,
        description="Optimise for the processor that compiles, beyond Spack's target",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")

    depends_on("mpi@3:")
    depends_on("hdf5@1.10:1+mpi")
    depends_on("netlib-scalapack")
    depends_on("openblas")
    depends_on("fmt")

    generator("ninja")
    conflicts("%gcc@:11", msg="Craton needs a C++20 compiler such as GCC 12")

    def cmake_args(self):
        return [
            self.define("CRATON_BUILD_TESTS", False),
            self.define("CRATON_WARNINGS_AS_ERRORS", False),
            self.define_from_variant("CRATON_NATIVE", "native"),
        ]
