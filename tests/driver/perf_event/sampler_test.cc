#include "driver/perf_event/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "driver/perf_event/builder.h"
#include "tests/driver/perf_event/memory_ring.h"
#include "tests/driver/perf_event/ring_system.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using ::fleetperf::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Builder Dummy(System& system) {
  return Builder(Software(SoftwareEvent::kDummy), system);
}

Sampler SamplerOf(const Builder& builder, size_t pages = 1) {
  return *Sampler::Create(*builder.Build(), pages);
}

TEST(SamplerTest, RoundsTheNumberOfPagesUp) {
  RingSystem system;
  for (const size_t pages : {0, 1, 2, 3, 5}) SamplerOf(Dummy(system), pages);
  EXPECT_THAT(system.mapped_sizes,
              ElementsAre(2 * 4096, 2 * 4096, 3 * 4096, 5 * 4096, 9 * 4096));
  for (const size_t pages :
       {std::numeric_limits<size_t>::max(), size_t{1} << 52}) {
    EXPECT_THAT(
        Sampler::Create(*Dummy(system).Build(), pages),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too large")));
  }
}

TEST(SamplerTest, ErrorsOfMappingSayWhatToDo) {
  RingSystem system;
  system.files["/proc/sys/kernel/perf_event_mlock_kb"] = "516\n";
  const auto error = [&](int number, const Builder& builder) {
    system.map_error = number;
    return Sampler::Create(*builder.Build(), 1024).status();
  };
  EXPECT_THAT(error(EPERM, Dummy(system)),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("dummy"), HasSubstr("4100 KiB"),
                             HasSubstr("perf_event_mlock_kb (516 KiB"))));
  EXPECT_THAT(error(ENOMEM, Dummy(system)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("Use fewer pages")));
  EXPECT_THAT(error(EINVAL, Dummy(system).Inherit()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("one event per CPU")));
  EXPECT_THAT(error(EINVAL, Dummy(system)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cannot map a ring of 4100 KiB")));
}

TEST(SamplerTest, RejectsAPageThatNamesAPlaceOutsideOfTheMapping) {
  RingSystem system;
  system.page_is_damaged = true;
  EXPECT_THAT(Sampler::Create(*Dummy(system).Build(), 1),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cannot hold")));
}

TEST(SamplerTest, MayMove) {
  RingSystem system;
  Sampler first = SamplerOf(Dummy(system));
  const int descriptor = first.counter().descriptor();
  system.Write(descriptor, RecordOf(13, 0, ByteBuilder().U64(1).Build()));
  system.Write(descriptor, RecordOf(13, 0, ByteBuilder().U64(2).Build()));
  ASSERT_TRUE(first.Next());
  Sampler second = std::move(first);
  Record record;
  ASSERT_OK(second.Parse(*second.Next(), &record));
  EXPECT_EQ(std::get<LostSamplesRecord>(record.data).lost, 2u);
}

// Waiting.

TEST(SamplerTest, DoesNotWaitIfThereIsARecord) {
  RingSystem system;
  system.on_poll = [](int, int, short*) -> int {
    ADD_FAILURE() << "waits";
    return 0;
  };
  Sampler sampler = SamplerOf(Dummy(system));
  system.Write(sampler.counter().descriptor(), Filled(16, 'a'));
  ASSERT_OK_AND_ASSIGN(const auto record,
                       sampler.NextBlocking(absl::InfiniteDuration()));
  EXPECT_EQ(record->bytes(), Filled(16, 'a'));
}

TEST(SamplerTest, WaitsForARecord) {
  RingSystem system;
  std::vector<int> timeouts;
  system.on_poll = [&](int descriptor, int timeout, short* occurred) {
    timeouts.push_back(timeout);
    *occurred = POLLIN;
    // The kernel can report records that were read before.
    if (timeouts.size() == 2) system.Write(descriptor, Filled(16, 'a'));
    return 1;
  };
  Sampler sampler = SamplerOf(Dummy(system));
  ASSERT_OK_AND_ASSIGN(const auto record,
                       sampler.NextBlocking(absl::InfiniteDuration()));
  EXPECT_EQ(record->bytes(), Filled(16, 'a'));
  EXPECT_THAT(timeouts, ElementsAre(-1, -1));
  EXPECT_FALSE(sampler.ended());
}

TEST(SamplerTest, ReturnsNothingAfterTheTimeout) {
  RingSystem system;
  std::vector<int> timeouts;
  system.on_poll = [&](int, int timeout, short*) {
    timeouts.push_back(timeout);
    return 0;
  };
  Sampler sampler = SamplerOf(Dummy(system));
  ASSERT_OK_AND_ASSIGN(auto record, sampler.NextBlocking(absl::ZeroDuration()));
  EXPECT_FALSE(record);
  ASSERT_OK_AND_ASSIGN(record, sampler.NextBlocking(-absl::Seconds(1)));
  EXPECT_FALSE(record);
  ASSERT_OK_AND_ASSIGN(record, sampler.NextBlocking(absl::Hours(10000)));
  EXPECT_FALSE(record);
  EXPECT_THAT(timeouts, ElementsAre(0, 0, std::numeric_limits<int>::max()));
  EXPECT_FALSE(sampler.ended());
}

// Records below the kernel's watermark wake no one.
TEST(SamplerTest, ReturnsWhatIsThereAfterTheTimeout) {
  RingSystem system;
  system.on_poll = [&](int descriptor, int, short*) {
    system.Write(descriptor, Filled(16, 'a'));
    return 0;
  };
  Sampler sampler = SamplerOf(Dummy(system));
  ASSERT_OK_AND_ASSIGN(const auto record,
                       sampler.NextBlocking(absl::Seconds(1)));
  EXPECT_TRUE(record);
}

TEST(SamplerTest, ContinuesToWaitAfterASignalForTheTimeThatIsLeft) {
  RingSystem system;
  std::vector<int> timeouts;
  system.on_poll = [&](int descriptor, int timeout, short* occurred) {
    timeouts.push_back(timeout);
    if (timeouts.size() == 2) {
      *occurred = POLLIN;
      system.Write(descriptor, Filled(16, 'a'));
      return 1;
    }
    // The signal comes after more than 1 ms.
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start <
           std::chrono::milliseconds(2)) {
    }
    return -EINTR;
  };
  Sampler sampler = SamplerOf(Dummy(system));
  ASSERT_OK_AND_ASSIGN(const auto record, sampler.NextBlocking(absl::Hours(1)));
  EXPECT_TRUE(record);
  ASSERT_EQ(timeouts.size(), 2u);
  EXPECT_LE(timeouts[0], 3600000);
  EXPECT_LT(timeouts[1], timeouts[0]);
  EXPECT_GT(timeouts[1], 0);
}

TEST(SamplerTest, ReturnsTheLastRecordsOfAThreadThatEnded) {
  RingSystem system;
  int polls = 0;
  system.on_poll = [&](int descriptor, int, short* occurred) {
    ++polls;
    system.Write(descriptor, Filled(16, 'a'));
    system.Write(descriptor, Filled(16, 'b'));
    *occurred = POLLIN | POLLHUP;
    return 1;
  };
  Sampler sampler = SamplerOf(Dummy(system));
  for (const char c : {'a', 'b'}) {
    ASSERT_OK_AND_ASSIGN(const auto record,
                         sampler.NextBlocking(absl::InfiniteDuration()));
    ASSERT_TRUE(record);
    EXPECT_EQ(record->bytes(), Filled(16, c));
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto record,
                         sampler.NextBlocking(absl::InfiniteDuration()));
    EXPECT_FALSE(record);
  }
  EXPECT_TRUE(sampler.ended());
  EXPECT_EQ(polls, 1);
}

