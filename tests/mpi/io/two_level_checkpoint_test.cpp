#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "checkpoint_assembly.hpp"
#include "limited_files.hpp"
#include "shared_folder.hpp"

#include <craton/array/reproducible_matrix.hpp>
#include <craton/io/matrix_file.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

// Checkpoints with checkpoint_options::local_folder. Each rank plays a node of its own.
namespace checkpoint_tests {
namespace {

using tests::expect_user_error;
namespace fs = std::filesystem;

class two_level_checkpoint_test : public tests::every_delivery {
  protected:
    void SetUp() override {
        every_delivery::SetUp();
        folder_ = std::make_unique<tests::shared_folder>(world().communicator());
    }
    void TearDown() override {
        world().barrier();
        folder_.reset();
    }
    [[nodiscard]] std::string path() const { return folder_->file("c.h5"); }
    [[nodiscard]] std::string node(int rank) const { return folder_->file("node" + std::to_string(rank)); }
    [[nodiscard]] io::checkpoint_options options() { return {.local_folder = node(world().rank())}; }
    [[nodiscard]] std::vector<fs::path> parts(int rank) const {
        std::vector<fs::path> found;
        if (fs::exists(node(rank))) {
            for (const auto& entry : fs::directory_iterator(node(rank))) found.push_back(entry.path());
        }
        return found;
    }
    // Changes one byte of a file. One rank.
    static void damage(const fs::path& file, std::int64_t from_end) {
        std::fstream open(file, std::ios::in | std::ios::out | std::ios::binary);
        const auto place = static_cast<std::int64_t>(fs::file_size(file)) - from_end;
        open.seekg(place);
        const char old = static_cast<char>(open.get());
        open.seekp(place);
        open.put(static_cast<char>(old ^ 1));
    }
    // The file has subsets 0 to 9, the parts 0 to 19.
    template <class T> void leave_two_levels() {
        assembly<T> sums(world());
        {
            io::checkpoint checkpoint(world(), path(), options());
            sums.add_to(checkpoint);
            EXPECT_FALSE(checkpoint.resume().has_value());
            do_subsets(sums, checkpoint, 0, 10);
            checkpoint.save({{"iteration", std::int64_t{1}}});
            checkpoint.drain();
        }
        world().barrier();
        keep_file();
        {
            io::checkpoint checkpoint(world(), path(), options());
            sums.add_to(checkpoint);
            EXPECT_TRUE(checkpoint.resume().has_value());
            do_subsets(sums, checkpoint, 10, 20);
            checkpoint.save({{"iteration", std::int64_t{2}}, {"misfit", 0.25}});
            do_subsets(sums, checkpoint, 20, 30); // never saved
            sums.matrix.commit();
        }
        world().barrier();
        put_file_back(); // as if the node that wrote it had gone down before the second one was there
    }
    void keep_file() {
        if (world().rank() == 0) fs::copy_file(path(), path() + ".kept", fs::copy_options::overwrite_existing);
        world().barrier();
    }
    void put_file_back() {
        if (world().rank() == 0) fs::rename(path() + ".kept", path());
        world().barrier();
    }
    // Resumes and returns what was found, with the arrays as they must be after so many subsets.
    template <class T> io::resumed expect_resumes_with(std::int64_t subsets) {
        assembly<T> sums(world());
        io::checkpoint checkpoint(world(), path(), options());
        sums.add_to(checkpoint);
        const auto found = checkpoint.resume();
        EXPECT_TRUE(found.has_value());
        EXPECT_EQ(checkpoint.counted().size(), subsets);
        sums.expect_holds(range(0, subsets));
        return found.value_or(io::resumed{});
    }

