// Effective media beside the plain average over the samples in the cube round each field's position.

#include <craton/apps/waves/effective_media.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace effective_media_tests {
namespace {

using namespace craton::waves;

constexpr double h = 50;

struct material {
    double rho, lambda, mu;
};

// Rough: every sample has its own material, some are water. Coordinates in m.
material rough(double x, double y, double z) {
    const auto noise = [=](double seed) {
        const double s = std::sin(x * 12.9898 + y * 78.233 + z * 37.719 + seed) * 43758.5453;
        return s - std::floor(s);
    };
    const double mu = noise(1) < 0.02 ? 0 : 1e9 + 2e10 * noise(2);
    return {static_cast<float>(1000 + 2000 * noise(3)), static_cast<float>(2e9 + 3e10 * noise(4)), static_cast<float>(mu)};
}

template <class Material> elastic_sampler sampler_of(Material material_at) {
    return [material_at](const sample_plane& points, float* rho, float* lambda, float* mu) {
        for (std::int64_t b = 0; b < points.ny; ++b) {
            for (std::int64_t a = 0; a < points.nx; ++a) {
                const auto m = material_at(points.x_m(a), points.y_m(b), points.z_m());
                *rho++ = static_cast<float>(m.rho);
                *lambda++ = static_cast<float>(m.lambda);
                *mu++ = static_cast<float>(m.mu);
            }
        }
    };
}

struct filled_brick {
    brick_shape shape;
    std::vector<float> values[8];

    explicit filled_brick(std::int64_t nx, std::int64_t ny, std::int64_t nz) : shape{nx, ny, nz, 16, 16 * (ny + 4)} {
        for (auto& v : values) {
            v.assign(static_cast<std::size_t>(shape.plane * (nz + 4)), -1.0F);
        }
    }
    effective_media_arrays arrays() {
        const auto first = [this](int n) { return values[n].data() + shape.at(halo, halo, halo); };
        return {{first(0), first(1), first(2)}, first(3), first(4), first(5), first(6), first(7)};
    }
    [[nodiscard]] double at(int n, std::int64_t i, std::int64_t j, std::int64_t k) const {
        return values[n][static_cast<std::size_t>(shape.at(i + halo, j + halo, k + halo))];
    }
};

enum class average { density, p, s };

// Over the samples whose centres are in the cube of side h round (x, y, z) and inside the grid's lower sides; those on the cube's
// faces count by half per axis.
double plain_average(double x, double y, double z, int per_side, average of) {
    const double d = h / per_side, centre[3] = {x, y, z};
    std::int64_t from[3], to[3];
    for (int axis = 0; axis < 3; ++axis) {
        from[axis] = std::max<std::int64_t>(0, std::llround(std::floor((centre[axis] - h) / d)));
        to[axis] = std::llround(std::ceil((centre[axis] + h) / d));
    }
    const auto weight = [&](int axis, std::int64_t n) {
        const double distance = std::abs((static_cast<double>(n) + 0.5) * d - centre[axis]);
        return distance > h / 2 + 1e-6 ? 0.0 : distance > h / 2 - 1e-6 ? 0.5 : 1.0;
    };
    double sum = 0, weights = 0;
    for (std::int64_t k = from[2]; k < to[2]; ++k) {
        for (std::int64_t j = from[1]; j < to[1]; ++j) {
            for (std::int64_t i = from[0]; i < to[0]; ++i) {
                const double w = weight(0, i) * weight(1, j) * weight(2, k);
                if (w == 0) {
                    continue;
                }
                const material m = rough((static_cast<double>(i) + 0.5) * d, (static_cast<double>(j) + 0.5) * d,
                                         (static_cast<double>(k) + 0.5) * d);
                sum += w * (of == average::density ? m.rho : of == average::p ? 1 / (m.lambda + 2 * m.mu) : 1 / m.mu);
                weights += w;
            }
        }
    }
    return sum / weights;
}

void expect_plain_averages(const filled_brick& brick, const cell_range& cells, std::int64_t fi, std::int64_t fj, std::int64_t fk,
                           int per_side) {
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
            for (std::int64_t i = cells.i0; i < cells.i1; ++i) {
                const double x = h * static_cast<double>(i + fi), y = h * static_cast<double>(j + fj),
                             z = h * static_cast<double>(k + fk);
                const auto mean = [&](double dx, double dy, double dz, average of) {
                    return plain_average(x + dx * h, y + dy * h, z + dz * h, per_side, of);
                };
                const double mu = 1 / mean(0.5, 0.5, 0.5, average::s), lambda = 1 / mean(0.5, 0.5, 0.5, average::p) - 2 * mu;
                const double wanted[8] = {1 / mean(0, 0.5, 0.5, average::density),
                                          1 / mean(0.5, 0, 0.5, average::density),
                                          1 / mean(0.5, 0.5, 0, average::density),
                                          lambda,
                                          mu,
                                          1 / mean(0, 0, 0.5, average::s),
                                          1 / mean(0, 0.5, 0, average::s),
                                          1 / mean(0.5, 0, 0, average::s)};
                for (int n = 0; n < 8; ++n) {
                    const double scale = n == 3 ? std::abs(lambda) + 2 * mu : wanted[n];
                    EXPECT_NEAR(brick.at(n, i, j, k), wanted[n], 2e-7 * scale) << n << " at " << i << " " << j << " " << k;
                }
            }
        }
    }
}

