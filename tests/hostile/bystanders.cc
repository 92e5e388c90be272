#include "tests/hostile/bystanders.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/os/clock.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_deadline.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "perflib/clocks.h"
#include "proto/conversions.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/https_client.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {
namespace {

constexpr char kHonestAgent[] = "honest";
constexpr absl::Duration kPauseBetween = absl::Milliseconds(100);

absl::Duration MonotonicNow() { return Clock::Real().Monotonic(); }

// Returns the number after `name` in /proc/PID/status.
int64_t StatusNumber(pid_t pid, absl::string_view name) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(file, line);) {
    absl::string_view text = line;
    int64_t number = 0;
    if (!absl::ConsumePrefix(&text, name)) continue;
    absl::ConsumeSuffix(&text, " kB");
    return absl::SimpleAtoi(text, &number) ? number : 0;
  }
  return 0;
}

int64_t CountDescriptors(pid_t pid) {
  std::error_code error;
  const std::filesystem::directory_iterator open(
      absl::StrCat("/proc/", pid, "/fd"), error);
  return error ? 0 : std::distance(begin(open), end(open));
}

// Asks for the newest value. Returns an error text if there is no answer.
std::string Ask(v1::QueryService::Stub& stub, absl::Time start) {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kPatience));
  v1::QueryRangeRequest request;
  request.add_paths(absl::StrCat("\\\\", kHonestAgent, "\\Numbers\\Number"));
  *request.mutable_start_time() = ToProto(start);
  *request.mutable_end_time() = ToProto(start + absl::Hours(1));
  const auto reader = stub.QueryRange(&context, request);
  v1::QueryRangeResponse response;
  int responses = 0;
  while (reader->Read(&response)) ++responses;
  const grpc::Status status = reader->Finish();
  if (status.ok() && responses > 0) return "";
  return absl::StrCat("the reader's query failed: ", status.error_message());
}

// Asks the page for the machines, on a new connection.
std::string AskPage(int port, const TlsFiles& tls) {
  const std::string answer = HttpsClient(port, tls).Ask(
      "POST", "/api/v1/machines", "Content-Type: application/json\r\n", "{}");
  if (absl::StartsWith(answer, "HTTP/1.1 200 ")) return "";
  return absl::StrCat("the page did not answer: ", answer);
}

}  // namespace

void Measured::AddUsage(pid_t pid) {
  memory_kib = std::max(memory_kib, StatusNumber(pid, "VmRSS:"));
  threads = std::max(threads, StatusNumber(pid, "Threads:"));
  descriptors = std::max(descriptors, CountDescriptors(pid));
}

absl::Duration Measured::Quantile(std::vector<absl::Duration> waits,
                                  double share) {
  if (waits.empty()) return absl::ZeroDuration();
  std::sort(waits.begin(), waits.end());
  const auto rank =
      static_cast<size_t>(std::ceil(share * static_cast<double>(waits.size())));
  return waits[std::max<size_t>(rank, 1) - 1];
}

Bystanders::Bystanders(Deployment* deployment, pid_t pid, int page_port)
    : deployment_(*deployment),
      page_port_(page_port),
      agent_tls_(deployment->Issue("agent", {kHonestAgent})),
      reader_tls_(deployment->Issue("reader", {"honest-reader"})),
      start_(absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()))),
      agent_([this] { RunAgent(); }),
      reader_([this] { RunReader(); }),
      usage_([this, pid] { RunUsage(pid); }) {}

Bystanders::~Bystanders() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Notify();
  }
  agent_.join();
  reader_.join();
  usage_.join();
}

void Bystanders::AwaitMeasures() {
  absl::MutexLock lock(&mutex_);
  changed_.Await(&mutex_, kPatience,
                 [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                   return (!measured_.acknowledgments.empty() &&
                           !measured_.answers.empty()) ||
                          !failure_.empty();
                 });
}

Measured Bystanders::Next() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(measured_, {});
}

std::string Bystanders::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

uint64_t Bystanders::acknowledged() const {
  absl::MutexLock lock(&mutex_);
  return acknowledged_;
}

void Bystanders::RunAgent() {
  FakeAgent agent(deployment_.address(), agent_tls_,
                  MakeHello(kHonestAgent, kEpoch, 1, 0));
  const int64_t start = perflib::PerfTime100NSecFromTime(start_);
  for (uint64_t sequence = 1; Pause(); ++sequence) {
    const absl::Duration begun = MonotonicNow();
    if (!agent.Send(MakeNumberBatch(kHonestAgent, kEpoch, sequence, start)) ||
        !agent.ReceiveAck(sequence)) {
      return Fail(absl::StrCat("the agent's stream ended: ",
                               agent.Finish().ToString()));
    }
    absl::MutexLock lock(&mutex_);
    acknowledged_ = sequence;
    measured_.acknowledgments.push_back(MonotonicNow() - begun);
    changed_.Notify();
  }
}

void Bystanders::RunReader() {
  {
    absl::MutexLock lock(&mutex_);
    changed_.Await(&mutex_, kPatience,
                   [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                     return acknowledged_ > 0 || stopping_;
                   });
  }
  const auto stub = v1::QueryService::NewStub(
      MakeChannel(deployment_.address(), *ClientCredentials(reader_tls_)));
  while (Pause()) {
    const absl::Duration begun = MonotonicNow();
    std::string error = Ask(*stub, start_);
    if (error.empty() && page_port_ != 0) {
      error = AskPage(page_port_, reader_tls_);
    }
    if (!error.empty()) return Fail(error);
    absl::MutexLock lock(&mutex_);
    measured_.answers.push_back(MonotonicNow() - begun);
    changed_.Notify();
  }
}

void Bystanders::RunUsage(pid_t pid) {
  while (Pause()) {
    absl::MutexLock lock(&mutex_);
    measured_.AddUsage(pid);
  }
}

bool Bystanders::Pause() {
  absl::MutexLock lock(&mutex_);
  return !changed_.Await(
      &mutex_, kPauseBetween,
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
}

void Bystanders::Fail(const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  if (failure_.empty()) failure_ = reason;
  changed_.Notify();
}

}  // namespace fleetperf::testing
