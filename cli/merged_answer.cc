#include "cli/merged_answer.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rpc/rpc_deadline.h"
#include "base/rpc/rpc_error.h"
#include "base/status_macros.h"
#include "cli/connection.h"
#include "cli/merged_lists.h"
#include "cli/pages.h"
#include "proto/conversions.h"
#include "proto/series_key.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kQueryDeadline = absl::Minutes(5);

// The answer of one aggregator, series by series. Thread-compatible.
template <typename Series>
class AnswerStream {
 public:
  using Response = typename Series::Response;

  AnswerStream(const Connection& connection, size_t number,
               const AnswerReader<Series>& reader)
      : connection_(connection),
        number_(number),
        options_(reader),
        keys_(reader.order != AnswerOrder::kRanked),
        stub_(v1::QueryService::NewStub(connection.channel())) {
    context_.set_deadline(RpcDeadline(kQueryDeadline));
    reader_ = options_.start(stub_.get(), &context_);
  }

  ~AnswerStream() {
    context_.TryCancel();
    if (!is_finished_) reader_->Finish();
  }

  // Reads the next series.
  void Advance() {
    next_.reset();
    if (std::exchange(has_first_, false)) Begin();
    while (!is_over_) {
      if (!reader_->Read(&response_)) {
        is_over_ = true;
      } else if (response_.has_series() && next_.has_value()) {
        has_first_ = true;
        return;
      } else {
        Use();
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
  const std::vector<v1::Missing>& missing() const { return missing_; }
  const std::vector<v1::SilentMachine>& silent() const { return silent_; }
  bool HasMachine(const std::string& name) const {
    return machines_.contains(name);
  }

 private:
  void Begin() {
    next_.emplace(response_);
    next_->holders = {number_};
    key_ = keys_.KeyOf(next_->series());
    machines_.insert(machines_.end(), next_->series().machine());
  }

  void Use() {
    stage_ = RpcStage::kAnswering;
    if (response_.has_series()) {
      Begin();
    } else if (response_.has_missing()) {
      missing_.push_back(response_.missing());
    } else if (response_.has_silent()) {
      silent_.push_back(response_.silent());
    } else if (response_.has_progress()) {
      options_.on_progress(number_, response_.progress());
    } else if (next_.has_value()) {
      next_->Add(response_);
    }
  }

  const Connection& connection_;
  const size_t number_;
  const AnswerReader<Series>& options_;
  DistinctSeriesKeys keys_;
  grpc::ClientContext context_;
  const std::unique_ptr<v1::QueryService::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<Response>> reader_;
  RpcStage stage_ = RpcStage::kConnecting;
  Response response_;
  bool has_first_ = false;  // whether response_ begins the next series
  bool is_over_ = false;
  bool is_finished_ = false;
  std::optional<Series> next_;
  std::string key_;
  std::set<std::string> machines_;  // that have series
  std::vector<v1::Missing> missing_;
  std::vector<v1::SilentMachine> silent_;
};

template <typename Series>
using Streams = std::vector<std::unique_ptr<AnswerStream<Series>>>;

template <typename Series>
absl::Status UseSorted(const Streams<Series>& streams,
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
    RETURN_IF_ERROR(reader.use(std::move(parts)));
  }
}

template <typename Series>
absl::Status UseRanked(const Streams<Series>& streams,
                       const AnswerReader<Series>& reader) {
  std::map<std::string, std::vector<Series>> parts;
  for (const auto& stream : streams) {
    while (stream->next().has_value()) {
      parts[stream->key()].push_back(stream->Take());
      stream->Advance();
    }
  }
  for (auto& [key, of_series] : parts) {
    RETURN_IF_ERROR(reader.use(std::move(of_series)));
  }
  return absl::OkStatus();
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

// Records the paths that none of the aggregators has.
template <typename Series>
void AddMissing(const Aggregators& aggregators, const Streams<Series>& streams,
                const std::vector<absl::Status>& results) {
  std::map<std::string, size_t> counts;  // of aggregators, by path
  size_t answers = 0;
  std::vector<v1::Missing> all;
  for (size_t i = 0; i < streams.size(); ++i) {
    if (!results[i].ok()) continue;  // or it has none of the paths
    ++answers;
    for (const v1::Missing& missing : streams[i]->missing()) {
      if (++counts[missing.path()] == 1) all.push_back(missing);
    }
  }
  for (const v1::Missing& missing : all) {
    if (counts[missing.path()] == answers) aggregators.AddMissing(missing);
  }
}

// Records the machines that no aggregator has samples of in the range.
template <typename Series>
absl::Status AddSilent(const Aggregators& aggregators,
                       const Streams<Series>& streams, AnswerOrder order) {
  std::map<std::string, v1::SilentMachine> newest;
  for (const auto& stream : streams) {
    for (const v1::SilentMachine& machine : stream->silent()) {
      const bool is_elsewhere =
          std::any_of(streams.begin(), streams.end(), [&](const auto& other) {
            return other != stream && other->HasMachine(machine.machine());
          });
      if (is_elsewhere) continue;
      const auto [known, is_new] =
          newest.try_emplace(machine.machine(), machine);
      if (!is_new && FromProto(known->second.newest_sample()) <
                         FromProto(machine.newest_sample())) {
        known->second = machine;
      }
    }
  }
  // The series of a machine that has moved need not rank among the first.
  if (order == AnswerOrder::kRanked && streams.size() > 1 && !newest.empty()) {
    ASSIGN_OR_RETURN(auto lists, MachinesOfEach(aggregators, {}));
    for (const v1::Machine& machine : MergeMachines(std::move(lists))) {
      const auto found = newest.find(machine.name());
      if (found != newest.end() && FromProto(found->second.newest_sample()) <
                                       FromProto(machine.newest_sample())) {
        newest.erase(found);
      }
    }
  }
  for (const auto& [name, machine] : newest) aggregators.AddSilent(machine);
  return absl::OkStatus();
}

}  // namespace

template <typename Series>
absl::Status ReadAnswers(const Aggregators& aggregators,
                         const AnswerReader<Series>& reader) {
  Streams<Series> streams;
  for (const Connection& connection : aggregators.reached()) {
    streams.push_back(std::make_unique<AnswerStream<Series>>(
        connection, streams.size(), reader));
  }
  for (const auto& stream : streams) stream->Advance();
  if (reader.order == AnswerOrder::kOverMachines) {
    RETURN_IF_ERROR(CheckOneAnswers(streams));
  }
  RETURN_IF_ERROR(reader.order == AnswerOrder::kRanked
                      ? UseRanked(streams, reader)
                      : UseSorted(streams, reader));
  std::vector<absl::Status> results;
  for (const auto& stream : streams) results.push_back(stream->Finish());
  RETURN_IF_ERROR(aggregators.Combine(results));
  AddMissing(aggregators, streams, results);
  return AddSilent(aggregators, streams, reader.order);
}

template absl::Status ReadAnswers(const Aggregators&,
                                  const AnswerReader<RangeSeries>&);
template absl::Status ReadAnswers(const Aggregators&,
                                  const AnswerReader<RawSeries>&);

}  // namespace fleetperf::cli
