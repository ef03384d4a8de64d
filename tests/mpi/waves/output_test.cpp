#include "../../expect_user_error.hpp"
#include "../../waves_brick.hpp"
#include "../io/shared_folder.hpp"

#include <craton/apps/waves/fourier_output.hpp>
#include <craton/apps/waves/in_situ.hpp>
#include <craton/apps/waves/output.hpp>

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

namespace output_tests {
namespace {

using namespace craton;
using namespace craton::waves;
using tests::brick_of;
using tests::expect_user_error;
using tests::plain_brick;
namespace fs = std::filesystem;

const grid_extent grid{{14, 12, 10}, 100.0};
constexpr double dt_s = 0.01;
constexpr std::int64_t steps = 23;
constexpr double lambda = 3 * 0x1p33; // what a compact_field holds
constexpr double mu = 2 * 0x1p33;

// Fields that are polynomials in space, in units of cells, and grow in time: field number n, in m/s and Pa.
double space(std::size_t n, double x, double y, double z) {
    const double m = static_cast<double>(n) + 1;
    return m + 0.3 * x - 0.02 * m * y * y + 0.1 * z + 0.001 * x * y * z;
}
double field_at(std::size_t n, std::int64_t step, double x, double y, double z) {
    return (n < 3 ? 1.0 : 1e5) * space(n, x, y, z) * (1 + 0.1 * static_cast<double>(step));
}

double strain_at(std::size_t c, std::int64_t step, double x, double y, double z) {
    const auto stress = [&](std::size_t n) { return field_at(3 + n, step, x, y, z); };
    if (c >= 3) return stress(c) / (2 * mu);
    const double sg1 = (lambda + mu) / (mu * (3 * lambda + 2 * mu));
    const double sg2 = -lambda / (2 * mu * (3 * lambda + 2 * mu));
    return sg1 * stress(c) + sg2 * (stress((c + 1) % 3) + stress((c + 2) % 3));
}

// What stands for a solver: a brick per rank, whose fields are filled at each step.
class stand_in {
  public:
    stand_in(int rank, int size) : brick_(brick_of(grid.cells, cuts(size), rank)) {
        brick_.fill(plain_brick::lambda, {}, [](double, double, double) { return lambda; });
        for (std::size_t n = plain_brick::mu; n <= plain_brick::mu_yz; ++n)
            brick_.fill(n, {}, [](double, double, double) { return mu; });
    }
    static array::index3 cuts(int size) { return size == 4 ? array::index3{2, 1, 2} : array::index3{1, size, 1}; }

    void run(in_situ& modules, std::int64_t first, std::int64_t last) {
        for (std::int64_t step = first; step < last; ++step) {
            for (std::size_t n = 0; n < 9; ++n)
                brick_.fill(n, staggering_of(static_cast<field>(n)),
                            [&](double x, double y, double z) { return field_at(n, step, x, y, z); });
            modules.after_step(step, dt_s * static_cast<double>(step + 1), brick_.view());
        }
    }
    [[nodiscard]] brick_view view() { return brick_.view(); }

  private:
    plain_brick brick_;
};

class output_test : public testing::Test {
  protected:
    output_test() : ranks_(comm::communicator::world()), world_(ranks_), folder_(ranks_), solver_(ranks_.rank(), ranks_.size()) {}

