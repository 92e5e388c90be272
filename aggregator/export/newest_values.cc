#include "aggregator/export/newest_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/export/last_ticks.h"
#include "aggregator/export/series_encoder.h"
#include "base/status_macros.h"
#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

// The bytes that an entry of the table takes besides its labels, about.
constexpr size_t kEntryBytes = 64;

// Queries of one interval whose last ticks are about as old. Machines whose
// counters come from two agents, or whose providers hang, have several of an
// interval.
struct Group {
  absl::Duration interval;
  absl::Time first = absl::InfiniteFuture();  // the oldest of the last ticks
  absl::Time last;
  std::vector<std::shared_ptr<const QueryTicks>> queries;

  bool Has(const CollectedQuery& query) const {
    return !query.is_thinned() && query.interval == interval &&
           std::any_of(queries.begin(), queries.end(), [&](const auto& one) {
             return one->Has(*query.schema);
           });
  }
};

std::vector<Group> GroupsOf(std::vector<LastTick> ticks) {
  std::sort(ticks.begin(), ticks.end(),
            [](const LastTick& a, const LastTick& b) {
              return std::make_tuple(a.query->interval(), b.time) <
                     std::make_tuple(b.query->interval(), a.time);
            });
  std::vector<Group> groups;
  for (LastTick& tick : ticks) {
    const absl::Duration interval = tick.query->interval();
    if (groups.empty() || groups.back().interval != interval ||
        groups.back().last - tick.time > interval * kMaxIntervalsApart) {
      groups.push_back(
          {.interval = interval, .last = tick.time, .queries = {}});
    }
    groups.back().first = tick.time;
    groups.back().queries.push_back(std::move(tick.query));
  }
  return groups;
}

class MachineRead {
 public:
  MachineRead(const NewestValuesRequest& request, Store* store,
              ExportedSchemas* schemas)
      : request_(request), store_(*store), schemas_(*schemas) {}

  absl::Status Read() {
    std::vector<LastTick> ticks =
        FindLastTicks(store_.directory(), request_.machine);
    std::erase_if(ticks, [&](const LastTick& tick) {
      return tick.time < request_.oldest;
    });
    // The newest of an interval come last.
    const std::vector<Group> groups = GroupsOf(std::move(ticks));
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
      RETURN_IF_ERROR(Read(*group));
    }
    return absl::OkStatus();
  }

  // Staleness markers, which are the ends of series, are among the values.
  NewestValues TakeValues() { return std::move(newest_); }

 private:
  absl::Status Read(const Group& group) {
    SeriesEncoder encoder(request_.machine, request_.labels, request_.paths,
                          &schemas_);
    const absl::Time first_new =
        group.first - group.interval * kMaxIntervalsApart;
    return store_.Read(
        {.machine = request_.machine,
         .from = first_new - group.interval * kMaxIntervalsRead,
         // Ticks after it are from before the clock was set back.
         .to = group.last,
         .filter =
             [&](const CollectedQuery& query) {
               return group.Has(query) && encoder.Selects(query);
             },
         .columns =
             [&](const CollectedQuery& query) {
               return encoder.WantedColumns(query);
             }},
        [&](const Frame& frame) {
          return AddFrame(frame, first_new, &encoder);
        },
        [](const Loss&) {});
  }

  absl::Status AddFrame(const Frame& frame, absl::Time first_new,
                        SeriesEncoder* encoder) {
    RETURN_IF_ERROR(request_.meter->CheckCancelled());
    const auto ticks = static_cast<uint32_t>(frame.clocks->size());
    if (ticks == 0) return absl::OkStatus();
    uint32_t first = 0;
    while (first < ticks &&
           perflib::TimeOf((*frame.clocks)[first]) < first_new) {
      ++first;
    }
    RETURN_IF_ERROR(request_.meter->Read(SamplesFrom(first, frame)));
    encoder->BeginFrame(frame, first);
    if (first == ticks) return absl::OkStatus();
    return encoder->AddTicks(first, ticks,
                             [this](absl::string_view labels,
                                    absl::Span<const ExportSample> samples) {
                               return Add(labels, samples.back());
                             });
  }

  // Returns the number of samples in the ticks from `first`.
  static size_t SamplesFrom(uint32_t first, const Frame& frame) {
    size_t ticks = 0;
    for (const Frame::Run& run : frame.runs) {
      const uint32_t end = run.first_tick + run.tick_count;
      if (end > first) ticks += end - std::max(first, run.first_tick);
    }
    return ticks * frame.query->columns.size();
  }

  absl::Status Add(absl::string_view labels, const ExportSample& sample) {
    const auto [entry, is_new] = newest_.insert_or_assign(labels, sample);
    if (!is_new) return absl::OkStatus();
    bytes_ += labels.size() + kEntryBytes;
    if (bytes_ <= request_.max_bytes) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat(
        "the newest values of ", request_.machine, " have more than ",
        request_.max_bytes,
        " bytes: select counters, as in /metrics?path=\\Memory\\*"));
  }

  const NewestValuesRequest& request_;
  Store& store_;
  ExportedSchemas& schemas_;
  NewestValues newest_;
  size_t bytes_ = 0;  // of newest_, about
};

}  // namespace

absl::StatusOr<NewestValues> ReadNewestValues(
    const NewestValuesRequest& request, Store* store,
    ExportedSchemas* schemas) {
  MachineRead machine(request, store, schemas);
  RETURN_IF_ERROR(machine.Read());
  NewestValues values = machine.TakeValues();
  const int64_t oldest = absl::ToUnixMillis(request.oldest);
  absl::erase_if(values, [&](const auto& value) {
    // The values of samples are finite.
    return std::isnan(value.second.value) || value.second.unix_millis < oldest;
  });
  return values;
}

}  // namespace fleetperf::aggregator
