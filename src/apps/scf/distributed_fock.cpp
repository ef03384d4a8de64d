#include <craton/apps/scf/distributed_fock.hpp>

#include "density_blocks.hpp"
#include "distributed_pairs.hpp"
#include "prepared_blocks.hpp"
#include "sum_blocks.hpp"
#include "task_book.hpp"

#include <craton/apps/scf/spatial_order.hpp>
#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/runtime/counter.hpp>
#include <craton/runtime/work_queue.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

namespace craton::scf {

namespace {

constexpr std::int64_t least_buffer_bytes = std::int64_t{1} << 20;

// Tasks of more than this part of a thread's work are cut: the last one to end keeps the others waiting for half of its time.
constexpr double largest_task = 1.0 / 40;

// Rows and columns of the grid of ranks: as square as can be, of no more parts than there are ranges.
std::array<int, 2> grid_of(int ranks, int ranges) {
    int rows = 1;
    for (int r = 2; r * r <= ranks; ++r)
        if (ranks % r == 0) rows = r;
    return {std::min(rows, ranges), std::min(ranks / rows, ranges)};
}

// Large ranges fill batches better, many make tasks for all threads.
int automatic_functions_per_range(int functions, int ranks, std::int64_t threads) {
    constexpr double most_functions = 96;
    const auto grid = grid_of(ranks, functions);
    const double ranges =
        std::max({3.0, std::cbrt(16 * static_cast<double>(threads)), functions / most_functions, 1.5 * std::max(grid[0], grid[1])});
    return std::max(4, static_cast<int>(std::ceil(functions / ranges)));
}

// Collective: user_error on every rank for what is wrong, or not the same everywhere.
distributed_fock_options checked(runtime::world& ranks, std::span<const int> first_function, distributed_fock_options options) {
    ranks.barrier(); // polls, before what does not
    const auto& all = ranks.communicator();
    std::string failure;
    if (!(options.threshold > 0))
        failure = fmt::format("distributed Fock: threshold {}; allowed: above 0", options.threshold);
    else if (options.functions_per_range < 0)
        failure =
            fmt::format("distributed Fock: {} functions per range; allowed: 0 (automatic) or more", options.functions_per_range);
    else if (options.threads < 1)
        failure = fmt::format("distributed Fock: {} threads; allowed: at least 1", options.threads);
    else if (!(options.spared >= 0 && options.spared <= 1))
        failure = fmt::format("distributed Fock: spared = {}; allowed: 0 to 1, a part of the threshold", options.spared);
    else if (options.buffer_bytes < 0)
        failure = fmt::format("distributed Fock: buffers of {} bytes; allowed: 0 (automatic) or more", options.buffer_bytes);
    comm::agree(all, failure);
    std::int64_t fingerprint = std::bit_cast<std::int64_t>(options.threshold);
    const auto mix = [&](std::int64_t value) {
        fingerprint = static_cast<std::int64_t>(static_cast<std::uint64_t>(fingerprint) * 0x9e3779b97f4a7c15U + 1) ^ value;
    };
    mix(std::bit_cast<std::int64_t>(options.spared));
    mix(options.functions_per_range);
    mix(static_cast<std::int64_t>(options.strategy));
    mix(static_cast<std::int64_t>(options.progress));
    for (const int first : first_function) mix(first);
    if (all.minimum(fingerprint) != all.maximum(fingerprint))
        throw user_error(
            "distributed Fock: threshold, spared, functions per range, strategy, progress or shells are not the same on all ranks; "
            "allowed: the same everywhere");
    const std::int64_t threads = all.sum(std::int64_t{options.threads});
    if (options.functions_per_range == 0)
        options.functions_per_range = automatic_functions_per_range(first_function.back(), ranks.size(), threads);
    return options;
}

} // namespace

fock_strategy fock_strategy_named(const std::string& name) {
    if (name == "static") return fock_strategy::fixed;
    if (name == "counter") return fock_strategy::counter;
    if (name == "stealing") return fock_strategy::stealing;
    throw user_error(fmt::format("Fock strategy '{}'; allowed: static, counter, stealing", name));
}

distributed_fock::distributed_fock(runtime::world& ranks, std::span<const int> first_function,
                                   std::shared_ptr<const quartet_source> source, const distributed_fock_options& options)
    : world_(&ranks), options_(checked(ranks, first_function, options)), team_(options_.threads),
      digester_({first_function.begin(), first_function.end()}, shell_ranges(first_function, options_.functions_per_range),
                std::move(source), options_.threshold),
      tasks_(digester_, share_significant_pairs(ranks, digester_, options_.threshold * density_room, team_)), layout_(divide()),
      book_(std::make_unique<task_book>(ranks, tasks_.tasks())) {
    const bool wanted =
        options_.progress == attention::always || (options_.progress == attention::automatic && ranks.node().count > 1);
    if (wanted) progress_ = std::make_unique<runtime::progress_thread>(ranks);
}

distributed_fock::~distributed_fock() = default;

std::int64_t distributed_fock::tasks() const noexcept { return book_->size(); }

// Cuts ranges of shells into the rows and columns of the grid, and the tasks after them.
array::tile_layout<2> distributed_fock::divide() {
    const auto& all = world_->communicator();
    const int ranges = static_cast<int>(digester_.ranges().size());
    const auto grid = grid_of(world_->size(), ranges);
    const auto weights = tasks_.weights_of_ranges();
    std::array<std::vector<int>, 2> part_of;
    array::tile_layout<2>::boundaries boundaries;
    for (std::size_t d = 0; d < 2; ++d) {
        const auto cuts = balanced_cuts(weights, grid[d]);
        for (int part = 0; part < grid[d]; ++part) part_of[d].resize(static_cast<std::size_t>(cuts[part + 1]), part);
        for (const int cut : cuts)
            boundaries[d].push_back(cut == ranges ? size() : digester_.first_function_of(static_cast<std::size_t>(cut)));
    }
    const int rank = world_->rank();
    if (rank < grid[0] * grid[1]) tasks_.take_place({rank / grid[1], rank % grid[1]}, part_of[0], part_of[1]);
    const auto coarse = tasks_.coarse_costs();
    std::array<double, 1> total{};
    for (const double cost : coarse) total[0] += cost;
    all.sum_in_place(std::span<double>(total));
    const auto workers = static_cast<double>(all.sum(std::int64_t{team_.size()}));
    tasks_.cut(coarse, std::max(total[0] / workers * largest_task, 1.0));
    std::vector<int> owners;
    for (int tile = 0; tile < grid[0] * grid[1]; ++tile) owners.push_back(tile);
    return {std::move(boundaries), std::move(owners), world_->size()};
}

// What the threads of a rank share during a build.
struct distributed_fock::job {
    std::span<const matrix* const> densities;
    matrix* coulomb = nullptr;
    std::span<matrix* const> exchange;

