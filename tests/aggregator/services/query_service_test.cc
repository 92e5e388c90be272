// The service, called over TLS. The tests of aggregator/query check the
// answers.

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/services/query_answers.h"
#include "aggregator/services/services.h"
#include "base/os/files.h"
#include "base/tls/certificates.h"
#include "base/tls/credentials.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "proto/conversions.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TestStore;

// A store with a machine whose samples never end.
class EndlessStore : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    absl::Status status = StoreWrapper::Read(request, on_frame, on_loss);
    while (status.ok() && endless_ == request.machine) {
      Arrive(&reading_);
      status = StoreWrapper::Read(request, on_frame, on_loss);
    }
    if (endless_ == request.machine) Arrive(&ended_);
    return status;
  }

  void SetEndless(const std::string& machine) { endless_ = machine; }
  // Waits until the machine is being read, or no longer is.
  void WaitUntilReading() { reading_.wait(false); }
  void WaitUntilEnded() { ended_.wait(false); }
  bool HasBeenRead() const { return reading_; }

 private:
  static void Arrive(std::atomic<bool>* at) {
    *at = true;
    at->notify_all();
  }

  std::string endless_;
  std::atomic<bool> reading_ = false;
  std::atomic<bool> ended_ = false;
};

class QueryServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string machine : {"web-1", "web-2"}) {
      DiskAgent agent(&test_store_, machine);
      agent.Ticks(0, 20, {{agent.Disk("C:"), 2}, {agent.Disk("D:"), 7}});
      ASSERT_OK(agent.Send());
    }
    ASSERT_OK_AND_ASSIGN(authority_, MakeAuthority("test", kNotAfter));
    ASSERT_OK(
        WriteFile(directory_.File("authority.pem"), authority_.certificate));
    grpc::ServerBuilder builder;
    int port = 0;
    ASSERT_OK_AND_ASSIGN(const auto credentials,
                         ServerCredentials(Issue(Role::kAggregator)));
    builder.AddListeningPort("127.0.0.1:0", credentials, &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = absl::StrCat("127.0.0.1:", port);
    stub_ = StubOf(Role::kReader);
  }

  void TearDown() override { server_->Shutdown(); }

  std::unique_ptr<v1::QueryService::Stub> StubOf(Role role) {
    const auto credentials = ClientCredentials(Issue(role));
    EXPECT_OK(credentials);
    return v1::QueryService::NewStub(
        grpc::CreateChannel(address_, *credentials));
  }

  TlsFiles Issue(Role role) {
    const std::string stem = directory_.File(std::string(RoleName(role)));
    const auto pair = IssueCertificate(
        authority_,
        {.role = role, .names = {"127.0.0.1"}, .not_after = kNotAfter});
    EXPECT_OK(pair);
    EXPECT_OK(WriteFile(stem + ".pem", pair->certificate));
    EXPECT_OK(WriteFile(stem + ".key", pair->key, FileAccess::kOwnerOnly));
    return {.authority = directory_.File("authority.pem"),
            .certificate = stem + ".pem",
            .key = stem + ".key"};
  }

  static v1::QueryRangeRequest Request(const std::string& path) {
    v1::QueryRangeRequest request;
    request.add_paths(path);
    *request.mutable_start_time() = ToProto(At(0));
    *request.mutable_end_time() = ToProto(At(20));
    return request;
  }

  // Returns "web-1 \Disk(C:)\Queue Length 2", in order, and the error, if any.
  std::vector<std::string> Ask(const v1::QueryRangeRequest& request) {
    grpc::ClientContext context;
    const auto reader = stub_->QueryRange(&context, request);
    std::vector<std::string> texts;
    v1::QueryRangeResponse response;
    while (reader->Read(&response)) {
      if (response.has_series()) {
        texts.push_back(absl::StrCat(response.series().machine(), " ",
                                     response.series().path()));
      }
      for (const double value : response.points().values()) {
        absl::StrAppend(&texts.back(), " ", value);
      }
    }
    const grpc::Status status = reader->Finish();
    if (!status.ok()) texts.push_back(status.error_message());
    return texts;
  }

  const absl::Time kNotAfter = absl::Now() + absl::Hours(1);
  testing::TempDirectory directory_;
  TestStore test_store_;
  EndlessStore store_{&*test_store_};
  Fleet fleet_{&store_};
  CallerQuota quota_;
  const ReadScope scope_{store_, fleet_, [](const std::string& machine) {
                           return At(machine == "web-2" ? 19 : 20);
                         }};
  std::unique_ptr<grpc::Service> service_ =
      MakeQueryService(QueryAnswers(&scope_, &quota_));
  KeyPair authority_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::unique_ptr<v1::QueryService::Stub> stub_;
};

