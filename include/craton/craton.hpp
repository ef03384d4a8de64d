#pragma once

/// Craton for programs of others: worlds of ranks, what they share, and the linear algebra on it. Files and the applications have
/// headers of their own (craton/io, craton/apps). Includes <mpi.h>.

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/convergent_vector.hpp>
#include <craton/array/dist_array.hpp>
#include <craton/array/reproducible_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/base/error.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/comm/environment.hpp>
#include <craton/linalg/blas.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/linalg/dist_array_decomposition.hpp>
#include <craton/linalg/dist_array_factor.hpp>
#include <craton/linalg/dist_array_product.hpp>
#include <craton/linalg/eigenproblem.hpp>
#include <craton/linalg/lu.hpp>
#include <craton/linalg/products.hpp>
#include <craton/runtime/counter.hpp>
#include <craton/runtime/neighbour_sync.hpp>
#include <craton/runtime/progress_thread.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/work_queue.hpp>
#include <craton/runtime/world.hpp>
