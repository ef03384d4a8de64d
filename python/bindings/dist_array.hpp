#pragma once

#include "blocks.hpp"
#include "gil.hpp"
#include "python_callable.hpp"

#include <craton/array/dist_array.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/io/dist_array_file.hpp>

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace craton::bindings {

/// A piece that get_above found, whatever the number of dimensions.
struct judged_piece {
    std::int64_t tile = 0;
    std::vector<std::int64_t> low, high;
    double norm = 0;
    bool came = false;
};

/// Boundaries along each dimension, the owner of each tile or the grid of ranks to which tiles are dealt in turn.
struct tile_plan {
    std::vector<std::vector<std::int64_t>> boundaries;
    std::vector<int> owners;
    std::vector<int> grid;
};

/// Memory of Python for a rectangle: the first element, strides in elements.
struct python_memory {
    std::byte* first = nullptr;
    std::span<const std::int64_t> strides;
};

struct python_rectangle {
    std::span<const std::int64_t> low, high;
};

/// What DistArrayCore of Python is: a dist_array of any element type and number of dimensions. The Python class DistArray sees to
/// it that lists have as many numbers as the array has dimensions and memory has its element type; rectangles are checked here.
/// Members wait without the GIL, which those that take or give a Python object need at their beginning.
class any_dist_array : public takes_gil_back {
  public:
    any_dist_array() = default;
    any_dist_array(const any_dist_array&) = delete;
    any_dist_array& operator=(const any_dist_array&) = delete;
    virtual ~any_dist_array() = default;

    [[nodiscard]] virtual const char* dtype() const = 0;
    [[nodiscard]] virtual runtime::world& ranks() const = 0;
    [[nodiscard]] virtual std::vector<std::int64_t> shape() const = 0;
    [[nodiscard]] virtual tile_plan plan() const = 0;

    [[nodiscard]] virtual array::array_handle start_get(const python_rectangle& what, const python_memory& to) const = 0;
    [[nodiscard]] virtual array::array_handle start_put(const python_rectangle& what, const python_memory& from) = 0;
    [[nodiscard]] virtual array::array_handle start_accumulate(const python_rectangle& what, const python_memory& from) = 0;
    virtual void post_accumulate(const python_rectangle& what, const python_memory& from) = 0;
    [[nodiscard]] virtual std::vector<judged_piece> get_above(const python_rectangle& what, double threshold,
                                                              const python_memory& to) const = 0;

    /// Elements by their places, as many indices each as there are dimensions; memory is dense, as long as there are places.
    virtual void get_elements(std::span<const std::int64_t> where, std::byte* to) const = 0;
    virtual void put_elements(std::span<const std::int64_t> where, const std::byte* from) = 0;
    virtual void add_elements(std::span<const std::int64_t> where, const std::byte* from) = 0;
    [[nodiscard]] virtual nanobind::object fetch_add(std::span<const std::int64_t> where, const nanobind::object& by) = 0;

    /// Collective: calls call(view of a piece, its first indices, bytes of the argument); must not raise, nor keep the array alive.
    [[nodiscard]] virtual std::uint32_t register_function(const nanobind::object& call) = 0;
    [[nodiscard]] virtual array::array_handle start_apply(const python_rectangle& what, std::uint32_t function,
                                                          std::span<const std::byte> argument) = 0;

    [[nodiscard]] virtual std::vector<std::int64_t> own_tiles() const = 0;
    /// A view that keeps `owner` alive, which is this object's own.
    [[nodiscard]] virtual nanobind::object tile_view(std::int64_t tile, nanobind::handle owner) const = 0;

    virtual void sync() const = 0;
    virtual void fill(const nanobind::object& value) = 0;
    virtual void scale(const nanobind::object& by) = 0;
    virtual void copy(const any_dist_array& from) = 0;
    virtual void add(const nanobind::object& alpha, const any_dist_array& a, const nanobind::object& beta,
                     const any_dist_array& b) = 0;
    virtual void redistribute_to(any_dist_array& to) const = 0;
    virtual void transpose_to(any_dist_array& to) const = 0;
    [[nodiscard]] virtual nanobind::object trace() const = 0;
    [[nodiscard]] virtual nanobind::object dot(const any_dist_array& other) const = 0;
    [[nodiscard]] virtual double norm(const std::string& kind) const = 0;

    virtual void save(const std::string& path, const std::string& dataset, const io::save_options& options) const = 0;
    virtual void load(const std::string& path, const std::string& dataset, const io::transfer_options& options) = 0;
};

template <class T, std::size_t N> class held_dist_array final : public any_dist_array {
  public:
    using array_type = array::dist_array<T, N>;

    held_dist_array(runtime::world& ranks, array::tile_layout<N> layout) : array_(std::in_place, ranks, std::move(layout)) {}
    ~held_dist_array() override {
        this->give_up_gil();
        array_.reset();
    }

    [[nodiscard]] array_type& get() { return *array_; }
    [[nodiscard]] const array_type& get() const { return *array_; }

    [[nodiscard]] const char* dtype() const override { return dtype_name<T>(); }
    [[nodiscard]] runtime::world& ranks() const override { return array_->ranks(); }
    [[nodiscard]] std::vector<std::int64_t> shape() const override { return list(array_->extents()); }
    [[nodiscard]] tile_plan plan() const override {
        const auto& layout = array_->layout();
        tile_plan result{{layout.cuts().begin(), layout.cuts().end()}, {}, {}};
        for (std::int64_t t = 0; t < layout.tiles(); ++t) result.owners.push_back(layout.owner(t));
        return result;
    }

    [[nodiscard]] array::array_handle start_get(const python_rectangle& what, const python_memory& to) const override {
        return array_->start_get(rectangle(what), {elements(to), place(to.strides)});
    }
    [[nodiscard]] array::array_handle start_put(const python_rectangle& what, const python_memory& from) override {
        return array_->start_put(rectangle(what), memory(from));
    }
    [[nodiscard]] array::array_handle start_accumulate(const python_rectangle& what, const python_memory& from) override {
        return array_->start_accumulate(rectangle(what), memory(from));
    }
    void post_accumulate(const python_rectangle& what, const python_memory& from) override {
        array_->post_accumulate(rectangle(what), memory(from));
    }
    [[nodiscard]] std::vector<judged_piece> get_above(const python_rectangle& what, double threshold,
                                                      const python_memory& to) const override {
        std::vector<judged_piece> result;
        const array::strided_memory<T, N> into{elements(to), place(to.strides)};
        for (const auto& piece : array_->get_above(rectangle(what), threshold, into))
            result.push_back({piece.tile, list(piece.cells.low), list(piece.cells.high), piece.norm, piece.came});
        return result;
    }

    void get_elements(std::span<const std::int64_t> where, std::byte* to) const override {
        const auto places = all_places(where);
        array_->get_elements(places, {reinterpret_cast<T*>(to), places.size()}); // its dtype says so
    }
    void put_elements(std::span<const std::int64_t> where, const std::byte* from) override {
        const auto places = all_places(where);
        array_->put_elements(places, {reinterpret_cast<const T*>(from), places.size()});
    }
    void add_elements(std::span<const std::int64_t> where, const std::byte* from) override {
        const auto places = all_places(where);
        array_->add_elements(places, {reinterpret_cast<const T*>(from), places.size()});
    }
    [[nodiscard]] nanobind::object fetch_add(std::span<const std::int64_t> where, const nanobind::object& by) override {
        const T increment = number<T>(by, "fetch_add: by");
        const auto at = place(where);
        return nanobind::cast(without_gil([&] { return array_->fetch_add(at, increment); }));
    }

    [[nodiscard]] std::uint32_t register_function(const nanobind::object& call) override {
        const python_callable callable(call, "DistArray apply");
        auto run = [callable](const array::tile_piece<T, N>& piece, std::span<const std::byte> argument) {
            callable.with([&](const nanobind::object& function) {
                function(view(piece, nanobind::handle()), list(piece.cells.low), nanobind::bytes(argument.data(), argument.size()));
            });
        };
        return without_gil([&] { return array_->register_function(std::move(run)).number; });
    }
    [[nodiscard]] array::array_handle start_apply(const python_rectangle& what, std::uint32_t function,
                                                  std::span<const std::byte> argument) override {
        return array_->start_apply(rectangle(what), {function}, argument);
    }

    [[nodiscard]] std::vector<std::int64_t> own_tiles() const override {
        return {array_->own_tiles().begin(), array_->own_tiles().end()};
    }
    [[nodiscard]] nanobind::object tile_view(std::int64_t tile, nanobind::handle owner) const override {
        return view(array_->own_tile(tile), owner);
    }

    void sync() const override { array_->sync(); }
    void fill(const nanobind::object& value) override {
        const T element = number<T>(value, "fill: value");
        without_gil([&] { array_->fill(element); });
    }
    void scale(const nanobind::object& by) override {
        const T factor = number<T>(by, "scale: by");
        without_gil([&] { array_->scale(factor); });
    }
    void copy(const any_dist_array& from) override {
        const auto& other = alike(from, "copy");
        without_gil([&] { array_->copy(other); });
    }
    void add(const nanobind::object& alpha, const any_dist_array& a, const nanobind::object& beta,
             const any_dist_array& b) override {
        const T of_a = number<T>(alpha, "add: alpha");
        const T of_b = number<T>(beta, "add: beta");
        const auto& first = alike(a, "add");
        const auto& second = alike(b, "add");
        without_gil([&] { array_->add(of_a, first, of_b, second); });
    }
    void redistribute_to(any_dist_array& to) const override {
        auto& other = alike(to, "redistribute_to");
        without_gil([&] { array_->redistribute_to(other); });
    }
    void transpose_to(any_dist_array& to) const override {
        auto& other = alike(to, "transpose_to");
        if constexpr (N == 2) {
            without_gil([&] { array_->transpose_to(other); });
        } else {
            static_cast<void>(other);
            throw user_error("dist_array transpose_to: " + std::to_string(N) + " dimensions; allowed: two");
        }
    }
    [[nodiscard]] nanobind::object trace() const override {
        if constexpr (N == 2 && !array::summable<T>) {
            throw user_error(std::string("dist_array trace: elements of ") + dtype_name<T>() + "; allowed: astype('int64') first");
        } else if constexpr (N == 2) {
            return nanobind::cast(without_gil([&] { return array_->trace(); }));
        } else {
            throw user_error("dist_array trace: " + std::to_string(N) + " dimensions; allowed: two");
        }
    }
    [[nodiscard]] nanobind::object dot(const any_dist_array& other) const override {
        const auto& second = alike(other, "dot");
        if constexpr (array::summable<T>) {
            return nanobind::cast(without_gil([&] { return array_->dot(second); }));
        } else {
            static_cast<void>(second);
            throw user_error(std::string("dist_array dot: elements of ") + dtype_name<T>() + "; allowed: astype('int64') first");
        }
    }
    [[nodiscard]] double norm(const std::string& kind) const override {
        const nanobind::gil_scoped_release release;
        if (kind == "fro") return array_->frobenius_norm();
        if (kind == "max") return array_->max_norm();
        if (kind == "one") return array_->one_norm();
        throw user_error("dist_array norm: kind = '" + kind + "'; allowed: 'fro', 'max' or 'one'");
    }

    void save(const std::string& path, const std::string& dataset, const io::save_options& options) const override {
        io::save_dist_array(*array_, path, dataset, options);
    }
    void load(const std::string& path, const std::string& dataset, const io::transfer_options& options) override {
        io::load_dist_array(*array_, path, dataset, options);
    }

  private:
    static array::place<N> place(std::span<const std::int64_t> numbers) {
        if (numbers.size() != N) {
            throw user_error("dist_array: " + std::to_string(numbers.size()) + " numbers for " + std::to_string(N) +
                             " dimensions; allowed: as many");
        }
        array::place<N> result{};
        std::copy(numbers.begin(), numbers.end(), result.begin());
        return result;
    }
    static std::vector<array::place<N>> all_places(std::span<const std::int64_t> numbers) {
        if (numbers.size() % N != 0) throw user_error("dist_array: places of other dimensions; allowed: the array's own");
        std::vector<array::place<N>> result(numbers.size() / N);
        for (std::size_t n = 0; n < result.size(); ++n) result[n] = place(numbers.subspan(n * N, N));
        return result;
    }
    static array::rectangle<N> rectangle(const python_rectangle& what) { return {place(what.low), place(what.high)}; }
    static nanobind::object view(const array::tile_piece<T, N>& piece, nanobind::handle owner) {
        std::array<std::size_t, N> shape{};
        for (std::size_t d = 0; d < N; ++d) shape[d] = static_cast<std::size_t>(piece.cells.extent(d));
        return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(piece.first, N, shape.data(), owner, piece.strides.data()),
                              nanobind::rv_policy::reference);
    }
    static std::vector<std::int64_t> list(const array::place<N>& p) { return {p.begin(), p.end()}; }
    static T* elements(const python_memory& of) { return reinterpret_cast<T*>(of.first); } // its dtype says so
    static array::strided_memory<const T, N> memory(const python_memory& of) { return {elements(of), place(of.strides)}; }

    template <class Array> static auto& alike(Array& other, const char* call) {
        using held = std::conditional_t<std::is_const_v<Array>, const held_dist_array, held_dist_array>;
        auto* const same = dynamic_cast<held*>(&other);
        if (same != nullptr) return same->get();
        throw user_error(std::string("dist_array ") + call + ": the other array is " + other.dtype() + " of " +
                         std::to_string(other.shape().size()) + " dimensions; allowed: " + dtype_name<T>() + " of " +
                         std::to_string(N));
    }

    std::optional<array_type> array_;
};

