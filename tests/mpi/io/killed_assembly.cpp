// An assembly that can be killed at any moment and started again on any number of ranks, driven by python/tests/test_checkpoint.py.
//
//   killed_assembly run folder=F [subsets=200] [size=600] [every=20] [work_ms=10] [threads=1] [limit=0 closed=0 limited=1] [local=]
//       Resumes from F/checkpoint.h5 or starts afresh; ends with F/result.h5, checked against plain loops over all subsets.
//       Rank 0 prints a line at each step (resumed, saving, saved, done), from which the driver knows at which moment it killed.
//       local=L: checkpoints in two levels; each rank plays a node of its own, with the folder L/node<rank>.
//   killed_assembly types folder=F
//       Writes F/types.h5, one dataset per element type, for readers that are not Craton.

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/convergent_vector.hpp>
#include <craton/array/reproducible_matrix.hpp>
#include <craton/base/error.hpp>
#include <craton/comm/environment.hpp>
#include <craton/io/checkpoint.hpp>
#include <craton/io/matrix_file.hpp>
#include <craton/runtime/counter.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <complex>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using namespace craton;

// Real numbers, whose sums do not depend on who adds when.
using sums = array::reproducible_matrix<double>;

struct settings {
    std::string folder = ".";
    std::string local;
    std::int64_t subsets = 200;
    std::int64_t size = 600;
    std::int64_t every = 20;
    std::int64_t work_ms = 10;
    std::int64_t threads = 1;
    std::int64_t limit = 0; // bytes that files of the last `limited` ranks may have, from the second save on; 0: no limit
    std::int64_t limited = 1;
    std::int64_t closed = 0; // 1: these ranks can open no file from the second save on
};

settings parse(int argc, char** argv) {
    settings s;
    const std::map<std::string, std::int64_t*> numbers{{"subsets", &s.subsets}, {"size", &s.size},       {"every", &s.every},
                                                       {"work_ms", &s.work_ms}, {"threads", &s.threads}, {"limit", &s.limit},
                                                       {"limited", &s.limited}, {"closed", &s.closed}};
    for (int k = 2; k < argc; ++k) {
        const std::string argument = argv[k]; // what main gives
        const auto equals = argument.find('=');
        const auto name = argument.substr(0, equals);
        const auto value = equals == std::string::npos ? std::string{} : argument.substr(equals + 1);
        if (name == "folder") {
            s.folder = value;
        } else if (name == "local") {
            s.local = value;
        } else if (const auto found = numbers.find(name); found != numbers.end()) {
            *found->second = std::stoll(value);
        } else {
            throw user_error("killed_assembly: '" + argument + "' is no setting");
        }
    }
    return s;
}

// What one path of a subset adds: a symmetric block and a vector on index sets that overlap those of all others.
struct path_update {
    std::vector<std::int64_t> indices;
    std::vector<double> block;    // between -1 and 1, of all 53 bits
    std::vector<double> gradient; // whole numbers: sums of doubles, exact in any order
};

constexpr int paths_per_subset = 3;

path_update update_of(std::int64_t subset, int path, std::int64_t size) {
    std::mt19937_64 random(static_cast<std::uint64_t>(subset * paths_per_subset + path));
    std::set<std::int64_t> indices;
    while (static_cast<std::int64_t>(indices.size()) < std::min<std::int64_t>(40, size))
        indices.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size)));
    path_update u{{indices.begin(), indices.end()}, {}, {}};
    std::vector<double> g;
    for (std::size_t k = 0; k < u.indices.size(); ++k) {
        g.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
        u.gradient.push_back(std::floor(g.back() * 1e6));
    }
    for (const auto a : g) {
        for (const auto b : g) u.block.push_back(a * b);
    }
    return u;
}

void say(const runtime::world& ranks, const std::string& line) {
    if (ranks.rank() != 0) return;
    std::puts(line.c_str());
    std::fflush(stdout);
}

