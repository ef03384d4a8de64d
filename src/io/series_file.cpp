#include <craton/io/series_file.hpp>

#include "item_gather.hpp"
#include "piece_bytes.hpp"
#include "running_file.hpp"

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/half.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>

namespace craton::io {

namespace {

constexpr const char* exponents_name = "exponents";

std::string why_not_valid(const series_description& d, const running_options& options) {
    const auto say = [&](const std::string& why) { return fmt::format("cannot save {}: {}", d.what, why); };
    if (d.points < 1) return say(fmt::format("{} points; allowed: 1 or more", d.points));
    if (d.samples < 1) return say(fmt::format("{} samples; allowed: 1 or more", d.samples));
    if (d.components.empty()) return say("no components; allowed: 1 or more");
    if (std::set(d.components.begin(), d.components.end()).size() != d.components.size())
        return say(fmt::format("components {}; allowed: each name once", fmt::join(d.components, ", ")));
    if (d.dataset.empty() || d.dataset.find('/') != std::string::npos || d.dataset == "samples_written" ||
        d.dataset == "coordinates" || d.dataset == exponents_name)
        return say(
            fmt::format("dataset '{}'; allowed: a name without '/', not samples_written, coordinates nor exponents", d.dataset));
    if (!d.coordinates.empty() && static_cast<std::int64_t>(d.coordinates.size()) != d.points)
        return say(fmt::format("coordinates of {} points; allowed: of {}", d.coordinates.size(), d.points));
    if (options.samples_at_once < 1) return say(fmt::format("samples_at_once is {}; allowed: 1 or more", options.samples_at_once));
    if (options.resume_after_samples && (*options.resume_after_samples < 0 || *options.resume_after_samples > d.samples))
        return say(fmt::format("resume_after_samples is {}; allowed: 0 to {}", *options.resume_after_samples, d.samples));
    if (d.half && (options.samples_at_once < d.samples || options.resume_after_samples))
        return say("16 bits with samples that come in parts; allowed: all samples at once, from the beginning");
    return {};
}

// Of series of `samples` numbers, one after the other: the exponent of 2 that makes the largest of each nearly as large as 16 bits
// have room for, and their numbers over that power.
void to_half(std::span<const float> series, std::int64_t samples, std::vector<float>& exponents,
             std::vector<std::uint16_t>& halves) {
    constexpr int largest = 15; // 2^16 is too large
    constexpr std::uint16_t half_of_nan = 0x7E00;
    const auto count = static_cast<std::int64_t>(series.size()) / samples;
    exponents.resize(static_cast<std::size_t>(count));
    halves.resize(series.size());
    for (std::int64_t n = 0; n < count; ++n) {
        const auto one = series.subspan(static_cast<std::size_t>(n * samples), static_cast<std::size_t>(samples));
        float most = 0;
        for (const float value : one) most = std::isfinite(value) ? std::max(most, std::abs(value)) : most;
        const int exponent = most > 0 ? std::ilogb(most) + 1 - largest : 0;
        exponents[static_cast<std::size_t>(n)] = static_cast<float>(exponent);
        for (std::int64_t t = 0; t < samples; ++t) {
            const float value = one[static_cast<std::size_t>(t)];
            halves[static_cast<std::size_t>(n * samples + t)] =
                std::isnan(value) ? half_of_nan : base::half_of(std::ldexp(value, -exponent));
        }
    }
}

// Chunks of about a MiB: large enough for disks, and small beside what a rank writes at once.
constexpr std::int64_t chunk_bytes = std::int64_t{1} << 20;

} // namespace

struct series_file::state {
    state(runtime::world& world, const std::string& path, series_description what, std::span<const std::int64_t> own,
          const running_options& options)
        : ranks(&world), description(std::move(what)), at_once(std::min(options.samples_at_once, description.samples)),
          components(static_cast<std::int64_t>(description.components.size())),
          points_per_chunk(std::clamp<std::int64_t>(chunk_bytes / (4 * components * at_once), 1, description.points)),
          file(world, {description.what.c_str(), path}, planned(), description.coordinates, options) {
        sort_points(own);
        const std::int64_t unit_bytes = 4 * points_per_chunk * components * at_once;
        gather.emplace(world.communicator(), sorted, description.points, points_per_chunk,
                       piece_bytes(options.transfer) / unit_bytes, writers(options.transfer, world.size()));
        samples = file.samples_written();
        kept = samples;
    }

    [[nodiscard]] std::vector<planned_dataset> planned() const {
        planned_dataset made{description.dataset, {}, {}, description.attributes, description.half};
        for (const std::int64_t n : {description.points, components, description.samples})
            made.shape.push_back(static_cast<hsize_t>(n));
        for (const std::int64_t n : {points_per_chunk, components, at_once}) made.chunk.push_back(static_cast<hsize_t>(n));
        made.attributes["components"] = fmt::format("{}", fmt::join(description.components, " "));
        if (!description.half) return {made};
        planned_dataset exponents{exponents_name, {made.shape[0], made.shape[1]}, {}, {}, false};
        return {made, exponents};
    }

