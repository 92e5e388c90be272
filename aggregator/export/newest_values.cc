#include "aggregator/export/newest_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "aggregator/export/last_ticks.h"
#include "aggregator/export/series_encoder.h"
#include "aggregator/formula/piece.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

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
      : request_(request),
        store_(*store),
        schemas_(*schemas),
        labels_(store->directory().LabelsOf(request.machine)) {}

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

  // The sample of each series that arrived last, by its labels. A staleness
  // marker is the end of its series.
  const absl::flat_hash_map<std::string, ExportSample>& newest() const {
    return newest_;
  }

 private:
  absl::Status Read(const Group& group) {
    SeriesEncoder encoder(request_.machine, labels_, request_.paths, &schemas_);
    const absl::Time first_new =
        group.first - group.interval * kMaxIntervalsApart;
    return store_.Read(
        {.machine = request_.machine,
         .from = first_new - group.interval * kMaxIntervalsBefore,
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
    RETURN_IF_ERROR(CheckNotCancelled(request_.is_cancelled));
    const auto ticks = static_cast<uint32_t>(frame.clocks->size());
    if (ticks == 0) return absl::OkStatus();
    uint32_t first = 0;
    while (first < ticks &&
           perflib::TimeOf((*frame.clocks)[first]) < first_new) {
      ++first;
    }
    encoder->BeginFrame(frame, first);
    if (first == ticks) return absl::OkStatus();
    return encoder->AddTicks(first, ticks,
                             [this](absl::string_view labels,
                                    absl::Span<const ExportSample> samples) {
                               newest_.insert_or_assign(labels, samples.back());
                               return absl::OkStatus();
                             });
  }

  const NewestValuesRequest& request_;
  Store& store_;
  ExportedSchemas& schemas_;
  const Labels labels_;
  absl::flat_hash_map<std::string, ExportSample> newest_;
};

}  // namespace

absl::Status ReadNewestValues(
    const NewestValuesRequest& request, Store* store, ExportedSchemas* schemas,
    absl::FunctionRef<absl::Status(absl::string_view labels,
                                   const ExportSample& sample)>
        add) {
  MachineRead machine(request, store, schemas);
  RETURN_IF_ERROR(machine.Read());
  const int64_t oldest = absl::ToUnixMillis(request.oldest);
  for (const auto& [labels, sample] : machine.newest()) {
    // The values of samples are finite.
    if (std::isnan(sample.value) || sample.unix_millis < oldest) continue;
    RETURN_IF_ERROR(add(labels, sample));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
