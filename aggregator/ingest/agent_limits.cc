#include "aggregator/ingest/agent_limits.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/samples/labels.h"
#include "aggregator/samples/machine_name.h"
#include "aggregator/samples/wire_reader.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "perflib/registration.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The range of google.protobuf.Timestamp.
constexpr int64_t kFirstSecond = -62'135'596'800;
constexpr int64_t kLastSecond = 253'402'300'799;

// The limit names that errors mention in parentheses.
constexpr absl::string_view kLimitNames[] = {"max_payload_bytes",
                                             "max_content_bytes",
                                             "max_values",
                                             "max_runs",
                                             "max_losses",
                                             "max_definitions",
                                             "max_blocks",
                                             "max_queries",
                                             "max_retired",
                                             "max_machines",
                                             "max_countersets",
                                             "max_columns",
                                             "max_instances",
                                             "max_new_series_per_hour",
                                             "max_samples_per_second",
                                             "max_machines_of_agent",
                                             "max_definitions_of_id",
                                             "max_work_per_second",
                                             "max_definition_bytes_per_hour",
                                             "max_catalogue_bytes_per_hour",
                                             "max_new_epochs_per_hour"};

absl::Status TooMany(absl::string_view field, size_t count,
                     absl::string_view unit, size_t max) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " has ", count, " ", unit, ", more than ", max));
}

absl::Status NotAMessage() {
  return absl::InvalidArgumentError("the message is not a CollectRequest");
}

// Returned if FieldReader cannot read a payload to its end. FieldReader stops
// at groups, which protobuf's own parser skips. Such a payload could therefore
// hold any number of elements after a group.
absl::Status NotACatalogue() {
  return absl::InvalidArgumentError("Catalogue.payload is not a catalogue");
}

absl::Status CheckDictionary(absl::string_view dictionary) {
  if (dictionary.size() > kMaxDictionaryBytes) {
    return TooMany("Dictionary", dictionary.size(), "bytes",
                   kMaxDictionaryBytes);
  }
  FieldReader reader(dictionary);
  size_t definitions = 0;
  while (reader.Next()) {
    if (reader.field() != v1::Dictionary::kDefinitionsFieldNumber) continue;
    const auto count = CountDefinitions(reader.Bytes());
    if (!count.has_value()) return NotAMessage();
    definitions += *count;
  }
  if (!reader.ok()) return NotAMessage();
  if (definitions <= kMaxDictionaryDefinitions) return absl::OkStatus();
  return TooMany("Dictionary", definitions, "definitions",
                 kMaxDictionaryDefinitions);
}

// Returns the number of counters in a serialized v1::CountersetRegistration.
absl::StatusOr<size_t> CountCounters(absl::string_view registration) {
  FieldReader reader(registration);
  size_t counters = 0;
  while (reader.Next()) {
    counters +=
        reader.field() == v1::CountersetRegistration::kCountersFieldNumber;
  }
  if (!reader.ok()) return NotACatalogue();
  return counters;
}

}  // namespace

void FitDefinitions(uint64_t disk_bytes, IngestLimits* limits) {
  constexpr uint64_t kShare = 64;
  constexpr uint64_t kLeast = 16 << 20;
  const uint64_t share = std::max(disk_bytes / kShare, kLeast);
  limits->max_definition_bytes_per_hour = std::min(
      limits->max_definition_bytes_per_hour, static_cast<double>(share));
}

absl::Status CheckHello(const v1::Hello& hello, const IngestLimits& limits) {
  if (hello.agent().size() > kMaxAgentNameBytes) {
    return TooMany("Hello.agent", hello.agent().size(), "bytes",
                   kMaxAgentNameBytes);
  }
  if (hello.held_epochs_size() > limits.max_held_epochs) {
    return TooMany("Hello.held_epochs",
                   static_cast<size_t>(hello.held_epochs_size()), "epochs",
                   static_cast<size_t>(limits.max_held_epochs));
  }
  const size_t hash = hello.catalogue_hash().size();
  if (hash != 0 && hash != kHashBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Hello.catalogue_hash has ", hash, " bytes instead of ", kHashBytes));
  }
  return CheckLabels("Hello.labels",
                     {hello.labels().begin(), hello.labels().end()});
}

v1::Machine MachineOf(const v1::Hello& hello) {
  v1::Machine machine;
  machine.set_name(CanonicalName(hello.agent()));
  machine.set_agent(machine.name());
  machine.set_agent_version(hello.agent_version());
  machine.set_operating_system(hello.operating_system());
  *machine.mutable_labels() = hello.labels();
  Cut(machine.mutable_agent_version(), kMaxFactBytes);
  Cut(machine.mutable_operating_system(), kMaxFactBytes);
  return machine;
}

