#include <craton/apps/waves/in_situ.hpp>

#include "first_failure.hpp"

#include <craton/base/assert.hpp>
#include <craton/base/timer.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace craton::waves {

namespace {

struct copied {
    std::int64_t step = 0;
    double time_s = 0;
    std::vector<float> values;
};

} // namespace

struct in_situ::module {
    module(std::unique_ptr<observer> watched, int depth) :of(std::move(watched)), ring(static_cast<std::size_t>(depth)) {
        for (auto& one : ring) one.values.resize(of->values());
        thread = std::thread([this] { work(); });
    }
    module(const module&) = delete;
    module& operator=(const module&) = delete;
    ~module() {
        {
            const std::lock_guard guard(mutex);
            ending = true;
        }
        changed.notify_all();
        if (thread.joinable()) thread.join();
    }

    void work();
    /// Until there is room for a copy (fewer than `most` wait), or receive() has failed; throws what it has thrown.
    void wait_for_fewer_than(std::size_t most);

    std::unique_ptr<observer> of;
    std::vector<copied> ring;
    std::size_t next = 0; // where the solver's thread copies to; its own
    bool failed = false;  // told the solver; its own

    std::mutex mutex;
    std::condition_variable changed;
    std::size_t waiting = 0; // copies, the one that is being received included
    bool ending = false;
    std::exception_ptr failure;

    std::thread thread;
};

void in_situ::module::work() {
    std::size_t place = 0;
    for (;;) {
        {
            std::unique_lock guard(mutex);
            changed.wait(guard, [this] { return ending || waiting > 0; });
            if (ending) return;
        }
        try {
            of->receive(ring[place].step, ring[place].time_s, ring[place].values);
        } catch (...) {
            const std::lock_guard guard(mutex);
            failure = std::current_exception();
            waiting = 0;
            changed.notify_all();
            return;
        }
        place = (place + 1) % ring.size();
        {
            const std::lock_guard guard(mutex);
            --waiting;
        }
        changed.notify_all();
    }
}

void in_situ::module::wait_for_fewer_than(std::size_t most) {
    std::unique_lock guard(mutex);
    changed.wait(guard, [&] { return waiting < most || failure != nullptr; });
    if (failure == nullptr) return;
    failed = true;
    std::rethrow_exception(failure);
}

in_situ::in_situ() = default;
in_situ::~in_situ() = default;

void in_situ::add(std::unique_ptr<observer> added, int depth) {
    CRATON_ASSERT(added != nullptr && depth >= 2);
    modules_.push_back(std::make_unique<module>(std::move(added), depth));
}

void in_situ::wait_until_received(module& of) {
    const base::timer waited;
    of.wait_for_fewer_than(1);
    spent_.waiting_s += waited.seconds();
}

// One that has failed does not keep others from what was given to them.
void in_situ::wait_until_all_received() {
    first_failure failure;
    for (const auto& each : modules_) failure.keep_of([&] { wait_until_received(*each); });
    failure.rethrow();
}

bool in_situ::look_at(std::int64_t step, bool without_picks) const {
    return std::ranges::any_of(modules_, [&](const auto& each) {
        const bool can_pick = without_picks && each->of->picks() != nullptr;
        return (each->of->wants(step) && !can_pick) || each->of->meets(step);
    });
}

std::vector<velocity_picks*> in_situ::picks(std::int64_t first, std::int64_t last) const {
    std::vector<velocity_picks*> found;
    for (const auto& each : modules_) {
        bool wanted = false;
        for (std::int64_t step = first; step < last; ++step) wanted = wanted || each->of->wants(step);
        if (wanted && each->of->picks() != nullptr) found.push_back(each->of->picks());
    }
    return found;
}

