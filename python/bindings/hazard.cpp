#include "bindings.hpp"
#include "gil.hpp"

#include <craton/apps/hazard/intensity.hpp>
#include <craton/apps/hazard/kernels/motion.hpp>
#include <craton/apps/hazard/rupture_spectra.hpp>

#include <complex>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;
using craton::hazard::rupture_spectra;

namespace craton::bindings {

namespace {

using complex_float = std::complex<float>;
using spectra_in = nb::ndarray<const complex_float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using records_in = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using velocities_in = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

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

nb::tuple response_spectra(const records_in& acceleration, double dt_s, const input_1d<double>& periods, double damping,
                           bool rotated) {
    const std::size_t count = acceleration.shape(0), components = acceleration.shape(1), wanted = periods.shape(0);
    std::vector<double> psa(count * components * wanted), rotd50(rotated ? count * wanted : 0), rotd100(rotd50.size());
    const hazard::records of{{acceleration.data(), acceleration.size()},
                             static_cast<std::int64_t>(components),
                             static_cast<std::int64_t>(acceleration.shape(2)),
                             dt_s};
    without_gil([&] { hazard::response_spectra(of, as_span(periods), damping, {psa, rotd50, rotd100}); });
    const std::size_t rotated_count = rotated ? count : 0;
    return nb::make_tuple(to_numpy(std::move(psa), {count, components, wanted}),
                          to_numpy(std::move(rotd50), {rotated_count, wanted}),
                          to_numpy(std::move(rotd100), {rotated_count, wanted}));
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
    nb::class_<rupture_spectra>(m, "RuptureSpectra", "What slip of a rupture's subfaults gives at a site, by frequency.")
        .def("__init__", &make_spectra, "spectra"_a, "slip_rates"_a)
        .def("sum", &sum, "slip"_a, "delay"_a, "rise"_a)
        .def_prop_ro("bytes", &rupture_spectra::bytes)
        .def_prop_ro("operations", &rupture_spectra::operations);
    m.def("response_spectra", &response_spectra, "acceleration"_a, "dt_s"_a, "periods_s"_a, "damping"_a = 0.05, "rotated"_a = true);
    m.def("accelerations", &accelerations, "velocity"_a, "dt_s"_a);
    m.def("significant_durations", &significant_durations, "acceleration"_a, "dt_s"_a, "from_part"_a, "to_part"_a);
}

} // namespace craton::bindings
