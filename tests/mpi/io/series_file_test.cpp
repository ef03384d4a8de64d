#include "../../expect_user_error.hpp"
#include "shared_folder.hpp"

#include <craton/comm/environment.hpp>
#include <craton/io/series_file.hpp>
#include <craton/io/snapshot_file.hpp>

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace {

using namespace craton;
using tests::expect_user_error;
namespace fs = std::filesystem;

class running_files : public testing::Test {
  protected:
    running_files() : ranks_(comm::communicator::world()), world_(ranks_), folder_(ranks_) {}

    /// A dataset, read by one rank with nothing of ours.
    [[nodiscard]] static std::vector<float> read(const std::string& path, const std::string& name,
                                                 const std::vector<hsize_t>& shape) {
        const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t set = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
        const hid_t space = H5Dget_space(set);
        std::vector<hsize_t> found(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
        H5Sget_simple_extent_dims(space, found.data(), nullptr);
        EXPECT_EQ(found, shape);
        hsize_t elements = 1;
        for (const hsize_t n : found) elements *= n;
        std::vector<float> values(elements);
        EXPECT_GE(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
        H5Sclose(space);
        H5Dclose(set);
        H5Fclose(file);
        return values;
    }
    [[nodiscard]] static std::int64_t samples_written(const std::string& path) {
        std::int64_t samples = -1;
        const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t set = H5Dopen2(file, "samples_written", H5P_DEFAULT);
        H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &samples);
        H5Dclose(set);
        H5Fclose(file);
        return samples;
    }
    template <class Look> void on_first(Look look) {
        ranks_.barrier();
        if (ranks_.rank() == 0) look();
        ranks_.barrier();
    }

    comm::communicator ranks_;
    runtime::world world_;
    tests::shared_folder folder_;
};

// ---------------------------------------------------------------------------------------------------------------------------------
// series

float value_of(std::int64_t point, std::int64_t component, std::int64_t sample) {
    return static_cast<float>(100000 * component + 100 * point + sample);
}

// Points p with p % 3 == 0 are shared by all ranks, of which the first has all but 1 for each other; the rest are dealt out. In no
// order.
struct dealt {
    std::vector<std::int64_t> points;
    int rank, size;

    dealt(const comm::communicator& ranks, std::int64_t count) : rank(ranks.rank()), size(ranks.size()) {
        for (std::int64_t p = count - 1; p >= 0; --p) {
            if (p % 3 == 0 || p % size == rank) points.push_back(p);
        }
        if (points.size() > 2) std::swap(points[0], points[2]);
    }
    void put(io::series_file& file, std::int64_t components, std::int64_t sample) const {
        std::vector<float> values;
        for (std::int64_t c = 0; c < components; ++c) {
            for (const std::int64_t p : points) {
                float value = value_of(p, c, sample);
                if (p % 3 == 0) value = rank == 0 ? value - static_cast<float>(size - 1) : 1.0F;
                values.push_back(value);
            }
        }
        file.put(values);
    }
};

io::series_description description(std::int64_t points, std::int64_t samples) {
    io::series_description made;
    made.what = "strain Green's tensors";
    made.dataset = "sgt";
    made.points = points;
    made.components = {"xx", "yy"};
    made.samples = samples;
    for (std::int64_t p = 0; p < points; ++p) made.coordinates.push_back({1.5 * static_cast<double>(p), 0.25, -3});
    made.attributes = {
        {"dt_s", 0.125}, {"steps", std::int64_t{7}}, {"unit", std::string("1")}, {"force", std::vector<double>{0, 0, 1}}};
    return made;
}

void expect_series(const std::vector<float>& found, std::int64_t points, std::int64_t samples) {
    std::size_t at = 0;
    for (std::int64_t p = 0; p < points; ++p) {
        for (std::int64_t c = 0; c < 2; ++c) {
            for (std::int64_t t = 0; t < samples; ++t) ASSERT_EQ(found[at++], value_of(p, c, t)) << p << ", " << c << ", " << t;
        }
    }
}

io::running_options at_once(std::int64_t samples, std::size_t buffer_bytes = std::size_t{64} << 20) {
    io::running_options options;
    options.samples_at_once = samples;
    options.transfer.buffer_bytes = buffer_bytes;
    return options;
}

TEST_F(running_files, series_of_shared_points_come_out_in_the_order_of_the_list) {
    const std::string path = folder_.file("series.h5");
    // The last: so many points that there are several chunks of a MiB, and rounds.
    for (const auto& [points, samples, chunk, bytes] :
         {std::tuple{11, 23, 5, std::size_t{1} << 26}, std::tuple{1, 4, 100, std::size_t{1}},
          std::tuple{40, 3, 1, std::size_t{100}}, std::tuple{9000, 45, 20, std::size_t{1} << 20}}) {
        const dealt own(ranks_, points);
        io::series_file file(world_, path, description(points, samples), own.points, at_once(chunk, bytes));
        for (std::int64_t t = 0; t < samples; ++t) {
            own.put(file, 2, t);
            EXPECT_EQ(file.samples(), t + 1);
            EXPECT_EQ(file.full(), (t + 1) % std::min<std::int64_t>(chunk, samples) == 0);
            if (file.full()) file.flush();
            if (t == 1) file.sync(); // in the middle of a chunk
        }
        EXPECT_FALSE(fs::exists(path));
        file.finish();
        EXPECT_FALSE(fs::exists(path + ".partial"));
        const auto n = [](std::int64_t m) { return static_cast<hsize_t>(m); };
        on_first([&] {
            expect_series(read(path, "sgt", {n(points), 2, n(samples)}), points, samples);
            EXPECT_EQ(read(path, "coordinates", {n(points), 3})[static_cast<std::size_t>(3 * points - 3)],
                      1.5F * static_cast<float>(points - 1));
            EXPECT_EQ(samples_written(path), samples);
            fs::remove(path);
        });
    }
}

TEST_F(running_files, series_are_the_same_however_many_ranks_write_them) {
    const std::string path = folder_.file("writers.h5");
    const std::int64_t points = 9000, samples = 21;
    const dealt own(ranks_, points);
    for (const std::string cb_nodes : {"1", "2", "3", "64", "0", "some"}) {
        auto options = at_once(20, std::size_t{1} << 20);
        options.transfer.hints = {{"cb_nodes", cb_nodes}};
        io::series_file file(world_, path, description(points, samples), own.points, options);
        for (std::int64_t t = 0; t < samples; ++t) {
            own.put(file, 2, t);
            if (file.full()) file.flush();
        }
        file.finish();
        on_first([&] { expect_series(read(path, "sgt", {9000, 2, 21}), points, samples); });
    }
}

TEST_F(running_files, series_in_16_bits_have_eleven_and_an_exponent_each) {
    const std::string path = folder_.file("halves.h5");
    for (const auto& [points, samples, bytes] :
         {std::tuple{11, 6, std::size_t{1} << 26}, std::tuple{9000, 8, std::size_t{1} << 20}}) {
        const dealt own(ranks_, points);
        auto what = description(points, samples);
        what.half = true;
        auto options = at_once(samples, bytes);
        options.transfer.verify = io::read_back::everything;
        io::series_file file(world_, path, what, own.points, options);
        for (std::int64_t t = 0; t < samples; ++t) own.put(file, 2, t);
        file.finish();
        const auto n = [](std::int64_t m) { return static_cast<hsize_t>(m); };
        on_first([&] {
            const auto found = read(path, "sgt", {n(points), 2, n(samples)});
            const auto exponents = read(path, "exponents", {n(points), 2});
            for (std::int64_t series = 0; series < 2 * points; ++series) {
                const auto exponent = static_cast<int>(exponents[static_cast<std::size_t>(series)]);
                for (std::int64_t t = 0; t < samples; ++t) {
                    const float right = value_of(series / 2, series % 2, t);
                    const float value = std::ldexp(found[static_cast<std::size_t>(series * samples + t)], exponent);
                    ASSERT_LE(std::abs(value - right), 0x1p-11F * std::abs(right)) << series << ", " << t;
                }
            }
            EXPECT_LT(fs::file_size(path), n(points * (2 * samples * 2 + 24 + 8) + 100'000)); // not four bytes each
            fs::remove(path);
        });
    }
    auto what = description(11, 6);
    what.half = true;
    const dealt own(ranks_, 11);
    expect_user_error([&] { io::series_file(world_, path, what, own.points, at_once(5)); },
                      {"16 bits with samples that come in parts", "allowed: all samples at once"});
}

TEST_F(running_files, an_interrupted_series_goes_on_from_any_sample_that_is_there) {
    const std::string path = folder_.file("resumed.h5");
    const std::int64_t points = 30;
    const dealt own(ranks_, points);
    const auto run = [&](io::series_file& file, std::int64_t first, std::int64_t last, std::int64_t wrong) {
        for (std::int64_t t = first; t < last; ++t) {
            own.put(file, 2, t + wrong);
            if (file.full()) file.flush();
        }
    };
    for (const std::int64_t keep : {0, 3, 8, 10}) {
        {
            io::series_file file(world_, path, description(points, 25), own.points, at_once(4));
            run(file, 0, keep, 0);
            run(file, keep, 14, 5000); // dropped later: 12 of the 14 are in the file
        }
        on_first([&] { EXPECT_EQ(samples_written(path + ".partial"), 12); });
        auto options = at_once(keep == 8 ? 7 : 4);
        options.resume_after_samples = keep;
        io::series_file file(world_, path, description(points, 25), own.points, options);
        EXPECT_EQ(file.samples(), keep);
        EXPECT_EQ(file.pending(), 0);
        on_first([&] { EXPECT_EQ(samples_written(path + ".partial"), keep); });
        run(file, keep, 25, 0);
        file.finish();
        on_first([&] { expect_series(read(path, "sgt", {30, 2, 25}), points, 25); });
    }
}

TEST_F(running_files, only_the_same_run_goes_on) {
    const std::string path = folder_.file("other.h5");
    const dealt own(ranks_, 10);
    auto options = at_once(4);
    options.resume_after_samples = 4;
    const auto resume = [&](const io::series_description& what) {
        return [&, what] { io::series_file(world_, path, what, own.points, options); };
    };
    const auto same = description(10, 25);
    expect_user_error(resume(same), {"cannot go on with strain Green's tensors in '", "other.h5.partial': there is no such file"});
    {
        io::series_file file(world_, path, same, own.points, at_once(4));
        for (std::int64_t t = 0; t < 3; ++t) own.put(file, 2, t);
        file.flush();
    }
    expect_user_error(resume(same), "it has 3 samples but the run goes on after 4; allowed: as many or more");
    options.resume_after_samples = 2;
    expect_user_error(resume(description(10, 26)), "its 'sgt' is 10 x 2 x 25 but this run's 10 x 2 x 26");
    auto changed = same;
    changed.attributes["dt_s"] = 0.25;
    expect_user_error(resume(changed), "its dt_s is 0.125 but this run's 0.25");
    changed = same;
    changed.attributes["force"] = std::vector<double>{0, 1, 0};
    expect_user_error(resume(changed), "its force is (0, 0, 1) but this run's (0, 1, 0)");
    changed = same;
    changed.attributes["moment"] = std::int64_t{1};
    expect_user_error(resume(changed), "its moment is missing or of another kind but this run's 1");
    changed = same;
    changed.components = {"xx", "zz"};
    expect_user_error(resume(changed), "its components is 'xx yy' but this run's 'xx zz'");
    changed = same;
    changed.coordinates[4][1] = 0.5;
    expect_user_error(resume(changed), "its point 5 is at (6, 0.25, -3) m but this run's at (6, 0.5, -3) m");
    io::series_file(world_, path, same, own.points, options); // as it was
    on_first([&] { fs::resize_file(path + ".partial", fs::file_size(path + ".partial") / 2); });
    expect_user_error(resume(same), "not a whole HDF5 file");
    on_first([&] { std::ofstream(path + ".partial") << "not HDF5"; });
    expect_user_error(resume(same), "not a whole HDF5 file");
}

TEST_F(running_files, what_cannot_be_made_is_refused_and_leaves_nothing) {
    const dealt own(ranks_, 10);
    const auto make = [&](const std::string& path, const io::series_description& what, io::running_options options = {}) {
        return [&, path, what, options] { io::series_file(world_, path, what, own.points, options); };
    };
    expect_user_error(make(folder_.file("no/such/s.h5"), description(10, 5)),
                      {"cannot save strain Green's tensors to", "there is no folder"});
    const std::string path = folder_.file("s.h5");
    auto what = description(10, 5);
    what.samples = std::int64_t{1} << 44; // more than any disk
    expect_user_error(make(path, what), {"cannot save strain Green's tensors to", "it needs ", " are free"});
    EXPECT_FALSE(fs::exists(path + ".partial"));
    EXPECT_FALSE(fs::exists(path + ".partial.room"));
    what.samples = 0;
    expect_user_error(make(path, what), "0 samples; allowed: 1 or more");
    what = description(10, 5);
    what.components.clear();
    expect_user_error(make(path, what), "no components; allowed: 1 or more");
    what.components = {"xx", "xx"};
    expect_user_error(make(path, what), "components xx, xx; allowed: each name once");
    what = description(10, 5);
    what.dataset = "a/b";
    expect_user_error(make(path, what), "dataset 'a/b'; allowed: a name without '/'");
    what = description(10, 5);
    what.points = 0;
    expect_user_error(make(path, what), "0 points; allowed: 1 or more");
    what.points = 11;
    expect_user_error(make(path, what), "coordinates of 10 points; allowed: of 11");
    expect_user_error(make(path, description(10, 5), at_once(0)), "samples_at_once is 0; allowed: 1 or more");
    auto options = at_once(4);
    options.resume_after_samples = 6;
    expect_user_error(make(path, description(10, 5), options), "resume_after_samples is 6; allowed: 0 to 5");
    EXPECT_FALSE(fs::exists(path + ".partial"));
}

TEST_F(running_files, without_all_samples_there_is_no_name) {
    const std::string path = folder_.file("short.h5");
    const dealt own(ranks_, 10);
    io::series_file file(world_, path, description(10, 5), own.points, at_once(4));
    own.put(file, 2, 0);
    expect_user_error([&] { file.finish(); }, "1 of 5 samples are in; allowed: all");
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(fs::exists(path + ".partial"));
}

// So a run may be killed in the middle of writing: zeros, where there were zeros, leave the file as it was but for one number.
TEST_F(running_files, nothing_but_samples_changes_in_the_file_once_it_is_made) {
    const std::string path = folder_.file("zeros.h5");
    const auto bytes_of = [&] {
        std::ifstream file(path + ".partial", std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const dealt own(ranks_, 300);
    io::series_file file(world_, path, description(300, 50), own.points, at_once(10));
    ranks_.barrier();
    const std::string made = bytes_of();
    const std::vector<float> zeros(2 * own.points.size());
    for (std::int64_t t = 0; t < 50; ++t) {
        file.put(zeros);
        if (file.full()) file.flush();
    }
    ranks_.barrier();
    const std::string written = bytes_of();
    ASSERT_EQ(made.size(), written.size());
    std::size_t changed = 0;
    for (std::size_t n = 0; n < made.size(); ++n) changed += made[n] != written[n] ? 1 : 0;
    EXPECT_EQ(changed, 1U); // 0 became 50
}

// A limit on the size of files stands for a disk that is full, for one rank.
class little_disk {
  public:
    explicit little_disk(rlim_t bytes, bool here) {
        getrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit little{bytes, before_.rlim_max};
        if (here) setrlimit(RLIMIT_FSIZE, &little);
    }
    little_disk(const little_disk&) = delete;
    little_disk& operator=(const little_disk&) = delete;
    ~little_disk() { setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_{};
};

TEST_F(running_files, no_room_when_a_run_begins_is_one_line_on_every_rank) {
    const std::string path = folder_.file("full.h5");
    const dealt own(ranks_, 1000);
    const little_disk full(100000, ranks_.rank() == 0);
    expect_user_error([&] { io::series_file(world_, path, description(1000, 100), own.points, at_once(10)); },
                      {"cannot save strain Green's tensors to", "File too large when reserving"});
    EXPECT_FALSE(fs::exists(path + ".partial"));
    EXPECT_FALSE(fs::exists(path));
}

TEST_F(running_files, a_write_that_fails_on_one_rank_is_told_on_all_and_what_was_written_stays) {
    const std::string path = folder_.file("failing.h5");
    const std::int64_t points = 40000; // several chunks for each rank
    const dealt own(ranks_, points);
    {
        io::series_file file(world_, path, description(points, 40), own.points, at_once(10));
        for (std::int64_t t = 0; t < 10; ++t) own.put(file, 2, t);
        file.flush();
        for (std::int64_t t = 10; t < 20; ++t) own.put(file, 2, t);
        const little_disk full(100000, ranks_.rank() == 1 % ranks_.size());
        expect_user_error([&] { file.flush(); }, "cannot save strain Green's tensors to");
        EXPECT_EQ(file.pending(), 10);
    }
    EXPECT_FALSE(fs::exists(path));
    on_first([&] { EXPECT_EQ(samples_written(path + ".partial"), 10); });
    auto options = at_once(10);
    options.resume_after_samples = 10;
    io::series_file file(world_, path, description(points, 40), own.points, options);
    for (std::int64_t t = 10; t < 40; ++t) {
        own.put(file, 2, t);
        if (file.full()) file.flush();
    }
    file.finish();
    on_first([&] { expect_series(read(path, "sgt", {static_cast<hsize_t>(points), 2, 40}), points, 40); });
}

// -------------------------------------------------------------------------------------------------------------------------------
// snapshots

float cell_value(std::int64_t field, std::int64_t sample, std::int64_t x, std::int64_t y, std::int64_t z) {
    return static_cast<float>(x + 20 * (y + 20 * (z + 20 * (sample + 20 * field))));
}

// Bricks along y and x, uneven.
array::domain own_cells(const array::index3& extent, int rank, int size) {
    array::domain own{{0, 0, 0}, extent};
    if (size == 4) {
        own.low[0] = rank % 2 == 0 ? 0 : extent[0] / 3;
        own.high[0] = rank % 2 == 0 ? extent[0] / 3 : extent[0];
        rank /= 2;
        size = 2;
    }
    own.low[1] = extent[1] * rank / size;
    own.high[1] = extent[1] * (rank + 1) / size;
    return own;
}

TEST_F(running_files, snapshots_come_out_as_pictures_in_time) {
    const std::string path = folder_.file("snapshots.h5");
    // Layers of z, of y with one and with several z; buffers that hold all, and a row; and fewer cells than ranks.
    for (const auto& [extent, bytes] :
         {std::pair{array::index3{7, 9, 11}, std::size_t{1} << 20}, std::pair{array::index3{13, 8, 1}, std::size_t{1} << 20},
          std::pair{array::index3{5, 17, 2}, std::size_t{300}}, std::pair{array::index3{2, 1, 1}, std::size_t{4}},
          std::pair{array::index3{3, 2, 19}, std::size_t{64}}}) {
        io::snapshot_description what{.fields = {"vx", "vz"}, .extent = extent, .samples = 7, .attributes = {}};
        what.attributes = {{{"dt_s", 0.5}}, {{"dt_s", 0.25}}};
        const auto own = own_cells(extent, ranks_.rank(), ranks_.size());
        const auto put = [&](io::snapshot_file& file, std::int64_t sample) {
            std::vector<float> values;
            for (std::int64_t f = 0; f < 2; ++f)
                for (std::int64_t z = own.low[2]; z < own.high[2]; ++z)
                    for (std::int64_t y = own.low[1]; y < own.high[1]; ++y)
                        for (std::int64_t x = own.low[0]; x < own.high[0]; ++x) values.push_back(cell_value(f, sample, x, y, z));
            file.put(values);
        };
        auto options = at_once(3, bytes);
        {
            io::snapshot_file file(world_, path, what, own, options);
            EXPECT_LE(file.samples_at_once(), 3);
            for (std::int64_t t = 0; t < 6; ++t) {
                put(file, t < 4 ? t : t + 3); // the last two are wrong, and dropped
                if (file.full()) file.flush();
            }
            file.sync();
            if (ranks_.size() == 1) {
                expect_user_error([&] { file.finish(); }, "6 of 7 samples are in");
            }
        }
        options.resume_after_samples = 4;
        io::snapshot_file file(world_, path, what, own, options);
        for (std::int64_t t = 4; t < 7; ++t) {
            put(file, t);
            if (file.full()) file.flush();
        }
        file.finish();
        on_first([&] {
            for (std::int64_t f = 0; f < 2; ++f) {
                const auto found =
                    read(path, f == 0 ? "vx" : "vz",
                         {7, static_cast<hsize_t>(extent[2]), static_cast<hsize_t>(extent[1]), static_cast<hsize_t>(extent[0])});
                std::size_t at = 0;
                for (std::int64_t t = 0; t < 7; ++t)
                    for (std::int64_t z = 0; z < extent[2]; ++z)
                        for (std::int64_t y = 0; y < extent[1]; ++y)
                            for (std::int64_t x = 0; x < extent[0]; ++x)
                                ASSERT_EQ(found[at++], cell_value(f, t, x, y, z))
                                    << extent[2] << ": " << t << ", " << z << ", " << y << ", " << x;
            }
            fs::remove(path);
        });
    }
}

TEST_F(running_files, snapshots_that_cannot_be_are_refused) {
    const std::string path = folder_.file("refused.h5");
    const auto make = [&](const io::snapshot_description& what, io::running_options options = {}) {
        return [&, what, options] {
            io::snapshot_file(world_, path, what, own_cells(what.extent, ranks_.rank(), ranks_.size()), options);
        };
    };
    const io::snapshot_description fine{.fields = {"vx"}, .extent = {8, 8, 8}, .samples = 7, .attributes = {}};
    auto what = fine;
    what.extent[1] = 0;
    expect_user_error(make(what), "8 x 0 x 8 cells; allowed: 1 or more along each axis");
    what = fine;
    what.fields = {};
    expect_user_error(make(what), "no fields; allowed: 1 or more");
    what.fields = {"vx", "vx"};
    expect_user_error(make(what), "fields vx, vx; allowed: each name once");
    what.fields = {"v/x"};
    expect_user_error(make(what), "field 'v/x'; allowed: a name without '/'");
    what = fine;
    what.samples = 0;
    expect_user_error(make(what), "0 samples; allowed: 1 or more");
    what.samples = std::int64_t{1} << 44;
    expect_user_error(make(what), {"cannot save snapshots to", "it needs ", " are free"});
    what = fine;
    what.attributes = {{}, {}};
    expect_user_error(make(what), "attributes of 2 fields; allowed: of 1");
    auto options = at_once(1);
    options.resume_after_samples = 8;
    expect_user_error(make(fine, options), "resume_after_samples is 8; allowed: 0 to 7");
    expect_user_error(make(fine, at_once(0)), "samples_at_once is 0; allowed: 1 or more");
    EXPECT_FALSE(fs::exists(path + ".partial"));
}

} // namespace
