#include "aggregator/store/tables/key_numbers.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/samples/thinned_query.h"
#include "aggregator/store/tables/keys.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// The size of the fields before the definition in a record.
constexpr size_t kPrefixSize = kHashSize + sizeof(uint32_t);

// Encodes the properties shared by all queries of a shape.
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
  const auto thinned_from =
      static_cast<uint32_t>(absl::ToInt64Seconds(query.thinned_from));
  return absl::StrCat(query.schema->hash, BigEndian(thinned_from),
                      definition.SerializeAsString());
}

}  // namespace

absl::Status KeyNumbers::Load(OnDamage on_damage) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(LoadMachines(on_damage));
  RETURN_IF_ERROR(LoadShapes(on_damage));
  return ReserveUsedNumbers();
}

absl::Status KeyNumbers::LoadMachines(OnDamage on_damage) {
  const std::string prefix = MachineNumberKey("");
  return database_.ForEach(
      Family::kDefault, prefix,
      [&](absl::string_view key, absl::string_view value) {
        mutex_.AssertHeld();
        const std::string name(key.substr(prefix.size()));
        uint32_t number = 0;
        if (!GetBigEndian(&value, &number) || !value.empty() || number == 0 ||
            !machine_names_.try_emplace(number, name).second) {
          return on_damage(DamagedRecord(key));
        }
        machines_[name] = number;
        machine_numbers_.Take(number);
      });
}

absl::Status KeyNumbers::LoadShapes(OnDamage on_damage) {
  const std::string prefix = ShapeKey(0).substr(0, 1);
  absl::Status status;
  RETURN_IF_ERROR(database_.ForEach(
      Family::kDefault, prefix,
      [&](absl::string_view key, absl::string_view value) {
        mutex_.AssertHeld();
        absl::string_view rest = key.substr(prefix.size());
        uint32_t number = 0;
        if (!GetBigEndian(&rest, &number) || !rest.empty() || number == 0) {
          return on_damage(DamagedRecord(key));
        }
        shape_numbers_.Take(number);
        const absl::Status added = AddShape(number, value);
        if (absl::IsDataLoss(added)) return on_damage(added);
        status.Update(added);
      }));
  return status;
}

// Prevents chunks from being attributed to another machine or shape.
absl::Status KeyNumbers::ReserveUsedNumbers() {
  return database_.ForEach(Family::kDefault, CollectedKey(0, 0).substr(0, 1),
                           [&](absl::string_view key, absl::string_view) {
                             mutex_.AssertHeld();
                             uint32_t machine = 0;
                             uint32_t shape = 0;
                             if (!ParseCollectedKey(key, &machine, &shape))
                               return;
                             machine_numbers_.Take(machine);
                             shape_numbers_.Take(shape);
                           });
}

absl::StatusOr<uint32_t> KeyNumbers::Sequence::Next() const {
  if (last_ == std::numeric_limits<uint32_t>::max()) {
    return absl::ResourceExhaustedError(
        "the store has no number left for a new machine or query");
  }
  return last_ + 1;
}

absl::Status KeyNumbers::AddShape(uint32_t number, absl::string_view record) {
  v1::QueryDefinition definition;
  if (record.size() < kPrefixSize ||
      !definition.ParseFromString(std::string(record.substr(kPrefixSize)))) {
    return DamagedRecord(ShapeKey(number));
  }
  const std::string schema_key = SchemaKey(record.substr(0, kHashSize));
  const auto bytes = database_.Get(Family::kDefault, schema_key);
  if (absl::IsNotFound(bytes.status())) return DamagedRecord(ShapeKey(number));
  RETURN_IF_ERROR(bytes.status());
  v1::CountersetRegistration registration;
  if (!registration.ParseFromString(*bytes)) return DamagedRecord(schema_key);
  auto schema = FromProto(registration);
  if (!schema.ok()) return DamagedRecord(schema_key);
  auto query = std::make_shared<CollectedQuery>();
  query->schema = schemas_.Intern(*std::move(schema));
  query->interval = FromProto(definition.interval());
  for (const v1::ColumnDefinition& column : definition.columns()) {
    query->columns.push_back({.counter_id = column.counter_id(),
                              .value_size = column.value_size(),
                              .only_linked = column.only_linked(),
                              .wraps = column.wraps()});
  }
  absl::string_view rest = record.substr(kHashSize);
  uint32_t thinned_from = 0;
  GetBigEndian(&rest, &thinned_from);
  if (thinned_from > 0) {
    const absl::Duration interval = query->interval;
    query->interval = absl::Seconds(thinned_from);
    *query = ThinnedQuery(*query, interval);
  }
  shapes_[std::string(record)] = number;
  shape_queries_[number] = std::move(query);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> KeyNumbers::GetMachine(const std::string& machine) {
  absl::MutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  if (found != machines_.end()) return found->second;
  ASSIGN_OR_RETURN(const uint32_t number, machine_numbers_.Next());
  Changes changes(&database_);
  changes.Put(Family::kDefault, MachineNumberKey(machine), BigEndian(number));
  RETURN_IF_ERROR(database_.Write(&changes, Database::Durability::kProcess));
  machines_[machine] = number;
  machine_names_[number] = machine;
  machine_numbers_.Take(number);
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
  const auto found = machine_names_.find(number);
  if (found == machine_names_.end()) return std::nullopt;
  return found->second;
}

std::map<uint32_t, std::string> KeyNumbers::Machines() const {
  absl::ReaderMutexLock lock(&mutex_);
  return machine_names_;
}

absl::StatusOr<uint32_t> KeyNumbers::GetShape(const CollectedQuery& query) {
  const std::string record = RecordOf(query);
  absl::MutexLock lock(&mutex_);
  const auto found = shapes_.find(record);
  if (found != shapes_.end()) return found->second;
  ASSIGN_OR_RETURN(const uint32_t number, shape_numbers_.Next());
  Changes changes(&database_);
  changes.Put(Family::kDefault, ShapeKey(number), record);
  RETURN_IF_ERROR(database_.Write(&changes, Database::Durability::kProcess));
  RETURN_IF_ERROR(AddShape(number, record));
  shape_numbers_.Take(number);
  return number;
}

absl::StatusOr<std::shared_ptr<const CollectedQuery>> KeyNumbers::ShapeOf(
    uint32_t number) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = shape_queries_.find(number);
  if (found != shape_queries_.end()) return found->second;
  return absl::DataLossError(absl::StrCat("a chunk has shape ", number,
                                          ", which is not in the store"));
}

}  // namespace fleetperf::aggregator
