#pragma once

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

namespace craton::bindings {

/// Runs a call that may wait, for other ranks and they perhaps for a Python thread of this one: never with the GIL held.
template <class Call> auto without_gil(Call call) {
    const nanobind::gil_scoped_release release;
    return call();
}

/// Takes the GIL back at the end of the destructor of what is derived from it (see ends_without_gil).
class takes_gil_back {
  public:
    takes_gil_back() = default;
    takes_gil_back(const takes_gil_back&) = delete;
    takes_gil_back& operator=(const takes_gil_back&) = delete;
    ~takes_gil_back() {
        auto& all = given_up();
        if (all.empty() || all.back().first != this) return; // a constructor that threw
        PyEval_RestoreThread(all.back().second);
        all.pop_back();
    }

  protected:
    /// For the body of the derived destructor: what is destroyed from here on is destroyed without the GIL.
    void give_up_gil() {
        if (PyGILState_Check() != 0) given_up().emplace_back(this, PyEval_SaveThread());
    }

  private:
    // Not a member, so that the base class stays empty and the object that nanobind knows begins where the derived one does.
    static std::vector<std::pair<const takes_gil_back*, PyThreadState*>>& given_up() {
        thread_local std::vector<std::pair<const takes_gil_back*, PyThreadState*>> stack;
        return stack;
    }
};

/// A C++ object of which Python ends the life. Its destructor may wait for the thread that runs handlers
/// (world::unregister_handler), and a handler for the GIL (a merge that is a Python function): so the GIL is given up meanwhile.
template <class T> class ends_without_gil : public takes_gil_back, public T {
  public:
    using T::T;
    ends_without_gil(const ends_without_gil&) = delete;
    ends_without_gil& operator=(const ends_without_gil&) = delete;
    ~ends_without_gil() {
        static_assert(sizeof(ends_without_gil) == sizeof(T), "nanobind wants the base to begin where the object begins");
        give_up_gil();
    }
};

} // namespace craton::bindings
