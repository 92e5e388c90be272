#include "cli/merged_answer.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rpc/rpc_deadline.h"
#include "base/rpc/rpc_error.h"
#include "base/status_macros.h"
#include "cli/calls.h"
#include "cli/connection.h"
#include "cli/missing.h"
#include "fleetperf/v1/query.grpc.pb.h"
#include "proto/conversions.h"
#include "proto/series_key.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kQueryDeadline = absl::Minutes(5);

auto Start(v1::QueryService::Stub* stub, grpc::ClientContext* context,
           const v1::QueryRangeRequest& request) {
  return stub->QueryRange(context, request);
}

auto Start(v1::QueryService::Stub* stub, grpc::ClientContext* context,
           const v1::QueryRawRequest& request) {
  return stub->QueryRaw(context, request);
}

// The answer of one aggregator, series by series. Thread-compatible.
template <typename Series>
class AnswerStream {
 public:
  using Response = typename Series::Response;

  // Begins the call. `use_other` takes the messages of the answer that have no
  // series.
  AnswerStream(const Connection& connection,
               const typename Series::Request& request,
               std::function<void(const Response&)> use_other)
      : connection_(connection),
        use_other_(std::move(use_other)),
        stub_(connection.channel()) {
    context_.set_deadline(RpcDeadline(kQueryDeadline));
    reader_ = Start(&stub_, &context_, request);
  }

  ~AnswerStream() {
    context_.TryCancel();
    if (!is_finished_) reader_->Finish();
  }

  // Reads the next series.
  void Advance() {
    next_.reset();
    if (response_.has_series()) Begin();
    while (!is_over_) {
      is_over_ = !reader_->Read(&response_);
      if (is_over_) return response_.Clear();
      stage_ = RpcStage::kAnswering;
      if (response_.has_series()) {
        if (next_.has_value()) return;  // it begins the one after
        Begin();
      } else {
        if (next_.has_value()) AddValues(response_, &*next_);
        use_other_(response_);
      }
    }
  }

  // std::nullopt after the last one.
  const std::optional<Series>& next() const { return next_; }
  const std::string& key() const { return key_; }  // of next()
  Series Take() { return *std::move(next_); }

  // Returns the result of the call, after its end.
  absl::Status Finish() {
    is_finished_ = true;
    return connection_.Explain(reader_->Finish(), stage_);
  }

  const std::string& address() const { return connection_.address(); }

 private:
  void Begin() {
    next_.emplace(Series{.head = response_, .holders = {address()}});
    key_ = keys_.KeyOf(next_->series());
  }

  const Connection& connection_;
  const std::function<void(const Response&)> use_other_;
  DistinctSeriesKeys keys_{/*is_sorted=*/true};
  grpc::ClientContext context_;
  v1::QueryService::Stub stub_;
  std::unique_ptr<grpc::ClientReader<Response>> reader_;
  RpcStage stage_ = RpcStage::kConnecting;
  Response response_;  // the newest one
  bool is_over_ = false;
  bool is_finished_ = false;
  std::optional<Series> next_;
  std::string key_;
};

template <typename Series>
using Streams = std::vector<std::unique_ptr<AnswerStream<Series>>>;

// Reads all series, and joins those that have one key.
template <typename Series>
absl::Status UseAll(const Streams<Series>& streams,
                    const typename Series::Request& request,
                    const AnswerReader<Series>& reader) {
  for (;;) {
    const std::string* first = nullptr;  // the key
    for (const auto& stream : streams) {
      if (!stream->next().has_value()) continue;
      if (first == nullptr || stream->key() < *first) first = &stream->key();
    }
    if (first == nullptr) return absl::OkStatus();
    const std::string key = *first;
    std::vector<Series> parts;
    for (const auto& stream : streams) {
      if (!stream->next().has_value() || stream->key() != key) continue;
      parts.push_back(stream->Take());
      stream->Advance();
    }
    RETURN_IF_ERROR(reader.use(Join(std::move(parts), request)));
  }
}

