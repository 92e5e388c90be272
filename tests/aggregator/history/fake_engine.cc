#include "tests/aggregator/history/fake_engine.h"

#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "aggregator/export/raw_names.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"

namespace fleetperf::testing {
namespace {

using aggregator::CollectedQuery;
using aggregator::Frame;
using aggregator::FrameColumn;
using aggregator::Labels;

constexpr uint64_t kTwo50 = 1'125'899'906'842'624;

// Returns the part of a text between two others.
std::string Between(absl::string_view text, absl::string_view begin,
                    absl::string_view end) {
  const size_t from = text.find(begin) + begin.size();
  return std::string(text.substr(from, text.find(end, from) - from));
}

std::string Json(absl::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + '"';
}

}  // namespace

void FakeEngine::Add(const std::string& machine, uint64_t epoch,
                     const Frame& frame) {
  const CollectedQuery& query = *frame.query;
  const auto& registration = query.schema->registration;
  const aggregator::RawMetrics metrics = aggregator::RawMetricsOf(registration);
  const Labels of_query = aggregator::RawLabels(machine, query);
  const auto millis_of = [&](uint32_t tick) {
    return absl::ToUnixMillis(perflib::TimeOf((*frame.clocks)[tick]));
  };
  const auto add = [&](Labels labels, const std::string& metric, uint32_t tick,
                       uint64_t value, bool has_high) {
    labels["__name__"] = metric;
    series_[labels][millis_of(tick)] = absl::StrCat(value % kTwo50);
    if (!has_high || value < kTwo50) return;
    labels["__name__"] = metric + "_high";
    series_[labels][millis_of(tick)] = absl::StrCat(value / kTwo50);
  };
  for (uint32_t tick = 0; tick < frame.clocks->size(); ++tick) {
    const perflib::Clocks& clocks = (*frame.clocks)[tick];
    add(of_query, metrics.perf_time, tick,
        static_cast<uint64_t>(clocks.perf_time_stamp), true);
    add(of_query, metrics.perf_freq, tick,
        static_cast<uint64_t>(clocks.perf_freq), true);
    add(of_query, metrics.perf_time_100ns, tick,
        static_cast<uint64_t>(clocks.perf_time_100nsec), false);
    if (const auto status = frame.FailureIn(tick)) {
      add(of_query, metrics.status, tick, *status, false);
    }
    Labels of_epoch = of_query;
    of_epoch[aggregator::kColumnsLabel] = aggregator::ColumnsText(query);
    add(of_epoch, metrics.epoch, tick, epoch, false);
  }
  for (size_t i = 0; i < frame.runs.size(); ++i) {
    const Frame::Run& run = frame.runs[i];
    const Labels labels =
        aggregator::RawInstanceLabels(of_query, *run.instance);
    for (uint32_t tick = 0; tick < run.tick_count; ++tick) {
      const uint32_t of_frame = run.first_tick + tick;
      add(labels, metrics.presence, of_frame,
          aggregator::PresenceOf(*run.instance), false);
      for (size_t c = 0; c < query.columns.size(); ++c) {
        const FrameColumn& column = frame.columns[c];
        if (column.IsMissing(run.begin + tick)) continue;
        size_t counter = 0;
        while (registration.counters[counter].counter_id !=
               query.columns[c].counter_id) {
          ++counter;
        }
        add(labels, metrics.counters[counter], of_frame,
            frame.Value(column, i, tick), true);
      }
    }
    const uint32_t end = run.first_tick + run.tick_count;
    if (end == frame.clocks->size()) continue;
    // A staleness marker, unless another life follows.
    Labels presence = labels;
    presence["__name__"] = metrics.presence;
    series_[presence].try_emplace(millis_of(end), "NaN");
  }
}

absl::Status FakeEngine::Export(aggregator::Store* store,
                                const std::string& machine) {
  const std::map<uint32_t, uint64_t> epochs = store->EpochsOf(machine);
  return store->Read(
      {.machine = machine,
       .from = absl::InfinitePast(),
       .to = absl::InfiniteFuture(),
       .filter =
           [](const CollectedQuery& query) { return !query.is_thinned(); }},
      [&](const Frame& frame) {
        Add(machine, epochs.at(frame.epoch_number), frame);
        return absl::OkStatus();
      },
      [](const aggregator::Loss&) {});
}

absl::StatusOr<std::string> FakeEngine::Query(
    const std::string& expression, absl::Time time,
    const aggregator::OnWait& on_wait) {
  expressions.push_back(expression);
  if (on_wait) RETURN_IF_ERROR(on_wait());
  if (!failure.ok()) return failure;
  const std::string names = Between(expression, "__name__=~\"", "\"");
  const std::set<std::string> wanted = absl::StrSplit(names, '|');
  const std::string machine = Between(expression, "machine=\"", "\"");
  const std::string schema = Between(expression, "schema=\"", "\"");
  int64_t range = 0;
  if (!absl::SimpleAtoi(Between(expression, "}[", "ms]"), &range)) {
    return absl::InvalidArgumentError(expression);
  }
  const int64_t last = absl::ToUnixMillis(time);
  std::string result;
  for (const auto& [labels, samples] : series_) {
    if (labels.at("machine") != machine || labels.at("schema") != schema ||
        !wanted.contains(labels.at("__name__"))) {
      continue;
    }
    std::string values;
    for (auto sample = samples.lower_bound(last - range);
         sample != samples.end() && sample->first <= last; ++sample) {
      absl::StrAppendFormat(&values, "%s[%d.%03d,\"%s\"]",
                            values.empty() ? "" : ",", sample->first / 1000,
                            sample->first % 1000, sample->second);
    }
    if (values.empty()) continue;
    std::string metric;
    for (const auto& [name, value] : labels) {
      absl::StrAppend(&metric, metric.empty() ? "" : ",", Json(name), ":",
                      Json(value));
    }
    absl::StrAppend(&result, result.empty() ? "" : ",", "{\"metric\":{", metric,
                    "},\"values\":[", values, "]}");
  }
  if (result.size() > max_answer) {
    return absl::ResourceExhaustedError("the answer is too large");
  }
  return absl::StrCat(
      "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":"
      "[",
      result, "]}}");
}

}  // namespace fleetperf::testing
