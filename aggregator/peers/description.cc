#include "aggregator/peers/description.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/peers/sample_decoder.h"
#include "base/channel.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "perflib/path.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The limits of a message, unless a single item is larger, and of an item. Only
// an attack makes a counterset that large; it is left out.
constexpr size_t kMaxPartBytes = 1 << 20;
constexpr size_t kMaxSchemaBytes = 8 << 20;
static_assert(kMaxSchemaBytes < kMaxMessageBytes);
// The limit of a description in memory, some hundred bytes for each machine.
constexpr size_t kMaxDescriptionBytes = 256 << 20;
// Besides the contents of an entry of a list or map.
constexpr size_t kBytesOfListEntry = 100;
// Of a counter in a set.
constexpr size_t kBytesOfCounter = 40;

absl::Status MalformedDescription(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("a peer's description is malformed: ", what));
}

using Patterns = std::vector<perflib::Pattern>;

Patterns PatternsOf(
    const google::protobuf::RepeatedPtrField<std::string>& texts) {
  Patterns patterns;
  for (const std::string& text : texts) patterns.emplace_back(text);
  return patterns;
}

bool MatchesAny(const Patterns& patterns, absl::string_view name) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& one) { return one.Matches(name); });
}

// The countersets of a request.
class CountersetFilter {
 public:
  explicit CountersetFilter(const v1::DescribeRequest& request)
      : patterns_(PatternsOf(request.countersets())) {}

  bool Matches(const Schema& schema) {
    const auto [entry, is_new] = known_.try_emplace(&schema);
    if (is_new) {
      const perflib::CountersetRegistration& registration = schema.registration;
      entry->second = MatchesAny(patterns_, registration.name) ||
                      MatchesAny(patterns_, registration.guid.ToString());
    }
    return entry->second;
  }

 private:
  const Patterns patterns_;
  std::map<const Schema*, bool> known_;
};

// Encodes a description in messages of limited size. Numbers its schemas and
// queries.
class DescriptionEncoder {
 public:
  using Send = std::function<absl::Status(const v1::DescribeResponse&)>;

  explicit DescriptionEncoder(const Send& send) : send_(send) {}

  absl::Status AddStore(const Description& description) {
    response_.set_store_id(description.store_id);
    for (const std::string& name : description.counterset_names) {
      RETURN_IF_ERROR(MakeRoom(name.size()));
      response_.add_counterset_names(name);
    }
    return absl::OkStatus();
  }

  absl::Status Add(const MachineDescription& machine) {
    const Directory::Entry& entry = machine.entry;
    v1::DescribeResponse::Machine proto;
    proto.set_name(machine.name);
    proto.set_agent(entry.agent);
    proto.mutable_labels()->insert(entry.labels.begin(), entry.labels.end());
    proto.set_registered(entry.is_registered);
    proto.set_catalogue_hash(machine.catalogue_hash);
    proto.set_now(absl::ToUnixNanos(machine.now));
    if (entry.newest_sample.has_value()) {
      proto.set_newest_sample(absl::ToUnixNanos(*entry.newest_sample));
    }
    for (const auto& ticks : entry.ticks) {
      ASSIGN_OR_RETURN(const std::optional<uint32_t> query, NumberOf(*ticks));
      if (!query.has_value()) continue;
      v1::DescribeResponse::Ticks* to = proto.add_ticks();
      to->set_query(*query);
      if (const auto oldest = ticks->oldest()) {
        to->set_oldest(absl::ToUnixNanos(*oldest));
      }
      if (const auto newest = ticks->newest()) {
        to->set_newest(absl::ToUnixNanos(*newest));
      }
    }
    RETURN_IF_ERROR(MakeRoom(proto.ByteSizeLong()));
    response_.add_machines()->Swap(&proto);
    return absl::OkStatus();
  }

  // Sends what is left.
  absl::Status Finish() { return send_(response_); }

 private:
  using Counters = std::set<uint32_t>;
  // The set is that of the description.
  using Key = std::tuple<const Schema*, absl::Duration, const Counters*>;
  struct IsLess {
    bool operator()(const Key& a, const Key& b) const {
      const auto& [a_schema, a_interval, a_counters] = a;
      const auto& [b_schema, b_interval, b_counters] = b;
      return std::tie(a_schema, a_interval, *a_counters) <
             std::tie(b_schema, b_interval, *b_counters);
    }
  };

