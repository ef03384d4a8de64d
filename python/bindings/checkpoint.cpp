#include "bindings.hpp"
#include "gil.hpp"
#include "python_checkpoint.hpp"
#include "unwrapped.hpp"

#include <craton/array/reproducible_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/io/checkpoint.hpp>
#include <craton/io/hints.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <memory>
#include <optional>
#include <string>

namespace nb = nanobind;
using craton::io::checkpoint;
using craton::runtime::world;

namespace craton::bindings {

namespace {

/// The updates of one subset, for a `with` block.
class python_subset {
  public:
    python_subset(std::shared_ptr<checkpoint> of, checkpoint::open_subset&& open)
        : of_(std::move(of)), open_(std::make_unique<checkpoint::open_subset>(std::move(open))),
          is_new_(static_cast<bool>(*open_)) {
        if (!is_new_) of_.reset();
    }
    python_subset(python_subset&&) noexcept = default;
    python_subset(const python_subset&) = delete;
    python_subset& operator=(const python_subset&) = delete;
    ~python_subset() { abandon(); }

    [[nodiscard]] bool is_new() const { return is_new_; }
    void finish() {
        if (!open_) throw user_error("finish: the subset has been finished or abandoned already; allowed: once");
        const nb::gil_scoped_release release;
        if (*open_) open_->finish();
        open_.reset();
        of_.reset();
    }
    void end(bool whole) {
        if (!open_) return;
        if (whole) return finish();
        abandon();
    }