// Waits for a place in the module's queue, if it must, and copies into it.
template <class Copy> void in_situ::give(module& to, std::int64_t step, double time_s, const Copy& copy) {
    const base::timer waited;
    to.wait_for_fewer_than(to.ring.size());
    spent_.waiting_s += waited.seconds();
    const base::timer copying;
    copied& into = to.ring[to.next];
    into.step = step;
    into.time_s = time_s;
    copy(into.values);
    to.next = (to.next + 1) % to.ring.size();
    {
        const std::lock_guard guard(to.mutex);
        ++to.waiting;
    }
    to.changed.notify_all();
    spent_.copying_s += copying.seconds();
}

void in_situ::after_picked(std::int64_t step, double time_s, std::int64_t first) {
    first_failure failure;
    for (const auto& each : modules_) {
        module& m = *each;
        if (m.failed || !m.of->wants(step)) continue;
        failure.keep_of([&] { give(m, step, time_s, [&](std::span<float> into) { m.of->copy_picked(step - first, into); }); });
    }
    failure.rethrow();
}

void in_situ::after_step(std::int64_t step, double time_s, const brick_view& view) {
    first_failure failure;
    for (const auto& each : modules_) {
        module& m = *each;
        if (m.failed) continue;
        failure.keep_of([&] {
            if (m.of->wants(step)) give(m, step, time_s, [&](std::span<float> into) { m.of->copy(view, into); });
            if (!m.of->meets(step)) return;
            wait_until_received(m);
            const base::timer meeting;
            m.of->meet();
            spent_.meeting_s += meeting.seconds();
        });
    }
    failure.rethrow();
}

void in_situ::save() {
    wait_until_all_received();
    const base::timer meeting;
    for (const auto& each : modules_) each->of->save();
    spent_.meeting_s += meeting.seconds();
}

void in_situ::finish() {
    wait_until_all_received();
    const base::timer meeting;
    for (const auto& each : modules_) each->of->finish();
    spent_.meeting_s += meeting.seconds();
    modules_.clear();
}

array::index3 wanted_box::extent() const {
    array::index3 count{};
    for (std::size_t d = 0; d < 3; ++d) count[d] = (cells.extent(d) + stride[d] - 1) / stride[d];
    return count;
}

array::domain wanted_box::part_of(const array::domain& brick) const {
    const auto strides_before = [&](std::size_t d, std::int64_t cell) {
        return std::max<std::int64_t>(0, (cell - cells.low[d] + stride[d] - 1) / stride[d]);
    };
    array::domain part;
    const auto count = extent();
    for (std::size_t d = 0; d < 3; ++d) {
        part.low[d] = std::min(count[d], strides_before(d, brick.low[d]));
        part.high[d] = std::max(part.low[d], std::min(count[d], strides_before(d, brick.high[d])));
    }
    return part;
}

void copy_box(const brick_view& view, const wanted_box& box, std::span<float> into) {
    const array::domain part = box.part_of(view.place.cells);
    CRATON_ASSERT(static_cast<std::int64_t>(into.size()) == part.cells());
    if (part.empty()) return;
    const auto& low = view.place.cells.low;
    const auto own = [&](std::size_t d, std::int64_t n) { return box.cells.low[d] + n * box.stride[d] - low[d]; };
    if (view.engine != nullptr) { // the cells between the first and the last; field and stored_field count alike
        const auto last = [&](std::size_t d) { return own(d, part.high[d] - 1) + 1; };
        view.engine->copy_out(static_cast<stored_field>(box.which),
                              {own(0, part.low[0]), last(0), own(1, part.low[1]), last(1), own(2, part.low[2]), last(2)});
    }
    const float* const from = array_of(view, box.which);
    float* to = into.data();
    for (std::int64_t k = part.low[2]; k < part.high[2]; ++k) {
        for (std::int64_t j = part.low[1]; j < part.high[1]; ++j) {
            const float* const row = from + view.place.shape.at(own(0, part.low[0]), own(1, j), own(2, k));
            for (std::int64_t i = 0; i < part.extent(0); ++i) *to++ = row[i * box.stride[0]];
        }
    }
}

} // namespace craton::waves
