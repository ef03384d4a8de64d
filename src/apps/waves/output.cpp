#include <craton/apps/waves/output.hpp>

#include "agree.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace craton::waves {

namespace {

io::running_options options_of(const output_plan& plan) {
    io::running_options options = plan.file;
    if (plan.resume_at_step > 0) options.resume_after_samples = plan.schedule.before(plan.resume_at_step);
    return options;
}

bool is_velocity(field which) { return which <= field::vz; }

// Velocities are known at (step + 1/2) dt, stress and what follows from it at (step + 1) dt.
io::file_attributes attributes_of(const output_plan& plan, const grid_extent& grid, bool velocity, const std::string& unit) {
    io::file_attributes all = plan.attributes;
    all["dt_s"] = plan.dt_s * static_cast<double>(plan.schedule.every);
    all["first_time_s"] = plan.dt_s * (static_cast<double>(plan.schedule.first) + (velocity ? 0.5 : 1.0));
    all["h_m"] = grid.h_m;
    all["unit"] = unit;
    return all;
}

// The files meet the run whenever they have as many samples as they keep, which all ranks count alike.
bool meets_at(const schedule& when, std::int64_t step, std::int64_t at_once) {
    return when.has(step) && when.before(step + 1) % at_once == 0;
}

template <class Recorder> class series_writer : public observer {
  public:
    series_writer(schedule when, Recorder recorder, io::series_file file, base::thread_team* team)
        : when_(when), recorder_(std::move(recorder)), file_(std::move(file)), team_(team) {}

    [[nodiscard]] bool wants(std::int64_t step) const override { return when_.has(step); }
    [[nodiscard]] std::size_t values() const override { return recorder_.values(); }
    void copy(const brick_view& view, std::span<float> into) override {
        if constexpr (stations)
            recorder_.record(view, into);
        else
            recorder_.record(view, into, team_);
    }
    [[nodiscard]] velocity_picks* picks() noexcept override {
        if constexpr (stations)
            return &recorder_.picks();
        else
            return nullptr;
    }
    void copy_picked([[maybe_unused]] std::int64_t step, [[maybe_unused]] std::span<float> into) override {
        if constexpr (stations) recorder_.record_picked(step, into);
    }
    void receive(std::int64_t /*step*/, double /*time_s*/, std::span<const float> values) override { file_.put(values); }
    [[nodiscard]] bool meets(std::int64_t step) const override { return meets_at(when_, step, file_.samples_at_once()); }
    void meet() override { file_.flush(); }
    void save() override { file_.sync(); }
    void finish() override { file_.finish(); }

  private:
    static constexpr bool stations = std::is_same_v<Recorder, station_recorder>;

    schedule when_;
    Recorder recorder_;
    io::series_file file_;
    base::thread_team* team_;
};

template <class Recorder>
std::unique_ptr<observer> make_series_writer(runtime::world& ranks, const output_plan& plan, io::series_description description,
                                             std::span<const position_m> points, Recorder recorder, base::thread_team* team) {
    description.points = static_cast<std::int64_t>(points.size());
    description.samples = plan.schedule.samples();
    description.coordinates.assign(points.begin(), points.end());
    for (auto& each : description.coordinates) each[2] += plan.top_m;
    io::series_file file(ranks, plan.path, std::move(description), recorder.points(), options_of(plan));
    return std::make_unique<series_writer<Recorder>>(plan.schedule, std::move(recorder), std::move(file), team);
}

class snapshot_writer : public observer {
  public:
    snapshot_writer(schedule when, std::vector<wanted_box> boxes, std::size_t cells, io::snapshot_file file)
        : when_(when), boxes_(std::move(boxes)), cells_(cells), file_(std::move(file)) {}

    [[nodiscard]] bool wants(std::int64_t step) const override { return when_.has(step); }
    [[nodiscard]] std::size_t values() const override { return boxes_.size() * cells_; }
    void copy(const brick_view& view, std::span<float> into) override {
        for (std::size_t n = 0; n < boxes_.size(); ++n) copy_box(view, boxes_[n], into.subspan(n * cells_, cells_));
    }
    void receive(std::int64_t /*step*/, double /*time_s*/, std::span<const float> values) override { file_.put(values); }
    [[nodiscard]] bool meets(std::int64_t step) const override { return meets_at(when_, step, file_.samples_at_once()); }
    void meet() override { file_.flush(); }
    void save() override { file_.sync(); }
    void finish() override { file_.finish(); }

  private:
    schedule when_;
    std::vector<wanted_box> boxes_;
    std::size_t cells_; // of each box, on this rank
    io::snapshot_file file_;
};

class box_observer : public observer {
  public:
    box_observer(const schedule& when, std::vector<wanted_box> boxes, const brick_place& brick,
                 std::function<void(const box_frame&)> function)
        : when_(when), boxes_(std::move(boxes)), function_(std::move(function)) {
        for (const auto& box : boxes_) parts_.push_back(box.part_of(brick.cells));
    }