  private:
    void abandon() {
        if (!open_) return;
        const nb::gil_scoped_release release;
        open_.reset();
        of_.reset();
    }
    std::shared_ptr<checkpoint> of_; // while it is open
    std::unique_ptr<checkpoint::open_subset> open_;
    bool is_new_ = false;
};

io::checkpoint_numbers numbers_from(const nb::dict& given) {
    io::checkpoint_numbers numbers;
    for (const auto& [key, value] : given) {
        std::string name;
        std::int64_t whole = 0;
        double real = 0;
        const nb::object number = nb::borrow(value);
        const bool named = nb::try_cast(nb::borrow(key), name, false);
        const bool is_whole = PyIndex_Check(value.ptr()) != 0;
        if (named && is_whole && nb::try_cast(number, whole)) {
            numbers[name] = whole;
        } else if (named && !is_whole && nb::try_cast(number, real)) {
            numbers[name] = real;
        } else {
            throw user_error(std::string("save: numbers[") + nb::repr(key).c_str() + "] = " + nb::repr(value).c_str() +
                             "; allowed: names of 64-bit integers or real numbers");
        }
    }
    return numbers;
}

template <class T, class Class> void bind_add(Class& c) {
    c.def(
        "add",
        [](python_checkpoint& k, const std::string& name, const unwrapped<array::convergent_matrix<T>>& a) {
            k.get()->add(name, a.get());
        },
        nb::arg("name"), nb::arg("array"), nb::keep_alive<1, 3>());
    c.def(
        "add",
        [](python_checkpoint& k, const std::string& name, const unwrapped<array::convergent_vector<T>>& a) {
            k.get()->add(name, a.get());
        },
        nb::arg("name"), nb::arg("array"), nb::keep_alive<1, 3>());
    c.def(
        "add",
        [](python_checkpoint& k, const std::string& name, const unwrapped<array::symmetric_matrix<T>>& a) {
            k.get()->add(name, a.get());
        },
        nb::arg("name"), nb::arg("array"), nb::keep_alive<1, 3>());
}

template <class T, class Class> void bind_add_reproducible(Class& c) {
    c.def(
        "add",
        [](python_checkpoint& k, const std::string& name, const unwrapped<array::reproducible_matrix<T>>& a) {
            k.get()->add(name, a.get());
        },
        nb::arg("name"), nb::arg("array"), nb::keep_alive<1, 3>());
}

template <class Class> void bind_adds(Class& c) {
    bind_add<float>(c);
    bind_add<double>(c);
    bind_add<std::complex<float>>(c);
    bind_add<std::complex<double>>(c);
    bind_add<std::int64_t>(c);
    bind_add_reproducible<float>(c);
    bind_add_reproducible<double>(c);
}

void bind_subset(nb::module_& m) {
    nb::class_<python_subset>(m, "Subset", "The updates of one work subset; true when they are to be made.")
        .def("__bool__", &python_subset::is_new)
        .def("finish", &python_subset::finish, "All updates of the subset have been called and have returned. Not blocking.")
        .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
        .def(
            "__exit__",
            [](python_subset& s, const nb::object& kind, const nb::object&, const nb::object&) { s.end(kind.is_none()); },
            nb::arg("kind").none(), nb::arg("error").none(), nb::arg("trace").none());
}

void bind_closing(nb::class_<python_checkpoint>& c) {
    c.def("close", &python_checkpoint::close, "Gives the lock back. Not collective; no subset may be open.")
        .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
        .def(
            "__exit__",
            [](python_checkpoint& k, const nb::object& kind, const nb::object&, const nb::object&) {
                if (kind.is_none()) k.close(); // after an exception a thread may still have a subset open
            },
            nb::arg("kind").none(), nb::arg("error").none(), nb::arg("trace").none());
}

void bind_save_and_resume(nb::class_<python_checkpoint>& c) {
    c.def(
         "resume",
         [](python_checkpoint& k) -> nb::object {
             const auto found = without_gil([held = k.get()] { return held->resume(); });
             if (!found) return nb::none();
             return nb::make_tuple(nb::cast(found->numbers), found->notice);
         },
         "Collective, blocking: (numbers, notice) of the last checkpoint, whose arrays are filled; None when there is none.")
        .def(
            "begin",
            [](python_checkpoint& k, std::int64_t subset) {
                auto held = k.get();
                return python_subset(held, without_gil([&] { return held->begin(subset); }));
            },
            nb::arg("subset"), "Opens a subset; false when it is counted already. Any thread.")
        .def(
            "save",
            [](python_checkpoint& k, const nb::dict& numbers) {
                const auto kept = numbers_from(numbers);
                without_gil([&, held = k.get()] { held->save(kept); });
            },
            nb::arg("numbers") = nb::dict(), "Collective, blocking: arrays and finished subsets, on disk when it returns.")
        .def_prop_ro(
            "counted",
            [](const python_checkpoint& k) {
                const auto held = k.get();
                nb::list result;
                for (const auto& run : held->counted().runs()) result.append(nb::make_tuple(run.first, run.last));
                return result;
            },
            "Subsets in the last checkpoint as runs (first, last), both included.")
        .def(
            "missing", [](const python_checkpoint& k, std::int64_t total) { return to_numpy(k.get()->missing(total)); },
            nb::arg("total"), "Those of 0 ... total - 1 that are not in the last checkpoint.");
}

} // namespace

void bind_checkpoint(nb::module_& m) {
    bind_subset(m);
    nb::class_<python_checkpoint> c(m, "Checkpoint", "Named arrays and the list of work subsets in them, together in one file.");
    c.def(
        "__init__",
        [](python_checkpoint* self, world& ranks, const std::string& path, bool keep_previous, double wait_for_other_job_s,
           std::map<std::string, std::string> hints, std::size_t buffer_bytes, bool verify, double patience_s) {
            io::checkpoint_options options;
            options.transfer = {std::move(hints), buffer_bytes, verify, patience_s};
            options.keep_previous = keep_previous;
            options.wait_for_other_job_s = wait_for_other_job_s;
            const nb::gil_scoped_release release;
            auto held = std::make_shared<checkpoint>(ranks, path, options);
            new (self) python_checkpoint(std::move(held));
        },
        nb::arg("world"), nb::arg("path"), nb::kw_only(), nb::arg("keep_previous") = true, nb::arg("wait_for_other_job_s") = 10.0,
        nb::arg("hints") = std::map<std::string, std::string>{}, nb::arg("buffer_bytes") = std::size_t{64} << 20,
        nb::arg("verify") = true, nb::arg("patience_s") = 600.0, nb::keep_alive<1, 2>(), "Collective.");
    bind_adds(c);
    bind_closing(c);
    bind_save_and_resume(c);
    m.def("hints_from_environment", &io::hints_from_environment, "What CRATON_IO_HINTS says to MPI-IO.");
}

} // namespace craton::bindings
