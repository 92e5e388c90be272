// The counters of this process's threads, compared with independent readings
// before and after: getrusage() of the thread, clocks, and other files of
// /proc.

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "tests/agent/source/linux/process/process_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::kJiffy;
using testing::Reading;

constexpr uint64_t kPer100Ns = 100;  // nanoseconds

// In units of 100 ns.
uint64_t TimeOf(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return (static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
          static_cast<uint64_t>(time.tv_nsec)) /
         kPer100Ns;
}

uint64_t TimeOf(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 10'000'000 +
         static_cast<uint64_t>(time.tv_usec) * 10;
}

class ThreadLiveTest : public testing::ProcessFixture {
 protected:
  ThreadLiveTest() {
    Link(absl::StrCat("/proc/", getpid()), absl::StrCat("proc/", getpid()));
    Remove("proc/uptime");
    Link("/proc/uptime", "proc/uptime");
  }

  static std::string FileOf(pid_t tid, const std::string& file) {
    return absl::StrCat("/proc/self/task/", tid, "/", file);
  }
  static std::string Text(pid_t tid, const std::string& file) {
    std::ifstream stream(FileOf(tid, file));
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }
  // The words of a text, from 1, after `begin`.
  static std::string Word(const std::string& text, size_t begin,
                          size_t number) {
    std::istringstream words(text.substr(begin));
    std::string word;
    for (; number > 0; --number) words >> word;
    return word;
  }
  // A field of stat with proc(5)'s number, which is 3 or more.
  static std::string StatField(const std::string& stat, size_t number) {
    return Word(stat, stat.rfind(')') + 1, number - 2);
  }
  static uint64_t StatusField(const std::string& status,
                              const std::string& key) {
    const size_t begin = status.find("\n" + key + ":");
    return std::stoull(Word(status, begin + key.size() + 2, 1));
  }

  // Takes a sample and keeps the row of the thread.
  void Take(pid_t tid) {
    const Reading reading = Sample("Thread");
    row_.clear();
    for (const auto& [name, values] : reading.rows) {
      if (absl::EndsWith(name, absl::StrCat("/", tid))) row_ = values;
    }
    ASSERT_FALSE(row_.empty()) << tid;
    clock_.Advance(absl::Seconds(1));
  }
  uint64_t Get(const std::string& counter) const { return row_.at(counter); }

  void ExpectBetween(uint64_t before, const std::string& counter,
                     uint64_t after) const {
    EXPECT_LE(before, Get(counter)) << counter;
    EXPECT_LE(Get(counter), after) << counter;
  }

 private:
  testing::Values row_;
};

TEST_F(ThreadLiveTest, ARunningThreadAgreesWithGetrusage) {
  const pid_t tid = gettid();
  Take(tid);  // what it does the first time is not in the window
  while (TimeOf(CLOCK_THREAD_CPUTIME_ID) < 5 * kJiffy) {
  }
  const auto run_delay = [&] {
    const std::string schedstat = Text(tid, "schedstat");
    return schedstat.empty() ? 0
                             : std::stoull(Word(schedstat, 0, 2)) / kPer100Ns;
  };
  const auto count = [](int64_t number) {
    return static_cast<uint64_t>(number);
  };
  const auto usage = [] {
    rusage result;
    getrusage(RUSAGE_THREAD, &result);
    return result;
  };
  const uint64_t delay_before = run_delay();
  const rusage before = usage();
  Take(tid);
  const rusage after = usage();
  if (delay_before != 0) {
    ExpectBetween(delay_before, "% Run Delay", run_delay());
  }
  // /proc rounds user and system time down to jiffies.
  EXPECT_GE(Get("% User Time") + kJiffy, TimeOf(before.ru_utime));
  EXPECT_LE(Get("% User Time"), TimeOf(after.ru_utime));
  EXPECT_GE(Get("% Privileged Time") + kJiffy, TimeOf(before.ru_stime));
  EXPECT_LE(Get("% Privileged Time"), TimeOf(after.ru_stime));
  EXPECT_GT(Get("% Processor Time"), 2 * kJiffy);
  EXPECT_EQ(Get("% Processor Time"),
            Get("% User Time") + Get("% Privileged Time"));
  ExpectBetween(count(before.ru_nvcsw), "Voluntary Context Switches/sec",
                count(after.ru_nvcsw));
  ExpectBetween(count(before.ru_nivcsw), "Involuntary Context Switches/sec",
                count(after.ru_nivcsw));
  EXPECT_EQ(Get("Context Switches/sec"),
            Get("Voluntary Context Switches/sec") +
                Get("Involuntary Context Switches/sec"));
  ExpectBetween(count(before.ru_minflt + before.ru_majflt), "Page Faults/sec",
                count(after.ru_minflt + after.ru_majflt));
  EXPECT_EQ(Get("ID Process"), getpid());
  EXPECT_EQ(Get("ID Thread"), tid);
  EXPECT_EQ(Get("Thread State"), 2);  // running
  EXPECT_EQ(Get("Uninterruptible"), 0);
  EXPECT_EQ(Get("Priority Current"), 20 + getpriority(PRIO_PROCESS, 0));
}

