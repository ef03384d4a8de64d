#include <craton/array/convergent_vector.hpp>
#include <craton/array/merge.hpp>

#include "index_bins.hpp"
#include <craton/base/scratch_lease.hpp>

#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>
#include <craton/runtime/stripe_lock.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace craton::array {

namespace {

// One lock guards a rank's part: an update of the gradient is short.
constexpr std::size_t storage_offset_bytes = sizeof(runtime::stripe_lock);
constexpr std::size_t elements_per_message = std::size_t{1} << 16;

cyclic_dimension checked(std::int64_t size, std::int64_t block, int ranks) {
    if (size < 1) throw user_error(fmt::format("convergent_vector: size is {}; allowed: 1 or more", size));
    if (block < 1) throw user_error(fmt::format("convergent_vector: block is {}; allowed: 1 or more", block));
    const cyclic_dimension layout{size, block, ranks};
    // Places in storage travel as 32-bit integers; process 0 owns the most, so every rank comes to the same verdict.
    static_cast<void>(base::narrow<std::int32_t>(layout.local_extent(0), "elements of a vector on one rank"));
    return layout;
}

} // namespace

template <class T>
convergent_vector<T>::convergent_vector(runtime::world& ranks, std::int64_t size, std::int64_t block)
    : world_(&ranks), layout_(checked(size, block, ranks.size())),
      memory_(ranks, storage_offset_bytes + static_cast<std::size_t>(layout_.local_extent(ranks.rank())) * sizeof(T)),
      handler_(ranks.register_handler(
          [this](const runtime::incoming_message& message) {
              runtime::payload_reader in(message.payload);
              const auto count = static_cast<std::size_t>(in.value<std::int64_t>());
              const auto places = in.array<std::int32_t>(count);
              add(world_->rank(), places, in.array<T>(count));
          },
          runtime::travel::in_two_hops)) {
    ranks.barrier();
}

template <class T> convergent_vector<T>::~convergent_vector() { world_->unregister_handler(handler_); }

template <class T>
void convergent_vector<T>::add(int target, std::span<const std::int32_t> places, std::span<const T> values) const {
    auto* lock = runtime::global_ptr<runtime::stripe_lock>{&memory_, target, 0}.local();
    T* const to = runtime::global_ptr<T>{&memory_, target, storage_offset_bytes}.local();
    const std::lock_guard guard(*lock);
    std::int64_t wraps = 0;
    for (std::size_t a = 0; a < places.size(); ++a) wraps += add_counting_wraps(to[places[a]], values[a]);
    lock->count() += wraps;
}

template <class T> void convergent_vector<T>::update(std::span<const T> values, std::span<const std::int64_t> indices) {
    if (values.size() != indices.size()) {
        throw user_error(
            fmt::format("vector update: {} values but {} indices; allowed: one index per value", values.size(), indices.size()));
    }
    for (std::size_t a = 0; a < indices.size(); ++a) {
        if (indices[a] < 0 || indices[a] >= layout_.extent) {
            throw user_error(fmt::format("vector update: indices[{}] = {} is out of range; allowed: 0 to {}", a, indices[a],
                                         layout_.extent - 1));
        }
    }
    const base::scratch_lease<dealt_indices> lease_of_dealt;
    const base::scratch_lease<std::vector<T>> lease_of_part;
    const base::scratch_lease<std::vector<std::int32_t>> lease_of_places;
    auto& dealt = *lease_of_dealt;
    auto& part = *lease_of_part;
    auto& places = *lease_of_places;
    deal_by_owner(indices, layout_, dealt);
    for (int target = 0; target < world_->size(); ++target) {
        const auto positions = dealt.of(target);
        if (positions.empty()) continue;
        part.clear();
        places.clear();
        for (const auto position : positions) {
            part.push_back(values[static_cast<std::size_t>(position)]);
            places.push_back(static_cast<std::int32_t>(layout_.local(indices[static_cast<std::size_t>(position)])));
        }
        if (world_->shares_memory_with(target)) {
            add(target, places, part);
            continue;
        }
        using runtime::payload_writer;
        for (std::size_t first = 0; first < part.size(); first += elements_per_message) {
            const std::size_t count = std::min(elements_per_message, part.size() - first);
            auto message = world_->prepare(target, handler_,
                                           payload_writer::padded<std::int64_t>(1) + payload_writer::padded<std::int32_t>(count) +
                                               payload_writer::padded<T>(count));
            payload_writer out(message.payload());
            out.value(static_cast<std::int64_t>(count));
            out.array(std::span<const std::int32_t>(places).subspan(first, count));
            out.array(std::span<const T>(part).subspan(first, count));
            world_->send(std::move(message));
        }
    }
}

template <class T> void convergent_vector<T>::commit() {
    world_->quiesce();
    if constexpr (std::is_integral_v<T>) {
        auto& lock = own_lock(); // a neighbour may be ahead, in its next update
        lock.lock();
        const std::int64_t wraps = lock.count();
        lock.unlock();
        wraps_.tell(false, wraps, "vector", world_->rank());
    }
}

template <class T> runtime::stripe_lock& convergent_vector<T>::own_lock() const {
    return *runtime::global_ptr<runtime::stripe_lock>{&memory_, world_->rank(), 0}.local();
}

template <class T> void convergent_vector<T>::reset() {
    commit();
    std::ranges::fill(local(), T{});
    own_lock().count() = 0;
    world_->barrier();
}

template <class T> std::span<T> convergent_vector<T>::local() {
    return {runtime::global_ptr<T>{&memory_, world_->rank(), storage_offset_bytes}.local(),
            static_cast<std::size_t>(layout_.local_extent(world_->rank()))};
}

template <class T> std::vector<T> convergent_vector<T>::gather() {
    std::vector<T> whole(static_cast<std::size_t>(layout_.extent), T{});
    const auto own = local();
    world_->barrier(); // polls, before a reduction that does not
    for (std::size_t i = 0; i < own.size(); ++i) {
        whole[static_cast<std::size_t>(layout_.global(world_->rank(), static_cast<std::int64_t>(i)))] = own[i];
    }
    world_->communicator().sum_in_place(std::span(whole));
    return whole;
}

template class convergent_vector<float>;
template class convergent_vector<double>;
template class convergent_vector<std::complex<float>>;
template class convergent_vector<std::complex<double>>;
template class convergent_vector<std::int64_t>;

} // namespace craton::array