void assemble_round(const settings& s, io::checkpoint& checkpoint, runtime::counter& next, const std::vector<std::int64_t>& subsets,
                    sums& hessian, array::convergent_vector<double>& gradient) {
    std::atomic<std::int64_t> working{s.threads};
    const auto work = [&] {
        for (auto k = next.fetch_add(); k < static_cast<std::int64_t>(subsets.size()); k = next.fetch_add()) {
            const std::int64_t subset = subsets[static_cast<std::size_t>(k)];
            auto open = checkpoint.begin(subset);
            if (!open) continue;
            for (int path = 0; path < paths_per_subset; ++path) {
                std::this_thread::sleep_for(std::chrono::milliseconds(s.work_ms) / paths_per_subset); // the physics
                const auto u = update_of(subset, path, s.size);
                const auto n = static_cast<std::int64_t>(u.indices.size());
                hessian.update_symmetric(base::row_major<const double>(u.block.data(), n, n), u.indices);
                gradient.update(u.gradient, u.indices);
            }
            open.finish();
        }
        --working;
    };
    std::vector<std::thread> team;
    for (std::int64_t t = 0; t < s.threads; ++t) team.emplace_back(work);
    while (working > 0) {
        hessian.ranks().poll();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    for (auto& thread : team) thread.join();
}

// Plain loops over every subset, in multiples of the resolution; shares nothing with the arrays.
bool equals_reference(const settings& s, sums& hessian, array::convergent_vector<double>& gradient) {
    const double resolution = hessian.encoding().resolution();
    std::vector<std::int64_t> dense(static_cast<std::size_t>(s.size * s.size));
    std::vector<double> line(static_cast<std::size_t>(s.size));
    for (std::int64_t subset = 0; subset < s.subsets; ++subset) {
        for (int path = 0; path < paths_per_subset; ++path) {
            const auto u = update_of(subset, path, s.size);
            for (std::size_t a = 0; a < u.indices.size(); ++a) {
                line[static_cast<std::size_t>(u.indices[a])] += u.gradient[a];
                for (std::size_t b = a; b < u.indices.size(); ++b)
                    dense[static_cast<std::size_t>(u.indices[a] * s.size + u.indices[b])] +=
                        std::llrint(u.block[a * u.indices.size() + b] / resolution);
            }
        }
    }
    const auto& l = hessian.layout();
    const int me = hessian.ranks().rank();
    bool equal = true;
    for (std::int64_t j = 0; j < l.local_cols(me); ++j) {
        for (std::int64_t i = 0; i < l.local_rows(me); ++i) {
            const auto place = l.rows.global(l.process_row(me), i) * s.size + l.cols.global(l.process_col(me), j);
            equal = equal && hessian.sums().local()[static_cast<std::size_t>(i + j * l.leading_dimension(me))] ==
                                 dense[static_cast<std::size_t>(place)];
        }
    }
    for (std::size_t i = 0; i < gradient.local().size(); ++i)
        equal = equal &&
                gradient.local()[i] == line[static_cast<std::size_t>(gradient.layout().global(me, static_cast<std::int64_t>(i)))];
    return hessian.ranks().communicator().minimum(equal ? 1 : 0) == 1;
}

int run(const settings& s, runtime::world& ranks) {
    const auto largest = static_cast<double>(s.subsets * paths_per_subset); // elements are below 1
    sums hessian(ranks, s.size, s.size, largest, 32, 32);
    array::convergent_vector<double> gradient(ranks, s.size, 32);
    runtime::counter next(ranks);
    // All ranks write for all, so that the limited one does.
    io::checkpoint_options options;
    options.transfer.hints = {{"cb_nodes", std::to_string(ranks.size())}};
    options.transfer.buffer_bytes = std::size_t{1} << 20;
    options.transfer.patience_s = 3.0;
    if (!s.local.empty()) options.local_folder = s.local + "/node" + std::to_string(ranks.rank());
    io::checkpoint checkpoint(ranks, s.folder + "/checkpoint.h5", options);
    checkpoint.add("hessian", hessian);
    checkpoint.add("gradient", gradient);
    std::int64_t attempt = 1;
    if (const auto found = checkpoint.resume()) attempt = std::get<std::int64_t>(found->numbers.at("attempt")) + 1;
    const auto left = checkpoint.missing(s.subsets);
    say(ranks, "resumed with " + std::to_string(checkpoint.counted().size()) + " of " + std::to_string(s.subsets) + " subsets on " +
                   std::to_string(ranks.size()) + " ranks");
    for (std::size_t first = 0; first < left.size(); first += static_cast<std::size_t>(s.every)) {
        const auto end = std::min(left.size(), first + static_cast<std::size_t>(s.every));
        next.reset();
        assemble_round(s, checkpoint, next,
                       {left.begin() + static_cast<std::ptrdiff_t>(first), left.begin() + static_cast<std::ptrdiff_t>(end)},
                       hessian, gradient);
        say(ranks, "saving");
        checkpoint.save({{"attempt", attempt}});
        if (s.limit > 0 && ranks.rank() >= ranks.size() - s.limited) {
            rlimit limits{};
            getrlimit(RLIMIT_FSIZE, &limits);
            limits.rlim_cur = static_cast<rlim_t>(s.limit);
            setrlimit(RLIMIT_FSIZE, &limits);
        }
        if (s.closed > 0 && ranks.rank() >= ranks.size() - s.limited) {
            const int free = dup(0); // the descriptor that a file would get
            ::close(free);
            rlimit limits{};
            getrlimit(RLIMIT_NOFILE, &limits);
            limits.rlim_cur = static_cast<rlim_t>(free);
            setrlimit(RLIMIT_NOFILE, &limits);
        }
        say(ranks, "saved " + std::to_string(checkpoint.counted().size()));
    }
    checkpoint.drain();
    ranks.barrier();
    if (!equals_reference(s, hessian, gradient)) {
        say(ranks, "DIFFERS from the reference");
        return exit_bug;
    }
    array::convergent_matrix<double> rounded(ranks, s.size, s.size, 32, 32);
    hessian.copy_to(rounded);
    io::save_matrix(rounded, s.folder + "/result.h5", "hessian", {.upper_only = true});
    io::save_array(io::stored(gradient), ranks, s.folder + "/result.h5", "gradient", {.append = true}, {});
    say(ranks, "done, equal to the reference");
    return 0;
}

template <class T> void write_type(runtime::world& ranks, const std::string& path, const std::string& name, bool append) {
    array::convergent_matrix<T> matrix(ranks, 13, 9, 2, 2);
    const auto& l = matrix.layout();
    const int me = ranks.rank();
    for (std::int64_t j = 0; j < l.local_cols(me); ++j) {
        for (std::int64_t i = 0; i < l.local_rows(me); ++i) {
            const auto row = l.rows.global(l.process_row(me), i);
            const auto col = l.cols.global(l.process_col(me), j);
            auto& element = matrix.local()[static_cast<std::size_t>(i + j * l.leading_dimension(me))];
            if constexpr (requires { element.imag(); }) {
                using real = typename T::value_type;
                element = {static_cast<real>(100 * row + col), static_cast<real>(-row)};
            } else {
                element = static_cast<T>(100 * row + col);
            }
        }
    }
    matrix.commit();
    io::save_matrix(matrix, path, name, {.append = append});
}

int types(const settings& s, runtime::world& ranks) {
    const auto path = s.folder + "/types.h5";
    write_type<float>(ranks, path, "float32", false);
    write_type<double>(ranks, path, "float64", true);
    write_type<std::complex<float>>(ranks, path, "complex64", true);
    write_type<std::complex<double>>(ranks, path, "complex128", true);
    write_type<std::int64_t>(ranks, path, "int64", true);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    std::signal(SIGXFSZ, SIG_IGN); // a limit on file sizes is then an error like a full disk
    try {
        const comm::environment environment;
        const settings s = parse(argc, argv);
        runtime::world ranks(comm::communicator::world());
        try {
            const std::string what = argc > 1 ? argv[1] : ""; // what main gives
            const int code = what == "types" ? types(s, ranks) : run(s, ranks);
            ranks.barrier();
            return code;
        } catch (const user_error& error) {
            // Every rank has the same error: each says so, and none needs to be ended by force.
            std::fprintf(stderr, "craton: error: rank %d: %s\n", ranks.rank(), error.what());
            return exit_user_error;
        }
    } catch (const std::exception& error) {
        comm::environment::abort(std::string("craton: error: ") + error.what(), exit_user_error);
    }
}
