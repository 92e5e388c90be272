#include "tests/agent/deliver/fake_aggregator.h"

#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace fleetperf::testing {
namespace {

// The timeout of all waits in tests.
constexpr absl::Duration kMessagePatience = absl::Seconds(60);

}  // namespace

v1::CollectRequest FakeStream::Receive() {
  absl::MutexLock lock(&mutex_);
  const auto has_message = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!received_.empty() && received_.front().has_plan_report()) {
      received_.pop_front();
    }
    return !received_.empty();
  };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&has_message),
                               kMessagePatience)) {
    ADD_FAILURE() << "the agent sends nothing";
    return {};
  }
  v1::CollectRequest request = std::move(received_.front());
  received_.pop_front();
  return request;
}

v1::PlanReport FakeStream::ReceiveReport() {
  absl::MutexLock lock(&mutex_);
  const auto has_report = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!received_.empty() && !received_.front().has_plan_report()) {
      received_.pop_front();
    }
    return !received_.empty();
  };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&has_report),
                               kMessagePatience)) {
    ADD_FAILURE() << "the agent sends no report";
    return {};
  }
  v1::PlanReport report = received_.front().plan_report();
  received_.pop_front();
  return report;
}

void FakeStream::Send(v1::CollectResponse response) {
  absl::MutexLock lock(&mutex_);
  responses_.push_back(std::move(response));
  WriteMore();
}

void FakeStream::End(const grpc::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(ending_, true)) return;
  end_status_ = status;
  WriteMore();
}

void FakeStream::OnReadDone(bool ok) {
  if (!ok) return End(grpc::Status::OK);
  {
    absl::MutexLock lock(&mutex_);
    received_.push_back(std::move(request_));
  }
  request_.Clear();
  StartRead(&request_);
}

void FakeStream::OnWriteDone(bool) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  WriteMore();
}

void FakeStream::OnCancel() { End(grpc::Status::CANCELLED); }

void FakeStream::WriteMore() {
  if (writing_ || finished_) return;
  if (!responses_.empty()) {
    response_ = std::move(responses_.front());
    responses_.pop_front();
    writing_ = true;
    StartWrite(&response_);
  } else if (ending_) {
    finished_ = true;
    Finish(end_status_);
  }
}

FakeAggregator::FakeAggregator(
    const std::string& address,
    const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, credentials, &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) throw std::runtime_error("cannot listen " + address);
  address_ = absl::StrCat("127.0.0.1:", port);
}

FakeAggregator::~FakeAggregator() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

FakeStream& FakeAggregator::Accept() {
  absl::MutexLock lock(&mutex_);
  const auto has_stream = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return accepted_ < streams_.size();
  };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&has_stream),
                               kMessagePatience)) {
    throw std::runtime_error("the agent does not connect");
  }
  return *streams_[accepted_++];
}

grpc::ServerBidiReactor<v1::CollectRequest, v1::CollectResponse>*
FakeAggregator::Collect(grpc::CallbackServerContext*) {
  absl::MutexLock lock(&mutex_);
  return streams_.emplace_back(std::make_unique<FakeStream>()).get();
}

}  // namespace fleetperf::testing
