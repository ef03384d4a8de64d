#include <craton/apps/waves/effective_media.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace craton::waves {

namespace {

// Where a sample counts along one axis: in its cell, and at one or two lower faces of cells (two when it lies halfway between
// them).
struct axis_weights {
    std::int64_t cell = 0, face[2] = {0, 0};
    double of_cell = 0, of_face[2] = {0, 0};
};

// above: share of what lies over the grid at its face 0.
axis_weights weights_along(std::int64_t sample, int per_side, double above) {
    const std::int64_t cell = sample < 0 ? -1 : sample / per_side;
    const std::int64_t twice = 2 * (sample - cell * per_side) + 1;
    axis_weights w;
    w.cell = cell;
    w.of_cell = 1.0 / per_side;
    w.face[0] = cell;
    w.face[1] = cell + 1;
    w.of_face[0] = twice < per_side ? 1 : twice == per_side ? 0.5 : 0;
    w.of_face[1] = 1 - w.of_face[0];
    for (int n = 0; n < 2; ++n) {
        const double share = w.face[n] != 0 ? 1.0 : cell < 0 ? 2 * above : 2 * (1 - above); // each of half a cube
        w.of_face[n] *= share / per_side;
    }
    return w;
}

// Samples that cells first <= i < last and their lower faces need, and where they count.
struct sampled_axis {
    std::int64_t first = 0;
    std::vector<axis_weights> weights;

    sampled_axis(std::int64_t first_cell, std::int64_t last_cell, int per_side, double above = 0) {
        first = first_cell * per_side - (per_side + 1) / 2;
        if (above == 0) first = std::max<std::int64_t>(0, first);
        for (std::int64_t s = first; s < last_cell * per_side; ++s) {
            weights.push_back(weights_along(s, per_side, above));
        }
    }
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(weights.size()); }
};

// Weighted sums for the cells of one plane, at one of its positions.
class plane_sums {
  public:
    plane_sums(std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1)
        : i0_(i0), i1_(i1), j0_(j0), j1_(j1), sums_(static_cast<std::size_t>((i1 - i0) * (j1 - j0))) {}

    void clear() { std::fill(sums_.begin(), sums_.end(), 0.0); }
    void add(std::int64_t i, std::int64_t j, double value) {
        if (i >= i0_ && i < i1_ && j >= j0_ && j < j1_) {
            sums_[static_cast<std::size_t>(i - i0_ + (j - j0_) * (i1_ - i0_))] += value;
        }
    }
    [[nodiscard]] double at(std::int64_t i, std::int64_t j) const {
        return sums_[static_cast<std::size_t>(i - i0_ + (j - j0_) * (i1_ - i0_))];
    }

  private:
    std::int64_t i0_, i1_, j0_, j1_;
    std::vector<double> sums_;
};

// What is averaged, and where. Sums of a cell's plane at the centre in z, or at its lower face.
struct centre_sums {
    plane_sums rho_x, rho_y, compliance_p, compliance_s, compliance_xy;
    explicit centre_sums(const plane_sums& none)
        : rho_x(none), rho_y(none), compliance_p(none), compliance_s(none), compliance_xy(none) {}
    void clear() {
        for (plane_sums* s : {&rho_x, &rho_y, &compliance_p, &compliance_s, &compliance_xy}) {
            s->clear();
        }
    }
};
struct face_sums {
    plane_sums rho_z, compliance_xz, compliance_yz;
    explicit face_sums(const plane_sums& none) : rho_z(none), compliance_xz(none), compliance_yz(none) {}
    void clear() {
        for (plane_sums* s : {&rho_z, &compliance_xz, &compliance_yz}) {
            s->clear();
        }
    }
};

// One sample with its weights in x and y.
struct weighted_sample {
    const axis_weights &x, &y;
    double rho, p, s; // density, 1 / (lambda + 2 mu), 1 / mu (infinite in water)

    void add_centre(centre_sums& sums, double wz) const {
        const double w = x.of_cell * y.of_cell * wz;
        sums.compliance_p.add(x.cell, y.cell, w * p);
        sums.compliance_s.add(x.cell, y.cell, w * s);
        for (int m = 0; m < 2; ++m) {
            if (x.of_face[m] != 0) {
                sums.rho_x.add(x.face[m], y.cell, x.of_face[m] * y.of_cell * wz * rho);
            }
            if (y.of_face[m] != 0) {
                sums.rho_y.add(x.cell, y.face[m], x.of_cell * y.of_face[m] * wz * rho);
            }
            for (int n = 0; n < 2; ++n) {
                const double edge = x.of_face[m] * y.of_face[n] * wz;
                if (edge != 0) {
                    sums.compliance_xy.add(x.face[m], y.face[n], edge * s);
                }
            }
        }
    }
    void add_face(face_sums& sums, double wz) const {
        if (wz == 0) {
            return;
        }
        sums.rho_z.add(x.cell, y.cell, x.of_cell * y.of_cell * wz * rho);
        for (int m = 0; m < 2; ++m) {
            if (x.of_face[m] != 0) {
                sums.compliance_xz.add(x.face[m], y.cell, x.of_face[m] * y.of_cell * wz * s);
            }
            if (y.of_face[m] != 0) {
                sums.compliance_yz.add(x.cell, y.face[m], x.of_cell * y.of_face[m] * wz * s);
            }
        }
    }
};