TEST_F(QueryServiceTest, AnswersTheRequest) {
  v1::QueryRangeRequest request = Request("\\Disk(*)\\Queue Length");
  EXPECT_THAT(Ask(request), ElementsAre("web-1 \\Disk(C:)\\Queue Length 2",
                                        "web-1 \\Disk(D:)\\Queue Length 7",
                                        "web-2 \\Disk(C:)\\Queue Length 2",
                                        "web-2 \\Disk(D:)\\Queue Length 7"));
  request.set_bottom(1);
  EXPECT_THAT(Ask(request), ElementsAre("web-1 \\Disk(C:)\\Queue Length 2"));
  request.mutable_where()->set_comparison(v1::COMPARISON_GREATER_OR_EQUAL);
  request.mutable_where()->set_number(7);
  EXPECT_THAT(Ask(request), ElementsAre("web-1 \\Disk(D:)\\Queue Length 7"));
  request.set_top(1);
  EXPECT_THAT(Ask(request), ElementsAre("top and bottom exclude each other; "
                                        "use two queries"));
  request.clear_top();
  request.mutable_where()->clear_comparison();
  EXPECT_THAT(Ask(request), ElementsAre("where requires a comparison"));
  request = Request("\\Disk(*)\\*");
  request.set_aggregate(v1::AGGREGATE_FUNCTION_P50);
  EXPECT_THAT(Ask(request), ElementsAre(" \\Disk\\Queue Length 2",
                                        " \\Disk\\Transfers/sec 2"));
  request.set_aggregate(v1::AGGREGATE_FUNCTION_P99);
  request.add_by(v1::GROUPING_COUNTERSET);  // plain numbers and 1/s
  EXPECT_THAT(Ask(request), ElementsAre(" \\Disk\\* 7", " \\Disk\\* 7"));
  request.add_by(v1::GROUPING_COUNTER);
  EXPECT_THAT(Ask(request), ElementsAre(" \\Disk\\Queue Length 7",
                                        " \\Disk\\Transfers/sec 7"));
}

TEST_F(QueryServiceTest, GivesTheEndOfTheRangeByTheClockOfTheMachine) {
  const auto ends = [&](const v1::QueryRangeRequest& request) {
    grpc::ClientContext context;
    const auto reader = stub_->QueryRange(&context, request);
    std::vector<absl::Time> times;
    v1::QueryRangeResponse response;
    while (reader->Read(&response)) {
      if (!response.has_range_end_unix_nanos()) continue;
      times.push_back(absl::FromUnixNanos(response.range_end_unix_nanos()));
    }
    EXPECT_TRUE(reader->Finish().ok());
    return times;
  };
  v1::QueryRangeRequest request = Request("\\Disk(C:)\\Queue Length");
  EXPECT_THAT(ends(request), IsEmpty());
  request.clear_end_time();
  *request.mutable_since() = ToProto(absl::Seconds(10));
  EXPECT_THAT(ends(request), ElementsAre(At(20), At(19)));
  request.set_aggregate(v1::AGGREGATE_FUNCTION_SUM);
  EXPECT_THAT(ends(request), ElementsAre(At(19)));
}

TEST_F(QueryServiceTest, RequiresTheRoleReaderOrOperator) {
  stub_ = StubOf(Role::kAgent);
  EXPECT_THAT(Ask(Request("\\Disk(*)\\*")),
              ElementsAre("this call requires the role reader or operator; "
                          "the client's certificate has role agent"));
}

