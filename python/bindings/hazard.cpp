#include "bindings.hpp"
#include "gil.hpp"

#include <craton/apps/hazard/intensity.hpp>
#include <craton/apps/hazard/kernels/motion.hpp>
#include <craton/apps/hazard/rupture_spectra.hpp>

#include <nanobind/stl/tuple.h>

#include <complex>
#include <string>
#include <tuple>

namespace nb = nanobind;
using namespace nb::literals;
using craton::hazard::rupture_spectra;

namespace craton::bindings {

namespace {

using complex_float = std::complex<float>;
using spectra_in = input_3d<complex_float>;
using records_in = input_3d<double>;
using velocities_in = input_3d<float>;
using f64 = nb::ndarray<nb::numpy, double>;

void make_spectra(rupture_spectra* self, const spectra_in& spectra, const input_2d<complex_float>& slip_rates) {
    new (self) rupture_spectra({spectra.data(), spectra.size()}, static_cast<std::int64_t>(spectra.shape(0)),
                               static_cast<std::int64_t>(spectra.shape(1)), {slip_rates.data(), slip_rates.size()},
                               static_cast<std::int64_t>(slip_rates.shape(0)));
}

nb::ndarray<nb::numpy, complex_float> sum(const rupture_spectra& spectra, const input_2d<double>& slip,
                                          const input_2d<double>& delay, const input_2d<double>& rise) {
    if (static_cast<std::int64_t>(slip.shape(1)) != spectra.subfaults())
        throw user_error("rupture spectra: motions of " + std::to_string(slip.shape(1)) +
                         " subfaults; allowed: " + std::to_string(spectra.subfaults()));
    const std::size_t variations = slip.shape(0), components = static_cast<std::size_t>(spectra.components()),
                      frequencies = static_cast<std::size_t>(spectra.frequencies());
    std::vector<complex_float> into(variations * components * frequencies);
    without_gil([&] { spectra.sum({{slip.data(), slip.size()}, {delay.data(), delay.size()}, {rise.data(), rise.size()}}, into); });
    return to_numpy(std::move(into), {variations, components, frequencies});
}

std::tuple<f64, f64, f64> response_spectra(const records_in& acceleration, double dt_s, const input_1d<double>& periods,
                                           double damping, bool rotated) {
    const std::size_t count = acceleration.shape(0), components = acceleration.shape(1), wanted = periods.shape(0);
    std::vector<double> psa(count * components * wanted), rotd50(rotated ? count * wanted : 0), rotd100(rotd50.size());
    const hazard::records of{{acceleration.data(), acceleration.size()},
                             static_cast<std::int64_t>(components),
                             static_cast<std::int64_t>(acceleration.shape(2)),
                             dt_s};
    without_gil([&] { hazard::response_spectra(of, as_span(periods), damping, {psa, rotd50, rotd100}); });
    const std::size_t rotated_count = rotated ? count : 0;
    return {to_numpy(std::move(psa), {count, components, wanted}), to_numpy(std::move(rotd50), {rotated_count, wanted}),
            to_numpy(std::move(rotd100), {rotated_count, wanted})};
}

nb::ndarray<nb::numpy, double> accelerations(const velocities_in& velocity, double dt_s) {
    const std::size_t samples = velocity.shape(2), rows = velocity.shape(0) * velocity.shape(1);
    std::vector<double> into(rows * samples);
    without_gil([&] {
        for (std::size_t row = 0; row < rows; ++row)
            hazard::differentiate({velocity.data() + row * samples, samples}, dt_s,
                                  std::span(into).subspan(row * samples, samples));
    });
    return to_numpy(std::move(into), {velocity.shape(0), velocity.shape(1), samples});
}

nb::ndarray<nb::numpy, double> significant_durations(const records_in& acceleration, double dt_s, double from, double to) {
    if (!(from >= 0 && from < to && to <= 1))
        throw user_error("significant duration: from " + std::to_string(from) + " to " + std::to_string(to) +
                         "; allowed: parts of the Arias integral, 0 <= from < to <= 1");
    const std::size_t samples = acceleration.shape(2), rows = acceleration.shape(0) * acceleration.shape(1);
    std::vector<double> into(rows);
    without_gil([&] {
        for (std::size_t row = 0; row < rows; ++row)
            into[row] = hazard::significant_duration({acceleration.data() + row * samples, samples}, dt_s, from, to);
    });
    return to_numpy(std::move(into), {acceleration.shape(0), acceleration.shape(1)});
}

} // namespace

void bind_hazard(nb::module_& m) {
    nb::class_<rupture_spectra>(m, "RuptureSpectra", R"(What slip of a rupture's subfaults gives at a site, by frequency.

Many variations come from spectra that are prepared once (include/craton/apps/hazard/rupture_spectra.hpp). Not changed
once made; any thread; not collective.)")
        .def("__init__", &make_spectra, "spectra"_a, "slip_rates"_a,
             R"(spectra: (subfault, component, frequency), of unit slip at once.

slip_rates: (rise time, frequency), about their centres. UserError for shapes that do not fit, fewer than 2 rise times,
and components other than 1 to 3.)")
        .def("sum", &sum, "slip"_a, "delay"_a, "rise"_a, R"((variation, component, frequency) from (variation, subfault).

slip: in m. delay: of the slip rate's centre, in periods of the lowest frequency. rise: the place of the rise time in
the table. Releases the GIL. UserError for what does not fit or is not finite, and a place beyond the table.)")
        .def_prop_ro("bytes", &rupture_spectra::bytes, "Memory that it holds, in bytes.")
        .def_prop_ro("operations", &rupture_spectra::operations, "Operations on real numbers for one variation.");
    m.def("response_spectra", &response_spectra, "acceleration"_a, "dt_s"_a, "periods_s"_a, "damping"_a = 0.05, "rotated"_a = true,
          R"(PSA (record, component, period), RotD50 and RotD100 (record, period) of accelerations.

acceleration: (record, component, time), every dt_s, components 0 and 1 horizontal; the results have its unit. Period 0
stands for the acceleration itself. Without `rotated` the last two have no records. Not collective; releases the GIL.
UserError for a damping not in (0, 1), a period below 0, rotation of fewer than 2 components, and numbers that are not
finite.)");
    m.def("accelerations", &accelerations, "velocity"_a, "dt_s"_a, R"(Accelerations from velocities, by differences of sixth order.

velocity: (record, component, time), every dt_s; the result has its shape. Not collective; releases the GIL.)");
    m.def("significant_durations", &significant_durations, "acceleration"_a, "dt_s"_a, "from_part"_a, "to_part"_a,
          R"(Seconds between two parts of the Arias integral, (record, component).

acceleration: (record, component, time), every dt_s. Not collective; releases the GIL. UserError unless
0 <= from_part < to_part <= 1.)");
}

} // namespace craton::bindings
