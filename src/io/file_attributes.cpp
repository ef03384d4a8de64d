#include "file_attributes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace craton::io {

namespace {

using value = file_attributes::mapped_type;

hdf5_handle text_type(std::size_t characters) {
    hdf5_handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), std::max<std::size_t>(1, characters));
    return type;
}

bool write_attribute(hid_t object, const std::string& name, hid_t type, std::optional<hsize_t> length, const void* data) {
    const hdf5_handle space(length ? H5Screate_simple(1, &*length, nullptr) : H5Screate(H5S_SCALAR), H5Sclose);
    const hdf5_handle attribute(H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    return attribute.valid() && H5Awrite(attribute.get(), type, data) >= 0;
}

struct writer {
    hid_t object;
    const std::string& name;

    bool operator()(std::int64_t number) const { return write_attribute(object, name, H5T_NATIVE_INT64, {}, &number); }
    bool operator()(double number) const { return write_attribute(object, name, H5T_NATIVE_DOUBLE, {}, &number); }
    bool operator()(const std::string& text) const {
        return write_attribute(object, name, text_type(text.size()).get(), {}, text.c_str());
    }
    bool operator()(const std::vector<double>& numbers) const {
        return write_attribute(object, name, H5T_NATIVE_DOUBLE, numbers.size(), numbers.data());
    }
};

// What is there, read as the kind of value that is expected; nothing where it is of another kind.
std::optional<value> read_alike(hid_t object, const std::string& name, const value& expected) {
    const hdf5_handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    if (!attribute.valid()) return {};
    const hdf5_handle type(H5Aget_type(attribute.get()), H5Tclose);
    const hdf5_handle space(H5Aget_space(attribute.get()), H5Sclose);
    const auto count = static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.get())));
    const H5T_class_t kind = H5Tget_class(type.get());
    if (std::holds_alternative<std::string>(expected) && kind == H5T_STRING && count == 1 && H5Tis_variable_str(type.get()) == 0) {
        std::string text(H5Tget_size(type.get()), '\0');
        if (H5Aread(attribute.get(), type.get(), text.data()) < 0) return {};
        text.resize(std::min(text.size(), text.find('\0')));
        return text;
    }
    if (std::holds_alternative<std::int64_t>(expected) && kind == H5T_INTEGER && count == 1) {
        std::int64_t number = 0;
        return H5Aread(attribute.get(), H5T_NATIVE_INT64, &number) >= 0 ? std::optional<value>(number) : std::nullopt;
    }
    if (kind != H5T_FLOAT) return {};
    std::vector<double> numbers(count);
    if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, numbers.data()) < 0) return {};
    if (std::holds_alternative<double>(expected) && count == 1) return numbers.front();
    if (std::holds_alternative<std::vector<double>>(expected)) return numbers;
    return {};
}

struct in_words {
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string& text) const { return fmt::format("'{}'", text); }
    std::string operator()(const std::vector<double>& numbers) const { return fmt::format("({})", fmt::join(numbers, ", ")); }
};

} // namespace

std::string write_attributes(hid_t object, const file_attributes& attributes) {
    for (const auto& [name, held] : attributes) {
        if (!std::visit(writer{object, name}, held)) return last_hdf5_error();
    }
    return {};
}

std::string compare_attributes(hid_t object, const file_attributes& expected) {
    for (const auto& [name, wanted] : expected) {
        const auto found = read_alike(object, name, wanted);
        if (found == wanted) continue;
        return fmt::format("its {} is {} but this run's {}", name,
                           found ? std::visit(in_words{}, *found) : "missing or of another kind", std::visit(in_words{}, wanted));
    }
    return {};
}

} // namespace craton::io
