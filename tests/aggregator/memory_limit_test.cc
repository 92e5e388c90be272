#include "aggregator/memory_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_directory.h"

namespace fleetperf::aggregator {
namespace {

class MemoryLimitTest : public ::testing::Test {
 protected:
  void Write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = directory_.File(file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  uint64_t Limit() const {
    return MemoryLimit(directory_.path(), directory_.File("process"));
  }

  testing::TempDirectory directory_;
};

TEST_F(MemoryLimitTest, IsTheMachinesWithoutGroups) {
  EXPECT_GT(Limit(), uint64_t{64} << 20);
}

TEST_F(MemoryLimitTest, IsTheLowestOfTheGroupAndItsParents) {
  Write("process", "4:memory:/v1\n0::/fleet/aggregator\n");
  Write("fleet/aggregator/memory.max", "max\n");
  EXPECT_GT(Limit(), uint64_t{64} << 20);
  Write("fleet/memory.max", "30000000\n");
  EXPECT_EQ(Limit(), 30'000'000);
  Write("fleet/aggregator/memory.max", "20000000\n");
  EXPECT_EQ(Limit(), 20'000'000);
}

// A container sees its own group as the root.
TEST_F(MemoryLimitTest, IsTheRootsInAContainer) {
  Write("process", "0::/\n");
  Write("memory.max", "10000000\n");
  EXPECT_EQ(Limit(), 10'000'000);
}

}  // namespace
}  // namespace fleetperf::aggregator