  // Returns std::nullopt if the counterset is too large to be sent.
  absl::StatusOr<std::optional<uint32_t>> NumberOf(const QueryTicks& ticks) {
    ASSIGN_OR_RETURN(const std::optional<uint32_t> schema,
                     NumberOf(*ticks.schema()));
    if (!schema.has_value()) return std::nullopt;
    const Key key(ticks.schema().get(), ticks.interval(), &ticks.counters());
    const auto [entry, is_new] =
        queries_.try_emplace(key, static_cast<uint32_t>(queries_.size()));
    if (is_new) {
      v1::DescribeResponse::Query proto;
      proto.set_schema(*schema);
      proto.set_interval_nanos(absl::ToInt64Nanoseconds(ticks.interval()));
      proto.mutable_counters()->Add(ticks.counters().begin(),
                                    ticks.counters().end());
      RETURN_IF_ERROR(MakeRoom(proto.ByteSizeLong()));
      response_.add_queries()->Swap(&proto);
    }
    return entry->second;
  }

  absl::StatusOr<std::optional<uint32_t>> NumberOf(const Schema& schema) {
    const auto [entry, is_new] = schemas_.try_emplace(&schema);
    if (is_new) {
      v1::CountersetRegistration proto =
          fleetperf::ToProto(schema.registration);
      const size_t bytes = proto.ByteSizeLong();
      if (bytes > kMaxSchemaBytes) return std::nullopt;
      entry->second = sent_schemas_++;
      RETURN_IF_ERROR(MakeRoom(bytes));
      response_.add_schemas()->Swap(&proto);
    }
    return entry->second;
  }

  // Sends the message if it is too large with another item.
  absl::Status MakeRoom(size_t bytes) {
    if (bytes_ > 0 && bytes_ + bytes > kMaxPartBytes) {
      RETURN_IF_ERROR(send_(response_));
      response_.Clear();
      bytes_ = 0;
    }
    bytes_ += bytes;
    return absl::OkStatus();
  }

  const Send& send_;
  v1::DescribeResponse response_;
  size_t bytes_ = 0;  // of the items in response_
  std::map<const Schema*, std::optional<uint32_t>> schemas_;
  uint32_t sent_schemas_ = 0;
  std::map<Key, uint32_t, IsLess> queries_;
};

}  // namespace

absl::StatusOr<Description> DescribeStore(const Store& store,
                                          const MachineNow& now_of,
                                          const v1::DescribeRequest& request,
                                          const IsCancelled& is_cancelled) {
  const Directory& directory = store.directory();
  const perflib::Pattern pattern(request.machine().empty() ? "*"
                                                           : request.machine());
  const Patterns machines = PatternsOf(request.machines());
  CountersetFilter countersets(request);
  Description description{.store_id = store.id(),
                          .counterset_names = directory.CountersetNames()};
  for (const std::string& name : directory.Machines()) {
    if (!MatchesAny(machines, name) || !pattern.Matches(name)) continue;
    RETURN_IF_ERROR(CheckNotCancelled(is_cancelled));
    std::optional<Directory::Entry> entry = directory.Describe(name);
    if (!entry.has_value()) continue;
    std::erase_if(entry->ticks, [&](const auto& ticks) {
      return !countersets.Matches(*ticks->schema());
    });
    const auto stored = store.FindMachine(name);
    description.machines.push_back(
        {.name = name,
         .entry = *std::move(entry),
         .catalogue_hash = stored.has_value() ? stored->catalogue_hash : "",
         .now = now_of(name)});
  }
  return description;
}

absl::Status SendDescription(
    const Description& description,
    const std::function<absl::Status(const v1::DescribeResponse&)>& send) {
  DescriptionEncoder encoder(send);
  RETURN_IF_ERROR(encoder.AddStore(description));
  for (const MachineDescription& machine : description.machines) {
    RETURN_IF_ERROR(encoder.Add(machine));
  }
  return encoder.Finish();
}

absl::Status DescriptionReader::Add(const v1::DescribeResponse& response) {
  if (!response.store_id().empty()) {
    description_.store_id = response.store_id();
  }
  for (const std::string& name : response.counterset_names()) {
    RETURN_IF_ERROR(CheckName("a counterset", name));
    RETURN_IF_ERROR(Keep(name.size()));
    description_.counterset_names.push_back(name);
  }
  for (const auto& schema : response.schemas()) {
    RETURN_IF_ERROR(AddSchema(schema));
  }
  for (const auto& query : response.queries()) RETURN_IF_ERROR(AddQuery(query));
  for (const auto& machine : response.machines()) {
    RETURN_IF_ERROR(AddMachine(machine));
  }
  return absl::OkStatus();
}