  private:
    std::unique_ptr<tests::shared_folder> folder_;
};

TEST_P(two_level_checkpoint_test, what_the_nodes_have_is_newer_than_the_file_and_resumed) {
    leave_two_levels<double>();
    const auto found = expect_resumes_with<double>(20);
    EXPECT_EQ(found.notice, "");
    EXPECT_EQ(found.numbers, (io::checkpoint_numbers{{"iteration", std::int64_t{2}}, {"misfit", 0.25}}));
    EXPECT_EQ(parts(world().rank()).size(), 1U);
    world().barrier();
}

TEST_P(two_level_checkpoint_test, a_node_that_has_gone_leaves_the_file) {
    leave_two_levels<std::complex<float>>();
    const int lost = world().size() - 1;
    if (world().rank() == 0) fs::remove_all(node(lost));
    world().barrier();
    const auto found = expect_resumes_with<std::complex<float>>(10);
    EXPECT_NE(found.notice.find("rank " + std::to_string(lost) + " on "), std::string::npos) << found.notice;
    EXPECT_NE(found.notice.find("'" + node(lost) + "'"), std::string::npos) << found.notice;
    EXPECT_EQ(found.numbers, (io::checkpoint_numbers{{"iteration", std::int64_t{1}}}));
    // and goes on, with parts that are not mixed with what the other nodes still have
    assembly<std::complex<float>> sums(world());
    {
        io::checkpoint checkpoint(world(), path(), options());
        sums.add_to(checkpoint);
        static_cast<void>(checkpoint.resume());
        do_subsets(sums, checkpoint, 10, 15);
        checkpoint.save();
    }
    static_cast<void>(expect_resumes_with<std::complex<float>>(15));
    world().barrier();
}

TEST_P(two_level_checkpoint_test, a_damaged_part_is_noticed_and_the_file_used) {
    for (const std::int64_t from_end : {4096, 1 << 30}) {
        leave_two_levels<double>();
        const auto damaged = parts(0);
        ASSERT_EQ(damaged.size(), 1U);
        // An element of the vector, whose page is the last; or the header.
        if (world().rank() == 0)
            damage(damaged[0], from_end == 4096 ? 4096 : static_cast<std::int64_t>(fs::file_size(damaged[0])) - 40);
        world().barrier();
        const auto found = expect_resumes_with<double>(10);
        EXPECT_NE(found.notice.find("damaged"), std::string::npos) << found.notice;
        world().barrier();
        io::checkpoint::discard(world(), path(), node(world().rank()));
    }
}

TEST_P(two_level_checkpoint_test, a_damaged_part_without_a_file_leaves_the_arrays_as_they_are) {
    leave_two_levels<double>();
    const auto damaged = parts(0);
    if (world().rank() == 0) {
        damage(damaged.at(0), 4096);
        for (const char* const end : {"", ".previous"}) fs::remove(path() + end);
    }
    world().barrier();
    assembly<double> sums(world());
    io::checkpoint checkpoint(world(), path(), options());
    sums.add_to(checkpoint);
    EXPECT_FALSE(checkpoint.resume().has_value());
    do_subsets(sums, checkpoint, 0, 20);
    checkpoint.save();
    sums.expect_holds(range(0, 20));
}

TEST_P(two_level_checkpoint_test, a_part_damaged_on_its_way_does_not_become_the_file) {
    assembly<double> sums(world());
    io::checkpoint checkpoint(world(), path(), options());
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    do_subsets(sums, checkpoint, 0, 10);
    world().barrier();
    if (world().rank() == 0) fs::create_directory(path()); // so that the first drain fails
    world().barrier();
    checkpoint.save();
    expect_user_error([&] { checkpoint.drain(); }, {"it is a folder"});
    if (world().rank() == 0) {
        fs::remove(path());
        damage(parts(0).at(0), 4096);
    }
    world().barrier();
    expect_user_error([&] { checkpoint.drain(); }, {"of rank 0's part is damaged"});
    EXPECT_FALSE(fs::exists(path()));
    checkpoint.save(); // the arrays are whole
    checkpoint.drain();
    EXPECT_TRUE(fs::exists(path()));
    world().barrier();
}

TEST_P(two_level_checkpoint_test, parts_older_than_the_file_are_not_used) {
    // No subsets: only the numbers tell one save from another.
    assembly<double> sums(world());
    const auto save_rounds = [&](std::int64_t first, std::int64_t end) {
        io::checkpoint checkpoint(world(), path(), options());
        sums.add_to(checkpoint);
        const auto found = checkpoint.resume();
        for (std::int64_t round = first; round < end; ++round) {
            checkpoint.save({{"round", round}});
            checkpoint.drain();
        }
        world().barrier();
        return found ? std::get<std::int64_t>(found->numbers.at("round")) : -1;
    };
    EXPECT_EQ(save_rounds(0, 4), -1);
    const auto kept = node(world().rank()) + ".kept";
    fs::rename(node(world().rank()), kept);
    world().barrier();
    EXPECT_EQ(save_rounds(4, 9), 3); // on other nodes, from the file
    fs::remove_all(node(world().rank()));
    fs::rename(kept, node(world().rank()));
    world().barrier();
    EXPECT_EQ(save_rounds(9, 10), 8);
}

TEST_P(two_level_checkpoint_test, a_resumption_without_the_folder_says_what_it_cannot_see) {
    leave_two_levels<double>();
    assembly<double> sums(world());
    io::checkpoint checkpoint(world(), path());
    sums.add_to(checkpoint);
    const auto found = checkpoint.resume();
    ASSERT_TRUE(found.has_value());
    EXPECT_NE(found->notice.find("local_folder is not given"), std::string::npos) << found->notice;
    EXPECT_EQ(checkpoint.counted().size(), 10);
    world().barrier();
}

TEST_P(two_level_checkpoint_test, another_number_of_ranks_resumes_from_the_file) {
    leave_two_levels<float>();
    if (world().size() == 1) return;
    const bool takes_part = world().rank() > 0;
    const auto some = world().communicator().split(takes_part ? 0 : 1);
    if (takes_part) {
        runtime::world fewer(some);
        assembly<float> sums(fewer);
        io::checkpoint checkpoint(fewer, path(), {.local_folder = node(fewer.rank())});
        sums.add_to(checkpoint);
        const auto found = checkpoint.resume();
        ASSERT_TRUE(found.has_value());
        EXPECT_NE(found->notice.find("is of rank 0 of " + std::to_string(world().size())), std::string::npos) << found->notice;
        sums.expect_holds(range(0, 10));
    }
    world().barrier();
}

TEST_P(two_level_checkpoint_test, discard_removes_parts_of_ranks_that_there_are_no_more) {
    {
        assembly<float> sums(world());
        io::checkpoint checkpoint(world(), path(), {.local_folder = node(0)}); // one node for all
        sums.add_to(checkpoint);
        static_cast<void>(checkpoint.resume());
        checkpoint.save();
    }
    EXPECT_EQ(parts(0).size(), static_cast<std::size_t>(world().size()));
    world().barrier();
    const bool takes_part = world().rank() == 0;
    const auto some = world().communicator().split(takes_part ? 0 : 1);
    if (takes_part) {
        runtime::world fewer(some);
        io::checkpoint::discard(fewer, path(), node(0));
    }
    world().barrier();
    EXPECT_TRUE(parts(0).empty());
    EXPECT_FALSE(fs::exists(path()));
    EXPECT_FALSE(fs::exists(path() + ".levels"));
    world().barrier();
}

TEST_P(two_level_checkpoint_test, parts_of_two_saves_are_not_mixed) {
    leave_two_levels<double>();
    keep_file();
    const auto kept = node(world().rank()) + ".kept";
    fs::rename(node(world().rank()), kept);
    world().barrier();
    {
        // The same generation, from the file on, on other nodes.
        assembly<double> sums(world());
        io::checkpoint checkpoint(world(), path(), options());
        sums.add_to(checkpoint);
        static_cast<void>(checkpoint.resume());
        do_subsets(sums, checkpoint, 10, 12);
        checkpoint.save();
        checkpoint.save();
    }
    world().barrier();
    put_file_back();           // older than all parts, whichever of the saves had come to it
    if (world().rank() == 0) { // back to its first node
        fs::remove_all(node(0));
        fs::rename(kept, node(0));
    }
    world().barrier();
    const auto found = expect_resumes_with<double>(world().size() == 1 ? 20 : 10); // of one rank they are whole
    if (world().size() > 1) {
        EXPECT_NE(found.notice.find("of different saves"), std::string::npos) << found.notice;
    }
    world().barrier();
}

TEST_P(two_level_checkpoint_test, a_checkpoint_begun_anew_does_not_find_parts_of_the_old_one) {
    leave_two_levels<double>();
    if (world().rank() == 0) { // by hand, as users do
        for (const char* const end : {"", ".previous", ".levels"}) fs::remove(path() + end);
    }
    world().barrier();
    {
        assembly<double> sums(world());
        io::checkpoint checkpoint(world(), path(), options());
        sums.add_to(checkpoint);
        EXPECT_FALSE(checkpoint.resume().has_value());
    }
    world().barrier();
    fs::remove_all(node(world().rank()));
    // one written without parts makes those older
    leave_two_levels<double>();
    {
        assembly<double> sums(world());
        io::checkpoint checkpoint(world(), path());
        sums.add_to(checkpoint);
        static_cast<void>(checkpoint.resume());
        EXPECT_EQ(checkpoint.counted().size(), 10);
        checkpoint.save();
    }
    static_cast<void>(expect_resumes_with<double>(10));
    world().barrier();
    fs::remove_all(node(world().rank()));
    io::checkpoint::discard(world(), path(), node(world().rank()));
    // and discard() leaves nothing
    leave_two_levels<double>();
    io::checkpoint::discard(world(), path(), node(world().rank()));
    EXPECT_FALSE(fs::exists(path()));
    EXPECT_FALSE(fs::exists(path() + ".levels"));
    EXPECT_TRUE(parts(world().rank()).empty());
    world().barrier();
}

TEST_P(two_level_checkpoint_test, sums_of_real_numbers_and_their_magnitude_come_back_to_the_last_bit) {
    array::reproducible_matrix<double> sums(world(), 40, 40, 100.0, 8, 8);
    const std::vector<std::int64_t> at{1, 17, 39};
    const std::vector<double> block(9, 0.1);
    {
        io::checkpoint checkpoint(world(), path(), options());
        checkpoint.add("sums", sums);
        static_cast<void>(checkpoint.resume());
        if (auto work = checkpoint.begin(world().rank())) {
            sums.update(base::row_major<const double>(block.data(), 3, 3), at, at);
            work.finish();
        }
        checkpoint.save();
    }
    const double magnitude = sums.magnitude();
    const std::vector<std::int64_t> elements(sums.sums().local().begin(), sums.sums().local().end());
    array::reproducible_matrix<double> again(world(), 40, 40, 100.0, 8, 8);
    io::checkpoint checkpoint(world(), path(), options());
    checkpoint.add("sums", again);
    ASSERT_TRUE(checkpoint.resume().has_value());
    EXPECT_EQ(again.magnitude(), magnitude);
    EXPECT_EQ(std::vector<std::int64_t>(again.sums().local().begin(), again.sums().local().end()), elements);
    world().barrier();
}

TEST_P(two_level_checkpoint_test, saves_go_on_while_one_is_on_its_way_to_the_file) {
    assembly<std::int64_t> sums(world());
    io::checkpoint checkpoint(world(), path(), options());
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    for (std::int64_t k = 0; k < 30; ++k) {
        do_subsets(sums, checkpoint, 5 * k, 5 * k + 5);
        checkpoint.save({{"round", k}});
        EXPECT_EQ(checkpoint.counted().size(), 5 * k + 5);
    }
    // another file meanwhile: HDF5 serves one after the other
    io::save_matrix(sums.matrix, path() + ".other.h5", "matrix");
    checkpoint.drain();
    convergent_matrix<std::int64_t> other(world(), size, size, 8, 8);
    io::load_matrix(other, path() + ".other.h5", "matrix");
    world().barrier();
    // all of it is in the file
    fs::remove_all(node(world().rank()));
    world().barrier();
    ASSERT_TRUE(checkpoint.resume().has_value());
    EXPECT_EQ(checkpoint.counted().size(), 150);
    sums.expect_holds(range(0, 150));
}

TEST_P(two_level_checkpoint_test, one_that_is_given_up_leaves_the_parts) {
    assembly<double> sums(world());
    {
        auto with_small_pieces = options();
        with_small_pieces.transfer.buffer_bytes = 2000; // many, so that one comes after the call
        io::checkpoint checkpoint(world(), path(), with_small_pieces);
        sums.add_to(checkpoint);
        static_cast<void>(checkpoint.resume());
        do_subsets(sums, checkpoint, 0, 10);
        checkpoint.save();
        if (world().rank() == world().size() - 1) checkpoint.stop_drain();
    }
    world().barrier();
    EXPECT_FALSE(fs::exists(path() + ".partial"));
    static_cast<void>(expect_resumes_with<double>(10));
    world().barrier();
}

TEST_P(two_level_checkpoint_test, one_that_a_rank_has_given_up_is_no_error_on_any) {
    assembly<double> sums(world());
    auto with_small_pieces = options();
    with_small_pieces.transfer.buffer_bytes = 2000;
    io::checkpoint checkpoint(world(), path(), with_small_pieces);
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    for (std::int64_t k = 0; k < 4; ++k) {
        do_subsets(sums, checkpoint, 5 * k, 5 * k + 5);
        checkpoint.save();
        if (world().rank() == 0) checkpoint.stop_drain();
    }
    checkpoint.drain();
    fs::remove_all(node(world().rank()));
    world().barrier();
    ASSERT_TRUE(checkpoint.resume().has_value());
    EXPECT_EQ(checkpoint.counted().size(), 20);
    sums.expect_holds(range(0, 20));
}

TEST_P(two_level_checkpoint_test, a_disk_that_fails_under_one_rank_in_a_transfer_leaves_the_parts) {
    if (world().size() == 1) return;
    constexpr std::int64_t side = 400; // the file has 1.28 MB, a part at most 640 kB
    convergent_matrix<double> matrix(world(), side, side, 16, 16);
    for (auto& element : matrix.local()) element = 1.5;
    io::checkpoint checkpoint(world(), path(), options());
    checkpoint.add("matrix", matrix);
    static_cast<void>(checkpoint.resume());
    {
        const tests::files_of_at_most part_only(world().rank() == world().size() - 1 ? 700000 : RLIM_INFINITY);
        checkpoint.save();
        expect_user_error([&] { checkpoint.drain(); }, {"cannot save checkpoint to '" + path() + "'"});
    }
    EXPECT_FALSE(fs::exists(path()));
    EXPECT_EQ(parts(world().rank()).size(), 1U);
    checkpoint.drain(); // there is room again
    EXPECT_TRUE(fs::exists(path()));
    world().barrier();
}

TEST_P(two_level_checkpoint_test, a_file_that_cannot_be_written_is_told_by_the_next_save_and_tried_again) {
    assembly<double> sums(world());
    io::checkpoint checkpoint(world(), path(), options());
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    do_subsets(sums, checkpoint, 0, 10);
    world().barrier();
    if (world().rank() == 0) fs::create_directory(path());
    world().barrier();
    checkpoint.save();
    expect_user_error([&] { checkpoint.drain(); }, {"cannot save checkpoint to '" + path() + "'", "it is a folder"});
    do_subsets(sums, checkpoint, 10, 20);
    checkpoint.save(); // tries again
    expect_user_error([&] { checkpoint.drain(); }, {"it is a folder"});
    EXPECT_EQ(checkpoint.counted().size(), 20);
    world().barrier();
    if (world().rank() == 0) fs::remove(path());
    world().barrier();
    checkpoint.drain();
    fs::remove_all(node(world().rank()));
    world().barrier();
    ASSERT_TRUE(checkpoint.resume().has_value());
    EXPECT_EQ(checkpoint.counted().size(), 20);
    sums.expect_holds(range(0, 20));
}

TEST_P(two_level_checkpoint_test, a_node_without_room_keeps_the_parts_before) {
    assembly<double> sums(world());
    io::checkpoint checkpoint(world(), path(), options());
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    do_subsets(sums, checkpoint, 0, 10);
    checkpoint.save();
    checkpoint.drain();
    do_subsets(sums, checkpoint, 10, 20);
    {
        const tests::files_of_at_most nothing(500);
        expect_user_error([&] { checkpoint.save(); },
                          {"cannot save checkpoint '" + path() + "': rank 0 on ", node(0), "allowed: a folder of the node"});
    }
    EXPECT_EQ(checkpoint.counted().size(), 10);
    EXPECT_EQ(parts(world().rank()).size(), 1U);
    world().barrier();
    checkpoint.save();
    EXPECT_EQ(checkpoint.counted().size(), 20);
    world().barrier();
}

TEST_P(two_level_checkpoint_test, folders_that_cannot_be_are_refused_on_every_rank) {
    if (world().rank() == 0) std::ofstream(node(0)) << "a file";
    world().barrier();
    expect_user_error([&] { const io::checkpoint refused(world(), path(), options()); },
                      {"rank 0 on ", "cannot keep its part in '" + node(0) + "'", "allowed: a folder of the node"});
    if (world().size() > 1) {
        expect_user_error(
            [&] {
                const io::checkpoint refused(world(), path(), {.local_folder = world().rank() == 0 ? "" : node(world().rank())});
            },
            {"local_folder", "the same on every rank"});
    }
    world().barrier();
}

CRATON_FOR_EVERY_DELIVERY(two_level_checkpoint_test);

} // namespace

} // namespace checkpoint_tests