TEST(effective_media, are_averages_over_the_cube_round_each_field) {
    for (const int per_side : {1, 2, 3, 4}) {
        filled_brick at_corner(5, 4, 6), inside(5, 4, 6);
        const cell_range all{0, 5, 0, 4, 0, 6}, some{1, 4, 2, 4, 3, 6};
        fill_effective_media(at_corner.shape, all, 0, 0, 0, h, per_side, sampler_of(rough), at_corner.arrays());
        expect_plain_averages(at_corner, all, 0, 0, 0, per_side);
        fill_effective_media(inside.shape, some, 7, 3, 10, h, per_side, sampler_of(rough), inside.arrays());
        expect_plain_averages(inside, some, 7, 3, 10, per_side);
        EXPECT_EQ(inside.at(4, 0, 2, 3), -1) << "outside the range";
        EXPECT_EQ(inside.at(2, 1, 2, 2), -1);
    }
}

TEST(effective_media, do_not_depend_on_the_cut) {
    for (const int per_side : {1, 2, 3}) {
        filled_brick whole(9, 8, 7), slabs(9, 8, 7), part(4, 5, 3);
        fill_effective_media(whole.shape, {0, 9, 0, 8, 0, 7}, 2, 0, 1, h, per_side, sampler_of(rough), whole.arrays());
        for (std::int64_t k = 0; k < 7; k += 2) {
            fill_effective_media(slabs.shape, {0, 9, 0, 8, k, std::min<std::int64_t>(7, k + 2)}, 2, 0, 1, h, per_side,
                                 sampler_of(rough), slabs.arrays());
        }
        fill_effective_media(part.shape, {0, 4, 0, 5, 0, 3}, 2 + 5, 3, 1 + 4, h, per_side, sampler_of(rough), part.arrays());
        for (int n = 0; n < 8; ++n) {
            EXPECT_EQ(whole.values[n], slabs.values[n]);
            for (std::int64_t k = 0; k < 3; ++k) {
                for (std::int64_t j = 0; j < 5; ++j) {
                    for (std::int64_t i = 0; i < 4; ++i) {
                        EXPECT_EQ(part.at(n, i, j, k), whole.at(n, i + 5, j + 3, k + 4));
                    }
                }
            }
        }
    }
}

void expect_float(double found, double wanted) { EXPECT_NEAR(found, wanted, 1e-7 * wanted); }

TEST(effective_media, of_an_interface_between_cells) {
    const material above{2600, 20.8e9, 10.4e9}, below{2700, 32.4e9, 32.4e9};
    filled_brick brick(3, 3, 6);
    fill_effective_media(brick.shape, {0, 3, 0, 3, 0, 6}, 0, 0, 0, h, 2,
                         sampler_of([=](double, double, double z) { return z < 3 * h ? above : below; }), brick.arrays());
    for (std::int64_t k = 0; k < 6; ++k) {
        const material& cell = k < 3 ? above : below;
        expect_float(brick.at(3, 1, 1, k), cell.lambda);
        expect_float(brick.at(4, 1, 1, k), cell.mu);
        expect_float(brick.at(5, 1, 1, k), cell.mu);
        expect_float(brick.at(6, 1, 1, k), k == 3 ? 2 / (1 / above.mu + 1 / below.mu) : cell.mu);
        expect_float(brick.at(2, 1, 1, k), k == 3 ? 1.0 / 2650 : 1 / cell.rho);
    }
}

// Three quarters of what is below, a quarter of what is above.
TEST(effective_media, of_a_plane_that_grids_share) {
    const material above{2600, 20.8e9, 10.4e9}, below{2700, 32.4e9, 32.4e9};
    for (const int per_side : {1, 2, 3, 4}) {
        filled_brick brick(3, 3, 4);
        fill_effective_media(brick.shape, {0, 3, 0, 3, 0, 4}, 0, 0, 0, h, per_side,
                             sampler_of([=](double, double, double z) { return z < 0 ? above : below; }), brick.arrays(), 0.25);
        for (std::int64_t k = 0; k < 4; ++k) {
            expect_float(brick.at(4, 1, 1, k), below.mu);
            expect_float(brick.at(6, 1, 1, k), k == 0 ? 1 / (0.25 / above.mu + 0.75 / below.mu) : below.mu);
            expect_float(brick.at(2, 1, 1, k), 1 / (k == 0 ? 0.25 * above.rho + 0.75 * below.rho : below.rho));
        }
    }
}

TEST(effective_media, of_water_on_rock) {
    const material water{1000, 2.25e9, 0}, rock{2500, 20e9, 15e9};
    filled_brick brick(3, 3, 4);
    fill_effective_media(brick.shape, {0, 3, 0, 3, 0, 4}, 0, 0, 0, h, 2,
                         sampler_of([=](double, double, double z) { return z < 1.5 * h ? water : rock; }), brick.arrays());
    EXPECT_EQ(brick.at(4, 1, 1, 1), 0);
    EXPECT_EQ(brick.at(5, 1, 1, 1), 0);
    EXPECT_EQ(brick.at(6, 1, 1, 1), 0);
    expect_float(brick.at(6, 1, 1, 2), rock.mu);
    expect_float(brick.at(4, 1, 1, 2), rock.mu);
    expect_float(brick.at(3, 1, 1, 1), 2 / (1 / water.lambda + 1 / (rock.lambda + 2 * rock.mu)));
}

TEST(effective_media, pass_on_what_the_sampler_throws) {
    filled_brick brick(3, 3, 4);
    const elastic_sampler broken = [](const sample_plane&, float*, float*, float*) { throw std::runtime_error("no such depth"); };
    EXPECT_THROW(fill_effective_media(brick.shape, {0, 3, 0, 3, 0, 4}, 0, 0, 0, h, 1, broken, brick.arrays()), std::runtime_error);
}

} // namespace

} // namespace effective_media_tests
