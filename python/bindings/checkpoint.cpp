#include "bindings.hpp"
#include "described.hpp"
#include "gil.hpp"
#include "python_checkpoint.hpp"
#include "unwrapped.hpp"

#include <craton/array/reproducible_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/io/checkpoint.hpp>
#include <craton/io/hints.hpp>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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

using given_numbers = nb::typed<nb::dict, nb::str, std::variant<std::int64_t, double>>;

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

/// Adds `array` where it is an Array, or holds one.
template <class Array> bool added(io::checkpoint& to, const std::string& name, const nb::object& array) {
    unwrapped<Array> found;
    if (!nb::try_cast(array, found, false)) return false;
    to.add(name, found.get());
    return true;
}

template <class T> bool added_of(io::checkpoint& to, const std::string& name, const nb::object& array) {
    return added<array::convergent_matrix<T>>(to, name, array) || added<array::convergent_vector<T>>(to, name, array) ||
           added<array::symmetric_matrix<T>>(to, name, array);
}

void add(python_checkpoint& k, const std::string& name, const annotated<"typing.Any">& array) {
    const auto held = k.get();
    if (added_of<float>(*held, name, array) || added_of<double>(*held, name, array) ||
        added_of<std::complex<float>>(*held, name, array) || added_of<std::complex<double>>(*held, name, array) ||
        added_of<std::int64_t>(*held, name, array) || added<array::reproducible_matrix<float>>(*held, name, array) ||
        added<array::reproducible_matrix<double>>(*held, name, array))
        return;
    throw nb::next_overload(); // there is none: a TypeError
}

void bind_subset(nb::module_& m) {
    nb::class_<python_subset>(m, "Subset", R"(The updates of one work subset, from Checkpoint.begin to finish().

True when they are to be made, false when they are counted already. In a `with` block the end without an exception
finishes it. With one the subset is abandoned: its updates are in the arrays in part, and save() refuses from then on.)")
        .def("__repr__", bindings::described<python_subset>([](const python_subset& s) {
                 return std::string(s.is_new() ? "to be made" : "counted already");
             }),
             "What it is, in a line.")
        .def("__bool__", &python_subset::is_new, "Whether its updates are to be made.")
        .def("finish", &python_subset::finish, R"(Says that all updates of the subset have been called and have returned.

Any thread; not blocking. UserError the second time.)")
        .def(
            "__enter__", [](nb::handle self) -> annotated<"Subset"> { return nb::borrow(self); }, "The subset itself.")
        .def(
            "__exit__",
            [](python_subset& s, const raised_type& kind, const raised&, const raised_trace&) { s.end(kind.is_none()); },
            nb::arg("kind").none(), nb::arg("error").none(), nb::arg("trace").none(), "Finishes the subset, or abandons it.");
}

void bind_closing(nb::class_<python_checkpoint>& c) {
    c.def("close", &python_checkpoint::close, nb::kw_only(), nb::arg("wait") = true,
          R"(Gives the lock back; nothing else may be called after.

Not collective. With local_folder it waits for what is on its way to the file, or with wait = False gives that up on all
ranks; drain() before it brings the last save() there. UserError while a subset is open. The end of a `with` block
without an exception closes, as does the end of the object.)")
        .def(
            "__enter__", [](nb::handle self) -> annotated<"Checkpoint"> { return nb::borrow(self); }, "The checkpoint itself.")
        .def(
            "__exit__",
            [](python_checkpoint& k, const raised_type& kind, const raised&, const raised_trace&) {
                if (kind.is_none()) k.close(true); // after an exception a thread may still have a subset open
            },
            nb::arg("kind").none(), nb::arg("error").none(), nb::arg("trace").none(), "Closes it, unless there was an exception.");
}