    largest_between_ranges largest;
    base::timer loop; // since the common start
    std::unique_ptr<density_blocks> read;
    std::unique_ptr<prepared_blocks> prepared;
    std::unique_ptr<runtime::work_queue> queue;
    std::unique_ptr<runtime::counter> counter;
    std::atomic<std::int64_t> next_own{0};

    [[nodiscard]] std::optional<std::int64_t> next_task(std::int64_t count) {
        if (counter) {
            const std::int64_t task = counter->fetch_add();
            return task < count ? std::optional(task) : std::nullopt;
        }
        if (!queue_is_static) return queue->next();
        const std::int64_t task = next_own.fetch_add(1, std::memory_order_relaxed);
        return task < queue->own().second ? std::optional(task) : std::nullopt;
    }
    bool queue_is_static = false;
};

// What one thread has for itself.
struct distributed_fock::worker {
    worker(const job& what, const task_book& all, const block_digester& digester, std::int64_t sum_bytes)
        : book(all), sums(results(what), digester, sum_bytes) {
        kernels = digester.make_workplace();
    }
    static std::vector<matrix*> results(const job& what) {
        std::vector<matrix*> all{what.coulomb};
        all.insert(all.end(), what.exchange.begin(), what.exchange.end());
        return all;
    }

    struct met_ket {
        int block = 0;
        met_densities met;
    };

