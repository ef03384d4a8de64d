// Recorders and boxes where fields lie on a device (one made of loops): what they give is what they give on the host, and the
// host's arrays are not read.

#include "device_brick.hpp"
#include "emulated_device.hpp"

#include <device_engine.hpp>

#include <craton/apps/waves/in_situ.hpp>
#include <craton/apps/waves/recorders.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

namespace device_output_tests {
namespace {

using namespace craton;
using namespace craton::waves;
using engine_on_loops = device::device_engine<device::emulated_device>;

constexpr std::int64_t nx = 20, ny = 11, nz = 9;
const grid_extent grid{{nx, ny, nz}, 10.0};
const std::vector<position_m> points{{55, 65, 45}, {101.3, 22.2, 5.5}, {0, 0, 0}, {200, 110, 90}, {131, 64.2, 0}};

brick_view view_of(test_brick& brick) {
    const auto f = brick.fields();
    brick_view view;
    view.place = {f.shape, {{0, 0, 0}, grid.cells}};
    view.velocity = f.v;
    view.stress = f.stress;
    view.memory = f.memory;
    view.media = f.media;
    return view;
}

// The host's arrays of fields, once the device has copies: only what is brought may be read.
void spoil(test_brick& brick) {
    for (std::size_t n = 0; n < stored_fields; ++n) {
        for (std::int64_t k = 0; k < nz; ++k)
            for (std::int64_t j = 0; j < ny; ++j)
                for (std::int64_t i = 0; i < nx; ++i) brick.first(n)[brick.shape().at(i, j, k)] = NAN;
    }
}

class device_output : public testing::TestWithParam<bool> {
  protected:
    device_output() : host_(nx, ny, nz, true, GetParam()), mirror_(host_) {
        engine_ = std::make_unique<engine_on_loops>(std::make_unique<device::emulated_device>(device::delivery::as_late),
                                                    mirror_.fields(), halo_plan{}, nullptr);
        engine_->wait();
        spoil(mirror_);
        on_host_ = view_of(host_);
        on_device_ = view_of(mirror_);
        on_device_.engine = engine_.get();
    }
    template <class Recorder> void expect_same(Recorder recorder) {
        ASSERT_EQ(recorder.points().size(), points.size());
        std::vector<float> wanted(recorder.values());
        recorder.record(on_host_, wanted);
        for (int time = 0; time < 3; ++time) {
            std::vector<float> found(recorder.values());
            recorder.record(on_device_, found);
            for (std::size_t n = 0; n < found.size(); ++n) EXPECT_NEAR(found[n], wanted[n], 1e-5 * (1 + std::abs(wanted[n]))) << n;
            if (time == 1) { // new sources
                engine_->clear_points();
                ++on_device_.points_cleared;
                EXPECT_EQ(engine_->add_receivers({}, 0), 0); // somebody else's
            }
        }
    }

    test_brick host_, mirror_;
    std::unique_ptr<engine_on_loops> engine_;
    brick_view on_host_, on_device_;
};

TEST_P(device_output, stations_read_the_same) {
    expect_same(station_recorder(points, grid, on_host_.place, host_.closure()));
    EXPECT_TRUE(std::isnan(mirror_.first(0)[0])); // nothing else has come
}

TEST_P(device_output, strains_read_the_same) {
    expect_same(strain_recorder(points, grid, on_host_.place, on_host_.media, host_.closure()));
}

TEST_P(device_output, boxes_bring_their_cells) {
    for (const wanted_box& box :
         {wanted_box{field::vz, {{2, 0, 0}, {18, 11, 1}}, {3, 2, 1}}, wanted_box{field::yz, {{0, 4, 3}, {20, 5, 8}}, {1, 1, 2}}}) {
        const auto count = static_cast<std::size_t>(box.part_of(on_host_.place.cells).cells());
        std::vector<float> wanted(count);
        std::vector<float> found(count);
        copy_box(on_host_, box, wanted);
        copy_box(on_device_, box, found);
        EXPECT_EQ(found, wanted);
    }
}

INSTANTIATE_TEST_SUITE_P(kinds, device_output, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "anelastic" : "elastic"; });

} // namespace

} // namespace device_output_tests