    static std::vector<float> read(const std::string& path, const std::string& name, const std::vector<hsize_t>& shape) {
        const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t set = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
        const hid_t space = H5Dget_space(set);
        std::vector<hsize_t> found(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
        H5Sget_simple_extent_dims(space, found.data(), nullptr);
        EXPECT_EQ(found, shape) << name;
        std::vector<float> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
        EXPECT_GE(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
        H5Sclose(space);
        H5Dclose(set);
        H5Fclose(file);
        return values;
    }
    static double number(const std::string& path, const std::string& dataset, const char* name) {
        double value = std::numeric_limits<double>::quiet_NaN();
        const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t attribute = H5Aopen_by_name(file, dataset.c_str(), name, H5P_DEFAULT, H5P_DEFAULT);
        H5Aread(attribute, H5T_NATIVE_DOUBLE, &value);
        H5Aclose(attribute);
        H5Fclose(file);
        return value;
    }
    [[nodiscard]] output_plan plan(const std::string& name, schedule when, std::int64_t resume_at_step = 0) const {
        output_plan made{folder_.file(name), when, dt_s, {{"force_xyz", std::vector<double>{0, 0, 1}}}, {}, resume_at_step};
        made.file.samples_at_once = 4;
        return made;
    }
    void add_all(in_situ& modules, std::int64_t resume_at_step) {
        const auto view = solver_.view();
        modules.add(
            make_strain_writer(world_, plan("sgt.h5", {1, 3, steps}, resume_at_step), points_, grid, view, nullptr, &team_));
        modules.add(
            make_station_writer(world_, plan("stations.h5", {0, 1, steps}, resume_at_step), stations_, grid, view, nullptr));
        modules.add(make_snapshot_writer(world_, plan("surface.h5", {4, 6, steps}, resume_at_step), {field::vx, field::vz},
                                         {{0, 0, 0}, {14, 12, 1}}, {2, 1, 1}, grid, view));
        modules.add(make_snapshot_writer(world_, plan("volume.h5", {0, 10, steps}, resume_at_step), {field::yz},
                                         {{1, 2, 0}, {14, 11, 10}}, {3, 2, 4}, grid, view));
    }
    void expect_files() {
        ranks_.barrier();
        if (ranks_.rank() == 0) {
            expect_series("sgt.h5", "sgt", points_, 6, {1, 3, steps}, strain_at, 1e-9);
            expect_series("stations.h5", "velocity", stations_, 3, {0, 1, steps}, field_at, 3e-4);
            EXPECT_EQ(number(folder_.file("sgt.h5"), "sgt", "dt_s"), 3 * dt_s);
            EXPECT_EQ(number(folder_.file("sgt.h5"), "sgt", "first_time_s"), 2 * dt_s);
            EXPECT_EQ(number(folder_.file("stations.h5"), "velocity", "first_time_s"), 0.5 * dt_s);
            EXPECT_EQ(number(folder_.file("surface.h5"), "vz", "first_time_s"), 4.5 * dt_s);
            expect_pictures("surface.h5", {field::vx, field::vz}, {4, 6, steps}, {0, 0, 0}, {7, 12, 1}, {2, 1, 1});
            expect_pictures("volume.h5", {field::yz}, {0, 10, steps}, {1, 2, 0}, {5, 5, 3}, {3, 2, 4});
        }
        ranks_.barrier();
    }

    const std::vector<position_m> points_{{250, 350, 450}, {1133, 871, 520},  {50, 50, 50},
                                          {700, 600, 500}, {701, 399.5, 499}, {1350, 1150, 950}};
    const std::vector<position_m> stations_{{700, 600, 0}, {333, 444, 0}, {1400, 1200, 1000}, {0, 0, 0}};
    comm::communicator ranks_;
    runtime::world world_;
    tests::shared_folder folder_;
    stand_in solver_;
    base::thread_team team_{2};

  private:
    template <class Value>
    void expect_series(const std::string& name, const std::string& dataset, const std::vector<position_m>& at,
                       std::size_t components, schedule when, Value value, double tolerance) {
        const auto samples = static_cast<hsize_t>(when.samples());
        const auto found = read(folder_.file(name), dataset, {at.size(), components, samples});
        std::size_t n = 0;
        for (const auto& p : at) {
            for (std::size_t c = 0; c < components; ++c) {
                for (std::int64_t t = 0; t < when.samples(); ++t)
                    ASSERT_NEAR(found[n++],
                                value(c, when.first + t * when.every, p[0] / grid.h_m, p[1] / grid.h_m, p[2] / grid.h_m), tolerance)
                        << name << ": " << p[0] << ", " << c << ", " << t;
            }
        }
    }
    void expect_pictures(const std::string& name, const std::vector<field>& fields, schedule when, const array::index3& low,
                         const array::index3& extent, const array::index3& stride) {
        for (const field which : fields) {
            const auto n = [](std::int64_t m) { return static_cast<hsize_t>(m); };
            const auto found =
                read(folder_.file(name), name_of(which), {n(when.samples()), n(extent[2]), n(extent[1]), n(extent[0])});
            const auto where = staggering_of(which);
            const auto at = [&](std::int64_t cell, std::size_t d) {
                return static_cast<double>(low[d] + cell * stride[d]) + (where[d] ? 0.0 : 0.5);
            };
            std::size_t m = 0;
            for (std::int64_t t = 0; t < when.samples(); ++t)
                for (std::int64_t k = 0; k < extent[2]; ++k)
                    for (std::int64_t j = 0; j < extent[1]; ++j)
                        for (std::int64_t i = 0; i < extent[0]; ++i)
                            ASSERT_EQ(found[m++],
                                      static_cast<float>(field_at(static_cast<std::size_t>(which), when.first + t * when.every,
                                                                  at(i, 0), at(j, 1), at(k, 2))));
        }
    }
};

TEST_F(output_test, files_of_a_run_hold_what_the_fields_were) {
    in_situ modules;
    add_all(modules, 0);
    solver_.run(modules, 0, steps);
    for (const char* name : {"sgt.h5", "stations.h5", "surface.h5", "volume.h5"}) EXPECT_FALSE(fs::exists(folder_.file(name)));
    modules.finish();
    expect_files();
}

// Sum of exp(-2 pi i f t) values dt, as the header has it. stays: the last value goes on for ever; a sum that turns for ever is the
// mean of its partial sums, over whole turns.
template <class Value>
std::complex<double> transform_of(Value value, std::size_t c, const position_m& p, schedule when, double f, double first_s,
                                  bool stays) {
    std::complex<double> sum;
    if (stays && f > 0) {
        constexpr int whole_turns = 500; // of all frequencies of the test
        const std::int64_t last = when.first + (when.samples() - 1) * when.every;
        const double sample_s = dt_s * static_cast<double>(when.every);
        std::complex<double> partial;
        for (int n = 1; n <= whole_turns; ++n) {
            const double time_s = first_s + dt_s * static_cast<double>(last) + sample_s * n;
            partial += std::polar(sample_s, -2 * std::numbers::pi * f * time_s);
            sum += partial / static_cast<double>(whole_turns);
        }
        sum *= value(c, last, p[0] / grid.h_m, p[1] / grid.h_m, p[2] / grid.h_m);
    }
    for (std::int64_t t = 0; t < when.samples(); ++t) {
        const std::int64_t step = when.first + t * when.every;
        const double time_s = first_s + dt_s * static_cast<double>(step);
        sum += value(c, step, p[0] / grid.h_m, p[1] / grid.h_m, p[2] / grid.h_m) *
               std::polar(dt_s * static_cast<double>(when.every), -2 * std::numbers::pi * f * time_s);
    }
    return sum;
}

TEST_F(output_test, spectra_are_fourier_transforms_of_what_the_fields_were) {
    const schedule when{1, 2, steps};
    for (const bool half : {false, true}) {
        const fourier_plan fourier{{0, 1.5, 7, 24.9}, half};
        const std::string strains = half ? "strains-16.h5" : "strains.h5";
        const std::string velocities = half ? "velocities-16.h5" : "velocities.h5";
        in_situ modules;
        modules.add(make_strain_spectra(world_, plan(strains, when), fourier, points_, grid, solver_.view(), nullptr, &team_));
        modules.add(make_velocity_spectra(world_, plan(velocities, when), fourier, stations_, grid, solver_.view(), nullptr));
        solver_.run(modules, 0, steps);
        EXPECT_FALSE(fs::exists(folder_.file(strains)));
        modules.finish();
        ranks_.barrier();
        const auto expect = [&](const std::string& name, const std::vector<position_m>& at, std::size_t components, auto value,
                                double first_s, double tolerance) {
            const std::size_t rows = 2 * fourier.frequencies_hz.size();
            const auto found = read(folder_.file(name), "spectra", {at.size(), components, rows});
            std::vector<float> exponents(at.size() * components);
            if (half) exponents = read(folder_.file(name), "exponents", {at.size(), components});
            for (std::size_t n = 0; n < exponents.size(); ++n) {
                double largest = 0;
                for (std::size_t row = 0; row < rows; ++row)
                    largest =
                        std::max(largest, std::ldexp(std::abs(double{found[n * rows + row]}), static_cast<int>(exponents[n])));
                for (std::size_t k = 0; k < fourier.frequencies_hz.size(); ++k) {
                    const auto right = transform_of(value, n % components, at[n / components], when, fourier.frequencies_hz[k],
                                                    first_s, components == 6);
                    const auto part = [&](std::size_t m) {
                        return std::ldexp(double{found[n * rows + 2 * k + m]}, static_cast<int>(exponents[n]));
                    };
                    const double allowed = tolerance + (half ? largest * 0x1p-11 : 0.0);
                    ASSERT_NEAR(part(0), right.real(), allowed) << name << ", " << n << ", " << k << ", " << half;
                    ASSERT_NEAR(part(1), right.imag(), allowed) << name << ", " << n << ", " << k << ", " << half;
                }
            }
        };
        if (ranks_.rank() == 0) {
            expect(strains, points_, 6, strain_at, dt_s, 1e-9);
            expect(velocities, stations_, 3, field_at, 0.5 * dt_s, 3e-4);
            EXPECT_EQ(number(folder_.file(strains), "spectra", "dt_s"), 2 * dt_s);
        }
        ranks_.barrier();
    }
}

TEST_F(output_test, spectra_that_cannot_be_summed_are_refused) {
    const auto view = solver_.view();
    const auto with = [&](std::vector<double> frequencies) {
        return make_strain_spectra(world_, plan("a.h5", {0, 2, steps}), {std::move(frequencies)}, points_, grid, view, nullptr);
    };
    expect_user_error([&] { static_cast<void>(with({})); }, {"no frequencies", "allowed: one or more"});
    expect_user_error([&] { static_cast<void>(with({1, 25})); }, {"frequency 25 Hz", "below 25 Hz"});
    expect_user_error([&] { static_cast<void>(with({-1})); }, {"frequency -1 Hz", "allowed: 0 or more"});
    auto modules = with({1});
    expect_user_error([&] { modules->save(); }, {"checkpoint", "spectra"});
}

TEST_F(output_test, interrupted_runs_go_on_from_their_checkpoint) {
    {
        in_situ modules;
        add_all(modules, 0);
        solver_.run(modules, 0, 9);
        modules.save(); // the checkpoint
        solver_.run(modules, 9, 18);
    } // and the end of this run
    in_situ modules;
    add_all(modules, 9);
    solver_.run(modules, 9, 13);
    modules.save();
    solver_.run(modules, 13, steps);
    modules.finish();
    expect_files();
}

TEST_F(output_test, what_users_ask_for_in_vain_is_one_line_on_every_rank) {
    const auto view = solver_.view();
    auto bad = points_;
    bad[3][2] = std::numeric_limits<double>::quiet_NaN();
    expect_user_error([&] { static_cast<void>(make_strain_writer(world_, plan("a.h5", {0, 1, 5}), bad, grid, view, nullptr)); },
                      "strain point 4 of 6: z = nan m is not in the grid; allowed: 0 to 1000 m");
    expect_user_error([&] { static_cast<void>(make_station_writer(world_, plan("a.h5", {0, 1, 5}), {}, grid, view, nullptr)); },
                      "cannot save seismograms: 0 points; allowed: 1 or more");
    expect_user_error(
        [&] {
            static_cast<void>(
                make_strain_writer(world_, plan("a.h5", {0, 1, std::int64_t{1} << 44}), points_, grid, view, nullptr));
        },
        "are free");
    expect_user_error([&] { static_cast<void>(make_strain_writer(world_, plan("a.h5", {7, 1, 5}), points_, grid, view, nullptr)); },
                      "0 samples; allowed: 1 or more");
    const auto snapshots = [&](std::vector<field> fields, const array::domain& cells, const array::index3& stride) {
        return [&, fields, cells, stride] {
            static_cast<void>(make_snapshot_writer(world_, plan("a.h5", {0, 1, 5}), fields, cells, stride, grid, view));
        };
    };
    expect_user_error(snapshots({field::vx}, {{0, 0, 0}, {14, 13, 1}}, {1, 1, 1}),
                      "snapshots: cells 0 to 13 along y (the last not included); allowed: a range within 0 to 12");
    expect_user_error(snapshots({field::vx}, {{0, 0, 3}, {14, 12, 3}}, {1, 1, 1}), "snapshots: cells 3 to 3 along z");
    expect_user_error(snapshots({field::vx}, {{0, 0, 0}, {14, 12, 1}}, {1, 0, 1}),
                      "snapshots: stride 0 along y; allowed: 1 or more");
    expect_user_error(snapshots({}, {{0, 0, 0}, {14, 12, 1}}, {1, 1, 1}), "snapshots: no fields");
    EXPECT_FALSE(fs::exists(folder_.file("a.h5.partial")));
}

} // namespace

} // namespace output_tests
