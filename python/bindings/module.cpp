// The compiled extension craton._craton: C++ objects, one to one. Its docstrings and signatures are the text of Python's side:
// help() shows them, and the stub is generated from them. The C++ side is described in the headers.

#include "bindings.hpp"

#include <craton/base/available_memory.hpp>
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

#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

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

/// Folders that go with this process, not with copies of it.
class folders_of_this_process {
  public:
    ~folders_of_this_process() {
        std::error_code ignored;
        if (getpid() == owner_)
            for (const auto& folder : folders_) std::filesystem::remove_all(folder, ignored);
    }
    void add(std::filesystem::path folder) { folders_.push_back(std::move(folder)); }

  private:
    pid_t owner_ = getpid();
    std::vector<std::filesystem::path> folders_;
};

void remove_at_exit(const std::string& folder) {
    static folders_of_this_process those;
    those.add(folder);
}

annotated<"_BlasReport"> blas_check() {
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
    m.doc() = R"(Craton's C++ objects, one to one.

Arrays of the applications are C-contiguous NumPy arrays; those of the distributed arrays have any strides. Angles are
radians unless a name says degrees, lengths metres unless a name says km, times seconds. "Collective" means that every
rank of the world must call. What collective calls wait for, they wait for without the GIL.

Classes whose names begin with _ are bases of the public ones. Objects inside others, as ReproducibleMatrix.sums, are
of them.)";
    // Objects that live to the end of the interpreter, in a cycle or in a script's globals, are no news for users.
    nb::set_leak_warnings(false);
    nb::exception<craton::user_error>(m, "UserError", PyExc_Exception).attr("__doc__") =
        "The user's or the environment's fault: one line that says what, where, the value and what is allowed.";

    m.def("build_info", &build_info, R"(What this build is made of, by name.

version, commit, compiler, flags, build_type, mpi (the library's version string), blas (its configuration) and hdf5. Not
collective.)");
    m.def("mpi_library_version", &craton::comm::environment::library_version,
          R"(What MPI_Get_library_version prints in the extension.

It must equal what mpi4py prints. Does not start MPI.)");
    m.def("remove_at_exit", &remove_at_exit, nb::arg("folder"), R"(Removes a folder when this process has ended by itself.

Later than Python's atexit and than the end of MPI, whose files may be in it. Without a word where it cannot be removed. Not
collective.)");
    m.def("blas_core", &craton::linalg::blas_core, R"(The processor that OpenBLAS believes it runs on.

For example 'SkylakeX' (openblas_get_corename); 'unknown' for another BLAS.)");
    m.def("set_blas_threads", &craton::linalg::set_blas_threads, nb::arg("threads"),
          R"(Sets how many threads the extension's BLAS uses per call.

Of OpenBLAS; without effect on others.)");
    m.def("blas_check", &blas_check, R"(How the linked BLAS fits this processor.

Rates of products measured on one thread, best of five, stand beside the peak of its vector units: flops_per_cycle in
single precision, half of it in double, at the measured clock. Rates and peaks are in GFLOP/s. mistaken: OpenBLAS chose
kernels for narrower registers. slow: far below the peak; then remedy says what to do. Not collective.)");
    m.def(
        "gemm_gflops",
        [](int n, bool single, int threads) {
            const nb::gil_scoped_release release;
            craton::linalg::set_blas_threads(threads);
            return single ? craton::linalg::measured_gemm_gflops<float>(n) : craton::linalg::measured_gemm_gflops<double>(n);
        },
        nb::arg("n"), nb::arg("single") = true, nb::arg("threads") = 1,
        R"(Measured rate of n x n products of the linked BLAS, in GFLOP/s.

Best of five, in single or double precision. The number of threads stays set afterwards. Not collective.)");
    m.def("available_memory", [] { return craton::base::available_memory(); }, R"(Bytes that may still be taken without swapping.

The least of what the machine has and of what the control groups of this process have left. -1 where the kernel does not say. Not
collective.)");
    m.def(
        "memory_rates",
        [](int threads) {
            const nb::gil_scoped_release release;
            const auto rates = craton::base::measure_memory(threads);
            return std::pair(rates.memcpy_gb_s, rates.triad_gb_s);
        },
        nb::arg("threads"), R"(Rates of memory on so many threads of this process: (memcpy, STREAM triad), in GB/s.

Best of five passes. Not collective. UserError below 1 thread.)");
    m.def("memory_in_place_rate", &craton::base::measure_memory_in_place, nb::arg("threads"),
          nb::call_guard<nb::gil_scoped_release>(),
          R"(GB/s read and written by so many threads of this process that change memory in place.

Best of five passes. Not collective. UserError below 1 thread.)");

    bind_runtime(m);
    bind_array(m);
    bind_tomography(m);
    bind_multigrid(m);
    bind_waves(m);
    bind_scf(m);
    bind_energy_gradient(m);
    bind_functions_at_points(m);
    bind_hazard(m);
    bind_regional(m);
    bind_distributed_fock(m);
    bind_assembly(m);
}
