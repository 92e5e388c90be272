#include "aggregator/own/own_counters.h"

#include <cstdint>
#include <vector>

#include "base/server/access.h"
#include "base/server/tls_guard.h"
#include "base/tls/certificate_renewal.h"
#include "perflib/counter_type.h"

namespace fleetperf::aggregator {
namespace {

using namespace perflib;  // the counter types

using Group = OwnCounterset::Group;
using Values = OwnCounterset::Values;

uint64_t Number(int64_t number) { return static_cast<uint64_t>(number); }

Group IngestCounters(const Ingest* ingest) {
  return {{{1, kPerfCounterLargeRawcount, "Agents Connected",
            "Agents with an open stream."},
           {2, kPerfCounterLargeRawcount, "Agents Known",
            "Agents that were connected in the last day."},
           {3, kPerfCounterBulkCount, "Batches/sec", "Batches received."},
           {4, kPerfCounterBulkCount, "Samples/sec",
            "Raw values received from agents."},
           {5, kPerfCounterLargeDelta, "Batches Rejected",
            "Batches rejected permanently."},
           {6, kPerfCounterLargeDelta, "Pauses",
            "Pauses requested from agents that exceeded a rate limit or were "
            "catching up."},
           {7, kPerfCounterLargeDelta, "Ticks Lost",
            "Ticks that agents report as lost, and those of rejected batches. "
            "fleetperf machines has the causes."},
           {8, kPerfCounterLargeRawcount, "Longest Lag Seconds",
            "Age of the newest stored sample of the connected agent that is "
            "furthest behind, beyond the time that agents hold samples back."},
           {9, kPerfCounterLargeRawcount, "Agents Behind",
            "Connected agents with a lag of more than a minute."},
           {17, kPerfCounterLargeDelta, "Agents Refused: Name",
            "Connections refused because an agent of the same name is "
            "connected: a cloned machine, or a name used twice. fleetperf "
            "machines has the addresses."},
           {18, kPerfCounterLargeDelta, "Agents Replaced",
            "Streams replaced by one of another process with the same state, "
            "or from another address: restarts, changed addresses, and clones "
            "that take the place of each other."},
           {19, kPerfCounterLargeRawcount, "Name Conflicts",
            "Connected agents whose name another agent has used in the last "
            "ten minutes. fleetperf machines has the addresses."}},
          [=] {
            const Ingest::Counts counts = ingest->counts();
            const Ingest::Lags lags = ingest->lags();
            return Values{counts.agents,
                          ingest->sizes().agents,
                          counts.batches,
                          counts.samples,
                          counts.rejected_batches,
                          counts.pauses,
                          counts.lost_ticks,
                          Number(absl::ToInt64Seconds(lags.longest)),
                          lags.behind,
                          counts.conflicts,
                          counts.replacements,
                          ingest->conflicting_agents().size()};
          }};
}

Group FleetCounters(const OwnParts& parts) {
  return {{{50, kPerfCounterLargeRawcount, "Machines Expected",
            "Machines that expected_machines names."},
           {51, kPerfCounterLargeRawcount, "Machines Missing",
            "Expected machines without a connected agent; 0 if the "
            "configuration names other aggregators. At a start, all of them."},
           {52, kPerfCounterLargeRawcount, "Machines Known",
            "Machines that were seen and not forgotten."}},
          [expected = parts.expected, store = parts.store] {
            return Values{expected->names()->size(), expected->Missing().size(),
                          store->directory().registered()};
          }};
}

Group CommitCounters(const Ingest* ingest) {
  constexpr uint32_t kBaseId = 12;
  return {{{10, kPerfCounterBulkCount, "Commits/sec",
            "Writes of batches to the store, each with one sync."},
           {11, kPerfAverageTimer, "Avg. sec/Commit", "Duration of a commit.",
            kBaseId},
           {kBaseId, kPerfAverageBase, "", ""},
           {13, kPerfCounterLargeDelta, "Commits Failed",
            "Commits that failed. Agents resend their batches."},
           {14, kPerfCounterLargeRawcount, "Batches Waiting",
            "Batches pending for the next commit."},
           {15, kPerfCounterLargeRawcount, "Bytes Waiting",
            "Payload bytes of the batches that wait for the next commit."},
           {16, kPerfCounterLargeRawcount, "Ready",
            "1 while samples can be stored: the last commit succeeded, and the "
            "disk has space."}},
          [=] {
            const CommitQueue::Counts counts = ingest->counts().commits;
            return Values{counts.commits,
                          Number(counts.time / absl::Nanoseconds(100)),
                          counts.commits + counts.failed_commits,
                          counts.failed_commits,
                          counts.waiting_batches,
                          counts.waiting_bytes,
                          ingest->CheckReady().ok()};
          }};
}

Group HubCounters(const Hub* hub) {
  return {
      {{20, kPerfCounterLargeRawcount, "Subscribers", "Open subscriptions."},
       {21, kPerfCounterLargeRawcount, "Machines Watched",
        "Machines with at least one subscriber."},
       {22, kPerfCounterLargeRawcount, "Machines Live",
        "Watched machines whose agents send each tick at once."},
       {23, kPerfCounterLargeDelta, "Values Lagged",
        "Values dropped because a subscriber was too slow."},
       {24, kPerfCounterLargeDelta, "Subscribers Refused",
        "Subscriptions refused because their certificate, or all together, "
        "had too many."}},
      [=] {
        const Hub::Counts counts = hub->counts();
        return Values{counts.subscribers, counts.watched_machines,
                      counts.live_machines, counts.lagged_values,
                      counts.refused_subscribers};
      }};
}

Group ServerCounters(const RpcServer* server) {
  return {{{30, kPerfCounterLargeRawcount, "Connections", "Open connections."},
           {31, kPerfCounterLargeRawcount, "Connections Unauthenticated",
            "Open connections that have not shown a certificate yet."},
           {32, kPerfCounterBulkCount, "Connections Accepted/sec",
            "Connections accepted."},
           {33, kPerfCounterLargeDelta, "Connections Refused: Too Many",
            "Refused because connections.max was reached."},
           {34, kPerfCounterLargeDelta, "Connections Refused: Address",
            "Refused because their address had reached "
            "connections.max_per_address."},
           {35, kPerfCounterLargeDelta, "Connections Refused: Unauthenticated",
            "Refused because connections.max_unauthenticated was reached."},
           {36, kPerfCounterLargeDelta, "Connections Refused: Descriptors",
            "Refused because the process had no free file descriptor."},
           {37, kPerfCounterLargeDelta, "Connections Evicted",
            "Connections without a certificate that were closed to make room "
            "for others."},
           {38, kPerfCounterLargeDelta, "Listener Restarts",
            "Times that the port was reopened because it accepted no "
            "connections."},
           {39, kPerfCounterLargeDelta, "Connections Closed: Frames",
            "Connections closed because their certificate's holder exceeded a "
            "limit of HTTP/2 frames."}},
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
            values.push_back(CountFloods());
            return values;
          }};
}

Group CallCounters(const OwnParts& parts) {
  return {
      {{60, kPerfCounterLargeRawcount, "Calls",
        "Calls of users in progress, without subscriptions."},
       {61, kPerfCounterLargeDelta, "Calls Refused",
        "Calls refused because their certificate had too many."},
       {62, kPerfCounterLargeDelta, "Calls Stalled",
        "Calls ended because their client kept them waiting."},
       {63, kPerfCounterLargeRawcount, "Queries Running", "Queries that run."},
       {64, kPerfCounterLargeRawcount, "Queries Waiting",
        "Queries that wait for others to end."},
       {65, kPerfCounterLargeRawcount, "Lists Waiting",
        "Calls for lists that wait for others to end."}},
      [parts] {
        const CallTable::Counts counts = parts.server->CountCalls();
        const auto queries = parts.quota->counts(Pool::kQueries);
        return Values{
            counts.calls,    counts.refused,
            counts.stalled,  Number(queries.held),
            queries.waiting, parts.quota->counts(Pool::kLists).waiting};
      }};
}

Group SecurityCounters(const OwnParts& parts) {
  return {
      {{70, kPerfCounterLargeRawcount, "Certificate Seconds Left",
        "Time until the aggregator's certificate expires."},
       {71, kPerfCounterLargeDelta, "TLS Handshakes Failed",
        "Handshakes that failed, mostly because the client has no "
        "certificate of the same authority."},
       {72, kPerfCounterLargeDelta, "Certificates Refused",
        "Connections refused or ended because the client's certificate "
        "was revoked or has expired, or because the list of revoked "
        "certificates is too old."},
       {73, kPerfCounterLargeDelta, "Calls Denied",
        "Calls that the role or the names in the client's certificate do "
        "not permit."},
       {74, kPerfCounterLargeRawcount, "Revocation List Seconds Old",
        "Time since the list of tls.revoked could last be used. From 300 on, "
        "new connections are refused."},
       {75, kPerfCounterLargeDelta, "Connections Refused: Certificate",
        "Connections refused because their certificate had too many."}},
      [server = parts.server, identity = parts.identity, clock = parts.clock] {
        const ClientCertificates::Counts counts = server->clients().counts();
        return Values{
            SecondsLeft(identity->certificate(), clock->Now()),
            counts.failed_handshakes,
            counts.refused,
            CountDenials(),
            Number(absl::ToInt64Seconds(server->clients().revocation_age())),
            counts.too_many};
      }};
}

Group StoreCounters(const OwnParts& parts) {
  return {{{40, kPerfCounterLargeRawcount, "Store Bytes",
            "Bytes of samples, names and definitions on disk, without the "
            "newest batches."},
           {41, kPerfCounterLargeRawcount, "Removal Hold Seconds",
            "Time until thinning and removal by age resume; 0 unless the "
            "clock has jumped."},
           {42, kPerfCounterLargeRawcount, "Disk Free Bytes",
            "Free space on the store's disk."},
           {43, kPerfCounterLargeRawcount, "Batches Logged",
            "Batches in the log, which maintenance moves to chunks after about "
            "five minutes."},
           {44, kPerfCounterLargeRawcount, "Recent Bytes",
            "Memory of the newest batches; at most store.recent_memory."},
           {45, kPerfCounterLargeDelta, "Maintenance Failures",
            "Failed attempts to move, merge, thin or remove samples. They are "
            "tried again."}},
          [parts] {
            const auto hold = parts.guard->hold();
            const absl::Duration left =
                hold.has_value() ? hold->left : absl::ZeroDuration();
            const Store::Counts counts = parts.store->counts();
            return Values{
                parts.store->size(), Number(absl::ToInt64Seconds(left)),
                counts.free_bytes,   counts.logged_batches,
                counts.recent_bytes, parts.maintenance->failures()};
          }};
}

Group ExportCounters(const Exporter* exporter) {
  return {{{80, kPerfCounterLargeRawcount, "Export Lag Seconds",
            "Time since the aggregator received the oldest sample that the "
            "export found and has not sent; 0 without an export."},
           {81, kPerfCounterBulkCount, "Export Samples/sec",
            "Values that the engine has taken."},
           {82, kPerfCounterBulkCount, "Export Requests/sec",
            "Requests that the engine has taken."},
           {83, kPerfCounterLargeDelta, "Export Failures",
            "Failed requests to the engine, and failed reads of samples for "
            "it. They are tried again."},
           {84, kPerfCounterLargeDelta, "Export Samples Refused",
            "Values that the engine refused for good."},
           {85, kPerfCounterLargeDelta, "Export Values Lost",
            "Raw values, about, that were removed or thinned before they were "
            "exported."}},
          [=] {
            ExportCounts counts;
            if (exporter != nullptr) counts = exporter->counts();
            return Values{Number(absl::ToInt64Seconds(counts.lag)),
                          counts.samples,
                          counts.requests,
                          counts.failures,
                          counts.refused,
                          counts.lost};
          }};
}

Group PageCounters(const web::WebPage* page) {
  return {{{90, kPerfCounterLargeRawcount, "Page Connections",
            "Open connections of browsers; 0 without a page."},
           {91, kPerfCounterLargeRawcount, "Page Viewers",
            "Browsers' answers in progress with live values. Answers with "
            "the same values share a subscription."},
           {92, kPerfCounterBulkCount, "Page Requests/sec",
            "Requests of browsers."},
           {93, kPerfCounterLargeDelta, "Page Requests Denied",
            "Requests refused because they have no valid certificate or "
            "session, a login link that is used up or expired, or come from "
            "another site."},
           {94, kPerfCounterLargeDelta, "Page Connections Refused",
            "Connections of browsers refused because of a limit."}},
          [=] {
            web::WebPage::Counts counts;
            if (page != nullptr) counts = page->counts();
            return Values{counts.connections, counts.viewers, counts.requests,
                          counts.denied_requests, counts.refused_connections};
          }};
}

}  // namespace

OwnCounterset MakeOwnCounters(const OwnParts& parts) {
  return OwnCounterset(
      "{6986aa6e-bebd-56e8-928b-3b1dffbf5f4d}", "fleetperf Aggregator",
      "The aggregator's own work, backlog, limits and losses.",
      {IngestCounters(parts.ingest), FleetCounters(parts),
       CommitCounters(parts.ingest), HubCounters(parts.hub),
       ServerCounters(parts.server), CallCounters(parts), StoreCounters(parts),
       SecurityCounters(parts), ExportCounters(parts.exporter),
       PageCounters(parts.page), ProcessCounters()});
}

}  // namespace fleetperf::aggregator
