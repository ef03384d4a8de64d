#include "dist_array.hpp"

namespace craton::bindings {

template std::unique_ptr<any_dist_array> make_dist_array_of<std::complex<float>>(runtime::world&, const tile_plan&);
template std::unique_ptr<any_dist_array> make_dist_array_of<std::complex<double>>(runtime::world&, const tile_plan&);

} // namespace craton::bindings
