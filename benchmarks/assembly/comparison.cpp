#include "comparison.hpp"

#include "plain_loop.hpp"
#include "replicated_matrix.hpp"
#include "rma_matrix.hpp"
#include "team.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/base/error.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/runtime/world.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace craton::bench {

namespace {

std::uint64_t sum_of_local(const array::block_cyclic& layout, int rank, const float* storage) {
    const std::int64_t rows = layout.local_rows(rank), cols = layout.local_cols(rank), lld = layout.leading_dimension(rank);
    std::vector<std::uint64_t> weights(static_cast<std::size_t>(rows));
    for (std::int64_t i = 0; i < rows; ++i) {
        weights[static_cast<std::size_t>(i)] = weighted_sum::row_weight(layout.rows.global(layout.process_row(rank), i));
    }
    std::uint64_t total = 0;
    for (std::int64_t j = 0; j < cols; ++j) {
        std::uint64_t column = 0;
        for (std::int64_t i = 0; i < rows; ++i) {
            column += weighted_sum::residue(storage[i + j * lld]) * weights[static_cast<std::size_t>(i)];
        }
        total += column * weighted_sum::column_weight(layout.cols.global(layout.process_col(rank), j));
    }
    return total;
}

// One way to apply this rank's share of the updates. All members are collective over a team.
class contender {
  public:
    virtual ~contender() = default;
    contender() = default;
    contender(const contender&) = delete;
    contender& operator=(const contender&) = delete;

    virtual void reset() = 0;
    virtual void apply() = 0;
    [[nodiscard]] virtual std::uint64_t local_sum() = 0;
    [[nodiscard]] virtual std::string why_not() const { return {}; }
};

class convergent final : public contender {
  public:
    convergent(MPI_Comm comm, int ranks_per_node, std::int64_t side, update_list updates)
        : world_(comm::communicator::duplicate(comm), {.ranks_per_node = ranks_per_node}), matrix_(world_, side, side),
          updates_(std::move(updates)) {}
    ~convergent() override { world_.barrier(); }

    void reset() override { matrix_.reset(); }
    void apply() override {
        for (const auto* update : updates_) {
            const auto n = std::ssize(update->indices);
            matrix_.update_symmetric(base::column_major(update->block.data(), n, n, n), update->indices);
        }
        matrix_.commit();
    }
    std::uint64_t local_sum() override { return sum_of_local(matrix_.layout(), world_.rank(), matrix_.local().data()); }

  private:
    runtime::world world_;
    array::convergent_matrix<float> matrix_;
    update_list updates_;
};

class by_rma final : public contender {
  public:
    by_rma(MPI_Comm comm, int rank, std::int64_t side, update_list updates)
        : matrix_(comm, side), rank_(rank), updates_(std::move(updates)) {}

    void reset() override { matrix_.reset(); }
    void apply() override {
        for (const auto* update : updates_) matrix_.update_symmetric(*update);
        matrix_.commit();
    }
    std::uint64_t local_sum() override { return sum_of_local(matrix_.layout(), rank_, matrix_.local()); }
    std::string why_not() const override { return matrix_.why(); }

  private:
    rma_matrix matrix_;
    int rank_;
    update_list updates_;
};

class replicated final : public contender {
  public:
    replicated(MPI_Comm comm, std::int64_t side, update_list updates) : matrix_(comm, side), updates_(std::move(updates)) {}

    void reset() override { matrix_.reset(); }
    void apply() override {
        for (const auto* update : updates_) matrix_.update_symmetric(*update);
        matrix_.commit();
    }
    std::uint64_t local_sum() override { return matrix_.sum(); }

  private:
    replicated_matrix matrix_;
    update_list updates_;
};

// A contender of a team, and what it has reached.
struct entry {
    contender_rates result;
    const team* members;
    std::unique_ptr<contender> what; // null outside the team
};

void require(bool right, const std::string& name, int ranks) {
    if (!right)
        throw std::runtime_error("assembly: the matrix that '" + name + "' has made on " + std::to_string(ranks) +
                                 " ranks is wrong");
}

class stage {
  public:
    stage(MPI_Comm comm, const comparison_options& options) : options_(options), pool_(options.shape), alone_(comm, 1) {
        for (const int ranks : options.ranks) teams_.push_back(std::make_unique<team>(comm, ranks));
        if (alone_.member()) {
            everything_ = pool_.share(0, 1);
            expected_ = expected_sum(everything_);
        }
        MPI_Bcast(&expected_, 1, MPI_UINT64_T, 0, comm);
    }

    [[nodiscard]] double mean_run_length() const { return mean_run(everything_); }

    comparison run() {
        comparison found;
        found.mean_run = mean_run_length();
        found.least_bytes = everything_.empty() ? 0 : least_bytes_per_element(everything_);
        alone_.alone([&] {
            found.one_thread = base::measure_memory(1);
            found.two_threads = base::measure_memory(2);
            found.in_place_gb_s = base::measure_memory_in_place(2);
        });
        ours(found);
        if (options_.peers) peers(found);
        return found;
    }

  private:
    using maker = std::function<std::unique_ptr<contender>(const team&, update_list)>;