    [[nodiscard]] bool wants(std::int64_t step) const override { return when_.has(step); }
    [[nodiscard]] std::size_t values() const override {
        std::int64_t sum = 0;
        for (const auto& part : parts_) sum += part.cells();
        return static_cast<std::size_t>(sum);
    }
    void copy(const brick_view& view, std::span<float> into) override {
        for (std::size_t n = 0; n < boxes_.size(); ++n) {
            const auto count = static_cast<std::size_t>(parts_[n].cells());
            copy_box(view, boxes_[n], into.first(count));
            into = into.subspan(count);
        }
    }
    void receive(std::int64_t step, double time_s, std::span<const float> values) override {
        box_frame frame{step, time_s, parts_, {}};
        for (const auto& part : parts_) {
            const auto count = static_cast<std::size_t>(part.cells());
            frame.values.push_back(values.first(count));
            values = values.subspan(count);
        }
        function_(frame);
    }

  private:
    schedule when_;
    std::vector<wanted_box> boxes_;
    std::vector<array::domain> parts_;
    std::function<void(const box_frame&)> function_;
};

void check_box(const char* what, const array::domain& cells, const array::index3& stride, const grid_extent& grid) {
    static constexpr std::array axis{"x", "y", "z"};
    for (std::size_t d = 0; d < 3; ++d) {
        if (stride[d] < 1) throw user_error(fmt::format("{}: stride {} along {}; allowed: 1 or more", what, stride[d], axis[d]));
        if (cells.low[d] < 0 || cells.high[d] > grid.cells[d] || cells.low[d] >= cells.high[d])
            throw user_error(fmt::format("{}: cells {} to {} along {} (the last not included); allowed: a range within 0 to {}",
                                         what, cells.low[d], cells.high[d], axis[d], grid.cells[d]));
    }
}

} // namespace

std::unique_ptr<observer> make_strain_writer(runtime::world& ranks, const output_plan& plan, std::span<const position_m> points,
                                             const grid_extent& grid, const brick_view& view, const surface_closure* surface,
                                             base::thread_team* team, const interpolation_order& order) {
    io::series_description description;
    description.what = "strain Green's tensors";
    description.dataset = "sgt";
    description.components = {"xx", "yy", "zz", "xy", "xz", "yz"};
    description.attributes = attributes_of(plan, grid, false, "1");
    return make_series_writer(
        ranks, plan, std::move(description), points,
        made_on_all(ranks, [&] { return strain_recorder(points, grid, view.place, view.media, surface, order); }), team);
}

std::unique_ptr<observer> make_station_writer(runtime::world& ranks, const output_plan& plan, std::span<const position_m> stations,
                                              const grid_extent& grid, const brick_view& view, const surface_closure* surface,
                                              const interpolation_order& order) {
    io::series_description description;
    description.what = "seismograms";
    description.dataset = "velocity";
    description.components = {"x", "y", "z"};
    description.attributes = attributes_of(plan, grid, true, "m/s");
    return make_series_writer(ranks, plan, std::move(description), stations,
                              made_on_all(ranks, [&] { return station_recorder(stations, grid, view.place, surface, order); }),
                              nullptr);
}

std::unique_ptr<observer> make_snapshot_writer(runtime::world& ranks, const output_plan& plan, std::vector<field> fields,
                                               const array::domain& cells, const array::index3& stride, const grid_extent& grid,
                                               const brick_view& view) {
    if (fields.empty()) throw user_error("snapshots: no fields; allowed: one or more of vx, vy, vz, xx, yy, zz, xy, xz, yz");
    check_box("snapshots", cells, stride, grid);
    io::snapshot_description description;
    std::vector<wanted_box> boxes;
    for (const field which : fields) {
        boxes.push_back({which, cells, stride});
        auto attributes = attributes_of(plan, grid, is_velocity(which), is_velocity(which) ? "m/s" : "Pa");
        const auto where = staggering_of(which);
        std::vector<double> origin;
        std::vector<double> spacing;
        for (std::size_t d = 0; d < 3; ++d) {
            origin.push_back((d == 2 ? plan.top_m : 0.0) + grid.h_m * (static_cast<double>(cells.low[d]) + (where[d] ? 0.0 : 0.5)));
            spacing.push_back(grid.h_m * static_cast<double>(stride[d]));
        }
        attributes["origin_xyz_m"] = origin;
        attributes["spacing_xyz_m"] = spacing;
        description.fields.emplace_back(name_of(which));
        description.attributes.push_back(std::move(attributes));
    }
    description.extent = boxes.front().extent();
    description.samples = plan.schedule.samples();
    const auto part = boxes.front().part_of(view.place.cells);
    io::snapshot_file file(ranks, plan.path, std::move(description), part, options_of(plan));
    return std::make_unique<snapshot_writer>(plan.schedule, std::move(boxes), static_cast<std::size_t>(part.cells()),
                                             std::move(file));
}

std::unique_ptr<observer> make_box_observer(const schedule& when, std::vector<wanted_box> boxes, const grid_extent& grid,
                                            const brick_place& brick, std::function<void(const box_frame&)> function) {
    if (boxes.empty()) throw user_error("in-situ module: no fields; allowed: one or more of vx, vy, vz, xx, yy, zz, xy, xz, yz");
    for (const auto& box : boxes) check_box("in-situ module", box.cells, box.stride, grid);
    return std::make_unique<box_observer>(when, std::move(boxes), brick, std::move(function));
}

} // namespace craton::waves
