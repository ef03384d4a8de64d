#include "mode_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <utility>

extern "C" void dsyev_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
                       const int* lwork, int* info, std::size_t, std::size_t);

namespace craton::tomography {

mode_space::mode_space(const spheroidal_system& system, double degree, std::vector<double> omega_squared,
                       std::vector<double> vectors)
    : omega_squared_(std::move(omega_squared)), vectors_(std::move(vectors)), loss_(size() * size()) {
    const std::size_t n = static_cast<std::size_t>(system.unknowns());
    for (std::size_t i = 0; i < size(); ++i) {
        const std::vector<double> product = system.loss_product(degree, std::span(vectors_).subspan(i * n, n));
        for (std::size_t j = 0; j < size(); ++j) {
            loss_[i * size() + j] = std::inner_product(product.begin(), product.end(), vectors_.data() + j * n, 0.0);
        }
    }
}

mode_space::moved_mode mode_space::moved(std::size_t place, double step) const {
    const int m = static_cast<int>(size());
    std::vector<double> a(loss_.size());
    for (std::size_t i = 0; i < size(); ++i) {
        for (std::size_t j = 0; j < size(); ++j) {
            a[i * size() + j] = 0.5 * step * (loss_[i * size() + j] + loss_[j * size() + i]) + (i == j ? omega_squared_[i] : 0);
        }
    }
    const int lwork = std::max(1, 34 * m);
    std::vector<double> w(size());
    std::vector<double> work(static_cast<std::size_t>(lwork));
    int info = 0;
    dsyev_("V", "U", &m, a.data(), &m, w.data(), work.data(), &lwork, &info, 1, 1);
    if (info != 0) {
        throw std::runtime_error(fmt::format("dsyev failed: info = {}", info));
    }
    const std::size_t n = vectors_.size() / size();
    moved_mode out{w[place], std::vector<double>(n, 0.0)};
    for (std::size_t j = 0; j < size(); ++j) {
        const double share = a[place * size() + j];
        for (std::size_t i = 0; i < n; ++i) {
            out.vector[i] += share * vectors_[j * n + i];
        }
    }
    return out;
}

} // namespace craton::tomography
