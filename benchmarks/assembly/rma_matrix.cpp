#include "rma_matrix.hpp"

#include <craton/base/narrow.hpp>
#include <craton/comm/work_time.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace craton::bench {

namespace {

array::block_cyclic square_layout(MPI_Comm comm, std::int64_t side, std::int64_t block) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    return array::make_block_cyclic(side, side, block, block, {}, size);
}

std::string words_of(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return {text.data(), static_cast<std::size_t>(length)};
}

} // namespace

rma_matrix::rma_matrix(MPI_Comm comm, std::int64_t side, std::int64_t block) : layout_(square_layout(comm, side, block)) {
    MPI_Comm_dup(comm, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    local_elements_ = layout_.leading_dimension(rank_) * layout_.local_cols(rank_);
    void* memory = nullptr;
    const int code = MPI_Win_allocate(static_cast<MPI_Aint>(local_elements_) * static_cast<MPI_Aint>(sizeof(float)), sizeof(float),
                                      MPI_INFO_NULL, comm_, static_cast<void*>(&memory), &window_);
    int worst = code;
    MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, comm_);
    if (worst != MPI_SUCCESS) {
        why_ = "MPI windows do not work here: MPI_Win_allocate says " + words_of(worst);
        return;
    }
    storage_ = static_cast<float*>(memory);
    reset();
}

rma_matrix::~rma_matrix() {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
    MPI_Comm_free(&comm_);
}

void rma_matrix::bin_indices(const std::vector<std::int64_t>& indices, const array::cyclic_dimension& dimension,
                             std::vector<bin>& bins) const {
    const comm::work_time time(comm::work::bin);
    bins.resize(static_cast<std::size_t>(dimension.processes));
    for (auto& b : bins) {
        b.local.clear();
        b.position.clear();
    }
    for (std::size_t a = 0; a < indices.size(); ++a) {
        auto& b = bins[static_cast<std::size_t>(dimension.owner(indices[a]))];
        b.local.push_back(dimension.local(indices[a]));
        b.position.push_back(static_cast<std::int64_t>(a));
    }
    time.done(indices.size());
}

void rma_matrix::update_symmetric(const symmetric_update& update) {
    bin_indices(update.indices, layout_.rows, row_bins_);
    bin_indices(update.indices, layout_.cols, col_bins_);
    const auto ranks = static_cast<int>(layout_.ranks());
    for (int step = 0; step < ranks; ++step) {
        const int target = (rank_ + step) % ranks; // each begins with itself, so that they do not all meet at one
        accumulate(update, target, row_bins_[static_cast<std::size_t>(layout_.process_row(target))],
                   col_bins_[static_cast<std::size_t>(layout_.process_col(target))]);
    }
}

void rma_matrix::accumulate(const symmetric_update& update, int target, const bin& rows, const bin& cols) {
    const comm::work_time packing(comm::work::pack);
    values_.clear();
    lengths_.clear();
    places_.clear();
    const auto n = std::ssize(update.indices);
    const std::int64_t lld = layout_.leading_dimension(target);
    for (std::size_t b = 0; b < cols.local.size(); ++b) {
        const std::int64_t j = cols.position[b];
        for (std::size_t a = 0; a < rows.local.size() && rows.position[a] <= j; ++a) { // positions ascend with the indices
            const auto place = base::narrow<int>(rows.local[a] + cols.local[b] * lld, "place in an MPI window");
            if (!places_.empty() && places_.back() + lengths_.back() == place) {
                ++lengths_.back();
            } else {
                places_.push_back(place);
                lengths_.push_back(1);
            }
            values_.push_back(update.block[static_cast<std::size_t>(rows.position[a] + j * n)]);
        }
    }
    if (values_.empty()) return;
    packing.done(values_.size() * sizeof(float));
    MPI_Datatype scattered = MPI_DATATYPE_NULL;
    MPI_Type_indexed(static_cast<int>(places_.size()), lengths_.data(), places_.data(), MPI_FLOAT, &scattered);
    MPI_Type_commit(&scattered);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window_);
    MPI_Accumulate(values_.data(), static_cast<int>(values_.size()), MPI_FLOAT, target, 0, 1, scattered, MPI_SUM, window_);
    comm::work_time(comm::work::merge).done(values_.size() * sizeof(float)); // by MPI, wherever it does it: the lock is held
    MPI_Win_unlock(target, window_);
    MPI_Type_free(&scattered);
}

void rma_matrix::commit() { MPI_Barrier(comm_); }

void rma_matrix::reset() {
    MPI_Barrier(comm_);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, window_);
    std::fill_n(storage_, local_elements_, 0.0F);
    MPI_Win_unlock(rank_, window_);
    MPI_Barrier(comm_);
}

} // namespace craton::bench