    void sort_points(std::span<const std::int64_t> own) {
        std::vector<std::int64_t> order(own.size());
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
            return own[static_cast<std::size_t>(a)] < own[static_cast<std::size_t>(b)];
        });
        slot.resize(own.size());
        for (std::size_t n = 0; n < order.size(); ++n) {
            slot[static_cast<std::size_t>(order[n])] = static_cast<std::int64_t>(n);
            sorted.push_back(own[static_cast<std::size_t>(order[n])]);
        }
    }

    void flush();
    // Series of all samples of consecutive points.
    [[nodiscard]] std::string write_halves(const running_file::write_part& write, const item_gather::range& of,
                                           std::span<const float> series) const;

    runtime::world* ranks;
    series_description description;
    std::int64_t at_once, components, points_per_chunk;
    running_file file;
    std::vector<std::int64_t> sorted; // points of this rank, ascending
    std::vector<std::int64_t> slot;   // where in `sorted` those of put() are
    std::optional<item_gather> gather;
    // [point, sorted][component][sample % at_once]: samples of one chunk of the file, whose beginning may be written already. Made
    // when the first sample comes.
    std::vector<float> buffer;
    std::int64_t samples = 0;
    std::int64_t kept = 0; // of another run's, which are not in the buffer
};

std::string series_file::state::write_halves(const running_file::write_part& write, const item_gather::range& of,
                                             std::span<const float> series) const {
    std::vector<float> exponents;
    std::vector<std::uint16_t> halves;
    to_half(series.first(static_cast<std::size_t>(of.count() * components * at_once)), at_once, exponents, halves);
    const auto first = static_cast<hsize_t>(of.first);
    const auto count = static_cast<hsize_t>(of.count());
    const auto each = static_cast<hsize_t>(components);
    const auto all = static_cast<hsize_t>(at_once);
    const std::string failure = write({0, {first, 0, 0}, {count, each, all}, halves.data(), all, 0});
    return failure.empty() ? write({1, {first, 0}, {count, each}, exponents.data(), each, 0}) : failure;
}

void series_file::state::flush() {
    const std::int64_t first = file.samples_written();
    ranks->barrier();
    const auto& all = ranks->communicator();
    CRATON_ASSERT(all.maximum(samples) == samples && all.minimum(samples) == samples);
    if (samples == first) return;
    // Whole chunks of the file, which are one piece on disk: what of the window was written before once more, and what is not there
    // yet, which does not count.
    const std::int64_t window = first / at_once * at_once;
    const std::int64_t begin = std::max(window, kept);
    const std::int64_t end = std::min(window + at_once, description.samples);
    file.append(samples, [&](const running_file::write_part& write) {
        std::string failure;
        for (std::int64_t round = 0; round < gather->rounds(); ++round) {
            const auto mine = gather->received_in(round);
            const auto whole = gather->gather(all, round, buffer, components * at_once);
            if (mine.count() == 0 || !failure.empty()) continue;
            if (description.half) {
                failure = write_halves(write, mine, whole);
                continue;
            }
            failure =
                write({0,
                       {static_cast<hsize_t>(mine.first), 0, static_cast<hsize_t>(begin)},
                       {static_cast<hsize_t>(mine.count()), static_cast<hsize_t>(components), static_cast<hsize_t>(end - begin)},
                       whole.data(),
                       static_cast<hsize_t>(at_once),
                       static_cast<hsize_t>(begin - window)});
        }
        return failure;
    });
}

series_file::series_file(runtime::world& ranks, std::string path, series_description description,
                         std::span<const std::int64_t> points_of_this_rank, const running_options& options) {
    ranks.barrier();
    comm::agree(ranks.communicator(), why_not_valid(description, options));
    state_ = std::make_unique<state>(ranks, path, std::move(description), points_of_this_rank, options);
}

series_file::series_file(series_file&&) noexcept = default;
series_file::~series_file() = default;

void series_file::put(std::span<const float> values) {
    auto& s = *state_;
    const auto points = static_cast<std::int64_t>(s.slot.size());
    CRATON_ASSERT(!full() && s.samples < s.description.samples &&
                  static_cast<std::int64_t>(values.size()) == points * s.components);
    const std::int64_t column = s.samples % s.at_once;
    s.buffer.resize(s.sorted.size() * static_cast<std::size_t>(s.components * s.at_once));
    for (std::int64_t c = 0; c < s.components; ++c) {
        const float* const from = values.data() + c * points;
        for (std::int64_t n = 0; n < points; ++n)
            s.buffer[static_cast<std::size_t>((s.slot[static_cast<std::size_t>(n)] * s.components + c) * s.at_once + column)] =
                from[n];
    }
    ++s.samples;
}

std::int64_t series_file::pending() const noexcept { return state_->samples - state_->file.samples_written(); }
bool series_file::full() const noexcept { return pending() > 0 && state_->samples % state_->at_once == 0; }
std::int64_t series_file::samples() const noexcept { return state_->samples; }
std::int64_t series_file::samples_at_once() const noexcept { return state_->at_once; }
void series_file::flush() { state_->flush(); }
void series_file::sync() {
    flush();
    state_->file.sync();
}
void series_file::finish() {
    flush();
    state_->file.finish(state_->description.samples);
}

} // namespace craton::io
