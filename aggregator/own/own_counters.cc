#include "aggregator/own/own_counters.h"

#include <cstdint>
#include <vector>

#include "perflib/counter_type.h"

namespace fleetperf::aggregator {
namespace {

using namespace perflib;  // the counter types

using Group = OwnCounterset::Group;
using Values = std::vector<uint64_t>;

uint64_t Number(int64_t number) { return static_cast<uint64_t>(number); }

Group IngestCounters(const Ingest* ingest) {
  return {{{1, kPerfCounterLargeRawcount, "Agents Connected",
            "Agents whose stream is open."},
           {2, kPerfCounterLargeRawcount, "Agents Known",
            "Agents that are remembered: those that were connected in the last "
            "day."},
           {3, kPerfCounterBulkCount, "Batches/sec", "Batches that came."},
           {4, kPerfCounterBulkCount, "Samples/sec",
            "Raw values that came from agents."},
           {5, kPerfCounterLargeDelta, "Batches Rejected",
            "Batches that were refused for good."},
           {6, kPerfCounterLargeDelta, "Pauses",
            "Pauses that agents were asked for, because they sent more than "
            "they may or had much to catch up with."}},
          [=] {
            const Ingest::Counts counts = ingest->counts();
            return Values{counts.agents,           ingest->sizes().agents,
                          counts.batches,          counts.samples,
                          counts.rejected_batches, counts.pauses};
          }};
}

Group CommitCounters(const Ingest* ingest) {
  constexpr uint32_t kBaseId = 12;
  return {
      {{10, kPerfCounterBulkCount, "Commits/sec",
        "Writes of batches to the store, each with one sync."},
       {11, kPerfAverageTimer, "Avg. sec/Commit", "What one took.", kBaseId},
       {kBaseId, kPerfAverageBase, "", ""},
       {13, kPerfCounterLargeDelta, "Commits Failed",
        "Writes that the store refused: agents send these batches again."},
       {14, kPerfCounterLargeRawcount, "Batches Waiting",
        "Batches that wait for the next commit."},
       {15, kPerfCounterLargeRawcount, "Bytes Waiting",
        "Their payloads' bytes."}},
      [=] {
        const CommitQueue::Counts counts = ingest->counts().commits;
        return Values{counts.commits,
                      Number(counts.time / absl::Nanoseconds(100)),
                      counts.commits + counts.failed_commits,
                      counts.failed_commits,
                      counts.waiting_batches,
                      counts.waiting_bytes};
      }};
}

Group HubCounters(const Hub* hub) {
  return {{{20, kPerfCounterLargeRawcount, "Subscribers",
            "Subscriptions that are open."},
           {21, kPerfCounterLargeRawcount, "Machines Watched",
            "Machines that somebody subscribed to."},
           {22, kPerfCounterLargeRawcount, "Machines Live",
            "Those of them whose agents send each tick at once."},
           {23, kPerfCounterLargeDelta, "Values Lagged",
            "Values that subscribers lost because they were too slow."}},
          [=] {
            const Hub::Counts counts = hub->counts();
            return Values{counts.subscribers, counts.watched_machines,
                          counts.live_machines, counts.lagged_values};
          }};
}

Group ServerCounters(const RpcServer* server) {
  return {{{30, kPerfCounterLargeRawcount, "Connections",
            "Connections that are open."},
           {31, kPerfCounterLargeRawcount, "Connections Unauthenticated",
            "Those of them that have shown no certificate yet."},
           {32, kPerfCounterBulkCount, "Connections Accepted/sec",
            "Connections that were taken."},
           {33, kPerfCounterLargeDelta, "Connections Refused: Too Many",
            "Refused because there were connections.max."},
           {34, kPerfCounterLargeDelta, "Connections Refused: Address",
            "Refused because their address had connections.max_per_address."},
           {35, kPerfCounterLargeDelta, "Connections Refused: Unauthenticated",
            "Refused because there were connections.max_unauthenticated "
            "without a certificate."},
           {36, kPerfCounterLargeDelta, "Connections Refused: Descriptors",
            "Refused because the process had no file descriptor left."},
           {37, kPerfCounterLargeDelta, "Connections Evicted",
            "Connections without a certificate that were closed for others."},
           {38, kPerfCounterLargeDelta, "Listener Restarts",
            "Times that the port accepted nothing and was opened again."}},
          [=] {
            const ConnectionCounts counts = server->CountConnections();
            Values values = {Number(counts.open),
                             Number(counts.unauthenticated),
                             Number(counts.accepted)};
            for (const Refusal refusal :
                 {Refusal::kTooMany, Refusal::kTooManyOfAddress,
                  Refusal::kTooManyUnauthenticated, Refusal::kNoDescriptors}) {
              values.push_back(
                  Number(counts.refused[static_cast<size_t>(refusal)]));
            }
            values.push_back(Number(counts.evicted));
            values.push_back(server->failed_probes());
            return values;
          }};
}

Group StoreCounters(Store* store, ClockGuard* guard) {
  return {{{40, kPerfCounterLargeRawcount, "Store Bytes",
            "Bytes that samples, names and definitions take on disk, without "
            "the newest batches."},
           {41, kPerfCounterLargeRawcount, "Removal Hold Seconds",
            "Time until old samples are thinned and removed by age again; 0 "
            "unless the clock has jumped."}},
          [=] {
            const auto hold = guard->hold();
            const absl::Duration left =
                hold.has_value() ? hold->left : absl::ZeroDuration();
            return Values{store->size(), Number(absl::ToInt64Seconds(left))};
          }};
}

}  // namespace

OwnCounterset MakeOwnCounters(const OwnParts& parts) {
  return OwnCounterset(
      "{6986aa6e-bebd-56e8-928b-3b1dffbf5f4d}", "fleetperf Aggregator",
      "The aggregator's own work, backlog, limits and losses.",
      {IngestCounters(parts.ingest), CommitCounters(parts.ingest),
       HubCounters(parts.hub), ServerCounters(parts.server),
       StoreCounters(parts.store, parts.guard), ProcessCounters()});
}

}  // namespace fleetperf::aggregator
