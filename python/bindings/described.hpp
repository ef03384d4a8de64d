#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <string>
#include <utility>

// What an object says of itself at a prompt, instead of its address. craton/described.py does the same for classes of Python.

namespace craton::bindings {

/// A __repr__ for .def: "<EarthModel: prem, radius 6371 km>". facts: from an object to what follows the colon, cheap and not
/// collective.
template <class T, class Facts> [[nodiscard]] auto described(Facts facts) {
    return [facts = std::move(facts)](nanobind::handle self) {
        const auto name = nanobind::cast<std::string>(self.type().attr("__name__"));
        return fmt::format("<{}: {}>", name, facts(nanobind::cast<const T&>(self)));
    };
}

} // namespace craton::bindings
