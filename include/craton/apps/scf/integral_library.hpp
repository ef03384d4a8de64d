#pragma once

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/derivative_source.hpp>
#include <craton/apps/scf/quartet_source.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace craton::scf {

namespace detail {
struct libcint; // its functions, found in the opened file
}

/// Matrices over one electron, n x n row major, symmetric, in atomic units.
enum class one_electron { overlap, kinetic, nuclear_attraction };

/// libcint (Q. Sun, J. Comput. Chem. 36, 1664), opened at run time: Craton builds and installs without it. Copies share one opened
/// file.
class integral_library {
  public:
    /// Opens the shared library at `path`. Throws user_error where it cannot be opened or lacks a function.
    explicit integral_library(const std::string& path);

    /// As it was given.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// n x n elements; any thread.
    [[nodiscard]] std::vector<double> matrix(one_electron which, const basis& functions) const;
    /// x, y, z about the origin, in bohr: 3 x n x n elements; any thread.
    [[nodiscard]] std::vector<double> position(const basis& functions) const;

    /// Parts of them: functions of the shells from rows[0] to rows[1] (exclusive) by those of columns, row major, equal to the last
    /// bit to what the whole matrices have there. Throws user_error for shells out of range.
    [[nodiscard]] std::vector<double> block(one_electron which, const basis& functions, std::array<int, 2> rows,
                                            std::array<int, 2> columns) const;
    [[nodiscard]] std::vector<double> position_block(const basis& functions, std::array<int, 2> rows,
                                                     std::array<int, 2> columns) const;

    /// (ij|kl) over these functions, which it keeps, with what the library computes once for all quartets. Where its table of pairs
    /// of primitives could take more than `most_table_bytes` it goes without (libraries that can: since 6): quartets then take some
    /// percent longer.
    [[nodiscard]] std::shared_ptr<const quartet_source>
    electron_repulsion(std::shared_ptr<const basis> functions,
                       std::int64_t most_table_bytes = std::numeric_limits<std::int64_t>::max()) const;

    /// Derivatives over these functions, which it keeps. Throws user_error where the library has none.
    [[nodiscard]] std::shared_ptr<const derivative_source> derivatives(std::shared_ptr<const basis> functions) const;

  private:
    std::string path_;
    std::shared_ptr<const detail::libcint> functions_;
};

} // namespace craton::scf
