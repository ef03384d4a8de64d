#include <craton/apps/waves/kernels/reference_updates.hpp>

namespace craton::waves::reference {} // namespace craton::waves::reference
