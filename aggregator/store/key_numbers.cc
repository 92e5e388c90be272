#include "aggregator/store/key_numbers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/store/keys.h"
#include "aggregator/store/thinned_query.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kHashSize = 32;
// What comes before the definition in a record.
constexpr size_t kPrefixSize = kHashSize + sizeof(uint32_t);

// What is the same for all queries of a shape.
std::string RecordOf(const CollectedQuery& query) {
  v1::QueryDefinition definition;
  *definition.mutable_interval() = ToProto(query.interval);
  for (const CollectedQuery::Column& column : query.columns) {
    if (column.role != ColumnRole::kRaw) continue;
    v1::ColumnDefinition* to = definition.add_columns();
    to->set_counter_id(column.counter_id);
    to->set_value_size(column.value_size);
    to->set_only_linked(column.only_linked);
    to->set_wraps(column.wraps);
  }
  return absl::StrCat(query.schema->hash,
                      BigEndian(static_cast<uint32_t>(
                          absl::ToInt64Seconds(query.thinned_from))),
                      definition.SerializeAsString());
}

// The place of item `number`, from 1.
template <typename Items>
auto& At(Items& items, uint32_t number) {
  if (items.size() < number) items.resize(number);
  return items[number - 1];
}

}  // namespace

absl::Status KeyNumbers::Load() {
  absl::MutexLock lock(&mutex_);
  const std::string machine_prefix = MachineNumberKey("");
  RETURN_IF_ERROR(database_.ForEach(
      Family::kDefault, machine_prefix,
      [&](absl::string_view key, absl::string_view value) {
        mutex_.AssertHeld();
        const auto number = FromBigEndian<uint32_t>(value);
        const std::string name(key.substr(machine_prefix.size()));
        machines_[name] = number;
        At(machine_names_, number) = name;
      }));
  const std::string shape_prefix = ShapeKey(0).substr(0, 1);
  absl::Status status;
  RETURN_IF_ERROR(database_.ForEach(
      Family::kDefault, shape_prefix,
      [&](absl::string_view key, absl::string_view value) {
        mutex_.AssertHeld();
        status.Update(AddShape(
            FromBigEndian<uint32_t>(key.substr(shape_prefix.size())), value));
      }));
  return status;
}

absl::Status KeyNumbers::AddShape(uint32_t number, absl::string_view record) {
  v1::QueryDefinition definition;
  const std::string damaged =
      absl::StrCat("shape ", number, " of the store is damaged");
  if (record.size() < kPrefixSize ||
      !definition.ParseFromString(std::string(record.substr(kPrefixSize)))) {
    return absl::DataLossError(damaged);
  }
  ASSIGN_OR_RETURN(
      const std::string bytes,
      database_.Get(Family::kDefault, SchemaKey(record.substr(0, kHashSize))));
  v1::CountersetRegistration registration;
  if (!registration.ParseFromString(bytes)) return absl::DataLossError(damaged);
  ASSIGN_OR_RETURN(perflib::CountersetRegistration schema,
                   FromProto(registration));
  auto query = std::make_shared<CollectedQuery>();
  query->schema = schemas_.Intern(std::move(schema));
  query->interval = FromProto(definition.interval());
  for (const v1::ColumnDefinition& column : definition.columns()) {
    query->columns.push_back({.counter_id = column.counter_id(),
                              .value_size = column.value_size(),
                              .only_linked = column.only_linked(),
                              .wraps = column.wraps()});
  }
  const auto thinned_from = FromBigEndian<uint32_t>(record.substr(kHashSize));
  if (thinned_from > 0) {
    const absl::Duration interval = query->interval;
    query->interval = absl::Seconds(thinned_from);
    *query = ThinnedQuery(*query, interval);
  }
  shapes_[std::string(record)] = number;
  At(shape_queries_, number) = std::move(query);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> KeyNumbers::GetMachine(const std::string& machine) {
  absl::MutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  if (found != machines_.end()) return found->second;
  const auto number = static_cast<uint32_t>(machine_names_.size() + 1);
  Changes changes(&database_);
  changes.Put(Family::kDefault, MachineNumberKey(machine), BigEndian(number));
  RETURN_IF_ERROR(database_.Write(&changes, Database::Durability::kProcess));
  machines_[machine] = number;
  machine_names_.push_back(machine);
  return number;
}

std::optional<uint32_t> KeyNumbers::FindMachine(
    const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  if (found == machines_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> KeyNumbers::MachineOf(uint32_t number) const {
  absl::ReaderMutexLock lock(&mutex_);
  if (number == 0 || number > machine_names_.size()) return std::nullopt;
  return machine_names_[number - 1];
}

absl::StatusOr<uint32_t> KeyNumbers::GetShape(const CollectedQuery& query) {
  const std::string record = RecordOf(query);
  absl::MutexLock lock(&mutex_);
  const auto found = shapes_.find(record);
  if (found != shapes_.end()) return found->second;
  const auto number = static_cast<uint32_t>(shape_queries_.size() + 1);
  Changes changes(&database_);
  changes.Put(Family::kDefault, ShapeKey(number), record);
  RETURN_IF_ERROR(database_.Write(&changes, Database::Durability::kProcess));
  RETURN_IF_ERROR(AddShape(number, record));
  return number;
}

std::shared_ptr<const CollectedQuery> KeyNumbers::ShapeOf(
    uint32_t number) const {
  absl::ReaderMutexLock lock(&mutex_);
  if (number == 0 || number > shape_queries_.size()) return nullptr;
  return shape_queries_[number - 1];
}

}  // namespace fleetperf::aggregator
