#include "dist_array.hpp"

namespace craton::bindings {

template std::unique_ptr<any_dist_array> make_dist_array_of<std::int32_t>(runtime::world&, const tile_plan&);
template std::unique_ptr<any_dist_array> make_dist_array_of<std::int64_t>(runtime::world&, const tile_plan&);

} // namespace craton::bindings
