// Bounds on all messages from agents. An agent is trusted only as far as its
// certificate says, and the aggregator stores its messages and shows them to
// all users.
//
// Content that is out of bounds is handled in one of two ways:
// - It is refused if the agent's operator can fix it. The error names the
//   field, the value and the limit.
// - It is truncated or removed if it serves only as information for users.

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

// The limits that are configurable per aggregator or announced to agents.
struct IngestLimits {
  BatchLimits batch;
  Dictionary::Limits dictionary;
  int64_t max_new_series_per_hour = 2'000'000;
  int64_t max_samples_per_second = 1'000'000;
  // Of all agents with one certificate. FitDefinitions adapts it to the disk.
  double max_definition_bytes_per_hour = 1 << 30;
  uint32_t max_unacknowledged_batches = 8;
  uint32_t max_catalogue_bytes = 16 << 20;
  int max_held_epochs = 1024;
  // Upper bound on samples per second from all agents that are behind, taken
  // together. Keeps their backlog from delaying live agents.
  int64_t catch_up_samples_per_second = 2'000'000;
  // Agents are asked to reconnect after about this time, which spreads the
  // load.
  absl::Duration reconnect_after = absl::Hours(1);
  // Machines of one agent, and of the whole fleet.
  size_t max_machines_of_agent = 4096;
  size_t max_machines = 1'000'000;
  // Countersets of machines that one agent may own, and so keep other agents
  // from collecting. Beyond this limit, the agent loses one of them.
  size_t max_owned_countersets = 100'000;
};

// Reduces the limit of definitions to a 64th of what the store may use of the
// disk, but not below 16 MiB: one certificate must not fill the disk before the
// oldest data is removed.
void FitDefinitions(uint64_t disk_bytes, IngestLimits* limits);

// The limits that are the same for all aggregators. Those of labels are in
// aggregator/samples/labels.h.
inline constexpr size_t kMaxFirstMessageBytes = 1 << 20;
inline constexpr size_t kMaxAgentNameBytes = 253;  // of a DNS name
inline constexpr size_t kMaxFactBytes = 256;       // a version, a provider
inline constexpr size_t kHashBytes = 32;           // SHA-256
inline constexpr absl::Duration kMaxBatchPeriod = absl::Minutes(5);
inline constexpr int kMaxQueryReports = 1000;
inline constexpr size_t kMaxReportBytes = 1000;  // each text of a report
inline constexpr size_t kMaxCatalogueCountersets = 10'000;
inline constexpr size_t kMaxCatalogueCounters = 100'000;
// Per answer to EnumerateInstances.
inline constexpr int kMaxListedInstances = 100'000;
inline constexpr size_t kMaxListedBytes = 4 << 20;

// Returns InvalidArgument if the name, the labels, the number of held epochs or
// the catalogue hash in `hello` is out of bounds.
absl::Status CheckHello(const v1::Hello& hello, const IngestLimits& limits);
// Returns the agent's own machine as described by `hello`, with its canonical
// name. Truncates texts that are too long.
v1::Machine MachineOf(const v1::Hello& hello);
// Returns the batch period in `hello`, clamped to 0..kMaxBatchPeriod.
absl::Duration BatchPeriodOf(const v1::Hello& hello);
// Returns the agent's clock minus the aggregator's. Clamps the time in `hello`
// to protobuf's range.
absl::Duration SkewOf(const v1::Hello& hello, absl::Time now);

// Makes the names of machines canonical. Removes help texts, which do not
// belong in definitions, and invalid default scales, whose counters are then
// not scaled. Returns the number of removed scales.
int BoundDefinitions(v1::Definitions* definitions);

// Returns InvalidArgument if the catalogue's size, which is the announced
// content size if it is compressed, exceeds the limit.
absl::Status CheckCatalogue(const v1::Catalogue& catalogue,
                            const IngestLimits& limits);
// The limits of a message of an agent besides batches and catalogues, before it
// is parsed. Agents send dictionaries in parts of a megabyte.
inline constexpr size_t kMaxDictionaryBytes = 4 << 20;
inline constexpr size_t kMaxDictionaryDefinitions = 250'000;
inline constexpr int kMaxDictionaryInstances = 100'000;  // stored at once
inline constexpr size_t kMaxMessageElements = 200'000;

// Checks the number of elements in a serialized v1::CollectRequest without
// parsing it. Those of a batch's and a catalogue's payload are checked later.
// Returns InvalidArgument if there are too many or the message cannot be read.
absl::Status CheckMessage(absl::string_view message);

// Checks the number of countersets and counters in a serialized
// v1::CatalogueContent without parsing it into messages. Returns
// InvalidArgument if there are too many or `content` is malformed.
absl::Status CheckCatalogueContent(absl::string_view content);

// Returns InvalidArgument if there are too many instances or their names are
// too long.
absl::Status CheckInstances(const v1::InstanceList& list);

// Truncates the report to the limits above.
void BoundPlanReport(v1::PlanReport* report);

// Truncates `text` to at most `max_bytes` without splitting a UTF-8 character.
void Cut(std::string* text, size_t max_bytes);

// Returns the name of the limit that `error` mentions in parentheses, e.g.
// "(max_instances)". Returns "" if `error` mentions no known limit.
std::string LimitNamedBy(absl::string_view error);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_AGENT_LIMITS_H_
