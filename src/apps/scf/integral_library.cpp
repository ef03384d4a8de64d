#include <craton/apps/scf/integral_library.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include <dlfcn.h>

namespace craton::scf {

namespace detail {

// The library's C interface. Tables are read only, though it does not say so.
extern "C" {
using integral_function = int(double* out, int* dims, int* shells, int* atm, int atoms, int* bas, int shell_count, double* env,
                              void* prepared, double* scratch);
using prepare_function = void(void** prepared, int* atm, int atoms, int* bas, int shell_count, double* env);
using release_function = void(void** prepared);
using release_pairs_function = void(void* prepared);
}

struct libcint {
    explicit libcint(const std::string& path);
    libcint(const libcint&) = delete;
    libcint& operator=(const libcint&) = delete;
    ~libcint() {
        if (handle != nullptr) ::dlclose(handle);
    }

    // Over spherical or over Cartesian functions.
    struct integrals {
        integral_function* overlap = nullptr;
        integral_function* kinetic = nullptr;
        integral_function* nuclear_attraction = nullptr;
        integral_function* position = nullptr;
        integral_function* repulsion = nullptr;

        // Of the first function's derivative, where the library has them.
        integral_function* overlap_derivative = nullptr;
        integral_function* kinetic_derivative = nullptr;
        integral_function* attraction_derivative = nullptr;
        integral_function* field_derivative = nullptr;
        integral_function* repulsion_derivative = nullptr;
        integral_function* repulsion_derivatives = nullptr; // of the first and of the third function

        [[nodiscard]] bool has_derivatives() const {
            return overlap_derivative != nullptr && kinetic_derivative != nullptr && attraction_derivative != nullptr &&
                   field_derivative != nullptr && repulsion_derivative != nullptr && repulsion_derivatives != nullptr;
        }
    };

    [[nodiscard]] const integrals& over(const basis& functions) const { return functions.cartesian() ? cartesian : spherical; }
    template <class Function> void find(const std::string& path, const char* name, Function*& into);
    void find(const std::string& path, const std::string& kind, integrals& into);

    void* handle = nullptr;
    integrals spherical, cartesian;
    prepare_function* prepare_repulsion = nullptr;
    prepare_function* prepare_repulsion_derivative = nullptr; // where the library has it
    release_function* release = nullptr;
    release_pairs_function* release_pairs = nullptr; // where the library has it
};

template <class Function> void libcint::find(const std::string& path, const char* name, Function*& into) {
    into = reinterpret_cast<Function*>(::dlsym(handle, name));
    if (into != nullptr) return;
    ::dlclose(std::exchange(handle, nullptr));
    throw user_error(fmt::format("integral library {}: it has no function {}; allowed: libcint 4 or newer", path, name));
}

libcint::libcint(const std::string& path) : handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr)
        throw user_error(fmt::format("integral library {}: {}; allowed: the file of libcint", path, ::dlerror()));
    find(path, "sph", spherical);
    find(path, "cart", cartesian);
    find(path, "int2e_optimizer", prepare_repulsion);
    find(path, "CINTdel_optimizer", release);
    release_pairs = reinterpret_cast<release_pairs_function*>(::dlsym(handle, "CINTdel_pairdata_optimizer"));
    prepare_repulsion_derivative = reinterpret_cast<prepare_function*>(::dlsym(handle, "int2e_ip1_optimizer"));
}

void libcint::find(const std::string& path, const std::string& kind, integrals& into) {
    const auto name = [&kind](const char* operation) { return fmt::format("{}_{}", operation, kind); };
    find(path, name("int1e_ovlp").c_str(), into.overlap);
    find(path, name("int1e_kin").c_str(), into.kinetic);
    find(path, name("int1e_nuc").c_str(), into.nuclear_attraction);
    find(path, name("int1e_r").c_str(), into.position);
    find(path, name("int2e").c_str(), into.repulsion);
    const auto find_if_there = [&](const char* operation, integral_function*& found) {
        found = reinterpret_cast<integral_function*>(::dlsym(handle, name(operation).c_str()));
    };
    find_if_there("int1e_ipovlp", into.overlap_derivative);
    find_if_there("int1e_ipkin", into.kinetic_derivative);
    find_if_there("int1e_ipnuc", into.attraction_derivative);
    find_if_there("int1e_iprinv", into.field_derivative);
    find_if_there("int2e_ip1", into.repulsion_derivative);
    find_if_there("int2e_ip1ip2", into.repulsion_derivatives);
}

} // namespace detail

