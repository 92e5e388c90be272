// A simulated power cut leaves the files of one moment, whatever other threads
// do.

#include "tests/faults/fail_once.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/faults/fault_run.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {
namespace {

constexpr int kFiles = 60;
constexpr int kUnsynced = 500;
constexpr int kPowerCuts = 5;

// Removes each file after a note about it in a log was synced, as RocksDB
// removes the tables that its MANIFEST lists no more.
void RemoveFiles(const std::string& directory, std::atomic<int>* removed) {
  const int log = open(absl::StrCat(directory, "/log").c_str(),
                       O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  for (int i = 0; i < kFiles; ++i) {
    if (write(log, "x", 1) != 1 || fdatasync(log) != 0 ||
        unlink(absl::StrCat(directory, "/file", i).c_str()) != 0) {
      std::abort();
    }
    ++*removed;
  }
}

// Makes a power cut longer.
void WriteUnsynced(const std::string& directory) {
  for (int i = 0; i < kUnsynced; ++i) {
    const int file = open(absl::StrCat(directory, "/a", i).c_str(),
                          O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (write(file, "x", 1) != 1) std::abort();
    close(file);
  }
}

TEST(PowerCut, ComesBetweenTwoOperationsOfOtherThreads) {
  for (int run = 0; run < kPowerCuts; ++run) {
    const TempDirectory temp;
    const std::string directory = temp.File("files");
    std::filesystem::create_directory(directory);
    for (int i = 0; i < kFiles; ++i) {
      std::ofstream(absl::StrCat(directory, "/file", i));
    }
    WatchFiles(directory, std::nullopt);
    const Told told = RunProcess([&](Reporter& /*reporter*/) {
      WriteUnsynced(directory);
      std::atomic<int> removed = 0;
      std::thread remover(RemoveFiles, directory, &removed);
      while (removed < kFiles / 2) std::this_thread::yield();
      EndByPowerCut();
    });
    StopWatchingFiles();
    EXPECT_FALSE(told.Has("wrong"));
    EXPECT_EQ(std::filesystem::file_size(directory + "/a0"), 0);
    const auto noted = std::filesystem::file_size(directory + "/log");
    for (int i = 0; i < kFiles; ++i) {
      if (std::filesystem::exists(absl::StrCat(directory, "/file", i)))
        continue;
      EXPECT_GT(noted, i) << "file " << i << " is removed, but not noted";
    }
  }
}

}  // namespace
}  // namespace fleetperf::testing
