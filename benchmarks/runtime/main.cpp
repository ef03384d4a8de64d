// Latency, rate and bandwidth of every part of the runtime, each beside plain MPI doing the same in the same run.
//
//   mpiexec -n 2 runtime_benchmark [--ranks-per-node K] [--output FILE] [messages ...]

#include "measure.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/comm/environment.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace craton;
using measurement = void (*)(runtime::world&, benchmarks::report&);

const std::map<std::string, measurement>& measurements() {
    static const std::map<std::string, measurement> all{
        {"messages", benchmarks::measure_messages}, {"copies", benchmarks::measure_copies},
        {"counter", benchmarks::measure_counter},   {"synchronisation", benchmarks::measure_synchronisation},
        {"crowding", benchmarks::measure_crowding}, {"progress", benchmarks::measure_progress}};
    return all;
}

struct arguments {
    int ranks_per_node = 0;
    std::string output;
    std::vector<std::string> chosen;
};

arguments parse(const std::vector<std::string>& words) {
    arguments result;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--ranks-per-node" && i + 1 < words.size()) {
            result.ranks_per_node = std::atoi(words[++i].c_str());
        } else if (words[i] == "--output" && i + 1 < words.size()) {
            result.output = words[++i];
        } else if (measurements().contains(words[i])) {
            result.chosen.push_back(words[i]);
        } else {
            std::string names;
            for (const auto& [name, function] : measurements()) names += " " + name;
            throw user_error(fmt::format("runtime_benchmark: unknown argument '{}'; allowed: --ranks-per-node K, --output FILE,{}",
                                         words[i], names));
        }
    }
    if (result.chosen.empty()) {
        for (const auto& [name, function] : measurements()) result.chosen.push_back(name);
    }
    return result;
}

} // namespace

int main(int argc, char** argv) {
    try {
        const comm::environment environment;
        const auto wanted = parse({argv + 1, argv + argc});
        runtime::world world(comm::communicator::world(), {wanted.ranks_per_node});
        if (world.size() < 2) throw user_error("runtime_benchmark: 1 rank; allowed: 2 or more");
        benchmarks::report out("runtime", world.size(), wanted.ranks_per_node);
        for (const auto& name : wanted.chosen) measurements().at(name)(world, out);
        if (world.rank() == 0) out.write(wanted.output);
        world.barrier();
        return 0;
    } catch (const std::exception& error) {
        comm::environment::abort(fmt::format("craton: {}", error.what()), exit_user_error);
    }
}
