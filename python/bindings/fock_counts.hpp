#pragma once

#include <craton/apps/scf/fock_builder.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <map>
#include <string>

namespace craton::bindings {

inline std::map<std::string, std::int64_t> to_dict(const scf::fock_counts& counts) {
    return {{"quartets", counts.quartets},
            {"coulomb_quartets", counts.coulomb_quartets},
            {"exchange_quartets", counts.exchange_quartets},
            {"batches", counts.batches},
            {"batched_quartets", counts.batched_quartets},
            {"unique_quartets", counts.unique_quartets}};
}

} // namespace craton::bindings