    [[nodiscard]] entry enter(const std::string& name, const team& members, const maker& make) {
        entry made{{name, members.size(), {}, {}, {}}, &members, nullptr};
        members.alone([&] {
            made.what = make(members, pool_.share(members.rank(), members.size()));
            made.result.note = made.what->why_not();
        });
        return made;
    }

    void measure(entry& each, bool keep) {
        each.members->alone([&] {
            if (!each.what->why_not().empty()) return;
            each.what->reset();
            const time_taken taken = each.members->time([&] { each.what->apply(); });
            require(each.members->sum(each.what->local_sum()) == expected_, each.result.name, each.result.ranks);
            if (keep) record(each.result, taken);
        });
    }

    void record(contender_rates& result, const time_taken& taken) const {
        result.rates.push_back(1e-6 * options_.shape.elements() / taken.wall_s);
        result.processor_rates.push_back(1e-6 * options_.shape.elements() / taken.processor_s);
    }

    void leave(entry& each) {
        each.members->alone([&] { each.what.reset(); });
    }

    // Ours and the loop in turn, since the machine's speed drifts; as many repeats of each, or the best of them would say nothing.
    // The first round warms up and is not kept.
    void ours(comparison& found) {
        const std::int64_t side = options_.shape.matrix_side;
        std::vector<entry> entries;
        for (const auto& members : teams_) {
            entries.push_back(enter("direct", *members, [&](const team& t, update_list updates) {
                return std::make_unique<convergent>(t.comm(), 0, side, std::move(updates));
            }));
            // Two virtual nodes, however many the ranks; beside it, every rank its own.
            entries.push_back(enter("messages", *members, [&](const team& t, update_list updates) {
                return std::make_unique<convergent>(t.comm(), (t.size() + 1) / 2, side, std::move(updates));
            }));
            if (members->size() <= 2) continue;
            entries.push_back(enter("messages, a node each", *members, [&](const team& t, update_list updates) {
                return std::make_unique<convergent>(t.comm(), 1, side, std::move(updates));
            }));
        }
        std::unique_ptr<plain_loop> loop;
        if (alone_.member()) loop = std::make_unique<plain_loop>(side);
        contender_rates by_updates{"loop, own updates", 1, {}, {}, {}}, by_columns{"loop, own columns", 1, {}, {}, {}};
        for (int round = 0; round <= options_.repeats; ++round) {
            const bool keep = round > 0;
            for (std::size_t at = 0; at < entries.size(); ++at) {
                measure(entries[at], keep);
                if (at == 0) loop_once(loop.get(), by_updates, by_columns, keep);
            }
        }
        for (auto& each : entries) {
            leave(each);
            found.contenders.push_back(std::move(each.result));
        }
        found.contenders.push_back(std::move(by_updates));
        found.contenders.push_back(std::move(by_columns));
    }

    void loop_once(plain_loop* loop, contender_rates& by_updates, contender_rates& by_columns, bool keep) {
        alone_.alone([&] {
            for (auto* result : {&by_updates, &by_columns}) {
                loop->reset();
                const bool safe = result == &by_columns;
                const time_taken taken = loop->time(everything_, safe ? plain_loop::split::columns : plain_loop::split::updates);
                if (safe) require(loop->sum() == expected_, result->name, 1); // the other one loses what the threads race for
                if (keep) record(*result, taken);
            }
        });
    }

    void peers(comparison& found) {
        const std::int64_t side = options_.shape.matrix_side;
        const maker rma = [&](const team& t, update_list updates) {
            return std::make_unique<by_rma>(t.comm(), t.rank(), side, std::move(updates));
        };
        const maker copies = [&](const team& t, update_list updates) {
            return std::make_unique<replicated>(t.comm(), side, std::move(updates));
        };
        constexpr int repeats_of_peers = 3; // they are slow, and nothing hangs on their last per cent
        for (const auto& members : teams_) {
            for (const auto& [name, make] : {std::pair{"MPI-3 RMA", &rma}, std::pair{"replicated", &copies}}) {
                entry each = enter(name, *members, *make);
                for (int round = 0; round < std::min(options_.repeats, repeats_of_peers); ++round) measure(each, true);
                leave(each);
                found.contenders.push_back(std::move(each.result));
            }
        }
    }

    comparison_options options_;
    update_pool pool_;
    team alone_;
    std::vector<std::unique_ptr<team>> teams_;
    update_list everything_;
    std::uint64_t expected_ = 0;
};

} // namespace

comparison compare_assembly(MPI_Comm comm, const comparison_options& options) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    if (options.repeats < 1) throw user_error("assembly: repeats is " + std::to_string(options.repeats) + "; allowed: at least 1");
    for (const int ranks : options.ranks) {
        if (ranks < 1 || ranks > size) {
            throw user_error("assembly: " + std::to_string(ranks) + " ranks were asked for in a job of " + std::to_string(size) +
                             "; allowed: 1 to " + std::to_string(size));
        }
    }
    static_cast<void>(make_update(options.shape, 0)); // a shape that makes no sense is refused on every rank
    return stage(comm, options).run();
}

} // namespace craton::bench
