#pragma once

#include <map>
#include <string>
#include <vector>

namespace craton::bench {

/// Figures by name, one value per repeat or per rank, as the measurer says.
using samples = std::map<std::string, std::vector<double>>;

} // namespace craton::bench
