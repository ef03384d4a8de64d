#include "saved_state.hpp"

#include "agree.hpp"

#include <craton/array/brick_layout.hpp>
#include <craton/base/error.hpp>
#include <craton/io/brick_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace craton::waves {

namespace {

constexpr auto magic = "craton waves";

// A grid that has room for so many floats in each brick, whatever these are: a file of bricks then holds them, in the order of the
// fields' bricks, whichever rank has which.
array::block_grid<float> room_for(const array::block_grid<float>& fields, std::int64_t floats) {
    constexpr std::int64_t row = 64, planes = array::thinnest_brick;
    auto& ranks = fields.ranks();
    const std::int64_t most = ranks.communicator().maximum(floats);
    const std::int64_t rows = std::max((most + row * planes - 1) / (row * planes), array::thinnest_brick);
    std::vector<int> brick_of_rank;
    for (int rank = 0; rank < ranks.size(); ++rank) brick_of_rank.push_back(static_cast<int>(fields.layout().position(rank)));
    return {ranks, array::brick_layout({row, rows, planes * ranks.size()}, {1, 1, ranks.size()}, brick_of_rank), 1, 0};
}

// what(a run of at most a row of the memory, where it is in the grid).
template <class Memory, class What>
void for_rows(const array::block_grid<float>& grid, std::span<Memory> memory, const What& what) {
    const auto e = grid.extents();
    for (std::int64_t k = 0; k < e.nz; ++k) {
        for (std::int64_t j = 0; j < e.ny; ++j) {
            const auto first = static_cast<std::size_t>((k * e.ny + j) * e.nx);
            if (first >= memory.size()) return;
            what(memory.subspan(first, std::min(memory.size() - first, static_cast<std::size_t>(e.nx))),
                 grid.origin(0) + e.at(0, j, k));
        }
    }
}

std::string layers_beside(const std::string& path_of_fields) { return path_of_fields + ".layers"; }

// -1: none can be read.
std::int64_t step_in(const std::string& path) {
    try {
        return saved_state::of_text(io::read_brick_header(path), path).step;
    } catch (const user_error&) {
        return -1;
    }
}

} // namespace

std::string saved_state::as_text() const { return fmt::format("{}\n{}\n{}\n{}", magic, step, of, note); }

saved_state saved_state::of_text(const std::string& text, const std::string& path) {
    std::istringstream in(text);
    std::string first, number;
    saved_state found;
    if (!std::getline(in, first) || first != magic || !std::getline(in, number) || !std::getline(in, found.of)) {
        throw user_error(fmt::format("{}: not the state of a run of waves", path));
    }
    const char* const end = number.data() + number.size();
    const auto read = std::from_chars(number.data(), end, found.step);
    if (read.ec != std::errc{} || read.ptr != end || found.step < 0)
        throw user_error(fmt::format("{}: '{}' for the steps done; allowed: a whole number, 0 or more", path, number));
    std::ostringstream rest;
    rest << in.rdbuf();
    found.note = rest.str();
    return found;
}

std::string saved_state::why_not_for(const std::string& wanted, const std::string& path) const {
    return of == wanted ? "" : fmt::format("{}: state of {}; this run: {}", path, of, wanted);
}

void save_layers(const array::block_grid<float>& fields, std::span<const float> memory, std::int64_t step,
                 const std::string& path_of_fields, const io::transfer_options& options) {
    auto& ranks = fields.ranks();
    ranks.barrier();
    const std::string path = layers_beside(path_of_fields);
    // What belongs to no fields, of a save that failed, is not worth keeping: the file before it is.
    const bool pair = ranks.rank() == 0 && step_in(path) == step_in(path_of_fields);
    const bool keep = ranks.communicator().maximum(pair ? 1 : 0) != 0;
    const auto grid = room_for(fields, std::ssize(memory));
    for_rows(grid, memory, [](std::span<const float> from, float* to) { std::ranges::copy(from, to); });
    io::save_bricks(grid, {{"layers", 0}}, saved_state{step, "absorbing layers", ""}.as_text(), path, {options, keep});
}

void load_layers(const array::block_grid<float>& fields, std::span<float> memory, std::int64_t step,
                 const std::string& path_of_fields, const io::transfer_options& options) {
    auto& ranks = fields.ranks();
    const std::string path = layers_beside(path_of_fields);
    const std::string previous = path + ".previous";
    const std::string which = step_in(path) == step ? path : step_in(previous) == step ? previous : "";
    agree(ranks, which.empty() ? fmt::format("{}: neither it nor {} is of step {}, as the fields are", path, previous, step) : "");
    auto grid = room_for(fields, std::ssize(memory));
    io::load_bricks(grid, {{"layers", 0}}, which, options);
    for_rows(grid, memory, [](std::span<float> to, const float* from) { std::copy(from, from + to.size(), to.begin()); });
}

} // namespace craton::waves