TEST(SamplerTest, ErrorsOfWaitingAreReturned) {
  RingSystem system;
  Sampler sampler = SamplerOf(Dummy(system));
  const auto error = [&](int result, short occurred) {
    system.on_poll = [=](int, int, short* events) {
      *events = occurred;
      return result;
    };
    return sampler.NextBlocking(absl::InfiniteDuration()).status();
  };
  EXPECT_THAT(error(-ENOMEM, 0), StatusIs(absl::StatusCode::kResourceExhausted,
                                          HasSubstr("cannot wait")));
  EXPECT_THAT(error(1, POLLERR), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasSubstr("pinned")));
  EXPECT_THAT(
      error(1, POLLNVAL),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed")));
}

TEST(SamplerTest, DamageIsReported) {
  RingSystem system;
  Sampler sampler = SamplerOf(Dummy(system));
  system.Write(sampler.counter().descriptor(), std::string(16, '\0'));
  EXPECT_THAT(sampler.NextBlocking(absl::InfiniteDuration()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("16 bytes")));
  system.Write(sampler.counter().descriptor(), std::string(24, '\0'));
  EXPECT_FALSE(sampler.Next());
  EXPECT_THAT(sampler.status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("24 bytes")));
}

// Shared rings.

TEST(SamplerTest, EventsThatShareARingAreToldApartByIdentifier) {
  RingSystem system;
  const uint64_t ip = sample::kIdentifier | sample::kIp;
  const uint64_t time = sample::kIdentifier | sample::kTime | sample::kPeriod;
  Sampler sampler = SamplerOf(Dummy(system).Sample(ip).SampleIdAll());
  ASSERT_OK(sampler.Add(*Dummy(system).Sample(time).SampleIdAll().Build()));
  const int descriptor = sampler.counter(0).descriptor();
  EXPECT_THAT(system.ioctls,
              ElementsAre(std::pair<unsigned long, unsigned long>(
                  PERF_EVENT_IOC_SET_OUTPUT, descriptor)));
  const uint64_t first = sampler.counter(0).id();
  const uint64_t second = sampler.counter(1).id();
  ASSERT_NE(first, second);

  system.Write(descriptor,
               RecordOf(9, 0, ByteBuilder().U64(second).U64(5).U64(6).Build()));
  auto raw = sampler.Next();
  EXPECT_EQ(sampler.CounterOf(*raw), &sampler.counter(1));
  Record record;
  ASSERT_OK(sampler.Parse(*raw, &record));
  EXPECT_EQ(std::get<Sample>(record.data).time(), 5u);
  EXPECT_EQ(std::get<Sample>(record.data).period(), 6u);

  system.Write(descriptor,
               RecordOf(9, 0, ByteBuilder().U64(first).U64(7).Build()));
  raw = sampler.Next();
  EXPECT_EQ(sampler.CounterOf(*raw), &sampler.counter(0));
  ASSERT_OK(sampler.Parse(*raw, &record));
  EXPECT_EQ(std::get<Sample>(record.data).ip(), 7u);

  // The trailer of the second event is longer than that of the first.
  system.Write(
      descriptor,
      RecordOf(13, 0, ByteBuilder().U64(1).U64(99).U64(second).Build()));
  raw = sampler.Next();
  EXPECT_EQ(sampler.CounterOf(*raw), &sampler.counter(1));
  ASSERT_OK(sampler.Parse(*raw, &record));
  EXPECT_EQ(record.id.time(), 99u);

  system.Write(descriptor,
               RecordOf(13, 0, ByteBuilder().U64(1).U64(12345).Build()));
  EXPECT_EQ(sampler.CounterOf(*sampler.Next()), nullptr);
}