namespace {

// The tables of a basis as the library wants them.
struct tables {
    explicit tables(const basis& b)
        : atm(const_cast<int*>(b.atm().data())), bas(const_cast<int*>(b.bas().data())), env(const_cast<double*>(b.env().data())),
          atoms(static_cast<int>(b.nuclei().size())), shells(b.shell_count()) {}

    int* atm;
    int* bas;
    double* env;
    int atoms;
    int shells;
};

// Shells from the first to the second (exclusive).
using some_shells = std::array<int, 2>;

void check(const some_shells& some, const basis& b) {
    if (some[0] < 0 || some[0] > some[1] || some[1] > b.shell_count())
        throw user_error(fmt::format("integrals: shells {} to {}; allowed: 0 to {}", some[0], some[1], b.shell_count()));
}

// One shell pair after another, the later shell always first, so that the whole matrix is symmetric to the last bit.
std::vector<double> one_electron_block(detail::integral_function* function, int components, const basis& b, const some_shells& rows,
                                       const some_shells& columns) {
    check(rows, b);
    check(columns, b);
    const tables in(b);
    const auto first = b.first_function();
    const int top = first[rows[0]], left = first[columns[0]];
    const auto height = static_cast<std::size_t>(first[rows[1]] - top), width = static_cast<std::size_t>(first[columns[1]] - left);
    std::vector<double> all(static_cast<std::size_t>(components) * height * width), integrals;
    for (int i = rows[0]; i < rows[1]; ++i) {
        for (int j = columns[0]; j < columns[1]; ++j) {
            std::array<int, 2> shells{std::max(i, j), std::min(i, j)};
            const auto [a, c] = shells;
            const int na = first[a + 1] - first[a], nc = first[c + 1] - first[c];
            integrals.assign(static_cast<std::size_t>(components) * na * nc, 0.0);
            function(integrals.data(), nullptr, shells.data(), in.atm, in.atoms, in.bas, in.shells, in.env, nullptr, nullptr);
            const double* value = integrals.data();
            for (int component = 0; component < components; ++component)
                for (int y = first[c]; y < first[c + 1]; ++y)
                    for (int x = first[a]; x < first[a + 1]; ++x, ++value) {
                        const std::size_t row = static_cast<std::size_t>((i == a ? x : y) - top);
                        const std::size_t column = static_cast<std::size_t>((i == a ? y : x) - left);
                        all[(component * height + row) * width + column] = *value;
                    }
        }
    }
    return all;
}

// A centre and two numbers for each pair of primitives, if all pairs mattered.
std::int64_t most_pair_table_bytes(const basis& functions) {
    std::int64_t primitives = 0;
    for (const shell& each : functions.shells()) primitives += std::ssize(each.exponents);
    return primitives * primitives * 5 * static_cast<std::int64_t>(sizeof(double));
}

class repulsion_source final : public quartet_source {
  public:
    repulsion_source(std::shared_ptr<const detail::libcint> library, std::shared_ptr<const basis> functions,
                     std::int64_t most_table_bytes)
        : library_(std::move(library)), basis_(std::move(functions)), in_(*basis_) {
        library_->prepare_repulsion(&prepared_, in_.atm, in_.atoms, in_.bas, in_.shells, in_.env);
        if (library_->release_pairs != nullptr && most_pair_table_bytes(*basis_) > most_table_bytes)
            library_->release_pairs(prepared_);
        for (int s = 0; s < in_.shells; ++s) { // with nowhere to write, the library says how much scratch it wants
            std::array<int, 4> shells{s, s, s, s};
            const int wanted = library_->over(*basis_).repulsion(nullptr, nullptr, shells.data(), in_.atm, in_.atoms, in_.bas,
                                                                 in_.shells, in_.env, prepared_, nullptr);
            scratch_doubles_ = std::max(scratch_doubles_, static_cast<std::size_t>(std::max(wanted, 0)));
        }
    }
    ~repulsion_source() override { library_->release(&prepared_); }

