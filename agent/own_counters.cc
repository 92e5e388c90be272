#include "agent/own_counters.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "perflib/counter_type.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

using Group = OwnCounterset::Group;
using Values = std::vector<uint64_t>;

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
            "Batches that an aggregator rejected permanently."}},
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
        "1 while an aggregator accepts batches, otherwise 0."},
       {21, kPerfCounterLargeDelta, "Connections",
        "Connections made to an aggregator."},
       {22, kPerfCounterLargeDelta, "Pauses",
        "Pauses requested by an aggregator."}},
      [=] {
        return Values{uplink->connected, uplink->connections, uplink->pauses};
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

OwnCounterset MakeOwnCounters(
    const Delivery* delivery, const UplinkCounts* uplink,
    std::function<uint64_t()> certificate_seconds_left) {
  return OwnCounterset(
      "{aa8ddaf7-0fd7-54a9-8ee6-db3790d3a9d0}", "fleetperf Agent",
      "The agent's own work, backlog and losses.",
      {DeliveryCounters(delivery), SpoolCounters(&delivery->spool()),
       UplinkCounters(uplink),
       CertificateCounters(std::move(certificate_seconds_left)),
       ProcessCounters()});
}

}  // namespace fleetperf::agent
