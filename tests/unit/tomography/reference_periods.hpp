#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numbers>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// Periods of catalogues of modes beside those of an independent code's table.
namespace craton::tomography {

using mode_name = std::pair<std::int64_t, std::int64_t>; // n, l

/// Of each mode, in seconds.
template <class Catalogue> std::map<mode_name, double> periods(const Catalogue& modes) {
    std::map<mode_name, double> out;
    for (std::size_t i = 0; i < modes.arrays().n.size(); ++i) {
        out[{modes.arrays().n[i], modes.arrays().l[i]}] = 2 * std::numbers::pi / modes.arrays().omega_rad_s[i];
    }
    return out;
}

struct reference_row {
    mode_name name;
    double elastic_s;
    double dispersed_s;
};

/// Every row's periods within `allowed` (relative), without dispersion and with it. type: S or T.
template <class Rows, class Catalogue>
void expect_periods(const Rows& rows, const std::string& type, const Catalogue& elastic, const Catalogue& dispersed,
                    double allowed) {
    const auto at_1_s = periods(elastic);
    const auto at_own = periods(dispersed);
    double worst_elastic = 0;
    double worst_dispersed = 0;
    for (const reference_row& row : rows) {
        const std::string name = std::to_string(row.name.first) + type + std::to_string(row.name.second);
        ASSERT_TRUE(at_1_s.contains(row.name) && at_own.contains(row.name)) << name;
        const double e = std::abs(at_1_s.at(row.name) / row.elastic_s - 1);
        const double d = std::abs(at_own.at(row.name) / row.dispersed_s - 1);
        EXPECT_LE(e, allowed) << name;
        EXPECT_LE(d, allowed) << name;
        worst_elastic = std::max(worst_elastic, e);
        worst_dispersed = std::max(worst_dispersed, d);
    }
    std::printf("%zu periods: largest relative error %.2e elastic, %.2e dispersed\n", std::size(rows), worst_elastic,
                worst_dispersed);
}

inline std::string reference_table() {
    const char* const shared = std::getenv("CRATON_SHARED");
    return std::string(shared ? shared : CRATON_SHARED_DEFAULT) + "/facts/prem_isotropic_modes.csv";
}

/// Rows of the reference table of one type, S or T; none where the table is not there.
inline std::vector<reference_row> reference_rows(const std::string& wanted) {
    std::ifstream file(reference_table());
    std::vector<reference_row> rows;
    for (std::string line; std::getline(file, line);) {
        std::replace(line.begin(), line.end(), ',', ' ');
        std::istringstream fields(line);
        std::string type;
        reference_row row;
        if (fields >> type >> row.name.first >> row.name.second >> row.elastic_s >> row.dispersed_s && type == wanted) {
            rows.push_back(row);
        }
    }
    return rows;
}

} // namespace craton::tomography