/// Collective, without the GIL: what is wrong with one rank's plan is thrown on all.
template <class T, std::size_t N> std::unique_ptr<any_dist_array> make_dist_array(runtime::world& ranks, const tile_plan& plan) {
    std::optional<array::tile_layout<N>> layout;
    std::string failure;
    try {
        typename array::tile_layout<N>::boundaries cuts;
        std::copy(plan.boundaries.begin(), plan.boundaries.end(), cuts.begin());
        if (plan.grid.empty()) {
            layout.emplace(std::move(cuts), plan.owners, ranks.size());
        } else {
            std::array<int, N> grid{};
            if (plan.grid.size() != N) throw user_error("DistArray: a grid of other dimensions; allowed: the array's own");
            std::copy(plan.grid.begin(), plan.grid.end(), grid.begin());
            layout = array::tile_layout<N>::dealt_in_turn(std::move(cuts), grid);
        }
    } catch (const user_error& error) {
        failure = error.what();
    }
    ranks.barrier(); // polls, before what does not
    comm::agree(ranks.communicator(), failure);
    return std::make_unique<held_dist_array<T, N>>(ranks, std::move(*layout));
}

template <class T> std::unique_ptr<any_dist_array> make_dist_array_of(runtime::world& ranks, const tile_plan& plan) {
    switch (plan.boundaries.size()) {
    case 1:
        return make_dist_array<T, 1>(ranks, plan);
    case 2:
        return make_dist_array<T, 2>(ranks, plan);
    case 3:
        return make_dist_array<T, 3>(ranks, plan);
    case 4:
        return make_dist_array<T, 4>(ranks, plan);
    default:
        throw user_error("DistArray: " + std::to_string(plan.boundaries.size()) + " dimensions; allowed: 1 to 4");
    }
}

extern template std::unique_ptr<any_dist_array> make_dist_array_of<float>(runtime::world&, const tile_plan&);
extern template std::unique_ptr<any_dist_array> make_dist_array_of<double>(runtime::world&, const tile_plan&);
extern template std::unique_ptr<any_dist_array> make_dist_array_of<std::complex<float>>(runtime::world&, const tile_plan&);
extern template std::unique_ptr<any_dist_array> make_dist_array_of<std::complex<double>>(runtime::world&, const tile_plan&);
extern template std::unique_ptr<any_dist_array> make_dist_array_of<std::int32_t>(runtime::world&, const tile_plan&);
extern template std::unique_ptr<any_dist_array> make_dist_array_of<std::int64_t>(runtime::world&, const tile_plan&);

/// The array inside, of an element type that linear algebra knows; null for another.
template <class T> [[nodiscard]] array::dist_array<T, 2>* matrix_in(any_dist_array& given) {
    auto* const held = dynamic_cast<held_dist_array<T, 2>*>(&given);
    return held == nullptr ? nullptr : &held->get();
}

} // namespace craton::bindings