void store(const centre_sums& sums, const brick_shape& shape, const cell_range& cells, std::int64_t i_shift, std::int64_t j_shift,
           std::int64_t k, const effective_media_arrays& out) {
    for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
        for (std::int64_t i = cells.i0; i < cells.i1; ++i) {
            const std::int64_t at = shape.at(i, j, k), gi = i + i_shift, gj = j + j_shift;
            const double mu = 1 / sums.compliance_s.at(gi, gj);
            out.buoyancy.x[at] = static_cast<float>(1 / sums.rho_x.at(gi, gj));
            out.buoyancy.y[at] = static_cast<float>(1 / sums.rho_y.at(gi, gj));
            out.lambda[at] = static_cast<float>(1 / sums.compliance_p.at(gi, gj) - 2 * mu);
            out.mu[at] = static_cast<float>(mu);
            out.mu_xy[at] = static_cast<float>(1 / sums.compliance_xy.at(gi, gj));
        }
    }
}

void store(const face_sums& sums, const brick_shape& shape, const cell_range& cells, std::int64_t i_shift, std::int64_t j_shift,
           std::int64_t k, const effective_media_arrays& out) {
    for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
        for (std::int64_t i = cells.i0; i < cells.i1; ++i) {
            const std::int64_t at = shape.at(i, j, k), gi = i + i_shift, gj = j + j_shift;
            out.buoyancy.z[at] = static_cast<float>(1 / sums.rho_z.at(gi, gj));
            out.mu_xz[at] = static_cast<float>(1 / sums.compliance_xz.at(gi, gj));
            out.mu_yz[at] = static_cast<float>(1 / sums.compliance_yz.at(gi, gj));
        }
    }
}

} // namespace

void fill_effective_media(const brick_shape& shape, const cell_range& cells, std::int64_t first_i, std::int64_t first_j,
                          std::int64_t first_k, double h_m, int samples_per_side, const elastic_sampler& sampler,
                          const effective_media_arrays& out, double above) {
    if (cells.empty()) {
        return;
    }
    const int s = samples_per_side;
    const sampled_axis xs(first_i + cells.i0, first_i + cells.i1, s), ys(first_j + cells.j0, first_j + cells.j1, s),
        zs(first_k + cells.k0, first_k + cells.k1, s, above);
    sample_plane points{xs.first, ys.first, zs.first, xs.size(), ys.size(), h_m / s};
    std::vector<float> rho(static_cast<std::size_t>(points.nx * points.ny)), lambda(rho), mu(rho);

    const plane_sums none(first_i + cells.i0, first_i + cells.i1, first_j + cells.j0, first_j + cells.j1);
    centre_sums centre(none);
    std::array<face_sums, 2> faces{face_sums(none), face_sums(none)}; // of even and odd planes
    for (std::int64_t c = 0; c < zs.size(); ++c) {
        const axis_weights& z = zs.weights[static_cast<std::size_t>(c)];
        points.at_z = zs.first + c;
        sampler(points, rho.data(), lambda.data(), mu.data());
        for (std::int64_t b = 0; b < points.ny; ++b) {
            for (std::int64_t a = 0; a < points.nx; ++a) {
                const auto n = static_cast<std::size_t>(a + b * points.nx);
                const weighted_sample sample{xs.weights[static_cast<std::size_t>(a)], ys.weights[static_cast<std::size_t>(b)],
                                             rho[n], 1 / (double{lambda[n]} + 2 * double{mu[n]}), 1 / double{mu[n]}};
                sample.add_centre(centre, z.of_cell);
                for (int m = 0; m < 2; ++m) {
                    sample.add_face(faces[static_cast<std::size_t>(z.face[m] & 1)], z.of_face[m]);
                }
            }
        }
        // A face's cube ends with the samples in the upper half of its cell, a cell's with its last ones.
        const std::int64_t next = zs.first + c + 1, k = z.cell - first_k;
        if ((next + s) % s == (s + 1) / 2 % s) { // next is negative above a plane that grids share
            face_sums& done = faces[static_cast<std::size_t>(z.cell & 1)];
            if (k >= cells.k0) {
                store(done, shape, cells, first_i, first_j, k, out);
            }
            done.clear();
        }
        if (next % s == 0) {
            if (k >= cells.k0) {
                store(centre, shape, cells, first_i, first_j, k, out);
            }
            centre.clear();
        }
    }
}

} // namespace craton::waves