    task_book::reader book;
    sum_blocks sums;
    block_digester::workplace kernels;
    std::vector<met_ket> kets;     // of the task
    std::vector<met_blocks> where; // of each
    std::vector<block_digester::met_side> met;
    std::vector<prepared_blocks::held> prepared;
    std::vector<density_blocks::place> places; // what it reads: of each ket six rectangles or those of a part
    std::int64_t own_tasks = 0, stolen_tasks = 0;
    double compute_s = 0, get_s = 0, queue_s = 0, end_s = 0;
    std::vector<task_time> timeline;
};

void distributed_fock::check(const job& what) const {
    const auto refuse = [&](const matrix& each, const char* name) -> std::string {
        if (&each.ranks() != world_) return fmt::format("distributed Fock: {} is of another world; allowed: the builder's", name);
        const auto [rows, columns] = each.extents();
        if (rows == size() && columns == size()) return {};
        return fmt::format("distributed Fock: {} is {} x {}; allowed: {} x {}", name, rows, columns, size(), size());
    };
    std::string failure;
    const auto first_failure = [&](const std::string& found) {
        if (failure.empty()) failure = found;
    };
    if (what.densities.empty() || what.densities.size() != what.exchange.size())
        first_failure(fmt::format("distributed Fock: {} densities, {} exchange matrices; allowed: as many of both, at least 1",
                                  what.densities.size(), what.exchange.size()));
    for (const matrix* each : what.densities) first_failure(refuse(*each, "a density"));
    for (const matrix* each : what.exchange) first_failure(refuse(*each, "an exchange matrix"));
    first_failure(refuse(*what.coulomb, "the Coulomb matrix"));
    std::vector<const matrix*> results(what.exchange.begin(), what.exchange.end());
    results.push_back(what.coulomb);
    std::ranges::sort(results);
    bool twice = std::ranges::adjacent_find(results) != results.end();
    for (const matrix* each : what.densities) twice |= std::ranges::binary_search(results, each);
    if (twice)
        first_failure("distributed Fock: an array is given for two results, or for a density and a result; allowed: each once");
    comm::agree(world_->communicator(), failure);
}

// Each rank looks at its own tiles, whatever the layout.
largest_between_ranges distributed_fock::find_largest(std::span<const matrix* const> densities) const {
    const std::size_t ranges = digester_.ranges().size();
    std::vector<std::size_t> range_of;
    for (std::size_t r = 0; r < ranges; ++r)
        range_of.resize(static_cast<std::size_t>(digester_.first_function_of(r) + digester_.functions_of(r)), r);
    std::vector<double> largest(densities.size() * ranges * ranges, 0.0);
    for (std::size_t d = 0; d < densities.size(); ++d) {
        double* const table = largest.data() + d * ranges * ranges;
        for (const std::int64_t tile : densities[d]->own_tiles()) {
            const auto piece = densities[d]->own_tile(tile);
            for (std::int64_t row = piece.cells.low[0]; row < piece.cells.high[0]; ++row) {
                const double* element = piece.first + (row - piece.cells.low[0]) * piece.strides[0];
                double* const of_row = table + range_of[static_cast<std::size_t>(row)] * ranges;
                for (std::int64_t column = piece.cells.low[1]; column < piece.cells.high[1]; ++column, ++element) {
                    double& most = of_row[range_of[static_cast<std::size_t>(column)]];
                    most = std::max(most, std::abs(*element));
                }
            }
        }
    }
    world_->communicator().maximum_in_place(largest);
    largest_between_ranges found;
    found.ranges = ranges;
    found.of_sum.assign(ranges * ranges, 0.0);
    found.of_each.assign(ranges * ranges, 0.0);
    for (std::size_t n = 0; n < largest.size(); ++n) {
        const std::size_t place = n % (ranges * ranges);
        found.of_sum[place] += largest[n]; // no less than of the sum
        found.of_each[place] = std::max(found.of_each[place], largest[n]);
    }
    return found;
}

void distributed_fock::build(std::span<const matrix* const> densities, matrix& coulomb, std::span<matrix* const> exchange) {
    const base::timer clock;
    job what;
    what.densities = densities;
    what.coulomb = &coulomb;
    what.exchange = exchange;
    world_->quiesce(); // what was put into the densities is there
    check(what);
    coulomb.fill(0);
    for (matrix* each : exchange) each->fill(0);
    what.largest = find_largest(densities);
    const auto costs = tasks_.costs(what.largest);
    book_->predict(costs);
    what.queue = std::make_unique<runtime::work_queue>(*world_, runtime::work_queue::own_costs{costs});
    what.queue_is_static = options_.strategy == fock_strategy::fixed;
    what.next_own = what.queue->own().first;
    if (options_.strategy == fock_strategy::counter) what.counter = std::make_unique<runtime::counter>(*world_);

    const std::int64_t matrix_bytes = std::int64_t{8} * size() * size() / world_->size() * 2;
    const auto spins = static_cast<std::int64_t>(densities.size());
    const auto bound = [&](std::int64_t matrices) {
        return options_.buffer_bytes > 0 ? options_.buffer_bytes : std::max(least_buffer_bytes, matrices * matrix_bytes);
    };
    what.read = std::make_unique<density_blocks>(std::vector<const matrix*>(densities.begin(), densities.end()), digester_,
                                                 bound(spins > 1 ? spins + 1 : 1));
    what.prepared = std::make_unique<prepared_blocks>(digester_.source(), tasks_.blocks(),
                                                      least_bound(tasks_.blocks(), what.largest, options_.threshold), bound(1));
    std::vector<worker> workers;
    workers.reserve(static_cast<std::size_t>(team_.size()));
    for (int n = 0; n < team_.size(); ++n) workers.emplace_back(what, *book_, digester_, bound(spins + 1) / team_.size());

    world_->barrier();
    statistics_ = {};
    statistics_.prepare_s = clock.seconds();
    if (progress_) progress_->start();
    what.loop.restart();
    team_.for_each(team_.size(), [&](std::int64_t n) { // one turn per thread
        worker& by = workers[static_cast<std::size_t>(n)];
        run_tasks(what, by);
        by.sums.add_all();
        by.end_s = what.loop.seconds();
    });
    world_->barrier(); // victims go on answering until all are done
    statistics_.loop_s = what.loop.seconds();
    if (progress_) progress_->pause();
    add_up(what, workers);
    make_symmetric(what);
    statistics_.build_s = clock.seconds();
    statistics_.finish_s = statistics_.build_s - statistics_.prepare_s - statistics_.loop_s;
}

void distributed_fock::run_tasks(job& what, worker& by) const {
    const auto [first_own, last_own] = what.queue->own();
    const bool messages = world_->node().count > 1;
    for (;;) {
        const base::timer clock;
        const auto task = what.next_task(tasks());
        by.queue_s += clock.seconds();
        if (!task) return;
        ++(*task >= first_own && *task < last_own ? by.own_tasks : by.stolen_tasks);
        // What travels is asked for early: this thread's next task is likely to be the one after those that the others have.
        const std::int64_t likely_next = *task + team_.size();
        const double begin_s = what.loop.seconds();
        const auto entry = by.book.at(*task);
        const auto* const next = messages && likely_next < tasks() ? by.book.at_hand(likely_next) : nullptr;
        run_task(entry.task, next != nullptr ? &next->task : nullptr, what, by);
        by.timeline.push_back({*task, 0, begin_s, what.loop.seconds(), double{entry.predicted}});
        if (messages) world_->poll();
    }
}

void distributed_fock::plan(const fock_task& task, const job& what, worker& by) const {
    by.kets.clear();
    by.places.clear();
    const auto& blocks = tasks_.blocks();
    const pair_block& a = blocks[static_cast<std::size_t>(task.bra)];
    for (int ket = task.first_ket; ket < task.last_ket; ++ket) {
        const pair_block& b = blocks[static_cast<std::size_t>(ket)];
        met_densities met = what.largest.met(a, b);
        if (a.bound() * b.bound() * met.coulomb < options_.threshold) met.coulomb = 0;
        if (a.bound() * b.bound() * met.exchange < options_.threshold) met.exchange = 0;
        if (met.most() == 0) continue;
        by.kets.push_back({ket, met});
        const std::size_t i = a.rows, j = a.columns, k = b.rows, l = b.columns;
        const double bound = a.bound() * b.bound();
        const double negligible = options_.spared * options_.threshold;
        const auto read_sum = [&](std::size_t m, std::size_t n) {
            by.places.push_back({m, n, what.largest.negligible_sum(m, n, bound, negligible)});
        };
        const auto read = [&](std::size_t m, std::size_t n) {
            by.places.push_back({m, n, what.largest.negligible(m, n, bound, negligible)});
        };
        if (met.coulomb > 0) {
            read_sum(j, i);
            read_sum(l, k);
        }
        if (met.exchange > 0) {
            read(k, i);
            read(l, i);
            read(k, j);
            read(l, j);
        }
    }
}

void distributed_fock::run_task(const fock_task& task, const fock_task* next, job& what, worker& by) const {
    base::timer clock;
    if (next != nullptr) plan(*next, what, by);
    const auto next_places = next != nullptr ? by.places : std::vector<density_blocks::place>{};
    plan(task, what, by);
    if (by.kets.empty()) return;
    const auto read = what.read->get(by.places);
    what.read->start(next_places);
    by.get_s += clock.seconds();

    clock.restart();
    const auto& blocks = tasks_.blocks();
    const pair_block& a = blocks[static_cast<std::size_t>(task.bra)];
    const std::size_t i = a.rows, j = a.columns;
    const auto prepared_bra = what.prepared->get(static_cast<std::size_t>(task.bra));
    const std::size_t spins = what.densities.size();
    by.where.resize(by.kets.size()); // `met` points to them
    by.met.clear();
    by.prepared.clear();
    auto next_read = read.begin();
    for (std::size_t n = 0; n < by.kets.size(); ++n) {
        const auto& [ket, met] = by.kets[n];
        const pair_block& b = blocks[static_cast<std::size_t>(ket)];
        const std::size_t k = b.rows, l = b.columns;
        met_blocks& where = by.where[n];
        where.met = met;
        if (met.coulomb > 0) {
            const auto &ji = **next_read++, &lk = **next_read++;
            where.density_sum = {ji.sum(), lk.sum()};
            where.largest_of_sum = {ji.largest_of_sum(), lk.largest_of_sum()};
            where.coulomb = {by.sums.at(0, j, i), by.sums.at(0, l, k)};
        }
        if (met.exchange > 0) {
            const auto &ki = **next_read++, &li = **next_read++, &kj = **next_read++, &lj = **next_read++;
            where.largest = {ki.largest(), li.largest(), kj.largest(), lj.largest()};
            where.spins.resize(spins);
            for (std::size_t s = 0; s < spins; ++s)
                where.spins[s] = {
                    {ki.density(s), li.density(s), kj.density(s), lj.density(s)},
                    {by.sums.at(s + 1, k, i), by.sums.at(s + 1, l, i), by.sums.at(s + 1, k, j), by.sums.at(s + 1, l, j)}};
        }
        by.prepared.push_back(what.prepared->get(static_cast<std::size_t>(ket)));
        by.met.push_back({{&b, by.prepared.back().get()}, &where});
    }
    digester_.run({&a, prepared_bra.get()}, by.met, by.kernels);
    by.prepared.clear(); // others may need the room
    by.compute_s += clock.seconds();
    by.sums.keep_within_bound();
}

void distributed_fock::add_up(const job& what, std::span<const worker> workers) {
    counts_ = {};
    const double threads = team_.size();
    fock_statistics& all = statistics_;
    all.fetched_bytes = what.read->fetched_bytes();
    all.spared_bytes = what.read->spared_bytes();
    all.peak_buffer_bytes = what.read->peak_bytes();
    all.source_bytes = what.prepared->peak_bytes();
    all.pair_bytes = tasks_.bytes() + book_->bytes();
    timeline_.clear();
    for (std::size_t thread = 0; thread < workers.size(); ++thread) {
        const worker& each = workers[thread];
        for (task_time time : each.timeline) {
            time.thread = static_cast<int>(thread);
            timeline_.push_back(time);
        }
        counts_ += each.kernels.counts;
        all.own_tasks += each.own_tasks;
        all.stolen_tasks += each.stolen_tasks;
        all.compute_s += each.compute_s / threads;
        all.get_s += each.get_s / threads;
        all.queue_s += each.queue_s / threads;
        all.accumulate_s += each.sums.seconds() / threads;
        all.idle_s += (all.loop_s - each.end_s) / threads;
        all.added_bytes += each.sums.added_bytes();
        all.peak_buffer_bytes += each.sums.peak_bytes();
    }
    counts_.unique_quartets = unique_quartets(digester_.shells());
}

// What the kernels leave, J = 2 (sum + its transpose) and K = sum + its transpose.
void distributed_fock::make_symmetric(const job& what) const {
    const auto with_transpose = [](matrix& sum, double factor, matrix& turned) {
        sum.transpose_to(turned); // everything has been added before
        sum.add(factor, sum, factor, turned);
    };
    matrix turned(*world_, what.coulomb->layout());
    with_transpose(*what.coulomb, 2, turned);
    for (matrix* each : what.exchange) {
        if (each->layout() == turned.layout()) {
            with_transpose(*each, 1, turned);
            continue;
        }
        matrix turned_alike(*world_, each->layout());
        with_transpose(*each, 1, turned_alike);
    }
}

} // namespace craton::scf