TEST_F(ThreadLiveTest, AWaitingThreadAgreesWithOtherFiles) {
  std::promise<void> end;
  std::promise<pid_t> started;
  const uint64_t before_start = TimeOf(CLOCK_BOOTTIME);
  std::thread thread([&] {
    started.set_value(gettid());
    end.get_future().wait();
  });
  const pid_t tid = started.get_future().get();
  const uint64_t after_start = TimeOf(CLOCK_BOOTTIME);

  // It has not run meanwhile if its time on processors stayed.
  uint64_t before;
  uint64_t after;
  std::string stat;
  std::string status;
  std::string schedstat;
  bool has_waited;
  do {
    std::this_thread::yield();
    schedstat = Text(tid, "schedstat");
    has_waited = StatField(Text(tid, "stat"), 3) == "S";
    before = TimeOf(CLOCK_BOOTTIME);
    Take(tid);
    after = TimeOf(CLOCK_BOOTTIME);
    stat = Text(tid, "stat");
    status = Text(tid, "status");
  } while (!has_waited || StatField(stat, 3) != "S" ||
           Text(tid, "schedstat") != schedstat);
  end.set_value();
  thread.join();

  EXPECT_EQ(Get("Thread State"), 5);  // waiting
  EXPECT_EQ(Get("Uninterruptible"), 0);
  EXPECT_EQ(Get("ID Process"), getpid());
  EXPECT_EQ(Get("ID Thread"), tid);
  EXPECT_EQ(Get("Voluntary Context Switches/sec"),
            StatusField(status, "voluntary_ctxt_switches"));
  EXPECT_EQ(Get("Involuntary Context Switches/sec"),
            StatusField(status, "nonvoluntary_ctxt_switches"));
  EXPECT_EQ(absl::StrCat(Get("% User Time") / kJiffy), StatField(stat, 14));
  EXPECT_EQ(absl::StrCat(Get("% Privileged Time") / kJiffy),
            StatField(stat, 15));
  EXPECT_EQ(absl::StrCat(Get("Priority Current")), StatField(stat, 18));
  EXPECT_EQ(Get("Page Faults/sec"), std::stoull(StatField(stat, 10)) +
                                        std::stoull(StatField(stat, 12)));
  if (!schedstat.empty()) {
    EXPECT_EQ(Get("% Run Delay"),
              std::stoull(Word(schedstat, 0, 2)) / kPer100Ns);
  }
  // Both times are rounded down to jiffies.
  ExpectBetween(before_start - kJiffy, "Elapsed Time", after_start);
  ExpectBetween(before - kJiffy, "id:1100", after);
}

}  // namespace
}  // namespace fleetperf::agent
