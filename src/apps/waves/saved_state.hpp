#pragma once

#include <craton/array/block_grid.hpp>
#include <craton/io/matrix_file.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace craton::waves {

/// What a file of fields says about itself.
struct saved_state {
    std::int64_t step = 0;
    std::string of;   ///< grid, steps, ground: in words, compared as a whole
    std::string note; ///< the caller's

    [[nodiscard]] std::string as_text() const;
    /// Throws user_error when it is none.
    [[nodiscard]] static saved_state of_text(const std::string& text, const std::string& path);
    /// "", or why a run of `wanted` cannot go on from it.
    [[nodiscard]] std::string why_not_for(const std::string& wanted, const std::string& path) const;
};

/// Each rank's memory of the absorbing layers, brick by brick as it lies in the fields' process grid, whichever rank has which
/// brick, at `<path_of_fields>.layers`; the file before is kept at `<path_of_fields>.layers.previous` when it is of the step of the
/// fields that are saved there. To be saved before the fields: a job that is ended at any moment, or any number of saves that fail,
/// leave one of the two that belongs to the fields. Collective; throws user_error on every rank as io::save_bricks() does.
void save_layers(const array::block_grid<float>& fields, std::span<const float> memory, std::int64_t step,
                 const std::string& path_of_fields, const io::transfer_options& options);
/// Of that step, from either file. Collective; throws user_error on every rank as io::load_bricks() does, and when neither is of
/// that step.
void load_layers(const array::block_grid<float>& fields, std::span<float> memory, std::int64_t step,
                 const std::string& path_of_fields, const io::transfer_options& options);

} // namespace craton::waves
