#include "tests/e2e/task_machine.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/os/clock.h"
#include "base/text/units.h"
#include "perflib/clocks.h"
#include "tests/e2e/fake_agent.h"
#include "tests/support/tasks.h"

namespace fleetperf::testing {

TaskMachine::TaskMachine(std::string name, absl::Time start)
    : name_(std::move(name)),
      start_(start),
      machine_(writer_.Machine(name_)),
      counterset_(writer_.Counterset(TaskRegistration())),
      query_(writer_.Query(
          machine_, counterset_, absl::Seconds(1),
          {{.counter_id = kTaskTime}, {.counter_id = kTaskBytes}})) {}

uint32_t TaskMachine::Task(const std::string& name) {
  return writer_.Instance(machine_, counterset_, name);
}

void TaskMachine::Tick(int seconds, const std::vector<Values>& tasks) {
  std::vector<BatchWriter::Row> rows;
  for (const Values& of : tasks) {
    rows.push_back({of.task, {static_cast<uint64_t>(of.time), of.bytes}});
  }
  writer_.AddTick(query_,
                  {.perf_time_stamp = seconds * perflib::kLinuxPerfFreq,
                   .perf_time_100nsec = perflib::PerfTime100NSecFromTime(
                       start_ + absl::Seconds(seconds)),
                   .perf_freq = perflib::kLinuxPerfFreq},
                  std::move(rows));
}

void TaskMachine::Deliver(Deployment& deployment) {
  FakeAgent agent(deployment.address(), deployment.Issue("agent", {name_}),
                  MakeHello(name_, kEpoch, 1, 0));
  ASSERT_TRUE(agent.Receive()->has_welcome());
  v1::CollectRequest request;
  *request.mutable_batch() = MakeSealedBatch(kEpoch, 1, writer_.TakeContent());
  ASSERT_TRUE(agent.Send(request));
  ASSERT_TRUE(agent.ReceiveAck(1));
}

absl::Time SecondsAgo(int64_t seconds) {
  return absl::FromUnixSeconds(absl::ToUnixSeconds(Clock::Real().Now()) -
                               seconds);
}

std::vector<std::string> RangeFrom(absl::Time start, int seconds) {
  return {"--from", FormatUtc(start), "--to",
          FormatUtc(start + absl::Seconds(seconds))};
}

}  // namespace fleetperf::testing
