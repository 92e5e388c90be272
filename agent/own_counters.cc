#include "agent/own_counters.h"

#include <cstdint>
#include <vector>

#include "perflib/counter_type.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

using Group = OwnCounterset::Group;
using Values = std::vector<uint64_t>;

Group DeliveryCounters(const Delivery* delivery) {
  return {
      {{1, kPerfCounterBulkCount, "Ticks/sec", "Blocks that were collected."},
       {2, kPerfCounterBulkCount, "Samples/sec",
        "Raw values that were collected."},
       {3, kPerfCounterBulkCount, "Batches/sec",
        "Batches that were put into the spool."},
       {4, kPerfCounterLargeDelta, "Ticks Not Taken",
        "Ticks that were due and not collected, because the collection "
        "before took too long or the source did not answer."}},
      [=] {
        const Delivery::Counts counts = delivery->counts();
        return Values{counts.ticks, counts.samples, counts.batches,
                      counts.lost_ticks};
      }};
}

Group SpoolCounters(const Spool* spool) {
  constexpr uint32_t kLimitId = 13;
  return {{{10, kPerfCounterLargeRawcount, "Spool Memory Bytes",
            "Payloads of batches that are held in memory."},
           {11, kPerfCounterLargeRawcount, "Spool File Bytes",
            "Room that batches take in the spool's files."},
           {12, kPerfLargeRawFraction, "% Spool Used",
            "That room, of what spool_size allows.", kLimitId},
           {kLimitId, kPerfLargeRawBase, "", ""},
           {14, kPerfCounterLargeDelta, "Ticks Dropped",
            "Ticks that went from the spool before an aggregator had them."},
           {15, kPerfCounterLargeDelta, "Batches Rejected",
            "Batches that an aggregator refused for good."}},
          [=] {
            const Spool::Usage usage = spool->usage();
            return Values{usage.memory_bytes,  usage.file_bytes,
                          usage.file_bytes,    usage.max_bytes,
                          usage.dropped_ticks, spool->rejected().batches};
          }};
}

Group UplinkCounters(const UplinkCounts* uplink) {
  return {
      {{20, kPerfCounterRawcount, "Connected",
        "1 while an aggregator takes what is sent, otherwise 0."},
       {21, kPerfCounterLargeDelta, "Connections",
        "Connections to an aggregator that were made."},
       {22, kPerfCounterLargeDelta, "Pauses",
        "Pauses that an aggregator asked for."}},
      [=] {
        return Values{uplink->connected, uplink->connections, uplink->pauses};
      }};
}

}  // namespace

OwnCounterset MakeOwnCounters(const Delivery* delivery,
                              const UplinkCounts* uplink) {
  return OwnCounterset(
      "{aa8ddaf7-0fd7-54a9-8ee6-db3790d3a9d0}", "fleetperf Agent",
      "The agent's own work, backlog and losses.",
      {DeliveryCounters(delivery), SpoolCounters(&delivery->spool()),
       UplinkCounters(uplink), ProcessCounters()});
}

}  // namespace fleetperf::agent
