#include <craton/apps/waves/kernels/updates.hpp>

namespace craton::waves {} // namespace craton::waves
