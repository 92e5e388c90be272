// Support for tests that open events of the machine that runs them.

#ifndef FLEETPERF_TESTS_DRIVER_PERF_EVENT_KERNEL_H_
#define FLEETPERF_TESTS_DRIVER_PERF_EVENT_KERNEL_H_

#include <gtest/gtest.h>

#include "driver/perf_event/builder.h"

namespace fleetperf::perf_event {

// Skips the test if the kernel refuses to open the event, and says why.
#define SKIP_UNLESS_OPENS(builder)                         \
  if (const auto opened = (builder).Build(); !opened.ok()) \
  GTEST_SKIP() << "The kernel refuses: " << opened.status()

// A fixture whose tests are skipped where the kernel permits no software events
// of the own process.
class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_OPENS(Builder(Software(SoftwareEvent::kDummy)));
  }
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_TESTS_DRIVER_PERF_EVENT_KERNEL_H_