void bind_save_and_resume(nb::class_<python_checkpoint>& c) {
    c.def(
         "resume",
         [](python_checkpoint& k) -> std::optional<std::pair<io::checkpoint_numbers, std::string>> {
             auto found = without_gil([held = k.get()] { return held->resume(); });
             if (!found) return std::nullopt;
             return std::pair(std::move(found->numbers), std::move(found->notice));
         },
         R"(Fills the arrays and the list of counted subsets from the last checkpoint.

Collective, blocking; call it once after add(), also when starting afresh. Any number of ranks may have written it.
Returns the numbers saved and a notice (empty, or what could not be used), or None when there is
no checkpoint. UserError on every rank for a file that is no checkpoint, holds other arrays, or is damaged.)")
        .def(
            "begin",
            [](python_checkpoint& k, std::int64_t subset) {
                auto held = k.get();
                return python_subset(held, without_gil([&] { return held->begin(subset); }));
            },
            nb::arg("subset"), R"(Opens a subset for the calling thread; it is false when it is counted already.

Any thread; not collective; waits while a save is under way.)")
        .def(
            "save",
            [](python_checkpoint& k, const given_numbers& numbers) {
                const auto kept = numbers_from(numbers);
                without_gil([&, held = k.get()] { held->save(kept); });
            },
            nb::arg("numbers") = nb::dict(),
            R"(Writes the arrays and the list of finished subsets; they are on disk when it returns.

Collective, blocking; waits for subsets that other threads have open. numbers: what is to be found again beside the
arrays, 64-bit integers or real numbers. With local_folder it returns when the nodes' folders have them; see drain().
UserError on every rank when it cannot be written; the checkpoint before stays in place. With local_folder a file that
could not be written is told by the next save, after its parts are there.)")
        .def(
            "drain", [](const python_checkpoint& k) { without_gil([held = k.get()] { held->drain(); }); },
            R"(Returns when what save() was last called for is in the file; at once without local_folder.

Collective, blocking. UserError on every rank when the file cannot be written.)")
        .def_static(
            "discard",
            [](world& ranks, const std::string& path, const std::string& local_folder) {
                without_gil([&] { checkpoint::discard(ranks, path, local_folder); });
            },
            nb::arg("world"), nb::arg("path"), nb::arg("local_folder") = "",
            R"(Removes the file, the one before it, and all parts in the nodes' folders.

Collective. No object for this path may be open.)")
        .def_prop_ro(
            "counted",
            [](const python_checkpoint& k) {
                std::vector<std::pair<std::int64_t, std::int64_t>> result;
                for (const auto& run : k.get()->counted().runs()) result.emplace_back(run.first, run.last);
                return result;
            },
            "Subsets in the last checkpoint as runs (first, last), both included; the same on every rank.")
        .def(
            "missing", [](const python_checkpoint& k, std::int64_t total) { return to_numpy(k.get()->missing(total)); },
            nb::arg("total"), R"(Those of 0 ... total - 1 that are not in the last checkpoint, ascending: what is left to do.

Not collective; the same on every rank.)");
}

io::read_back read_back_by_name(const std::string& name) {
    if (name == "nothing") return io::read_back::nothing;
    if (name == "some") return io::read_back::some;
    if (name == "everything") return io::read_back::everything;
    throw user_error("Checkpoint: verify = '" + name + "'; allowed: nothing, some, everything");
}

} // namespace

void bind_checkpoint(nb::module_& m) {
    bind_subset(m);
    nb::class_<python_checkpoint> c(
        m, "Checkpoint", R"(Named arrays, and which work subsets are counted in them, together in one file that survives any kill.

docs/durability.md describes its use and its guarantee.)");
    c.def(
        "__init__",
        [](python_checkpoint* self, world& ranks, const std::string& path, bool keep_previous, double wait_for_other_job_s,
           std::map<std::string, std::string> hints, std::size_t buffer_bytes, const std::string& verify,
           std::optional<double> patience_s, std::string local_folder) {
            io::checkpoint_options options;
            options.transfer.hints = std::move(hints);
            options.transfer.buffer_bytes = buffer_bytes;
            options.transfer.verify = read_back_by_name(verify);
            if (patience_s) options.transfer.patience_s = *patience_s;
            options.keep_previous = keep_previous;
            options.local_folder = std::move(local_folder);
            options.wait_for_other_job_s = wait_for_other_job_s;
            const nb::gil_scoped_release release;
            auto held = std::make_shared<checkpoint>(ranks, path, options);
            new (self) python_checkpoint(std::move(held), path);
        },
        nb::arg("world"), nb::arg("path"), nb::kw_only(), nb::arg("keep_previous") = true, nb::arg("wait_for_other_job_s") = 10.0,
        nb::arg("hints") = std::map<std::string, std::string>{}, nb::arg("buffer_bytes").sig("64 << 20") = std::size_t{64} << 20,
        nb::arg("verify") = "some", nb::arg("patience_s") = nb::none(), nb::arg("local_folder") = "", nb::keep_alive<1, 2>(),
        R"(Collective. Takes `<path>.lock`.

keep_previous: the checkpoint before the last one stays as `<path>.previous`. wait_for_other_job_s: for one that was
killed a moment ago. hints go to MPI-IO. buffer_bytes: of each rank on the way to the file. verify: what is read back
after it was written: "nothing", "some" (16 buffers and each 16th) or "everything". After patience_s in one transfer
the job ends: 600 s, or what CRATON_IO_PATIENCE says. local_folder: two levels; save() leaves each rank's part in this
folder of the node, made where it is missing, and a thread brings them to the file. UserError on every rank when
another job holds the checkpoint, a folder is missing or may not be written, and for another verify.)");
    c.def(
        "__repr__", [](const python_checkpoint& k) { return "<Checkpoint " + k.path() + (k.closed() ? ", closed>" : ">"); },
        "The file, and whether it is closed.");
    c.def("add", &add, nb::arg("name"), nb::arg("array"), nb::keep_alive<1, 3>(), R"(Names a matrix or a vector of craton's.

The same names in the same order on every rank, before resume(). Not collective. A SymmetricMatrix is resumed with the
block size it was saved with. UserError: a name given twice, empty or with '/'; an array of another world; after
resume().)");
    bind_closing(c);
    bind_save_and_resume(c);
    m.def("hints_from_environment", &io::hints_from_environment, R"(What CRATON_IO_HINTS ("name=value;name=value") says to MPI-IO.

UserError for what is not of that form.)");
}

} // namespace craton::bindings
