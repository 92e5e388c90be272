#include "driver/perf_event/event.h"

#include <gtest/gtest.h>

namespace fleetperf::perf_event {
namespace {

// Expected numbers are those of perf_event_open(2).

TEST(EventTest, HardwareEvents) {
  const Event event = Hardware(HardwareEvent::kReferenceCpuCycles);
  EXPECT_EQ(event.type, 0u);
  EXPECT_EQ(event.config, 9u);
  EXPECT_EQ(event.name, "ref-cycles");
}

TEST(EventTest, CacheEventsCombineThreeNumbers) {
  const Event event =
      Cache(CacheId::kLastLevel, CacheOperation::kPrefetch, CacheResult::kMiss);
  EXPECT_EQ(event.type, 3u);
  EXPECT_EQ(event.config, 0x10202u);
  EXPECT_EQ(event.name, "LLC-prefetch-misses");
}

TEST(EventTest, BreakpointsHaveAnAddressAndALength) {
  const Event event = Breakpoint(BreakpointAccess::kReadWrite, 0x7f12345678, 4);
  EXPECT_EQ(event.type, 5u);
  EXPECT_EQ(event.breakpoint_type, 3u);
  EXPECT_EQ(event.config1, 0x7f12345678u);
  EXPECT_EQ(event.config2, 4u);
  EXPECT_EQ(event.name, "mem:0x7f12345678/4:rw");
}

// With exclude_kernel, the kernel counts no context switches at all.
TEST(EventTest, EventsOfTheKernelDoNotExcludeTheKernel) {
  EXPECT_EQ(Software(SoftwareEvent::kContextSwitches).flags, 0u);
  EXPECT_NE(Software(SoftwareEvent::kPageFaults).flags, 0u);
}

}  // namespace
}  // namespace fleetperf::perf_event