TEST(SamplerTest, EventsWithOneLayoutNeedNoIdentifier) {
  RingSystem system;
  const Builder builder = Dummy(system).Sample(sample::kIp | sample::kId);
  Sampler sampler = SamplerOf(builder);
  ASSERT_OK(sampler.Add(*builder.Build()));
  const int descriptor = sampler.counter(0).descriptor();
  system.Write(
      descriptor,
      RecordOf(9, 0,
               ByteBuilder().U64(5).U64(sampler.counter(1).id()).Build()));
  EXPECT_EQ(sampler.CounterOf(*sampler.Next()), &sampler.counter(1));
  // Without SampleIdAll, other records do not say whose they are.
  system.Write(descriptor, RecordOf(13, 0, ByteBuilder().U64(5).Build()));
  const auto raw = sampler.Next();
  EXPECT_EQ(sampler.CounterOf(*raw), nullptr);
  Record record;
  ASSERT_OK(sampler.Parse(*raw, &record));
  EXPECT_EQ(std::get<LostSamplesRecord>(record.data).lost, 5u);
}

TEST(SamplerTest, RefusesToMixRecordsThatCannotBeToldApart) {
  RingSystem system;
  Sampler sampler =
      SamplerOf(Dummy(system).Sample(sample::kIdentifier).SampleIdAll());
  EXPECT_THAT(sampler.Add(*Dummy(system).Sample(sample::kIp).Build()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("kIdentifier")));
  EXPECT_THAT(sampler.Add(*Dummy(system)
                               .Sample(sample::kIdentifier)
                               .SampleIdAll(false)
                               .Build()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("SampleIdAll")));
  EXPECT_EQ(sampler.size(), 1u);
}

