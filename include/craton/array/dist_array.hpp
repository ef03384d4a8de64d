#pragma once

#include <craton/array/owner_calls.hpp>
#include <craton/array/rectangle.hpp>
#include <craton/array/tile_layout.hpp>
#include <craton/runtime/copy.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/stripe_lock.hpp>
#include <craton/runtime/world.hpp>

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

namespace craton::array {

/// An operation of a dist_array that was started: copies and messages to several owners. Dropping it does not stop it. Any thread,
/// one at a time.
class array_handle {
  public:
    array_handle() = default; ///< complete
    /// True when complete; polls when it is not. Not inside a handler.
    [[nodiscard]] bool test();
    /// Blocking; polls meanwhile. Not inside a handler.
    void wait();

  private:
    template <class T, std::size_t N> friend class dist_array;
    runtime::world* world_ = nullptr;
    std::vector<runtime::copy_handle> copies_;
    owner_calls::awaited receipts_;
};

/// Plain memory for a rectangle: the element at `low` first, strides in elements and of any sign, dimension 0 first.
template <class T, std::size_t N> struct strided_memory {
    T* first = nullptr;
    place<N> strides{};

    operator strided_memory<const T, N>() const { return {first, strides}; }
};

/// A part of a tile in its owner's memory.
template <class T, std::size_t N> struct tile_piece {
    T* first = nullptr; ///< the element at cells.low
    place<N> strides{}; ///< in elements; the last is 1
    rectangle<N> cells; ///< in the array's index space

    /// The element at a place of the whole array, which must be in this tile.
    [[nodiscard]] T& at(const place<N>& p) const { return first[offset_of(p, cells.low, strides)]; }
};

/// One of a rectangle's pieces, as get_above() found it.
template <std::size_t N> struct judged_piece {
    std::int64_t tile = 0;
    rectangle<N> cells;
    double norm = 0; ///< the largest |element|
    bool came = false;
};

/// Names a registered function; the same on every rank.
struct function_id {
    std::uint32_t number = 0;
};

/// Types whose elements have a magnitude, in double.
template <class T>
concept measurable = std::is_arithmetic_v<T> || std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;
template <class T>
concept addable = requires(T& into, const T& arriving) { into += arriving; };
/// What a communicator can sum over the ranks.
template <class T>
concept summable = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int64_t> ||
                   std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

/// An N-dimensional array of any trivially copyable T, cut into tiles that any rank may own (the DArray of Ozog et al. 2016,
/// III-B): any thread of any rank reads, writes, adds to and applies functions to any rectangle at any time, without the owners'
/// help.
///
/// Rectangles are in the array's index space. Local memory is row major (a span, as long as the rectangle has cells) or strided. An
/// empty rectangle is allowed and does nothing; one that leaves the array is a user_error with nothing done.
///
/// What meets what, between one sync() (or other collective) and the next:
/// - accumulate and apply take the lock of the tile, so they may meet each other on the same elements: every contribution to an
///   element counts whole, once, and a function has the piece of its tile to itself. Tiles are independent of each other.
///   Contributions of more than 1 MiB to a tile on another node are added in parts, between which others may come.
/// - get and put take no lock: a put that meets any other operation on the same elements, or a get that meets anything but gets,
///   finds or leaves elements of before or after, in no order that is promised, elements of several words in part.
///
/// Delivery: where the owner's memory is mapped the caller does the work itself; elsewhere copies and messages do, and the owner
/// must poll or have a progress_thread. What is blocking here polls while it waits. Not inside a handler or a function that is
/// being applied.
///
/// Threads: members that are not collective from any thread; collective ones from one thread per rank, while the rank's other
/// threads leave the array alone. Every collective begins by completing everything that was started before it on any rank (quiesce)
/// and ends with a barrier.
template <class T, std::size_t N> class dist_array {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16); // messages' payloads are 16-byte aligned

