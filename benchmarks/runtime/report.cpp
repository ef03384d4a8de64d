#include "report.hpp"

#include <craton/base/build_config.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

namespace craton::benchmarks {

spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::ranges::sort(values);
    return {values[values.size() / 2], values.front(), values.back()};
}

report::report(std::string_view benchmark, int ranks, int ranks_per_node)
    : benchmark_(benchmark), ranks_(ranks), ranks_per_node_(ranks_per_node) {}

void report::add(figure line) { figures_.push_back(std::move(line)); }

void report::write(const std::string& path) const {
    namespace config = base::build_config;
    std::array<char, 256> host{};
    static_cast<void>(::gethostname(host.data(), host.size() - 1));
    std::string text =
        fmt::format("{{\"benchmark\": \"{}\", \"host\": \"{}\", \"cores\": {}, \"commit\": \"{}\", \"compiler\": \"{}\", "
                    "\"build_type\": \"{}\", \"flags\": \"{}\", \"ranks\": {}, \"ranks_per_node\": {},\n \"figures\": [\n",
                    benchmark_, host.data(), std::thread::hardware_concurrency(), config::commit, config::compiler,
                    config::build_type, config::flags, ranks_, ranks_per_node_);
    for (std::size_t i = 0; i < figures_.size(); ++i) {
        const auto& f = figures_[i];
        text += fmt::format("  {{\"operation\": \"{}\", \"by\": \"{}\", \"bytes\": {}, \"unit\": \"{}\", \"median\": {:.4g}, "
                            "\"least\": {:.4g}, \"most\": {:.4g}}}{}\n",
                            f.operation, f.by, f.bytes, f.unit, f.value.median, f.value.least, f.value.most,
                            i + 1 < figures_.size() ? "," : "");
    }
    text += " ]}\n";
    if (path.empty()) {
        std::fputs(text.c_str(), stdout);
        return;
    }
    std::ofstream file(path);
    file << text;
    file.flush();
    if (!file) throw user_error(fmt::format("benchmark report: cannot write '{}'; allowed: a path that can be written", path));
}

} // namespace craton::benchmarks