    [[nodiscard]] std::size_t scratch_doubles() const override { return scratch_doubles_; }

    bool compute(const shell_quartet& shells, double* integrals, double* scratch) const override {
        std::array<int, 4> of = shells;
        return library_->over(*basis_).repulsion(integrals, nullptr, of.data(), in_.atm, in_.atoms, in_.bas, in_.shells, in_.env,
                                                 prepared_, scratch) != 0;
    }

    // Pairs of primitives, each with as many intermediate functions as its angular momentum asks for.
    [[nodiscard]] double work(int i, int j) const override {
        const shell& a = basis_->shells()[i];
        const shell& b = basis_->shells()[j];
        const int l = a.l + b.l;
        return static_cast<double>(a.exponents.size() * b.exponents.size()) * (l + 1) * (l + 2) * (l + 3) / 6;
    }

  private:
    std::shared_ptr<const detail::libcint> library_;
    std::shared_ptr<const basis> basis_;
    tables in_;
    void* prepared_ = nullptr;
    std::size_t scratch_doubles_ = 1;
};

// Sums of one or two of the library's functions, with tables of its own where a parameter is set.
class libcint_pair_derivatives final : public pair_derivatives {
  public:
    libcint_pair_derivatives(const basis& functions, std::array<detail::integral_function*, 2> terms, std::vector<double> env = {})
        : of_(functions), terms_(terms), env_(std::move(env)), in_(functions) {
        if (!env_.empty()) in_.env = env_.data();
    }
    void compute(int i, int j, double* integrals) const override {
        std::array<int, 2> shells{i, j};
        const auto first = of_.first_function();
        const auto count = static_cast<std::size_t>(3 * (first[i + 1] - first[i]) * (first[j + 1] - first[j]));
        std::fill_n(integrals, count, 0.0);
        std::vector<double> term(terms_[1] == nullptr ? 0 : count);
        run(terms_[0], shells, integrals);
        if (terms_[1] == nullptr) return;
        run(terms_[1], shells, term.data());
        for (std::size_t x = 0; x < count; ++x) integrals[x] += term[x];
    }

  private:
    void run(detail::integral_function* function, std::array<int, 2>& shells, double* out) const {
        function(out, nullptr, shells.data(), in_.atm, in_.atoms, in_.bas, in_.shells, in_.env, nullptr, nullptr);
    }

    const basis& of_;
    std::array<detail::integral_function*, 2> terms_;
    std::vector<double> env_;
    tables in_;
};

class libcint_derivatives final : public derivative_source {
  public:
    libcint_derivatives(std::shared_ptr<const detail::libcint> library, std::shared_ptr<const basis> functions)
        : library_(std::move(library)), basis_(std::move(functions)), integrals_(&library_->over(*basis_)), in_(*basis_) {
        library_->prepare_repulsion_derivative(&prepared_, in_.atm, in_.atoms, in_.bas, in_.shells, in_.env);
        for (int s = 0; s < in_.shells; ++s) {
            std::array<int, 4> shells{s, s, s, s};
            for (detail::integral_function* const function :
                 {integrals_->repulsion_derivative, integrals_->repulsion_derivatives}) {
                const int wanted =
                    function(nullptr, nullptr, shells.data(), in_.atm, in_.atoms, in_.bas, in_.shells, in_.env, nullptr, nullptr);
                scratch_doubles_ = std::max(scratch_doubles_, static_cast<std::size_t>(std::max(wanted, 0)));
            }
        }
    }
    ~libcint_derivatives() override { library_->release(&prepared_); }

    [[nodiscard]] std::unique_ptr<const pair_derivatives> overlap() const override { return pairs(integrals_->overlap_derivative); }
    [[nodiscard]] std::unique_ptr<const pair_derivatives> core() const override {
        return pairs(integrals_->kinetic_derivative, integrals_->attraction_derivative);
    }
    [[nodiscard]] std::unique_ptr<const pair_derivatives> field_of(std::size_t nucleus) const override {
        constexpr std::ptrdiff_t centre_slot = 4; // of 1 / r, in the library's parameters
        std::vector<double> env(basis_->env().begin(), basis_->env().end());
        std::ranges::copy(basis_->nuclei()[nucleus].position_bohr, env.begin() + centre_slot);
        return std::make_unique<const libcint_pair_derivatives>(*basis_, std::array{integrals_->field_derivative, none},
                                                                std::move(env));
    }