  public:
    /// Changes a part of a tile, at its owner; the argument is the caller's.
    using function = std::function<void(const tile_piece<T, N>&, std::span<const std::byte> argument)>;

    /// Collective, blocking. All bytes zero; where ranks share a node the storage takes its memory now. Throws user_error on every
    /// rank unless the layout is the same on all, is for this world's ranks, and there is memory.
    dist_array(runtime::world& ranks, tile_layout<N> layout);
    dist_array(const dist_array&) = delete;
    dist_array& operator=(const dist_array&) = delete;
    /// Not collective; nothing may be under way: sync() first.
    ~dist_array() = default;

    /// What the array was made with.
    [[nodiscard]] const tile_layout<N>& layout() const noexcept { return layout_; }
    [[nodiscard]] const place<N>& extents() const noexcept { return layout_.extents(); }
    [[nodiscard]] runtime::world& ranks() const noexcept { return *world_; }

    // Rectangles. Not collective, any thread. All pieces are started before any is waited for.

    /// Array to memory, which must stay until the handle is complete. Blocking where it says get.
    [[nodiscard]] array_handle start_get(const rectangle<N>& what, strided_memory<T, N> to) const;
    void get(const rectangle<N>& what, strided_memory<T, N> to) const { start_get(what, to).wait(); }
    void get(const rectangle<N>& what, std::span<T> to) const { get(what, dense(what, to, "get")); }
    /// Memory to array; the memory may be reused on return. Complete when the elements are in the owners' memory.
    [[nodiscard]] array_handle start_put(const rectangle<N>& what, strided_memory<const T, N> from);
    void put(const rectangle<N>& what, strided_memory<const T, N> from) { start_put(what, from).wait(); }
    void put(const rectangle<N>& what, std::span<const T> from) { put(what, dense(what, from, "put")); }
    /// Adds memory to the array; the memory may be reused on return. Complete when all has been added.
    [[nodiscard]] array_handle start_accumulate(const rectangle<N>& what, strided_memory<const T, N> from)
        requires addable<T>;
    void accumulate(const rectangle<N>& what, strided_memory<const T, N> from)
        requires addable<T>
    {
        start_accumulate(what, from).wait();
    }
    void accumulate(const rectangle<N>& what, std::span<const T> from)
        requires addable<T>
    {
        accumulate(what, dense(what, from, "accumulate"));
    }
    /// The same without a receipt, which owners on other nodes then need not send: all has been added after the next sync().
    void post_accumulate(const rectangle<N>& what, strided_memory<const T, N> from)
        requires addable<T>;
    void post_accumulate(const rectangle<N>& what, std::span<const T> from)
        requires addable<T>
    {
        post_accumulate(what, dense(what, from, "accumulate"));
    }

    /// Collective, blocking: names a function for apply(); the same functions in the same order on every rank. It gets a piece of a
    /// tile and the caller's argument (16-byte aligned where it has travelled, as the caller has it elsewhere); runs under the
    /// tile's lock, on any thread of any rank that has the memory; must not throw, wait, or call anything of an array or a world.
    [[nodiscard]] function_id register_function(function what);
    /// Runs a function on every piece of the rectangle, in each tile on its own. The argument may be reused on return. Complete
    /// when the function has returned everywhere. Throws user_error for a function that was not registered and for arguments of 1
    /// GiB or more.
    [[nodiscard]] array_handle start_apply(const rectangle<N>& what, function_id does, std::span<const std::byte> argument = {});
    void apply(const rectangle<N>& what, function_id does, std::span<const std::byte> argument = {}) {
        start_apply(what, does, argument).wait();
    }
    template <class A> void apply_with(const rectangle<N>& what, function_id does, const A& argument) {
        static_assert(std::is_trivially_copyable_v<A>);
        apply(what, does, std::as_bytes(std::span(&argument, 1)));
    }

