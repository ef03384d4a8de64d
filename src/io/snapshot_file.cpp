#include <craton/io/snapshot_file.hpp>

#include "item_gather.hpp"
#include "piece_bytes.hpp"
#include "running_file.hpp"

#include <craton/base/assert.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

namespace craton::io {

namespace {

std::string why_not_valid(const snapshot_description& d, const running_options& options) {
    const auto say = [&](const std::string& why) { return fmt::format("cannot save {}: {}", d.what, why); };
    if (d.samples < 1) return say(fmt::format("{} samples; allowed: 1 or more", d.samples));
    if (d.fields.empty()) return say("no fields; allowed: 1 or more");
    if (std::set(d.fields.begin(), d.fields.end()).size() != d.fields.size())
        return say(fmt::format("fields {}; allowed: each name once", fmt::join(d.fields, ", ")));
    for (const auto& name : d.fields) {
        if (name.empty() || name.find('/') != std::string::npos || name == "samples_written")
            return say(fmt::format("field '{}'; allowed: a name without '/', not samples_written", name));
    }
    if (*std::min_element(d.extent.begin(), d.extent.end()) < 1)
        return say(fmt::format("{} x {} x {} cells; allowed: 1 or more along each axis", d.extent[0], d.extent[1], d.extent[2]));
    if (!d.attributes.empty() && d.attributes.size() != d.fields.size())
        return say(fmt::format("attributes of {} fields; allowed: of {}", d.attributes.size(), d.fields.size()));
    if (options.samples_at_once < 1) return say(fmt::format("samples_at_once is {}; allowed: 1 or more", options.samples_at_once));
    if (options.resume_after_samples && (*options.resume_after_samples < 0 || *options.resume_after_samples > d.samples))
        return say(fmt::format("resume_after_samples is {}; allowed: 0 to {}", *options.resume_after_samples, d.samples));
    return {};
}

} // namespace

struct snapshot_file::state {
    state(runtime::world& world, const std::string& path, snapshot_description what, const array::domain& part,
          const running_options& options)
        : ranks(&world), description(std::move(what)), own(part),
          layers_are_z(description.extent[2] >= std::min<std::int64_t>(world.size(), description.extent[1])), cells(own.cells()),
          file(world, {description.what.c_str(), path}, planned(), {}, options) {
        const auto& all = world.communicator();
        CRATON_ASSERT(all.sum(cells) == description.extent[0] * description.extent[1] * description.extent[2]);
        const auto fields = static_cast<std::int64_t>(description.fields.size());
        const std::int64_t frame_bytes = std::max<std::int64_t>(1, 4 * fields * all.maximum(cells));
        const auto room = piece_bytes(options.transfer);
        at_once = std::clamp<std::int64_t>(room / frame_bytes, 1, options.samples_at_once);
        const std::int64_t layer = description.extent[0] * description.extent[layers_are_z ? 1 : 2];
        const auto numbers = own_numbers();
        gather.emplace(all, numbers, description.extent[0] * description.extent[1] * description.extent[2], layer,
                       room / (4 * layer), writers(options.transfer, world.size()));
        buffer.resize(static_cast<std::size_t>(at_once * fields * cells));
        samples = file.samples_written();
    }

    [[nodiscard]] std::vector<planned_dataset> planned() const {
        std::vector<planned_dataset> made;
        for (std::size_t f = 0; f < description.fields.size(); ++f) {
            planned_dataset one{description.fields[f],
                                {static_cast<hsize_t>(description.samples)},
                                {},
                                description.attributes.empty() ? file_attributes{} : description.attributes[f]};
            for (const std::size_t d : {2U, 1U, 0U}) one.shape.push_back(static_cast<hsize_t>(description.extent[d]));
            made.push_back(std::move(one));
        }
        return made;
    }

    // Cells are numbered so that ranks write whole layers: of z where there are enough for all, else of y. Ascending; take() puts
    // the values in this order.
    [[nodiscard]] std::vector<std::int64_t> own_numbers() const {
        std::vector<std::int64_t> numbers;
        const auto [nx, ny, nz] = description.extent;
        const auto row = [&](std::int64_t j, std::int64_t k) {
            const std::int64_t first = nx * (layers_are_z ? j + ny * k : k + nz * j);
            for (std::int64_t i = own.low[0]; i < own.high[0]; ++i) numbers.push_back(first + i);
        };
        if (cells == 0) return numbers;
        if (layers_are_z) {
            for (std::int64_t k = own.low[2]; k < own.high[2]; ++k)
                for (std::int64_t j = own.low[1]; j < own.high[1]; ++j) row(j, k);
        } else {
            for (std::int64_t j = own.low[1]; j < own.high[1]; ++j)
                for (std::int64_t k = own.low[2]; k < own.high[2]; ++k) row(j, k);
        }
        return numbers;
    }