// Returns the progress before all other parts, as "0 of 2", and the number of
// series.
template <typename Response>
std::pair<std::string, int> ProgressAndSeries(
    grpc::ClientReader<Response>* reader) {
  std::pair<std::string, int> found;
  Response response;
  while (reader->Read(&response)) {
    if (response.has_progress() && found.first.empty() && found.second == 0) {
      found.first = absl::StrCat(response.progress().machines_read(), " of ",
                                 response.progress().machines());
    }
    found.second += response.has_series();
  }
  EXPECT_TRUE(reader->Finish().ok());
  return found;
}

TEST_F(QueryServiceTest, ReportsProgressIfRequested) {
  v1::QueryRangeRequest range = Request("\\Disk(*)\\Queue Length");
  v1::QueryRawRequest raw;
  raw.add_paths(range.paths(0));
  *raw.mutable_start_time() = range.start_time();
  *raw.mutable_end_time() = range.end_time();
  for (const bool is_requested : {false, true}) {
    const std::pair<std::string, int> expected(is_requested ? "0 of 2" : "", 4);
    range.set_with_progress(is_requested);
    raw.set_with_progress(is_requested);
    grpc::ClientContext of_range;
    EXPECT_EQ(ProgressAndSeries(stub_->QueryRange(&of_range, range).get()),
              expected);
    grpc::ClientContext of_raw;
    EXPECT_EQ(ProgressAndSeries(stub_->QueryRaw(&of_raw, raw).get()), expected);
  }
}

// Two queries at a time would be one too many.
TEST_F(QueryServiceTest, KeepsNoPlaceWhileItsCallerDoesNotRead) {
  quota_.SetLimits(Pool::kQueries, 1, 1);
  const QueryAnswers answers(&scope_, &quota_);
  const v1::QueryRangeRequest request = Request("\\Disk(*)\\Queue Length");
  const absl::Time end = absl::Now() + absl::Seconds(30);
  const Caller slow{.key = "slow"};
  const Caller quick{.key = "quick",
                     .is_cancelled = [end] { return absl::Now() > end; }};
  int slow_parts = 0;
  int quick_parts = 0;
  const auto ask_quickly = [&] {
    return answers.Range(request, quick, [&](const v1::QueryRangeResponse&) {
      ++quick_parts;
      return absl::OkStatus();
    });
  };
  ASSERT_OK(answers.Range(request, slow, [&](const v1::QueryRangeResponse&) {
    return ++slow_parts == 2 ? ask_quickly() : absl::OkStatus();
  }));
  EXPECT_EQ(quick_parts, slow_parts);
  EXPECT_EQ(quota_.counts(Pool::kQueries).held, 0);
}

TEST_F(QueryServiceTest, StopsReadingWhenTheCallerCancels) {
  store_.SetEndless("web-2");
  grpc::ClientContext context;
  const auto reader =
      stub_->QueryRange(&context, Request("\\Disk(*)\\Queue Length"));
  store_.WaitUntilReading();
  // Complete series have arrived.
  v1::QueryRangeResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.series().path(), "\\Disk(C:)\\Queue Length");
  context.TryCancel();
  store_.WaitUntilEnded();
  while (reader->Read(&response)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(QueryServiceTest, StopsReadingRawSamplesWhenTheCallerDisconnects) {
  store_.SetEndless("web-1");
  v1::QueryRawRequest request;
  request.add_paths("\\Disk(*)\\Queue Length");
  // After the samples, which are read but not held.
  *request.mutable_start_time() = ToProto(At(20.5));
  *request.mutable_end_time() = ToProto(At(21));
  {
    grpc::ClientContext context;
    const auto reader = stub_->QueryRaw(&context, request);
    store_.WaitUntilReading();
    stub_ = nullptr;
    context.TryCancel();
    reader->Finish();
  }
  store_.WaitUntilEnded();
}

TEST_F(QueryServiceTest, StopsReadingAtTheDeadline) {
  store_.SetEndless("web-1");
  // A slow machine may begin to read only after a short deadline.
  for (absl::Duration time = absl::Milliseconds(300); !store_.HasBeenRead();
       time *= 4) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + time));
    const auto reader =
        stub_->QueryRange(&context, Request("\\Disk(*)\\Queue Length"));
    v1::QueryRangeResponse response;
    while (reader->Read(&response)) {
    }
    EXPECT_EQ(reader->Finish().error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  store_.WaitUntilEnded();
}

}  // namespace
}  // namespace fleetperf::aggregator
