#include <craton/apps/tomography/earth_model.hpp>

#include "../../expect_user_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace craton::tomography::earth_model_tests {
namespace {

using craton::tests::expect_user_error;

TEST(earth_model, prem_has_the_mass_and_moment_of_inertia_of_the_earth) {
    const earth_model earth = earth_model::prem_isotropic();
    double mass = 0;
    double moment = 0;
    const int steps = 100000;
    const double dr = earth.surface_radius_m() / steps;
    for (int i = 0; i < steps; ++i) {
        const double r = (i + 0.5) * dr;
        const double shell = 4 * std::numbers::pi * r * r * dr * earth.evaluate(r).density_kg_m3;
        mass += shell;
        moment += 2.0 / 3 * shell * r * r;
    }
    mass += 4 * std::numbers::pi * std::pow(6.3695e6, 2) * 3e3 * 1020; // the ocean, which the model leaves out
    EXPECT_NEAR(mass, 5.974e24, 0.002e24);
    EXPECT_NEAR(moment / (mass * earth_radius_m * earth_radius_m), 0.3308, 2e-4);
}

TEST(earth_model, values_at_the_tabulated_radii_of_prem) {
    const earth_model earth = earth_model::prem_isotropic();
    // Dziewonski & Anderson (1981), Table II, which was computed before the coefficients were rounded for Table I: 1e-5.
    EXPECT_NEAR(earth.evaluate(3480e3).density_kg_m3, 5566.45, 0.01);
    EXPECT_NEAR(earth.evaluate(3480e3).vs_m_s, 7264.66, 0.01);
    EXPECT_NEAR(earth.evaluate(3480e3, true).density_kg_m3, 9903.49, 0.1);
    EXPECT_EQ(earth.evaluate(3480e3, true).vs_m_s, 0);
    EXPECT_NEAR(earth.evaluate(5701e3, true).vs_m_s, 5945.08, 0.1);
    EXPECT_NEAR(earth.evaluate(5701e3).vs_m_s, 5570.20, 0.1);
    EXPECT_NEAR(earth.evaluate(5971e3).vp_m_s, 8905.22, 0.1);
    EXPECT_NEAR(earth.evaluate(6151e3, true).density_kg_m3, 3435.78, 0.1);
    EXPECT_NEAR(earth.evaluate(6151e3).vs_m_s, 4418.85, 0.1);
    EXPECT_EQ(earth.evaluate(4000e3).q_mu, 312);
    EXPECT_EQ(earth.evaluate(5900e3).q_mu, 143);
    EXPECT_EQ(earth.evaluate(6200e3).q_mu, 80);
    EXPECT_EQ(earth.evaluate(6300e3).q_mu, 600);
    EXPECT_EQ(earth.surface_radius_m(), 6368e3);
    EXPECT_EQ(earth.cmb_radius_m(), 3480e3);
    EXPECT_NEAR(earth.evaluate(6368e3).vs_m_s, 3200, 1e-9);
}

TEST(earth_model, anisotropic_values_at_the_tabulated_radii_of_prem) {
    const earth_model earth = earth_model::prem();
    // Dziewonski & Anderson (1981), their table of the anisotropic upper mantle: radius, vpv, vph, vsv, vsh (m/s), eta.
    const double table[][6] = {{6151e3, 7800.50, 8048.62, 4441.10, 4436.29, 0.97654},
                               {6346.6e3, 8022.12, 8190.32, 4396.02, 4611.80, 0.90039}};
    for (const auto& row : table) {
        const material at = earth.evaluate(row[0], row[0] > 6200e3);
        EXPECT_NEAR(at.vp_m_s, row[1], 0.1);
        EXPECT_NEAR(at.vph_m_s, row[2], 0.1);
        EXPECT_NEAR(at.vs_m_s, row[3], 0.1);
        EXPECT_NEAR(at.vsh_m_s, row[4], 0.1);
        EXPECT_NEAR(at.eta, row[5], 1e-4);
    }
    EXPECT_EQ(earth.surface_radius_m(), 6371e3);
    EXPECT_EQ(earth.solid_surface_radius_m(), 6368e3);
    EXPECT_EQ(earth.cmb_radius_m(), 3480e3);
    EXPECT_TRUE(earth.evaluate(6370e3).fluid());
    EXPECT_EQ(earth.evaluate(1000e3).q_kappa, 1327.7);
    EXPECT_EQ(earth.evaluate(5000e3).q_kappa, 57823);
}

TEST(earth_model, gravity_is_that_of_prem) {
    const earth_model earth = earth_model::prem();
    // Dziewonski & Anderson (1981), Table II, before the coefficients of the densities were rounded.
    EXPECT_NEAR(earth.gravity_m_s2(6371e3), 9.8156, 5e-3);
    EXPECT_NEAR(earth.gravity_m_s2(5701e3), 10.0143, 5e-3);
    EXPECT_NEAR(earth.gravity_m_s2(3480e3), 10.6823, 5e-3);
    EXPECT_NEAR(earth.gravity_m_s2(1221.5e3), 4.4002, 5e-3);
    EXPECT_EQ(earth.gravity_m_s2(0), 0);
}

TEST(earth_model, loves_moduli_of_isotropic_layers_are_lames) {
    const material at = earth_model::prem().evaluate(5000e3);
    const double mu = at.shear_modulus_Pa();
    const double kappa = at.density_kg_m3 * at.vp_m_s * at.vp_m_s - 4 * mu / 3;
    const love_parameters m = at.love();
    EXPECT_NEAR(m.A / (kappa + 4 * mu / 3), 1, 1e-14);
    EXPECT_NEAR(m.F / (kappa - 2 * mu / 3), 1, 1e-14);
    EXPECT_NEAR(m.voigt_bulk_modulus() / kappa, 1, 1e-14);
    EXPECT_NEAR(m.voigt_shear_modulus() / mu, 1, 1e-14);
    const love_parameters loss = at.loss();
    EXPECT_NEAR(loss.C / (kappa / at.q_kappa + 4 * mu / 3 / at.q_mu), 1, 1e-14);
    EXPECT_NEAR(loss.F / (kappa / at.q_kappa - 2 * mu / 3 / at.q_mu), 1, 1e-12);
    const love_parameters dispersed = dispersed_love_parameters(at, 0.1);
    EXPECT_DOUBLE_EQ(dispersed.L, dispersed_shear_modulus_Pa(at, 0.1));
    EXPECT_EQ(earth_model::prem().evaluate(2000e3).loss().L, 0);
}

TEST(earth_model, layers_of_the_users_own) {
    const earth_model prem = earth_model::prem();
    std::vector<earth_layer> layers(prem.layers().begin(), prem.layers().end());
    EXPECT_EQ(earth_model::from_layers("own", layers).name(), "own");
    EXPECT_EQ(earth_model::from_layers("own", layers).gravity_m_s2(6e6), prem.gravity_m_s2(6e6));
    auto gap = layers;
    gap[3].inner_radius_m += 1e3;
    expect_user_error([&] { earth_model::from_layers("own", gap); }, {"own", "3631000", "3630000"});
    auto massless = layers;
    massless[2].density = {};
    expect_user_error([&] { earth_model::from_layers("own", massless); }, {"density 0", "positive"});
    expect_user_error([&] { earth_model::from_layers("own", {layers[0]}); }, {"1 layers", "fluid core"});
}

// Every layer of PREM at 200 radii, both sides of its boundaries: what linear interpolation makes of its cubics.
TEST(earth_model, a_table_of_prem_is_prem) {
    const earth_model prem = earth_model::prem();
    std::vector<earth_row> rows;
    for (const earth_layer& layer : prem.layers()) {
        for (int step = 0; step <= 200; ++step) {
            const double r = layer.inner_radius_m + (layer.outer_radius_m - layer.inner_radius_m) * step / 200;
            const material at = layer.evaluate(r);
            rows.push_back({r, at.density_kg_m3, at.vp_m_s, at.vs_m_s, at.q_kappa, std::isinf(at.q_mu) ? 0 : at.q_mu, at.vph_m_s,
                            at.vsh_m_s, at.eta});
        }
    }
    const earth_model table = earth_model::from_table("a table", rows);
    EXPECT_EQ(table.name(), "a table");
    EXPECT_EQ(table.cmb_radius_m(), prem.cmb_radius_m());
    EXPECT_EQ(table.solid_surface_radius_m(), prem.solid_surface_radius_m());
    for (double r = 1e3; r < 6371e3; r += 7.7e3) {
        const material ours = table.evaluate(r);
        const material theirs = prem.evaluate(r);
        EXPECT_NEAR(ours.density_kg_m3, theirs.density_kg_m3, 2e-5 * theirs.density_kg_m3) << r;
        EXPECT_NEAR(ours.vp_m_s, theirs.vp_m_s, 2e-5 * theirs.vp_m_s) << r;
        EXPECT_NEAR(ours.vs_m_s, theirs.vs_m_s, 1e-4 * theirs.vs_m_s) << r;
        EXPECT_NEAR(ours.vsh_m_s, theirs.vsh_m_s, 1e-4 * theirs.vsh_m_s) << r;
        EXPECT_NEAR(ours.eta, theirs.eta, 1e-9) << r;
        EXPECT_DOUBLE_EQ(ours.q_kappa, theirs.q_kappa) << r;
        EXPECT_NEAR(1 / ours.q_mu, 1 / theirs.q_mu, 1e-12) << r;
        EXPECT_NEAR(table.gravity_m_s2(r), prem.gravity_m_s2(r), 1e-4 * prem.gravity_m_s2(r)) << r;
    }
    const std::vector<earth_row> falling{rows[5], rows[3]};
    expect_user_error([&] { (void)earth_model::from_table("wrong", falling); }, "rows from the centre up");
    const std::vector<earth_row> begins_late{rows[5], rows[9]};
    EXPECT_THROW((void)earth_model::from_table("late", begins_late), user_error);
}

TEST(earth_model, prem_iso_light_equals_the_axisem_mesh) {
    // Nodes of the mesh of an AxiSEM database: radius (m), density (kg/m^3), vs (m/s), in single precision.
    const double mesh[][3] = {{6002081.0, 3524.7031, 4748.1436}, {6061000.0, 3489.5193, 4706.9004},
                              {6188988.0, 3363.619, 4432.9175},  {6261000.0, 3371.445, 4459.4585},
                              {6333012.0, 3379.2715, 4485.999},  {6371000.0, 3383.4, 4500.0}};
    const earth_model earth = earth_model::prem_iso_light();
    for (const auto& node : mesh) {
        EXPECT_NEAR(earth.evaluate(node[0]).density_kg_m3, node[1], 1e-3);
        EXPECT_NEAR(earth.evaluate(node[0]).vs_m_s, node[2], 1e-3);
    }
    EXPECT_EQ(earth.surface_radius_m(), 6371e3);
}

TEST(earth_model, discontinuities_increase_and_separate_the_layers) {
    const earth_model earth = earth_model::prem_isotropic();
    const auto radii = earth.discontinuities_m();
    ASSERT_EQ(radii.size() + 1, earth.layers().size());
    for (std::size_t i = 0; i < radii.size(); ++i) {
        EXPECT_EQ(radii[i], earth.layers()[i].outer_radius_m);
        EXPECT_EQ(radii[i], earth.layers()[i + 1].inner_radius_m);
    }
}

TEST(earth_model, shear_modulus_falls_below_one_hertz) {
    const material at = earth_model::prem_isotropic().evaluate(6200e3);
    EXPECT_DOUBLE_EQ(dispersed_shear_modulus_Pa(at, 2 * std::numbers::pi), at.shear_modulus_Pa());
    EXPECT_NEAR(dispersed_shear_modulus_Pa(at, 2 * std::numbers::pi / 100) / at.shear_modulus_Pa(),
                1 - 2 / (std::numbers::pi * 80) * std::log(100), 1e-14);
}

TEST(earth_model, errors_name_value_and_what_is_allowed) {
    expect_user_error([] { earth_model::by_name("ak135"); },
                      {"ak135", "prem_isotropic", "prem_iso_light", "prem", "prem_isotropic_ocean"});
    EXPECT_EQ(earth_model::by_name("prem_iso_light").name(), "prem_iso_light");
    EXPECT_EQ(earth_model::by_name("prem_isotropic").name(), "prem_isotropic");
    expect_user_error([] { return earth_model::prem_isotropic().evaluate(6370e3); }, {"6370000", "6368000"});
    expect_user_error([] { return earth_model::prem_isotropic().evaluate(-1); }, {"-1"});
    expect_user_error([] { return earth_model::prem_isotropic().evaluate(std::nan("")); }, {"nan"});
}

} // namespace
} // namespace craton::tomography::earth_model_tests