TEST(SamplerTest, ASharedRingEndsWithTheLastThread) {
  RingSystem system;
  Sampler sampler = SamplerOf(Dummy(system));
  ASSERT_OK(sampler.Add(*Dummy(system).Build()));
  std::vector<int> polled;
  system.on_poll = [&](int descriptor, int, short* occurred) {
    polled.push_back(descriptor);
    *occurred = POLLHUP;
    return 1;
  };
  ASSERT_OK_AND_ASSIGN(const auto record,
                       sampler.NextBlocking(absl::InfiniteDuration()));
  EXPECT_FALSE(record);
  EXPECT_TRUE(sampler.ended());
  EXPECT_THAT(polled, ElementsAre(sampler.counter(0).descriptor(),
                                  sampler.counter(1).descriptor()));
}

TEST(SamplerTest, MapsAnAuxAreaBehindTheRing) {
  RingSystem system;
  Sampler sampler = SamplerOf(Dummy(system), 4);
  EXPECT_EQ(sampler.aux(), nullptr);
  ASSERT_OK(sampler.MapAux(3));
  ASSERT_NE(sampler.aux(), nullptr);
  EXPECT_EQ(sampler.aux()->size(), 4u * 4096);
  MmapPage* const page = system.page(sampler.counter().descriptor());
  EXPECT_EQ(page->aux_offset, 5u * 4096);
  EXPECT_EQ(page->aux_size, 4u * 4096);
  page->aux_head = 100;
  ASSERT_OK_AND_ASSIGN(const AuxBytes bytes, sampler.aux()->Read());
  EXPECT_EQ(bytes.size(), 100u);
}

TEST(FlightRecorderTest, NeedsAnEventThatWritesBackward) {
  RingSystem system;
  EXPECT_THAT(FlightRecorder::Create(*Dummy(system).Build(), 1),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("WriteBackward")));
}

// Writing pauses while records are read.
TEST(FlightRecorderTest, PausesTheEvent) {
  RingSystem system;
  ASSERT_OK_AND_ASSIGN(
      FlightRecorder recorder,
      FlightRecorder::Create(*Dummy(system).WriteBackward().Build(), 1));
  ASSERT_OK(recorder.Snapshot([](const RawRecord&) {}));
  EXPECT_THAT(system.ioctls,
              ElementsAre(std::pair<unsigned long, unsigned long>(
                              PERF_EVENT_IOC_PAUSE_OUTPUT, 1),
                          std::pair<unsigned long, unsigned long>(
                              PERF_EVENT_IOC_PAUSE_OUTPUT, 0)));
}

}  // namespace
}  // namespace fleetperf::perf_event