template <typename Series>
absl::Status CheckOneAnswers(const Streams<Series>& streams) {
  std::vector<std::string> answering;
  for (const auto& stream : streams) {
    if (stream->next().has_value()) answering.push_back(stream->address());
  }
  if (answering.size() <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--agg combines the series of one aggregator, but ",
                   absl::StrJoin(answering, " and "),
                   " have some; add --by machine, or name one: --aggregator ",
                   answering.front()));
}

v1::QueryProgress SumOf(const std::vector<v1::QueryProgress>& of_each) {
  v1::QueryProgress sum;
  for (const v1::QueryProgress& of : of_each) {
    sum.set_machines_read(sum.machines_read() + of.machines_read());
    sum.set_machines(sum.machines() + of.machines());
  }
  return sum;
}

// Records the machines whose newest samples are those of `silent`.
absl::Status AddSilent(const Aggregators& aggregators,
                       const std::vector<v1::SilentMachine>& silent) {
  std::map<std::string, absl::Time> newest;
  if (!silent.empty() && aggregators.reached().size() > 1) {
    ASSIGN_OR_RETURN(const auto lists, MachinesOfEach(aggregators, {}));
    for (const v1::ListMachinesResponse& list : lists) {
      for (const v1::Machine& machine : list.machines()) {
        absl::Time& time = newest[machine.name()];
        time = std::max(time, FromProto(machine.newest_sample()));
      }
    }
  }
  for (const v1::SilentMachine& machine : silent) {
    if (newest[machine.machine()] > FromProto(machine.newest_sample()))
      continue;
    aggregators.AddSilent(machine);
  }
  return absl::OkStatus();
}

}  // namespace

template <typename Series>
absl::Status ReadAnswers(const Aggregators& aggregators,
                         const typename Series::Request& request,
                         const AnswerReader<Series>& reader) {
  typename Series::Request asked = request;
  asked.set_with_progress(!reader.is_part);
  const auto reached = aggregators.reached();
  std::vector<v1::QueryProgress> progress(reached.size());
  std::vector<std::vector<v1::Missing>> missing(reached.size());
  std::vector<v1::SilentMachine> silent;
  Streams<Series> streams;
  for (size_t i = 0; i < reached.size(); ++i) {
    const auto use_other = [&, i](const typename Series::Response& response) {
      if (response.has_missing()) missing[i].push_back(response.missing());
      if (response.has_silent()) silent.push_back(response.silent());
      if (!response.has_progress()) return;
      progress[i] = response.progress();
      reader.on_progress(SumOf(progress));
    };
    streams.push_back(
        std::make_unique<AnswerStream<Series>>(reached[i], asked, use_other));
  }
  for (const auto& stream : streams) stream->Advance();
  if (reader.spans_machines) RETURN_IF_ERROR(CheckOneAnswers(streams));
  RETURN_IF_ERROR(UseAll(streams, request, reader));
  std::vector<absl::Status> results;
  std::vector<std::vector<v1::Missing>> missing_of_answers;
  for (size_t i = 0; i < streams.size(); ++i) {
    results.push_back(streams[i]->Finish());
    if (results[i].ok()) missing_of_answers.push_back(missing[i]);
  }
  RETURN_IF_ERROR(aggregators.Combine(results));
  if (reader.is_part) return absl::OkStatus();
  for (const v1::Missing& path : MissingInAll(missing_of_answers)) {
    aggregators.AddMissing(path);
  }
  return AddSilent(aggregators, silent);
}

template absl::Status ReadAnswers(const Aggregators&,
                                  const v1::QueryRangeRequest&,
                                  const AnswerReader<RangeSeries>&);
template absl::Status ReadAnswers(const Aggregators&,
                                  const v1::QueryRawRequest&,
                                  const AnswerReader<RawSeries>&);

}  // namespace fleetperf::cli