absl::Status DescriptionReader::Keep(size_t bytes) {
  kept_bytes_ += kBytesOfListEntry + bytes;
  if (kept_bytes_ <= kMaxDescriptionBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("it has more than ", kMaxDescriptionBytes >> 20,
                   " MiB to tell of its machines; select fewer"));
}

absl::Status DescriptionReader::AddSchema(
    const v1::CountersetRegistration& proto) {
  RETURN_IF_ERROR(Keep(proto.ByteSizeLong()));
  ASSIGN_OR_RETURN(perflib::CountersetRegistration registration,
                   fleetperf::FromProto(proto));
  std::string hash = Sha256(registration.CanonicalBytes());
  std::shared_ptr<const Schema>& schema = schemas_[hash];
  if (schema == nullptr) {
    schema = std::make_shared<const Schema>(
        Schema{.hash = hash, .registration = std::move(registration)});
  }
  numbered_.push_back(schema);
  return absl::OkStatus();
}

absl::Status DescriptionReader::AddQuery(
    const v1::DescribeResponse::Query& proto) {
  if (proto.schema() >= numbered_.size()) {
    return MalformedDescription("schema of a query");
  }
  if (proto.interval_nanos() <= 0 ||
      proto.interval_nanos() >
          absl::ToInt64Nanoseconds(SampleDecoder::kMaxInterval)) {
    return MalformedDescription("interval of a query");
  }
  RETURN_IF_ERROR(
      Keep(static_cast<size_t>(proto.counters_size()) * kBytesOfCounter));
  const std::shared_ptr<const Schema>& schema = numbered_[proto.schema()];
  auto counters = std::make_shared<std::set<uint32_t>>(proto.counters().begin(),
                                                       proto.counters().end());
  for (const uint32_t counter : *counters) {
    if (schema->registration.FindCounter(counter) == nullptr) {
      return MalformedDescription("counter of a query");
    }
  }
  queries_.push_back({.schema = schema,
                      .interval = absl::Nanoseconds(proto.interval_nanos()),
                      .counters = std::move(counters)});
  return absl::OkStatus();
}

absl::Status DescriptionReader::AddMachine(
    const v1::DescribeResponse::Machine& proto) {
  RETURN_IF_ERROR(CheckName("a machine", proto.name()));
  RETURN_IF_ERROR(CheckName("the agent of a machine", proto.agent()));
  if (static_cast<size_t>(proto.ticks_size()) > kMaxQueriesOfMachine) {
    return MalformedDescription("number of a machine's queries");
  }
  RETURN_IF_ERROR(
      Keep(sizeof(MachineDescription) + proto.ByteSizeLong() +
           static_cast<size_t>(proto.ticks_size()) *
               (sizeof(QueryTicks) + kBytesOfListEntry) +
           static_cast<size_t>(proto.labels_size()) * kBytesOfListEntry));
  MachineDescription machine{
      .name = proto.name(),
      .entry = {.is_registered = proto.registered(),
                .agent = proto.agent(),
                .labels = {proto.labels().begin(), proto.labels().end()}},
      .catalogue_hash = proto.catalogue_hash(),
      .now = absl::FromUnixNanos(proto.now())};
  BoundLabels(&machine.entry.labels);
  if (proto.has_newest_sample()) {
    machine.entry.newest_sample = absl::FromUnixNanos(proto.newest_sample());
  }
  for (const v1::DescribeResponse::Ticks& ticks : proto.ticks()) {
    if (ticks.query() >= queries_.size()) {
      return MalformedDescription("query of a machine");
    }
    const Query& query = queries_[ticks.query()];
    auto added = std::make_shared<QueryTicks>(query.schema, query.interval,
                                              query.counters);
    if (ticks.has_oldest()) added->Note(absl::FromUnixNanos(ticks.oldest()));
    if (ticks.has_newest()) added->Note(absl::FromUnixNanos(ticks.newest()));
    machine.entry.ticks.push_back(std::move(added));
  }
  description_.machines.push_back(std::move(machine));
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
