#include "agent/own_counters.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "perflib/counter_type.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

using Group = OwnCounterset::Group;
using Values = OwnCounterset::Values;

Group DeliveryCounters(const Delivery* delivery) {
  return {{{1, kPerfCounterBulkCount, "Ticks/sec", "Blocks collected."},
           {2, kPerfCounterBulkCount, "Samples/sec", "Raw values collected."},
           {3, kPerfCounterBulkCount, "Batches/sec",
            "Batches written to the spool."},
           {4, kPerfCounterLargeDelta, "Ticks Not Taken",
            "Ticks that were due but not collected, because the previous "
            "collection took too long or the source did not answer."}},
          [=] {
            const Delivery::Counts counts = delivery->counts();
            return Values{counts.ticks, counts.samples, counts.batches,
                          counts.lost_ticks};
          }};
}

Group CollectionCounters(const CollectionCounts* collections) {
  return {{{5, kPerfCounterLargeRawcount, "Queries Failing",
            "Queries of the plan that match nothing or have no samples, with "
            "wildcards by counterset. fleetperf machines --verbose says why."}},
          [=] { return Values{collections->failing_queries}; }};
}

Group SpoolCounters(const Spool* spool) {
  constexpr uint32_t kLimitId = 13;
  return {{{10, kPerfCounterLargeRawcount, "Spool Memory Bytes",
            "Payload bytes of the batches held in memory."},
           {11, kPerfCounterLargeRawcount, "Spool File Bytes",
            "Space that batches take in the spool's files."},
           {12, kPerfLargeRawFraction, "% Spool Used",
            "Spool File Bytes as a percentage of spool_size.", kLimitId},
           {kLimitId, kPerfLargeRawBase, "", ""},
           {14, kPerfCounterLargeDelta, "Ticks Dropped",
            "Ticks dropped from the spool before an aggregator stored them."},
           {15, kPerfCounterLargeDelta, "Batches Rejected",
            "Batches that an aggregator rejected permanently."},
           {16, kPerfCounterLargeRawcount, "Backlog Seconds",
            "Age of the oldest batch that no aggregator has acknowledged."},
           {17, kPerfCounterLargeRawcount, "Spool Batches",
            "Batches that no aggregator has acknowledged."},
           {18, kPerfCounterLargeRawcount, "Spool Unsaved Bytes",
            "Payload bytes that wait to be written to the spool's files."},
           {19, kPerfCounterLargeDelta, "Spool Writes Failed",
            "Failed writes to the spool's files. They are tried again."}},
          [=] {
            const Spool::Usage usage = spool->usage();
            return Values{
                usage.memory_bytes,
                usage.file_bytes,
                usage.file_bytes,
                usage.max_bytes,
                usage.dropped_ticks,
                spool->rejected().batches,
                static_cast<uint64_t>(absl::ToInt64Seconds(usage.backlog)),
                usage.batches,
                usage.unsaved_bytes,
                usage.failed_saves};
          }};
}

Group UplinkCounters(const UplinkCounts* uplink) {
  return {{{20, kPerfCounterRawcount, "Connected",
            "1 while an aggregator accepts batches, otherwise 0."},
           {21, kPerfCounterLargeDelta, "Connections",
            "Connections made to an aggregator."},
           {22, kPerfCounterLargeDelta, "Pauses",
            "Pauses requested by an aggregator."},
           {23, kPerfCounterLargeDelta, "Connections Failed",
            "Attempts to connect that ended before an aggregator accepted "
            "anything."}},
          [=] {
            return Values{uplink->connected, uplink->connections,
                          uplink->pauses, uplink->failed_attempts};
          }};
}

Group CertificateCounters(std::function<uint64_t()> seconds_left) {
  return {{{40, kPerfCounterLargeRawcount, "Certificate Seconds Left",
            "Time until the agent's certificate expires."}},
          [seconds_left = std::move(seconds_left)] {
            return Values{seconds_left()};
          }};
}

}  // namespace

OwnCounterset MakeOwnCounters(const OwnParts& parts) {
  return OwnCounterset(
      "{aa8ddaf7-0fd7-54a9-8ee6-db3790d3a9d0}", "fleetperf Agent",
      "The agent's own work, backlog and losses.",
      {DeliveryCounters(parts.delivery), CollectionCounters(parts.collections),
       SpoolCounters(&parts.delivery->spool()), UplinkCounters(parts.uplink),
       CertificateCounters(parts.certificate_seconds_left), ProcessCounters()});
}

}  // namespace fleetperf::agent