    /// Conditional get, blocking: pieces whose largest |element| is above the threshold (or that hold what is not a number) come;
    /// memory of the others stays as it is. Owners off the node compute the norms; each is of one moment, and the elements come
    /// after it. Returns all pieces, in the order of their tiles. Throws user_error for a threshold that is not a number.
    std::vector<judged_piece<N>> get_above(const rectangle<N>& what, double threshold, strided_memory<T, N> to) const
        requires measurable<T>;
    std::vector<judged_piece<N>> get_above(const rectangle<N>& what, double threshold, std::span<T> to) const
        requires measurable<T>
    {
        return get_above(what, threshold, dense(what, to, "get_above"));
    }

    // Elements anywhere, in any order, given by their places. Not collective, any thread, blocking. One message goes to each owner
    // whose memory is not mapped here. Throw user_error with nothing done for a place that is not in the array, or for memory of
    // another length.

    /// to[n] becomes the element at where[n] (NGA_Gather).
    void get_elements(std::span<const place<N>> where, std::span<T> to) const;
    /// The element at where[n] becomes from[n] (NGA_Scatter). Of one place that comes twice either value stays.
    void put_elements(std::span<const place<N>> where, std::span<const T> from);
    /// Adds from[n] to the element at where[n], as accumulate does (NGA_Scatter_acc). A place may come more than once.
    void add_elements(std::span<const place<N>> where, std::span<const T> from)
        requires addable<T>;
    /// Adds to an element, and returns what it was before; may meet itself, accumulate and apply on the same element, of which each
    /// then sees another state (NGA_Read_inc).
    [[nodiscard]] T fetch_add(const place<N>& where, const T& by)
        requires addable<T>;

    // This rank's memory. Not collective, any thread; take part in "what meets what" as get and put do.

    /// The numbers of this rank's tiles.
    [[nodiscard]] std::span<const std::int64_t> own_tiles() const noexcept { return own_tiles_; }
    /// A tile of this rank, dense, row major. Throws user_error for a tile that is none of its own.
    [[nodiscard]] tile_piece<T, N> own_tile(std::int64_t tile) const;
    [[nodiscard]] std::span<T> own_elements(std::int64_t tile) const {
        const auto piece = own_tile(tile);
        return {piece.first, static_cast<std::size_t>(piece.cells.cells())};
    }

    // The whole array. Collective, blocking.

    /// Everything that was started before it on any rank is complete when it returns.
    void sync() const { world_->quiesce(); }
    void fill(const T& value);
    /// what(element, its place) for every element, by its owner, tile by tile in row-major order.
    template <class What> void for_each_local(What&& what);
    /// This array becomes the other. Throws user_error on every rank for another layout or world.
    void copy(const dist_array& from);
    void scale(const T& by)
        requires addable<T>;
    /// alpha A + beta B; either may be this array. Throws as copy().
    void add(const T& alpha, const dist_array& a, const T& beta, const dist_array& b)
        requires addable<T>;
    /// The same elements in another layout of the same extents, which must be another array. Each owner puts what it owns. Throws
    /// user_error on every rank for other extents or another world.
    void redistribute_to(dist_array& to) const;
    /// to(j, i) = this(i, j), whatever the layouts; throws as redistribute_to().
    void transpose_to(dist_array& to) const
        requires(N == 2);

    /// On every rank; float sums are added within a rank first, so that their last digits depend on the layout. Norms are of the
    /// elements as one vector, in double (a whole number above 2^53 is rounded), and not a number where any element is none.
    /// trace() throws user_error on every rank unless the array is square.
    [[nodiscard]] T trace() const
        requires(N == 2 && summable<T>);
    /// The sum of conj(element of this) x (element of the other): of matrices the trace of A^H B (Frobenius). Of float in double;
    /// whole numbers modulo 2^64. Throws as copy().
    [[nodiscard]] T dot(const dist_array& other) const
        requires summable<T>;
    [[nodiscard]] double max_norm() const
        requires measurable<T>;
    [[nodiscard]] double one_norm() const
        requires measurable<T>;
    [[nodiscard]] double frobenius_norm() const
        requires measurable<T>;

