#pragma once

#include <craton/apps/scf/fock_builder.hpp>

#include <nanobind/nanobind.h>

namespace craton::bindings {

inline nanobind::dict to_dict(const scf::fock_counts& counts) {
    nanobind::dict found;
    found["quartets"] = counts.quartets;
    found["coulomb_quartets"] = counts.coulomb_quartets;
    found["exchange_quartets"] = counts.exchange_quartets;
    found["unique_quartets"] = counts.unique_quartets;
    return found;
}

} // namespace craton::bindings
