// Random rectangles of gets, puts, accumulates and applies on irregular layouts, against an array that every rank keeps whole and
// changes by itself. CRATON_RANDOM_OPERATIONS: how many per number of dimensions and delivery (make long: a million in all).

#include "../deliveries.hpp"
#include "random_layout.hpp"

#include <craton/array/dist_array.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <vector>

namespace dist_array_random_tests {
namespace {

using namespace craton;
using array::dist_array;
using array::place;
using array::rectangle;
using array::strided_memory;
using tests::draw;
using tests::random_source;

std::int64_t wanted_operations() {
    const char* const text = std::getenv("CRATON_RANDOM_OPERATIONS");
    return text == nullptr ? 480 : std::atoll(text);
}

// Arithmetic modulo 2^64, as the array's.
std::int64_t wrapped(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }
std::uint64_t bits_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// What an operation brings to a place: small here, of all 64 bits there.
std::int64_t value_at(std::int64_t seed, std::int64_t element) {
    const std::uint64_t mixed = (bits_of(seed) * 0x9E3779B97F4A7C15U) ^ (bits_of(element + 1) * 0xC2B2AE3D27D4EB4FU);
    return wrapped(seed % 2 == 0 ? mixed % 1000 : mixed);
}

// The whole array, by plain loops.
template <std::size_t N> struct replica {
    place<N> extents{};
    std::vector<std::int64_t> elements;

    explicit replica(const place<N>& of) : extents(of) {
        std::int64_t cells = 1;
        for (const auto extent : of) cells *= extent;
        elements.assign(static_cast<std::size_t>(cells), 0);
    }
    [[nodiscard]] std::int64_t number(const place<N>& p) const {
        std::int64_t n = 0;
        for (std::size_t d = 0; d < N; ++d) n = n * extents[d] + p[d];
        return n;
    }
    [[nodiscard]] std::int64_t& at(const place<N>& p) { return elements[static_cast<std::size_t>(number(p))]; }
    // what(place) row by row.
    template <class What> static void each(const rectangle<N>& in, What what) {
        for (std::size_t d = 0; d < N; ++d) {
            if (in.low[d] >= in.high[d]) return;
        }
        place<N> p = in.low;
        for (;;) {
            what(p);
            std::size_t d = N - 1;
            while (++p[d] == in.high[d]) {
                p[d] = in.low[d];
                if (d-- == 0) return;
            }
        }
    }
};

// Memory for a rectangle with dimensions in any order, padded, some of them backwards.
template <std::size_t N> struct local_memory {
    rectangle<N> cells;
    place<N> strides{};
    std::int64_t origin = 0;
    std::vector<std::int64_t> elements;

    local_memory(random_source& random, const rectangle<N>& what, std::int64_t content) : cells(what) {
        std::array<std::size_t, N> order{};
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (draw(random, 2) == 0) std::ranges::shuffle(order, random);
        const bool odd = draw(random, 3) == 0;
        std::int64_t size = 1;
        for (std::size_t n = N; n-- > 0;) {
            const std::int64_t extent = what.high[order[n]] - what.low[order[n]];
            strides[order[n]] = size;
            size *= extent + (odd ? draw(random, 3) : 0);
            if (odd && extent > 0 && draw(random, 4) == 0) {
                origin += (extent - 1) * strides[order[n]];
                strides[order[n]] = -strides[order[n]];
            }
        }
        elements.assign(static_cast<std::size_t>(std::max<std::int64_t>(size, 1)), content);
    }
    [[nodiscard]] std::int64_t& at(const place<N>& p) {
        std::int64_t offset = origin;
        for (std::size_t d = 0; d < N; ++d) offset += (p[d] - cells.low[d]) * strides[d];
        return elements[static_cast<std::size_t>(offset)];
    }
    [[nodiscard]] strided_memory<std::int64_t, N> memory() { return {elements.data() + origin, strides}; }
};

template <std::size_t N> class comparison {
  public:
    comparison(runtime::world& ranks, std::uint64_t seed)
        : random_(seed), array_(ranks, tests::random_layout<N>(random_, ranks.size())), reference_(array_.extents()) {
        const auto extents = array_.extents();
        add_ =
            array_.register_function([extents](const array::tile_piece<std::int64_t, N>& piece, std::span<const std::byte> bytes) {
                const std::int64_t factor = read(bytes);
                replica<N>::each(piece.cells, [&](const place<N>& p) {
                    std::int64_t number = 0;
                    for (std::size_t d = 0; d < N; ++d) number = number * extents[d] + p[d];
                    piece.at(p) = wrapped(bits_of(piece.at(p)) + bits_of(factor) * bits_of(number));
                });
            });
        multiply_ = array_.register_function([](const array::tile_piece<std::int64_t, N>& piece, std::span<const std::byte> bytes) {
            const std::int64_t factor = read(bytes);
            replica<N>::each(piece.cells,
                             [&](const place<N>& p) { piece.at(p) = wrapped(bits_of(piece.at(p)) * bits_of(factor)); });
        });
    }

    // Rounds of operations that may meet each other: all ranks at once, each operation by one of them.
    void run(std::int64_t operations) {
        while (done_ < operations) {
            const auto kind = draw(random_, 5);
            const auto count = 1 + draw(random_, 40);
            taken_.clear();
            for (std::int64_t n = 0; n < count; ++n) {
                const auto what = tests::random_rectangle(random_, array_.extents());
                const bool mine = draw(random_, array_.ranks().size()) == array_.ranks().rank();
                const auto seed = static_cast<std::int64_t>(random_() >> 2);
                if (kind <= 1) add(what, seed, mine);
                if (kind == 2) multiply(what, seed | 1, mine);
                if (kind == 3 && !put(what, seed, mine)) continue;
                if (kind == 4) get(what, seed, mine);
                ++done_;
            }
            finish_round();
        }
        expect_all_equal();
    }

  private:
    static std::int64_t read(std::span<const std::byte> bytes) {
        std::int64_t value = 0;
        std::memcpy(&value, bytes.data(), sizeof(value));
        return value;
    }

    // Some handles are waited for at once, some at the end of the round, some never: the round's sync() completes what they stand
    // for.
    void keep(array::array_handle handle, std::int64_t seed) {
        if (seed % 3 == 0) handle.wait();
        if (seed % 3 == 1) under_way_.push_back(std::move(handle));
    }

    void add(const rectangle<N>& what, std::int64_t seed, bool mine) {
        if (seed % 4 == 3) {
            replica<N>::each(what, [&](const place<N>& p) {
                reference_.at(p) = wrapped(bits_of(reference_.at(p)) + bits_of(seed) * bits_of(reference_.number(p)));
            });
            if (mine) keep(array_.start_apply(what, add_, std::as_bytes(std::span(&seed, 1))), seed);
            return;
        }
        random_source shape(static_cast<std::uint64_t>(seed));
        local_memory<N> from(shape, what, -1);
        replica<N>::each(what, [&](const place<N>& p) {
            const auto value = value_at(seed, reference_.number(p));
            from.at(p) = value;
            reference_.at(p) = wrapped(bits_of(reference_.at(p)) + bits_of(value));
        });
        if (!mine) return;
        if (seed % 4 == 0) return array_.post_accumulate(what, from.memory());
        keep(array_.start_accumulate(what, from.memory()), seed);
    }

    void multiply(const rectangle<N>& what, std::int64_t factor, bool mine) {
        replica<N>::each(what, [&](const place<N>& p) { reference_.at(p) = wrapped(bits_of(reference_.at(p)) * bits_of(factor)); });
        if (!mine) return;
        if (factor % 3 == 0) return array_.apply_with(what, multiply_, factor);
        keep(array_.start_apply(what, multiply_, std::as_bytes(std::span(&factor, 1))), factor);
    }

    // False, and nothing done, where it would meet another put of the round.
    [[nodiscard]] bool put(const rectangle<N>& what, std::int64_t seed, bool mine) {
        for (const auto& other : taken_) {
            if (!intersect(other, what).empty()) return false;
        }
        taken_.push_back(what);
        random_source shape(static_cast<std::uint64_t>(seed));
        local_memory<N> from(shape, what, -1);
        replica<N>::each(what, [&](const place<N>& p) {
            from.at(p) = value_at(seed, reference_.number(p));
            reference_.at(p) = from.at(p);
        });
        if (mine) keep(array_.start_put(what, from.memory()), seed);
        return true;
    }

    void get(const rectangle<N>& what, std::int64_t seed, bool mine) {
        if (!mine) return;
        random_source shape(static_cast<std::uint64_t>(seed));
        if (seed % 3 == 0) return get_above(what, shape);
        got_.emplace_back(shape, what, -1);
        auto handle = array_.start_get(what, got_.back().memory());
        if (seed % 3 == 1) handle.wait();
        under_way_.push_back(std::move(handle));
    }

    void get_above(const rectangle<N>& what, random_source& shape) {
        constexpr std::int64_t untouched = -77;
        local_memory<N> to(shape, what, untouched);
        const double threshold = std::ldexp(1.0, static_cast<int>(draw(shape, 64)));
        std::int64_t cells = 0;
        for (const auto& piece : array_.get_above(what, threshold, to.memory())) {
            double norm = 0;
            replica<N>::each(piece.cells, [&](const place<N>& p) {
                norm = std::max(norm, std::abs(static_cast<double>(reference_.at(p))));
                ASSERT_EQ(to.at(p), piece.came ? reference_.at(p) : untouched);
                ++cells;
            });
            ASSERT_EQ(piece.norm, norm);
            ASSERT_EQ(piece.came, norm > threshold);
        }
        ASSERT_EQ(cells, what.cells());
    }

    void finish_round() {
        for (std::size_t n = 0; n < under_way_.size(); ++n) {
            if (n % 2 == 0) under_way_[n].wait();
            while (!under_way_[n].test()) {
            }
        }
        under_way_.clear();
        for (auto& got : got_) {
            replica<N>::each(got.cells, [&](const place<N>& p) { ASSERT_EQ(got.at(p), reference_.at(p)); });
        }
        got_.clear();
        array_.sync();
    }

    void expect_all_equal() {
        std::vector<std::int64_t> whole(reference_.elements.size());
        array_.get(array_.layout().whole(), whole);
        ASSERT_EQ(whole, reference_.elements);
        for (const auto tile : array_.own_tiles()) {
            const auto piece = array_.own_tile(tile);
            replica<N>::each(piece.cells, [&](const place<N>& p) { ASSERT_EQ(piece.at(p), reference_.at(p)); });
        }
        array_.sync();
    }

    random_source random_;
    dist_array<std::int64_t, N> array_;
    replica<N> reference_;
    array::function_id add_, multiply_;
    std::vector<rectangle<N>> taken_;
    std::vector<array::array_handle> under_way_;
    std::deque<local_memory<N>> got_;
    std::int64_t done_ = 0;
};

class dist_array_random_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(dist_array_random_test);

template <std::size_t N> void compare(runtime::world& ranks) {
    const std::int64_t operations = wanted_operations();
    constexpr std::int64_t per_layout = 240;
    for (std::int64_t done = 0; done < operations; done += per_layout) {
        comparison<N>(ranks, static_cast<std::uint64_t>(1000 * N + ranks.size()) + static_cast<std::uint64_t>(done) * 7919)
            .run(std::min(per_layout, operations - done));
    }
}

TEST_P(dist_array_random_test, one_dimension_equals_the_serial_reference) { compare<1>(world()); }
TEST_P(dist_array_random_test, two_dimensions_equal_the_serial_reference) { compare<2>(world()); }
TEST_P(dist_array_random_test, three_dimensions_equal_the_serial_reference) { compare<3>(world()); }

} // namespace

} // namespace dist_array_random_tests
