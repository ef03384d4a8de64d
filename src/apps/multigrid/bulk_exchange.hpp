#pragma once

#include <craton/array/block_grid.hpp>
#include <craton/array/halo_exchange.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/message.hpp>
#include <craton/runtime/neighbour_sync.hpp>
#include <craton/runtime/segment.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace craton::multigrid {

/// Fills the halos of a box grid as codes do that pack by hand (Shan et al. 2015, III-B and V-A): everything for a rank is packed
/// into one buffer and unpacked there. On a node it is packed straight into a receive buffer of that rank, off it into a message.
/// The comparison that array::halo_exchange, which packs nothing, is measured beside.
class bulk_exchange {
  public:
    /// Collective. As array::halo_exchange.
    bulk_exchange(const array::block_grid<double>& grid, array::halo_reach reach, std::int64_t depth,
                  base::thread_team* team = nullptr);
    bulk_exchange(const bulk_exchange&) = delete;
    bulk_exchange& operator=(const bulk_exchange&) = delete;
    /// Not collective; nothing may be under way.
    ~bulk_exchange();

    /// Collective; blocking, polls. Halos of `vector` are filled when it returns.
    void operator()(int vector);

    [[nodiscard]] std::size_t neighbours() const noexcept { return partners_.size(); }

  private:
    // A rectangle of a box, counted from its first interior cell, and where it stands in a buffer.
    struct piece {
        std::int64_t box = 0;
        array::index3 low{}, extent{};
        std::int64_t offset = 0;
    };
    struct local_piece {
        piece from, to;
    };
    // A rank that halos are exchanged with. Offsets are in elements; two receive buffers take turns.
    struct partner {
        int rank = -1;
        std::vector<piece> outgoing, incoming;
        std::int64_t elements_out = 0, elements_in = 0;
        std::int64_t receive_at = 0;           // in this rank's buffers
        std::array<std::int64_t, 2> send_to{}; // in the partner's buffers
        bool mapped = false;
    };
    [[nodiscard]] static std::int64_t cells(const piece& what) { return what.extent[0] * what.extent[1] * what.extent[2]; }
    void find_pieces(array::halo_reach reach, std::int64_t depth);
    void allocate();
    void receive(const runtime::incoming_message& message);
    void send(const partner& to, int vector);
    void wait_for(std::size_t number);
    template <class What> void for_each(std::int64_t count, const What& what);
    void pack(const piece& what, int vector, double* buffer) const;
    void unpack(const piece& what, int vector, const double* buffer) const;
    void copy(const local_piece& what, int vector) const;

    const array::block_grid<double>* grid_;
    std::vector<partner> partners_; // by rank
    std::vector<local_piece> local_;
    std::int64_t receive_elements_ = 0; // of one set of receive buffers
    runtime::segment received_;
    runtime::neighbour_sync sync_; // on a node
    runtime::handler_id handler_;  // off it
    // Per partner: the latest even and the latest odd exchange whose message has come, counted from 1.
    std::vector<std::array<std::atomic<std::int64_t>, 2>> arrived_;
    std::int64_t turn_ = 0;
    base::thread_team* team_;
};

} // namespace craton::multigrid
