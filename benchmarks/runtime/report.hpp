#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace craton::benchmarks {

/// Median and spread of repeated timings.
struct spread {
    double median = 0.0;
    double least = 0.0;
    double most = 0.0;
};
[[nodiscard]] spread spread_of(std::vector<double> values);

/// One measured line: what, by whom ("craton" or "mpi"), at which message size, in which unit.
struct figure {
    std::string operation;
    std::string by;
    std::size_t bytes = 0;
    std::string unit;
    spread value;
};

/// Gathers figures on rank 0 and writes them as JSON with host, commit, compiler and flags.
class report {
  public:
    report(std::string_view benchmark, int ranks, int ranks_per_node);
    void add(figure line);
    /// Writes to `path`, or to standard output when it is empty.
    void write(const std::string& path) const;

  private:
    std::string benchmark_;
    int ranks_;
    int ranks_per_node_;
    std::vector<figure> figures_;
};

} // namespace craton::benchmarks