    [[nodiscard]] std::size_t scratch_doubles() const override { return scratch_doubles_; }

    bool quartet(const shell_quartet& shells, double* integrals, double* scratch) const override {
        std::array<int, 4> of = shells;
        return integrals_->repulsion_derivative(integrals, nullptr, of.data(), in_.atm, in_.atoms, in_.bas, in_.shells, in_.env,
                                                prepared_, scratch) != 0;
    }

    // The repulsion of a derivative with itself, along each axis.
    [[nodiscard]] double bound(int i, int j, double* integrals, double* scratch) const override {
        std::array<int, 4> of{i, j, i, j};
        if (integrals_->repulsion_derivatives(integrals, nullptr, of.data(), in_.atm, in_.atoms, in_.bas, in_.shells, in_.env,
                                              nullptr, scratch) == 0)
            return 0;
        const auto first = basis_->first_function();
        const auto count = static_cast<std::size_t>(first[i + 1] - first[i]) * static_cast<std::size_t>(first[j + 1] - first[j]);
        double square = 0;
        for (std::size_t x = 0; x < 9; x += 4)
            for (std::size_t ij = 0; ij < count; ++ij)
                square = std::max(square, std::abs(integrals[(x * count + ij) * count + ij]));
        return std::sqrt(square);
    }

  private:
    static constexpr detail::integral_function* none = nullptr;

    [[nodiscard]] std::unique_ptr<const pair_derivatives> pairs(detail::integral_function* one,
                                                                detail::integral_function* other = none) const {
        return std::make_unique<const libcint_pair_derivatives>(*basis_, std::array{one, other});
    }

    std::shared_ptr<const detail::libcint> library_;
    std::shared_ptr<const basis> basis_;
    const detail::libcint::integrals* integrals_;
    tables in_;
    void* prepared_ = nullptr;
    std::size_t scratch_doubles_ = 1;
};

} // namespace

integral_library::integral_library(const std::string& path)
    : path_(path), functions_(std::make_shared<const detail::libcint>(path)) {}

std::vector<double> integral_library::block(one_electron which, const basis& functions, std::array<int, 2> rows,
                                            std::array<int, 2> columns) const {
    switch (which) {
    case one_electron::overlap:
        return one_electron_block(functions_->over(functions).overlap, 1, functions, rows, columns);
    case one_electron::kinetic:
        return one_electron_block(functions_->over(functions).kinetic, 1, functions, rows, columns);
    case one_electron::nuclear_attraction:
        return one_electron_block(functions_->over(functions).nuclear_attraction, 1, functions, rows, columns);
    }
    CRATON_ASSERT(false);
    return {};
}

std::vector<double> integral_library::position_block(const basis& functions, std::array<int, 2> rows,
                                                     std::array<int, 2> columns) const {
    return one_electron_block(functions_->over(functions).position, 3, functions, rows, columns);
}

std::vector<double> integral_library::matrix(one_electron which, const basis& functions) const {
    const some_shells all{0, functions.shell_count()};
    return block(which, functions, all, all);
}

std::vector<double> integral_library::position(const basis& functions) const {
    const some_shells all{0, functions.shell_count()};
    return position_block(functions, all, all);
}

std::shared_ptr<const quartet_source> integral_library::electron_repulsion(std::shared_ptr<const basis> functions,
                                                                           std::int64_t most_table_bytes) const {
    return std::make_shared<const repulsion_source>(functions_, std::move(functions), most_table_bytes);
}

std::shared_ptr<const derivative_source> integral_library::derivatives(std::shared_ptr<const basis> functions) const {
    const detail::libcint& all = *functions_;
    const bool there = all.over(*functions).has_derivatives() && all.prepare_repulsion_derivative != nullptr;
    if (!there)
        throw user_error(fmt::format("integral library {}: it has no derivatives of integrals; allowed for gradients: libcint with "
                                     "int1e_ipovlp, ipkin, ipnuc, iprinv, int2e_ip1 and ip1ip2",
                                     path_));
    return std::make_shared<const libcint_derivatives>(functions_, std::move(functions));
}

} // namespace craton::scf
