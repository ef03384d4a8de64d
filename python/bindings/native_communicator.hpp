#pragma once

#include <nanobind/nanobind.h>

#include <mpi.h>

#include <cstdint>

namespace craton::bindings {

/// The handle that mpi4py keeps inside its object; MPI._addressof gives its address. Same MPI on both sides is checked at import.
[[nodiscard]] inline MPI_Comm native_communicator(const nanobind::object& comm) {
    const auto address = nanobind::cast<std::uintptr_t>(nanobind::module_::import_("mpi4py.MPI").attr("_addressof")(comm));
    return *reinterpret_cast<MPI_Comm*>(address); // that is what _addressof means
}

} // namespace craton::bindings
