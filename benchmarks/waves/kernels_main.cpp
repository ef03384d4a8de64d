// The updates of the wave kernels on one brick with a free surface, without boundaries, sources or halos: millions of cells a
// second by two sweeps and by wavefronts, beside the bandwidth of reading and writing memory in place at the same moment.
//   waves_kernels_benchmark [--side 200,320] [--threads 1,2] [--repeats 7] [--rows 0] [--parts 0] [--stagger 29]
// rows 0: as wavefront_block; parts 0: one per thread; stagger: cache lines by which each array's start is shifted against the one
// before.

#include <craton/apps/waves/kernels/updates.hpp>
#include <craton/apps/waves/kernels/wavefront.hpp>
#include <craton/base/error.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/base/timer.hpp>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace craton;
using namespace craton::waves;

// Fields and media of a brick in one allocation in huge pages.
class arrays {
  public:
    static constexpr std::int64_t count = 25;

    arrays(const brick_shape& shape, std::int64_t stagger) : first_(line + halo * (shape.pitch + shape.plane)) {
        const std::int64_t values = shape.plane * (shape.nz + 2 * halo) + 2 * line;
        apart_ = (values + page - 1) / page * page + stagger * line;
        memory_ = static_cast<float*>(::operator new(bytes(), huge_page));
        ::madvise(memory_, bytes(), MADV_HUGEPAGE);
        // Values that stay far from denormal numbers for any number of steps.
        for (std::int64_t n = 0; n < apart_ * count; ++n) memory_[n] = 1e-3F * static_cast<float>(n * 2654435761 >> 20 & 255);
        for (std::int64_t n = 2 * apart_ * 9; n < 2 * apart_ * 19; ++n)
            reinterpret_cast<std::uint16_t*>(memory_)[n] = half_of(1e-3F * static_cast<float>(n * 2654435761 >> 20 & 255), 0.5F);
    }
    arrays(const arrays&) = delete;
    arrays& operator=(const arrays&) = delete;
    ~arrays() { ::operator delete(memory_, bytes(), huge_page); }

    [[nodiscard]] vector_field<float> velocity() const { return {at(0), at(1), at(2)}; }
    [[nodiscard]] tensor_field<float> stress() const { return {at(3), at(4), at(5), at(6), at(7), at(8)}; }
    [[nodiscard]] elastic_media media() const {
        return {{medium(9), medium(10), medium(11)}, medium(12), medium(13), medium(14), medium(15), medium(16)};
    }
    [[nodiscard]] attenuation_media attenuation() const {
        return {medium(17), medium(18), {0.90F, 0.91F, 0.92F, 0.93F, 0.94F, 0.95F, 0.96F, 0.97F}, 0};
    }
    [[nodiscard]] tensor_field<float> memory_variables() const { return {at(19), at(20), at(21), at(22), at(23), at(24)}; }
    [[nodiscard]] float* begin() const { return memory_; }
    [[nodiscard]] std::int64_t size() const { return apart_ * count; }

  private:
    static constexpr std::align_val_t huge_page{2 << 20};
    static constexpr std::int64_t line = 16;
    static constexpr std::int64_t page = 1024;

    // In the first half of the room of an array of floats.
    [[nodiscard]] compact_field medium(std::int64_t n) const {
        return {reinterpret_cast<const std::uint16_t*>(memory_ + apart_ * n) + first_, 1};
    }
    [[nodiscard]] float* at(std::int64_t n) const { return memory_ + apart_ * n + first_; }
    [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(apart_ * count) * sizeof(float); }

    float* memory_ = nullptr;
    std::int64_t apart_ = 0, first_;
};

// Bytes read and written per second when every thread changes values where they lie.
double in_place_bandwidth(base::thread_team& team, const arrays& all) {
    const std::int64_t parts = 64;
    const std::int64_t line = 16;
    const std::int64_t lines = all.size() / line / parts;
    const base::timer watch;
    team.for_each(parts, [&](std::int64_t part) {
        for (float* at = all.begin() + part * lines * line; at < all.begin() + (part + 1) * lines * line; at += line) {
            for (std::int64_t n = 0; n < line; ++n) at[n] *= 0.9999F;
        }
    });
    return 2.0 * sizeof(float) * static_cast<double>(parts * lines * line) / watch.seconds();
}

// One step of everything, with and without memory variables, in two ways.
class stepper {
  public:
    stepper(const brick_shape& shape, const arrays& of, base::thread_team& team, std::int64_t rows, std::int64_t parts)
        : shape_(shape), of_(of), team_(team), block_(wavefront_block::of(shape, true)) {
        if (rows != 0) block_.rows = rows;
        const cell_range all{0, shape.nx, 0, shape.ny, 0, shape.nz};
        plan_ = plan_wavefronts(all, all, parts == 0 ? team.size() : parts);
        for (std::int64_t n = 0; n < surface_closure::planes; ++n) {
            closure_.plus[static_cast<std::size_t>(n)].fill(0.1);
            closure_.minus[static_cast<std::size_t>(n)].fill(0.1);
        }
        // Blocks of about 20 rows, which is what fits the second-level cache, in four pieces for the threads to share evenly.
        const std::int64_t blocks = (shape.ny + 19) / 20;
        const std::int64_t pieces = 4;
        for (std::int64_t n = 0; n < blocks * pieces; ++n) {
            const std::int64_t b = n / pieces;
            const std::int64_t p = n % pieces;
            tasks_.push_back({0, shape.nx, shape.ny * b / blocks, shape.ny * (b + 1) / blocks, shape.nz * p / pieces,
                              shape.nz * (p + 1) / pieces});
        }
    }

