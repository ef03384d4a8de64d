#pragma once

#include "columns.hpp"
#include "device_memory.hpp"
#include "layers.hpp"
#include "planes.hpp"
#include "points.hpp"
#include "updates.hpp"

#include <craton/apps/waves/absorbing_layers.hpp>
#include <craton/apps/waves/step_engine.hpp>
#include <craton/base/assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace craton::waves::device {

/// step_engine on any device (device_memory.hpp says what that is).
///
/// Two streams: `edge_` has sources, outer cells and everything that crosses to the host; `inner_` inner cells, so that they are
/// computed while halos travel. When the half step changes, the edge stream waits for the inner cells and the inner stream for
/// sources and outer cells, not for halos: inner cells read none (checked in debug builds). A source waits for the inner cells
/// before it and inner cells for the sources.
template <class Device> class device_engine final : public step_engine {
  public:
    device_engine(std::unique_ptr<Device> device, const brick_fields& host, const halo_plan& halos, absorbing_layers* layers)
        : device_(std::move(device)), edge_(device_->make_stream()), inner_(device_->make_stream()),
          edge_done_(device_->make_event()), inner_done_(device_->make_event()), injected_done_(device_->make_event()), host_(host),
          layers_(layers), shape_(shape_on_device(host.shape)), surface_(closed_differences_of(host.surface, host.d)),
          untouched_{0, shape_.nx, 0, shape_.ny, 0, shape_.nz} {
        CRATON_ASSERT(host.surface == nullptr || host.shape.nz + halo >= surface_closure::width);
        copy_fields();
        copy_media();
        if (layers_ != nullptr) copy_layers();
        for (std::size_t half = 0; half < 2; ++half) {
            halos_[half] = {make_traffic(halos.give[half]), make_traffic(halos.take[half]), device_->make_event(),
                            device_->make_event()};
        }
    }
    ~device_engine() override {
        try {
            wait();     // nothing may be under way to memory that goes
        } catch (...) { // a device that has failed does no more
        }
    }

    [[nodiscard]] bool overlaps() const noexcept override { return true; }
    [[nodiscard]] std::int64_t outer_width_x() const noexcept override { return warp; }

    void update(half_step half, const cell_range& cells, part which) override {
        if (cells.empty()) return;
        CRATON_ASSERT(which == part::outer || reads_no_halos(cells));
        enter(half);
        const auto stream = which == part::outer ? edge_ : inner_;
        if (which == part::inner && injected_) device_->wait(inner_, injected_done_);
        const cell_range inside = whole_pieces(common(cells, untouched_));
        launch_update<false>(half, {inside}, no_layers{}, stream);
        launch_update<true>(half, without(cells, inside), layers_on_device_, stream);
        device_->record(which == part::outer ? edge_done_ : inner_done_, stream);
    }

    int add_sources(std::span<const point_term> terms, std::int64_t count) override {
        check(terms, count);
        const auto rows = rows_by_element(terms, [this](const point_term& term) { return element_of(term); });
        source_set set;
        set.half = !terms.empty() && terms.front().which > stored_field::vz ? half_step::stress : half_step::velocity;
        CRATON_ASSERT(std::all_of(terms.begin(), terms.end(), [&](const point_term& term) {
            return term.which < stored_field::rxx && (term.which > stored_field::vz) == (set.half == half_step::stress);
        }));
        set.targets = {*device_, edge_, rows.targets};
        set.begin = {*device_, edge_, rows.begin};
        set.value = {*device_, edge_, rows.value};
        set.weight = {*device_, edge_, rows.weight};
        set.values = {*device_, static_cast<std::size_t>(count)};
        for (auto& each : set.slots) {
            each.values = {*device_, static_cast<std::size_t>(count)};
            each.read = device_->make_event();
        }
        sources_.push_back(std::move(set));
        return static_cast<int>(sources_.size()) - 1;
    }

    void inject(int sources, std::span<const float> values) override {
        source_set& set = sources_.at(static_cast<std::size_t>(sources));
        CRATON_ASSERT(values.size() == set.values.size());
        if (set.targets.size() == 0) return;
        enter(set.half);
        slot& next = set.slots[set.next];
        set.next = (set.next + 1) % set.slots.size();
        device_->finish(next.read); // what the device had of it four steps ago
        std::memcpy(next.values.data(), values.data(), values.size_bytes());
        device_->to_device(set.values.data(), next.values.data(), values.size_bytes(), edge_);
        device_->record(next.read, edge_);
        device_->wait(edge_, inner_done_);
        launch(injection{set.targets.data(), set.begin.data(), set.value.data(), set.weight.data(),
                         static_cast<std::int64_t>(set.targets.size()), set.values.data()},
               edge_);
        device_->record(injected_done_, edge_);
        device_->record(edge_done_, edge_);
        injected_ = true;
    }

    int add_receivers(std::span<const point_term> terms, std::int64_t count) override {
        check(terms, count);
        const auto rows = rows_by_value(terms, count, [this](const point_term& term) { return element_of(term); });
        receiver_set set;
        set.begin = {*device_, edge_, rows.begin};
        set.element = {*device_, edge_, rows.element};
        set.weight = {*device_, edge_, rows.weight};
        set.values = {*device_, static_cast<std::size_t>(count)};
        set.on_host = {*device_, static_cast<std::size_t>(count)};
        receivers_.push_back(std::move(set));
        return static_cast<int>(receivers_.size()) - 1;
    }

    void gather(int receivers, std::span<float> values) override {
        const receiver_set& set = receivers_.at(static_cast<std::size_t>(receivers));
        CRATON_ASSERT(values.size() == set.values.size());
        if (values.empty()) return;
        device_->wait(edge_, inner_done_);
        launch(gathering{set.begin.data(), set.element.data(), set.weight.data(), static_cast<std::int64_t>(values.size()),
                         set.values.data()},
               edge_);
        device_->to_host(set.on_host.data(), set.values.data(), set.values.bytes(), edge_);
        device_->finish(edge_);
        std::memcpy(values.data(), set.on_host.data(), values.size_bytes());
    }

    void clear_points() override {
        wait();
        sources_.clear();
        receivers_.clear();
    }

    void start_giving(half_step half) override {
        halo_traffic& halo = halos_[number(half)];
        if (halo.give.size == 0) return;
        launch(packing_of(halo.give, true), edge_);
        device_->to_host(halo.give.on_host.data(), halo.give.buffer.data(), halo.give.buffer.bytes(), edge_);
        device_->record(halo.given, edge_);
    }

    void finish_giving(half_step half) override {
        halo_traffic& halo = halos_[number(half)];
        if (halo.give.size == 0) return;
        device_->finish(halo.given);
        for_rows(halo.give, [](float* on_host, float* packed, std::size_t bytes) { std::memcpy(on_host, packed, bytes); });
    }

    void take(half_step half) override {
        halo_traffic& halo = halos_[number(half)];
        if (halo.take.size == 0) return;
        device_->finish(halo.taken); // those of the step before have left the buffer
        for_rows(halo.take, [](float* on_host, float* packed, std::size_t bytes) { std::memcpy(packed, on_host, bytes); });
        device_->to_device(halo.take.buffer.data(), halo.take.on_host.data(), halo.take.buffer.bytes(), edge_);
        device_->record(halo.taken, edge_);
        launch(packing_of(halo.take, false), edge_);
    }

    void copy_out(stored_field which, const cell_range& cells) override {
        if (cells.empty()) return;
        device_->wait(edge_, inner_done_);
        copy_rows(host_.first(which), on_device(which), cells, false);
    }
    void copy_in(stored_field which, const cell_range& cells) override {
        if (cells.empty()) return;
        device_->wait(edge_, inner_done_);
        copy_rows(host_.first(which), on_device(which), cells, true);
    }

    void copy_layers_out() override {
        if (layer_memory_.size() == 0) return;
        device_->wait(edge_, inner_done_);
        device_->to_host(layers_->memory().data(), layer_memory_.data(), layer_memory_.bytes(), edge_);
        device_->finish(edge_);
    }
    void copy_layers_in() override {
        if (layer_memory_.size() == 0) return;
        device_->wait(edge_, inner_done_);
        device_->to_device(layer_memory_.data(), layers_->memory().data(), layer_memory_.bytes(), edge_);
        device_->finish(edge_);
    }

    void wait() override {
        device_->finish(edge_);
        device_->finish(inner_);
    }

  private:
    template <class T> using array_of = device_array<T, Device>;

    // Values on their way to the device.
    struct slot {
        pinned_floats<Device> values;
        typename Device::event read{};
    };
    struct source_set {
        half_step half = half_step::velocity;
        array_of<float*> targets;
        array_of<std::int64_t> begin, value;
        array_of<float> weight, values;
        std::array<slot, 4> slots;
        std::size_t next = 0;
    };
    struct receiver_set {
        array_of<std::int64_t> begin;
        array_of<float*> element;
        array_of<float> weight, values;
        pinned_floats<Device> on_host;
    };
    // One direction of a half step's halos.
    struct traffic {
        std::vector<field_planes> planes;
        array_of<packed_cells> list;
        array_of<float> buffer;
        pinned_floats<Device> on_host;
        std::size_t size = 0;
        std::int64_t most_cells = 0;
    };
    struct halo_traffic {
        traffic give, take;
        typename Device::event given{}, taken{};
    };

    static std::size_t number(half_step half) { return half == half_step::velocity ? 0 : 1; }

    // Rows begin on 128-byte lines; ghosts of a row lie behind the row before.
    static brick_shape shape_on_device(const brick_shape& host) {
        brick_shape shape = host;
        shape.pitch = divided_up(host.nx + 2 * halo, warp) * warp;
        shape.plane = shape.pitch * (host.ny + 2 * halo);
        return shape;
    }
    static std::int64_t in_front(const brick_shape& shape) { return warp + halo * (shape.pitch + shape.plane); }
    static cell_range with_ghosts(const brick_shape& shape) {
        return {-halo, shape.nx + halo, -halo, shape.ny + halo, -halo, shape.nz + halo};
    }

    template <class Body> void launch(const Body& body, typename Device::stream stream) {
        if constexpr (requires { body.shape(); }) {
            device_->launch(body.shape(), body, stream);
        } else {
            device_->launch(body.share.shape(), body, stream);
        }
    }

    // The first order of another half step.
    void enter(half_step half) {
        if (entered_ && half == half_) return;
        entered_ = true;
        half_ = half;
        injected_ = false;
        device_->wait(edge_, inner_done_);
        device_->wait(inner_, edge_done_);
    }

    // A cell_range grown by what differences reach meets no ghosts that are taken and no planes that are given.
    [[nodiscard]] bool reads_no_halos(const cell_range& cells) const {
        const auto meet = [](const cell_range& a, const cell_range& b) { return !common(a, b).empty(); };
        const auto& c = cells;
        const std::array<cell_range, 3> read{cell_range{c.i0 - halo, c.i1 + halo, c.j0, c.j1, c.k0, c.k1},
                                             cell_range{c.i0, c.i1, c.j0 - halo, c.j1 + halo, c.k0, c.k1},
                                             cell_range{c.i0, c.i1, c.j0, c.j1, c.k0 - halo, c.k1 + halo}};
        return std::all_of(halos_.begin(), halos_.end(), [&](const halo_traffic& halo) {
            return std::none_of(halo.take.planes.begin(), halo.take.planes.end(),
                                [&](const field_planes& p) {
                                    return std::any_of(read.begin(), read.end(),
                                                       [&](const cell_range& r) { return meet(r, p.cells); });
                                }) &&
                   std::none_of(halo.give.planes.begin(), halo.give.planes.end(),
                                [&](const field_planes& p) { return meet(cells, p.cells); });
        });
    }

    // The cell that an offset in the host arrays means.
    [[nodiscard]] std::array<std::int64_t, 3> cell_at(std::int64_t offset) const {
        const brick_shape& host = host_.shape;
        return {offset % host.plane % host.pitch, offset % host.plane / host.pitch, offset / host.plane};
    }
    [[nodiscard]] float* element_of(const point_term& term) const {
        const auto [i, j, k] = cell_at(term.offset);
        return on_device(term.which) + shape_.at(i, j, k);
    }
    void check([[maybe_unused]] std::span<const point_term> terms, [[maybe_unused]] std::int64_t count) const {
        CRATON_ASSERT(std::all_of(terms.begin(), terms.end(), [&](const point_term& term) {
            const auto [i, j, k] = cell_at(term.offset);
            return term.value >= 0 && term.value < count && (term.which < stored_field::rxx || host_.anelastic()) &&
                   term.offset >= 0 && i < shape_.nx && j < shape_.ny && k < shape_.nz;
        }));
    }

    template <bool layered, class Layers>
    void launch_update(half_step half, const std::vector<cell_range>& cells, const Layers& layers, typename Device::stream stream) {
        const auto shared_by = [&]<class Body>(Body body) {
            if constexpr (layered) {
                for (const auto& slab : cells) body.share.add(slab, Body::threads_of_block);
            } else {
                body.share = columns_of(cells.front(), Body::threads_of_block, Body::wide);
            }
            launch(body, stream);
        };
        if (cells.empty() || cells.front().empty()) return;
        if (half == half_step::velocity) {
            shared_by(velocity_update<layered>{{}, shape_, v_, stress_, media_.buoyancy, host_.d, surface_, layers});
        } else if (host_.anelastic()) {
            shared_by(
                stress_update<true, layered>{{}, shape_, stress_, memory_, v_, media_, attenuation_, host_.d, surface_, layers});
        } else {
            shared_by(
                stress_update<false, layered>{{}, shape_, stress_, memory_, v_, media_, attenuation_, host_.d, surface_, layers});
        }
    }

    packing packing_of(const traffic& of, bool into_buffer) const {
        return {
            of.list.data(), static_cast<std::int64_t>(of.list.size()), of.most_cells, shape_.pitch, shape_.plane, of.buffer.data(),
            into_buffer};
    }

    traffic make_traffic(const std::vector<field_planes>& planes) {
        traffic made;
        std::vector<packed_cells> list;
        for (const auto& each : planes) {
            if (each.cells.empty()) continue;
            list.push_back({on_device(each.which), each.cells, static_cast<std::int64_t>(made.size)});
            made.planes.push_back(each);
            made.size += static_cast<std::size_t>(each.cells.cells());
            made.most_cells = std::max(made.most_cells, each.cells.cells());
        }
        made.list = {*device_, edge_, list};
        made.buffer = {*device_, made.size};
        made.on_host = {*device_, made.size};
        return made;
    }

    // what(row in the host arrays, the same packed, bytes).
    template <class What> void for_rows(const traffic& of, const What& what) const {
        float* packed = of.on_host.data();
        for (const auto& [which, c] : of.planes) {
            float* const first = host_.first(which);
            const std::int64_t width = c.i1 - c.i0;
            for (std::int64_t k = c.k0; k < c.k1; ++k) {
                for (std::int64_t j = c.j0; j < c.j1; ++j, packed += width)
                    what(first + host_.shape.at(c.i0, j, k), packed, static_cast<std::size_t>(width) * sizeof(float));
            }
        }
    }

    [[nodiscard]] float* on_device(stored_field which) const { return fields_on_device_.first(which); }

    // An array of the brick with ghosts, all zero: element (0, 0, 0).
    template <class T> T* new_array(std::vector<array_of<T>>& among) {
        const auto elements = static_cast<std::size_t>(2 * warp + shape_.plane * (shape_.nz + 2 * halo));
        among.emplace_back(*device_, elements);
        device_->clear(among.back().data(), among.back().bytes(), edge_);
        return among.back().data() + in_front(shape_);
    }
    float* copied(float* on_host) {
        float* const made = new_array(arrays_);
        copy_rows(on_host, made, with_ghosts(shape_), true);
        return made;
    }
    compact_field copied(const compact_field& on_host) {
        std::uint16_t* const made = new_array(compact_arrays_);
        copy_rows(const_cast<std::uint16_t*>(on_host.first), made, with_ghosts(shape_), true); // read only
        return {made, on_host.unit};
    }

    // Of one field, a plane at a time; blocking.
    template <class T> void copy_rows(T* on_host, T* on_device, const cell_range& cells, bool in) {
        const auto width = static_cast<std::size_t>(cells.i1 - cells.i0) * sizeof(T);
        const auto rows = static_cast<std::size_t>(cells.j1 - cells.j0);
        const auto host_pitch = static_cast<std::size_t>(host_.shape.pitch) * sizeof(T);
        const auto device_pitch = static_cast<std::size_t>(shape_.pitch) * sizeof(T);
        for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
            T* const there = on_device + shape_.at(cells.i0, cells.j0, k);
            T* const here = on_host + host_.shape.at(cells.i0, cells.j0, k);
            if (in) {
                device_->rows_to_device(there, device_pitch, here, host_pitch, width, rows, edge_);
            } else {
                device_->rows_to_host(here, host_pitch, there, device_pitch, width, rows, edge_);
            }
        }
        device_->finish(edge_);
    }

    void copy_fields() {
        v_ = {copied(host_.v.x), copied(host_.v.y), copied(host_.v.z)};
        const auto tensor = [this](const tensor_field<float>& f) {
            return tensor_field<float>{copied(f.xx), copied(f.yy), copied(f.zz), copied(f.xy), copied(f.xz), copied(f.yz)};
        };
        stress_ = tensor(host_.stress);
        if (host_.anelastic()) memory_ = tensor(host_.memory);
        fields_on_device_.v = v_;
        fields_on_device_.stress = stress_;
        fields_on_device_.memory = memory_;
    }

    void copy_media() {
        const auto& m = host_.media;
        media_ = {{copied(m.buoyancy.x), copied(m.buoyancy.y), copied(m.buoyancy.z)},
                  copied(m.lambda),
                  copied(m.mu),
                  copied(m.mu_xy),
                  copied(m.mu_xz),
                  copied(m.mu_yz)};
        attenuation_ = host_.attenuation;
        if (!host_.anelastic()) return;
        attenuation_.bulk = copied(host_.attenuation.bulk);
        attenuation_.shear = copied(host_.attenuation.shear);
    }

    void copy_layers() {
        cell_layers& on_device = layers_on_device_;
        on_device.matched = layers_->layers().axis[0].rows != nullptr;
        on_device.damped = layers_->sponge().factor[0][0] != nullptr; // multi-axial layers are both
        const std::array<std::int64_t, 3> count{shape_.nx, shape_.ny, shape_.nz};
        const auto profile = [&](const float* on_host, std::size_t axis) -> const float* {
            profiles_.emplace_back(*device_, edge_, std::span(on_host, static_cast<std::size_t>(count[axis])));
            return profiles_.back().data();
        };
        if (on_device.damped) {
            untouched_ = untouched(shape_, layers_->sponge());
            on_device.sponge = layers_->sponge();
            for (std::size_t axis = 0; axis < 3; ++axis) {
                for (auto& factor : on_device.sponge.factor[axis]) factor = profile(factor, axis);
            }
        }
        if (!on_device.matched) return;
        untouched_ = untouched(shape_, layers_->layers());
        on_device.view = layers_->layers();
        layer_memory_ = {*device_, edge_, layers_->memory()};
        const auto moved = [&](float* on_host) { return layer_memory_.data() + (on_host - layers_->memory().data()); };
        for (std::size_t axis = 0; axis < 3; ++axis) {
            layer_axis& to = on_device.view.axis[axis];
            for (auto* profiles : {&to.decay, &to.gain}) {
                for (auto& each : *profiles) each = profile(each, axis);
            }
            layer_rows_[axis] = {*device_, edge_, std::span(to.rows, static_cast<std::size_t>(shape_.ny * shape_.nz))};
            to.rows = layer_rows_[axis].data();
            to.velocity_memory = moved(to.velocity_memory);
            to.stress_memory = moved(to.stress_memory);
        }
    }

    std::unique_ptr<Device> device_; // first: outlives what lies on it
    typename Device::stream edge_, inner_;
    typename Device::event edge_done_, inner_done_, injected_done_;
    brick_fields host_;
    absorbing_layers* layers_;
    brick_shape shape_; // on the device
    closed_differences surface_;

    std::vector<array_of<float>> arrays_;
    std::vector<array_of<std::uint16_t>> compact_arrays_;
    vector_field<float> v_;
    tensor_field<float> stress_, memory_;
    brick_fields fields_on_device_; // pointers alone
    elastic_media media_;
    attenuation_media attenuation_;

    cell_range untouched_; // by layers
    cell_layers layers_on_device_;
    std::vector<array_of<float>> profiles_;
    std::array<array_of<layer_row>, 3> layer_rows_;
    array_of<float> layer_memory_;

    std::array<halo_traffic, 2> halos_;
    std::vector<source_set> sources_;
    std::vector<receiver_set> receivers_;
    bool entered_ = false, injected_ = false;
    half_step half_ = half_step::velocity;
};

} // namespace craton::waves::device
