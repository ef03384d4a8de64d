// The compiled extension craton._craton: C++ objects, one to one. What each means is in _craton.pyi and the C++ headers.

#include "bindings.hpp"

#include <craton/base/build_config.hpp>
#include <craton/base/error.hpp>
#include <craton/base/memory_rates.hpp>
#include <craton/comm/environment.hpp>
#include <craton/io/hdf5_version.hpp>
#include <craton/linalg/blas.hpp>
#include <craton/linalg/blas_check.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace craton::bindings {

namespace {

std::map<std::string, std::string> build_info() {
    return {{"version", std::string(base::build_config::version)},
            {"commit", std::string(base::build_config::commit)},
            {"compiler", std::string(base::build_config::compiler)},
            {"flags", std::string(base::build_config::flags)},
            {"build_type", std::string(base::build_config::build_type)},
            {"mpi", comm::environment::library_version()},
            {"blas", linalg::blas_configuration()},
            {"hdf5", io::hdf5_version()}};
}

nb::dict blas_check() {
    linalg::blas_report report;
    {
        const nb::gil_scoped_release release;
        report = linalg::blas_check();
    }
    nb::dict result;
    result["core"] = report.core;
    result["units"] = report.units.name;
    result["flops_per_cycle"] = report.units.float_flops_per_cycle;
    result["clock_ghz"] = report.clock_ghz;
    result["sgemm_gflops"] = report.float_gflops;
    result["dgemm_gflops"] = report.double_gflops;
    result["sgemm_peak"] = report.float_peak();
    result["dgemm_peak"] = report.double_peak();
    result["mistaken"] = report.mistaken();
    result["slow"] = report.slow();
    result["remedy"] = report.remedy();
    return result;
}

} // namespace

} // namespace craton::bindings

NB_MODULE(_craton, m) {
    using namespace craton::bindings;
    m.doc() = "Craton's C++ objects";
    nb::exception<craton::user_error>(m, "UserError", PyExc_Exception);

    m.def("build_info", &build_info, "version, commit, compiler, flags, build_type, mpi, blas, hdf5 of this build.");
    m.def("mpi_library_version", &craton::comm::environment::library_version,
          "What MPI_Get_library_version prints in the extension: must equal mpi4py's.");
    m.def("blas_core", &craton::linalg::blas_core, "The processor OpenBLAS believes it runs on; 'unknown' for another BLAS.");
    m.def("set_blas_threads", &craton::linalg::set_blas_threads, nb::arg("threads"),
          "Threads the extension's BLAS uses per call (OpenBLAS only).");
    m.def("blas_check", &blas_check,
          "How the linked BLAS fits this processor: rates measured on one thread beside what its units can do.");
    m.def(
        "gemm_gflops",
        [](int n, bool single, int threads) {
            const nb::gil_scoped_release release;
            craton::linalg::set_blas_threads(threads);
            return single ? craton::linalg::measured_gemm_gflops<float>(n) : craton::linalg::measured_gemm_gflops<double>(n);
        },
        nb::arg("n"), nb::arg("single") = true, nb::arg("threads") = 1,
        "Measured n x n GEMM rate of the linked BLAS, best of five, in GFLOP/s.");
    m.def(
        "memory_rates",
        [](int threads) {
            const nb::gil_scoped_release release;
            const auto rates = craton::base::measure_memory(threads);
            return std::pair(rates.memcpy_gb_s, rates.triad_gb_s);
        },
        nb::arg("threads"), "(memcpy, STREAM triad), GB/s on so many threads of this process: best of five passes.");
    m.def("memory_in_place_rate", &craton::base::measure_memory_in_place, nb::arg("threads"),
          nb::call_guard<nb::gil_scoped_release>(),
          "GB/s read and written by so many threads of this process that change memory in place: best of five passes.");

    bind_runtime(m);
    bind_array(m);
    bind_tomography(m);
    bind_multigrid(m);
    bind_waves(m);
    bind_scf(m);
    bind_hazard(m);
    bind_distributed_fock(m);
    bind_assembly(m);
}