  private:
    // What travels to an owner in front of elements or an argument.
    struct piece_request {
        std::int64_t tile = 0;
        rectangle<N> cells;
        std::int64_t number = 0; // of the function, or of the piece that is judged
        std::int64_t argument_bytes = 0;
    };
    struct judgement {
        std::int64_t number = 0;
        double norm = 0;
    };
    enum class with_elements : std::int64_t { get, put, add, fetch_add };
    struct elements_request {
        with_elements what = with_elements::get;
        std::int64_t count = 0;
        std::int64_t message = 0; // of the operation: comes back with the answer
    };
    struct element_place {
        std::int64_t tile = 0;
        std::int64_t offset = 0; // within the tile
    };

    [[nodiscard]] std::size_t storage_offset(int rank) const;
    [[nodiscard]] std::size_t bytes_of(int rank) const;
    [[nodiscard]] runtime::global_ptr<T> address(std::int64_t tile, const place<N>& p) const;
    [[nodiscard]] runtime::stripe_lock& lock_of(std::int64_t tile) const;
    [[nodiscard]] tile_piece<T, N> mapped_piece(std::int64_t tile, const rectangle<N>& cells) const;
    [[nodiscard]] bool mapped(std::int64_t tile) const { return world_->shares_memory_with(layout_.owner(tile)); }
    template <class U>
    [[nodiscard]] strided_memory<U, N> dense(const rectangle<N>& what, std::span<U> memory, const char* who) const;
    void check(const char* who, const rectangle<N>& what) const;
    void check_same(const char* who, const dist_array& other) const;

    template <class Start>
    [[nodiscard]] array_handle start_copies(const rectangle<N>& what, const place<N>& strides, const Start& start) const;
    void offer_work();
    void add_arriving(std::span<const std::byte> request) const;
    void apply_arriving(std::span<const std::byte> request) const;
    void judge_arriving(std::span<const std::byte> request, std::vector<std::byte>& answer) const;
    void add_in_place(const tile_piece<T, N>& to, std::int64_t tile, strided_memory<const T, N> from) const;
    void accumulate_pieces(const rectangle<N>& what, strided_memory<const T, N> from, array_handle* handle);
    void send_elements(std::int64_t tile, const rectangle<N>& cells, strided_memory<const T, N> from,
                       const owner_calls::awaited& by);
    void apply_in_place(const tile_piece<T, N>& piece, std::int64_t tile, std::size_t number,
                        std::span<const std::byte> argument) const;
    [[nodiscard]] element_place element_at(const place<N>& p) const;
    void do_elements(with_elements what, std::span<const element_place> where, const T* from, T* to) const;
    void do_elements_anywhere(const char* who, with_elements what, std::span<const place<N>> where, std::span<const T> from,
                              std::span<T> to) const;
    void elements_arriving(std::span<const std::byte> request, std::vector<std::byte>& answer) const;
    [[nodiscard]] double norm_in_place(const tile_piece<T, N>& piece, std::int64_t tile) const;
    [[nodiscard]] std::vector<judged_piece<N>> judge(const rectangle<N>& what) const;
    template <class What> void for_each_own(What&& what) const;
    [[nodiscard]] double sum_over_ranks(double own) const;

    runtime::world* world_;
    tile_layout<N> layout_;
    std::vector<std::int64_t> own_tiles_; // ascending
    runtime::segment memory_;
    std::deque<function> functions_; // elements do not move
    mutable owner_calls calls_;      // last: no handler of it may run when the others are gone
    runtime::handler_id add_ = 0, apply_ = 0, judge_ = 0, elements_ = 0;
};

} // namespace craton::array

#include <craton/array/dist_array_definitions.hpp>