    void two_sweeps(bool lossy) {
        for_each(tasks_, [&](const cell_range& cells) { velocity(cells); });
        for_each(tasks_, [&](const cell_range& cells) { stress(cells, lossy); });
    }
    void wavefronts(bool lossy) {
        for_each(plan_.parts, [&](const wavefront& part) {
            wavefront_blocks(part, block_)
                .run(
                    wavefront_blocks::from::first_row, true, [&](const cell_range& cells) { velocity(cells); },
                    [&](const cell_range& cells) { stress(cells, lossy); });
        });
        for_each(plan_.between, [&](const cell_range& cells) { stress(cells, lossy); });
    }

  private:
    template <class T, class What> void for_each(const std::vector<T>& all, const What& what) {
        team_.for_each(static_cast<std::int64_t>(all.size()), [&](std::int64_t n) { what(all[static_cast<std::size_t>(n)]); });
    }
    void velocity(const cell_range& cells) {
        update_velocity(shape_, cells, of_.velocity(), of_.stress(), of_.media(), step_, &closure_);
    }
    void stress(const cell_range& cells, bool lossy) {
        if (lossy)
            update_stress(shape_, cells, of_.stress(), of_.memory_variables(), of_.velocity(), of_.media(), of_.attenuation(),
                          step_, &closure_);
        else
            update_stress(shape_, cells, of_.stress(), of_.velocity(), of_.media(), step_, &closure_);
    }

    brick_shape shape_;
    const arrays& of_;
    base::thread_team& team_;
    wavefront_block block_;
    wavefront_plan plan_;
    surface_closure closure_;
    std::vector<cell_range> tasks_;
    differences step_ = differences::of(0.01, 1); // small: values stay finite for thousands of steps
};

void measure(std::int64_t side, int threads, std::map<std::string, std::string>& given) {
    const std::int64_t line = 16;
    const std::int64_t pitch = (side + 2 * halo + line - 1) / line * line;
    const brick_shape shape{side, side, side, pitch, pitch * (side + 2 * halo)};
    const arrays all(shape, std::stol(given["--stagger"]));
    base::thread_team team(threads);
    stepper steps(shape, all, team, std::stol(given["--rows"]), std::stol(given["--parts"]));
    double bandwidth = 0;
    double seconds[2][2] = {{1e300, 1e300}, {1e300, 1e300}}; // elastic, anelastic; two sweeps, wavefronts
    for (int repeat = 0; repeat < std::stoi(given["--repeats"]); ++repeat) {
        bandwidth = std::max(bandwidth, in_place_bandwidth(team, all));
        for (const bool lossy : {false, true}) {
            for (const bool fronts : {false, true}) {
                const base::timer watch;
                fronts ? steps.wavefronts(lossy) : steps.two_sweeps(lossy);
                seconds[lossy][fronts] = std::min(seconds[lossy][fronts], watch.seconds());
            }
        }
    }
    fmt::print("{}^3, {} thread{}: in place {:.1f} GB/s\n", side, threads, threads == 1 ? "" : "s", bandwidth * 1e-9);
    for (const bool lossy : {false, true}) {
        const double bytes = lossy ? 176 : 120;
        const auto speed = [&](bool fronts) { return static_cast<double>(side * side * side) / seconds[lossy][fronts]; };
        fmt::print("  {:<10} two sweeps {:4.0f} M cells/s, {:.3f} of bandwidth / {} B; wavefronts {:4.0f}, {:.3f}\n",
                   lossy ? "anelastic:" : "elastic:", speed(false) * 1e-6, speed(false) * bytes / bandwidth, bytes,
                   speed(true) * 1e-6, speed(true) * bytes / bandwidth);
    }
}

std::vector<std::int64_t> numbers(const std::string& list) {
    std::vector<std::int64_t> all;
    std::istringstream in(list);
    for (std::string each; std::getline(in, each, ',');) all.push_back(std::stol(each));
    return all;
}

} // namespace

int main(int argc, char** argv) {
    try {
        std::map<std::string, std::string> given{{"--side", "200,320"}, {"--threads", "1,2"}, {"--repeats", "7"},
                                                 {"--rows", "0"},       {"--parts", "0"},     {"--stagger", "29"}};
        for (int a = 1; a + 1 < argc; a += 2) {
            if (!given.contains(argv[a]))
                throw user_error(fmt::format("'{}'; allowed: --side, --threads, --repeats, --rows, --parts, --stagger", argv[a]));
            given[argv[a]] = argv[a + 1];
        }
        for (const std::int64_t side : numbers(given["--side"])) {
            for (const std::int64_t threads : numbers(given["--threads"])) measure(side, static_cast<int>(threads), given);
        }
    } catch (const std::exception& error) { // numbers that are none among them
        fmt::print(stderr, "waves_kernels_benchmark: {}\n", error.what());
        return exit_user_error;
    }
    return 0;
}
