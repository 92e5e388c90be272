// All bounds of what an agent says: an agent is trusted no more than its
// certificate says, and what it says is kept, listed and shown to everybody.
//
// What is out of bounds is refused where the agent's operator can mend it, with
// an error that names field, value and limit; it is cut or left out where it is
// only for people to read, or where agents of earlier versions may say it.

#ifndef FLEETPERF_AGGREGATOR_INGEST_AGENT_LIMITS_H_
#define FLEETPERF_AGGREGATOR_INGEST_AGENT_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/samples/batch_contents.h"
#include "aggregator/samples/dictionary.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::aggregator {

// Those that differ from one aggregator to another, or that agents are told.
struct IngestLimits {
  BatchLimits batch;
  Dictionary::Limits dictionary;
  int64_t max_new_series_per_hour = 2'000'000;
  int64_t max_samples_per_second = 1'000'000;
  uint32_t max_unacknowledged_batches = 8;
  uint32_t max_catalogue_bytes = 16 << 20;
  int max_held_epochs = 1024;
  // What all agents that are behind may send together, in samples a second, so
  // that they do not hold up the others.
  int64_t catch_up_samples_per_second = 2'000'000;
  // Agents are asked to connect again after about this time, so that load
  // spreads.
  absl::Duration reconnect_after = absl::Hours(1);
  // Of one agent, and of the whole fleet. Names in certificates are the same in
  // upper and lower case, and each spelling is a machine.
  size_t max_machines_of_agent = 4096;
  size_t max_machines = 1'000'000;
  // Countersets of machines that no other agent may collect because one does:
  // beyond them, one of its own is free again.
  size_t max_owned_countersets = 100'000;
};

// The others.
inline constexpr size_t kMaxAgentNameBytes = 253;  // of a DNS name
inline constexpr int kMaxLabels = 64;
inline constexpr size_t kMaxLabelNameBytes = 128;
inline constexpr size_t kMaxLabelValueBytes = 1024;
inline constexpr size_t kMaxLabelBytes = 8 << 10;  // names and values, of all
inline constexpr size_t kMaxFactBytes = 256;       // a version, a provider
inline constexpr size_t kHashBytes = 32;           // SHA-256
inline constexpr absl::Duration kMaxBatchPeriod = absl::Minutes(5);
inline constexpr int kMaxQueryReports = 1000;
inline constexpr size_t kMaxReportBytes = 1000;  // each text of a report
inline constexpr size_t kMaxCatalogueCountersets = 10'000;
inline constexpr size_t kMaxCatalogueCounters = 100'000;
// In one answer to EnumerateInstances.
inline constexpr int kMaxListedInstances = 100'000;
inline constexpr size_t kMaxListedBytes = 4 << 20;

// InvalidArgument: its name, labels, held epochs or catalogue's hash are out of
// bounds.
absl::Status CheckHello(const v1::Hello& hello, const IngestLimits& limits);
// The agent's own machine, as Hello tells of it; texts that are too long are
// cut.
v1::Machine MachineOf(const v1::Hello& hello);
// From 0 to kMaxBatchPeriod, whatever Hello says.
absl::Duration BatchPeriodOf(const v1::Hello& hello);
// The agent's clock minus ours. Hello's time becomes one that protobuf has.
absl::Duration SkewOf(const v1::Hello& hello, absl::Time now);

// The same for a machine that an earlier version has stored: labels that are
// too large are left out.
void BoundMachine(v1::Machine* machine);

// Leaves out helps, which have no place in definitions, and default scales that
// are none, which scale nothing then. Returns how many scales that were.
int BoundDefinitions(v1::Definitions* definitions);

// InvalidArgument: it is too large, or decompressed has another size than it
// says.
absl::Status CheckCatalogue(const v1::Catalogue& catalogue,
                            const IngestLimits& limits);
// Of a serialized v1::CatalogueContent, without making messages of it.
absl::Status CheckCatalogueContent(absl::string_view content);

// InvalidArgument: there are too many instances, or their names are too long.
absl::Status CheckInstances(const v1::InstanceList& list);

// Cuts it to what is kept.
void BoundPlanReport(v1::PlanReport* report);

// Cuts a text to so many bytes, whole characters of UTF-8.
void Cut(std::string* text, size_t most);

// The limit that an error names in parentheses, "(max_instances)"; empty if it
// names none of ours.
std::string LimitNamedBy(absl::string_view error);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_AGENT_LIMITS_H_
