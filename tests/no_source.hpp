#pragma once

#include <craton/apps/scf/quartet_source.hpp>

namespace craton::tests {

/// Integrals that are all 0: in the place of a library that is not to be asked.
class no_source final : public scf::quartet_source {
  public:
    [[nodiscard]] std::size_t scratch_doubles() const override { return 1; }
    bool compute(const scf::shell_quartet& /*shells*/, double* /*out*/, double* /*scratch*/) const override { return false; }
};

} // namespace craton::tests