absl::Duration BatchPeriodOf(const v1::Hello& hello) {
  return std::clamp(FromProto(hello.batch_period()), absl::ZeroDuration(),
                    kMaxBatchPeriod);
}

absl::Duration SkewOf(const v1::Hello& hello, absl::Time now) {
  google::protobuf::Timestamp time = hello.time();
  time.set_seconds(std::clamp(time.seconds(), kFirstSecond, kLastSecond));
  return FromProto(time) - now;
}

int BoundDefinitions(v1::Definitions* definitions) {
  for (auto& machine : *definitions->mutable_machines()) {
    machine.set_name(CanonicalName(machine.name()));
  }
  int wrong_scales = 0;
  for (auto& counterset : *definitions->mutable_countersets()) {
    v1::CountersetRegistration& registration =
        *counterset.mutable_registration();
    registration.clear_help();
    Cut(registration.mutable_provider_name(), kMaxFactBytes);
    for (auto& counter : *registration.mutable_counters()) {
      counter.clear_help();
      if (perflib::IsScale(counter.default_scale())) continue;
      counter.clear_default_scale();
      ++wrong_scales;
    }
  }
  return wrong_scales;
}

absl::Status CheckCatalogue(const v1::Catalogue& catalogue,
                            const IngestLimits& limits) {
  const size_t size = catalogue.compression() == v1::COMPRESSION_ZSTD
                          ? catalogue.content_size()
                          : catalogue.payload().size();
  if (size <= limits.max_catalogue_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a catalogue of ", size, " bytes is larger than max_catalogue_bytes, ",
      limits.max_catalogue_bytes));
}

absl::Status CheckMessage(absl::string_view message) {
  FieldReader reader(message);
  size_t elements = 0;
  while (reader.Next()) {
    // More than one is merged, and may have more elements than each.
    if (++elements > kMaxMessageElements) break;
    if (reader.field() > v1::CollectRequest::kPlanReportFieldNumber) continue;
    if (reader.field() == v1::CollectRequest::kDictionaryFieldNumber) {
      RETURN_IF_ERROR(CheckDictionary(reader.Bytes()));
    }
    FieldReader parts(reader.Bytes());
    while (elements <= kMaxMessageElements && parts.Next()) ++elements;
    if (!parts.ok()) return NotAMessage();
  }
  if (!reader.ok()) return NotAMessage();
  if (elements <= kMaxMessageElements) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the message has more than ", kMaxMessageElements, " elements"));
}

absl::Status CheckCatalogueContent(absl::string_view content) {
  FieldReader reader(content);
  size_t countersets = 0;
  size_t counters = 0;
  while (reader.Next()) {
    if (reader.field() != v1::CatalogueContent::kCountersetsFieldNumber) {
      continue;
    }
    ++countersets;
    ASSIGN_OR_RETURN(const size_t its, CountCounters(reader.Bytes()));
    counters += its;
  }
  if (!reader.ok()) return NotACatalogue();
  if (countersets > kMaxCatalogueCountersets) {
    return TooMany("Catalogue.payload", countersets, "countersets",
                   kMaxCatalogueCountersets);
  }
  if (counters > kMaxCatalogueCounters) {
    return TooMany("Catalogue.payload", counters, "counters",
                   kMaxCatalogueCounters);
  }
  return absl::OkStatus();
}

absl::Status CheckInstances(const v1::InstanceList& list) {
  if (list.instances_size() > kMaxListedInstances) {
    return TooMany("InstanceList", static_cast<size_t>(list.instances_size()),
                   "instances", kMaxListedInstances);
  }
  size_t bytes = 0;
  for (const auto& instance : list.instances()) {
    RETURN_IF_ERROR(CheckName("InstanceList.instances", instance.name()));
    bytes += instance.name().size();
  }
  if (bytes <= kMaxListedBytes) return absl::OkStatus();
  return TooMany("InstanceList", bytes, "bytes of names", kMaxListedBytes);
}

void BoundPlanReport(v1::PlanReport* report) {
  if (report->queries_size() > kMaxQueryReports) {
    report->mutable_queries()->DeleteSubrange(
        kMaxQueryReports, report->queries_size() - kMaxQueryReports);
  }
  for (v1::QueryReport& query : *report->mutable_queries()) {
    for (std::string* text : {query.mutable_name(), query.mutable_counterset(),
                              query.mutable_error()}) {
      Cut(text, kMaxReportBytes);
    }
  }
}

void Cut(std::string* text, size_t max_bytes) {
  text->resize(Utf8Prefix(*text, max_bytes).size());
}

std::string LimitNamedBy(absl::string_view error) {
  // Errors also contain names chosen by agents, so only known limits count.
  for (const absl::string_view name : kLimitNames) {
    if (absl::StrContains(error, absl::StrCat("(", name, ")"))) {
      return std::string(name);
    }
  }
  return "";
}

}  // namespace fleetperf::aggregator