    void take(std::span<const float> values);
    void flush();
    [[nodiscard]] std::string write_layers(const running_file::write_part& write, std::size_t field, std::int64_t sample,
                                           std::int64_t first, std::int64_t last, const float* values) const;

    runtime::world* ranks;
    snapshot_description description;
    array::domain own;
    bool layers_are_z;
    std::int64_t cells;
    running_file file;
    std::int64_t at_once = 1;
    std::optional<item_gather> gather;
    std::vector<float> buffer; // [sample - samples_written][field][cell, in the order of its number]
    std::int64_t samples = 0;
};

void snapshot_file::state::take(std::span<const float> values) {
    const std::size_t frame = description.fields.size() * static_cast<std::size_t>(cells);
    CRATON_ASSERT(samples - file.samples_written() < at_once && samples < description.samples && values.size() == frame);
    float* into = buffer.data() + static_cast<std::size_t>(samples - file.samples_written()) * frame;
    ++samples;
    if (layers_are_z) {
        std::copy(values.begin(), values.end(), into);
        return;
    }
    const std::int64_t nx = own.extent(0);
    const std::int64_t ny = own.extent(1);
    const std::int64_t nz = own.extent(2);
    for (std::size_t f = 0; f < description.fields.size(); ++f) {
        const float* const from = values.data() + f * static_cast<std::size_t>(cells);
        for (std::int64_t j = 0; j < ny; ++j) {
            for (std::int64_t k = 0; k < nz; ++k, into += nx) std::copy_n(from + nx * (j + ny * k), nx, into);
        }
    }
}

std::string snapshot_file::state::write_layers(const running_file::write_part& write, std::size_t field, std::int64_t sample,
                                               std::int64_t first, std::int64_t last, const float* values) const {
    const auto count = [](std::int64_t n) { return static_cast<hsize_t>(n); };
    const auto [nx, ny, nz] = description.extent;
    if (layers_are_z)
        return write(
            {field, {count(sample), count(first), 0, 0}, {1, count(last - first), count(ny), count(nx)}, values, count(nx), 0});
    // In memory [y][z][x]: one plane of z after the other, its rows nz * nx floats apart.
    for (std::int64_t k = 0; k < nz; ++k) {
        const auto failure = write({field,
                                    {count(sample), count(k), count(first), 0},
                                    {1, 1, count(last - first), count(nx)},
                                    values,
                                    count(nz * nx),
                                    count(k * nx)});
        if (!failure.empty()) return failure;
    }
    return {};
}

void snapshot_file::state::flush() {
    const std::int64_t first = file.samples_written();
    ranks->barrier();
    const auto& all = ranks->communicator();
    CRATON_ASSERT(all.maximum(samples) == samples && all.minimum(samples) == samples);
    if (samples == first) return;
    const std::int64_t layer = description.extent[0] * description.extent[layers_are_z ? 1 : 2];
    file.append(samples, [&](const running_file::write_part& write) {
        std::string failure;
        const float* from = buffer.data();
        for (std::int64_t sample = first; sample < samples; ++sample) {
            for (std::size_t f = 0; f < description.fields.size(); ++f, from += cells) {
                for (std::int64_t round = 0; round < gather->rounds(); ++round) {
                    const auto mine = gather->received_in(round);
                    const auto whole = gather->gather(all, round, {from, static_cast<std::size_t>(cells)}, 1);
                    if (mine.count() == 0 || !failure.empty()) continue;
                    failure = write_layers(write, f, sample, mine.first / layer, mine.last / layer, whole.data());
                }
            }
        }
        return failure;
    });
}

snapshot_file::snapshot_file(runtime::world& ranks, std::string path, snapshot_description description, const array::domain& own,
                             const running_options& options) {
    ranks.barrier();
    comm::agree(ranks.communicator(), why_not_valid(description, options));
    state_ = std::make_unique<state>(ranks, path, std::move(description), own, options);
}

snapshot_file::snapshot_file(snapshot_file&&) noexcept = default;
snapshot_file::~snapshot_file() = default;

void snapshot_file::put(std::span<const float> values) { state_->take(values); }
std::int64_t snapshot_file::pending() const noexcept { return state_->samples - state_->file.samples_written(); }
bool snapshot_file::full() const noexcept { return pending() > 0 && state_->samples % state_->at_once == 0; }
std::int64_t snapshot_file::samples() const noexcept { return state_->samples; }
std::int64_t snapshot_file::samples_at_once() const noexcept { return state_->at_once; }
void snapshot_file::flush() { state_->flush(); }
void snapshot_file::sync() {
    flush();
    state_->file.sync();
}
void snapshot_file::finish() {
    flush();
    state_->file.finish(state_->description.samples);
}

} // namespace craton::io
