#include "agent/source/windows/v1/v1_query_handle.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using perflib::CountersetRegistration;
using perflib::HeaderType;
using perflib::V1Instance;
using perflib::V1Object;
using perflib::V1Value;

constexpr size_t kMaxGrowth = 16;
constexpr size_t kLeastLimit = 64 << 10;

void AddValue(const V1Value& value, perflib::BlockWriter* writer) {
  switch (value.size) {
    case sizeof(uint32_t):
      return writer->AddValue32(static_cast<uint32_t>(value.value));
    case sizeof(uint64_t):
      return writer->AddValue64(value.value);
    default:
      return writer->AddValueBytes("");
  }
}

}  // namespace

size_t V1ResultLimit(const V1Object& object) {
  return kMaxGrowth * object.header.total_byte_length + kLeastLimit;
}

std::string V1InstanceName(const V1Counterset& counterset,
                           const perflib::ParsedV1Data& data,
                           const V1Object& object, const V1Instance& instance,
                           uint32_t instance_id) {
  std::string name = data.Utf16FullName(object, instance);
  if (counterset.is_process_v2 &&
      perflib::Utf8FromUtf16(name) != perflib::kAggregateInstance) {
    name += perflib::Utf16FromUtf8(absl::StrCat(":", instance_id));
  }
  return name;
}

absl::Status V1QueryHandle::AddCounters(
    std::vector<CounterIdentifier>* identifiers) {
  for (CounterIdentifier& identifier : *identifiers) {
    identifier.status = Add(identifier);
  }
  return absl::OkStatus();
}

absl::Status V1QueryHandle::DeleteCounters(
    std::vector<CounterIdentifier>* identifiers) {
  for (CounterIdentifier& identifier : *identifiers) {
    const auto found = Find(identifier);
    identifier.status = found != queries_.end() ? perflib::kErrorSuccess
                                                : perflib::kErrorPathNotFound;
    if (found != queries_.end()) queries_.erase(found);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> V1QueryHandle::QueryCounterInfo() {
  std::vector<CounterIdentifier> identifiers;
  for (const Query& query : queries_) {
    identifiers.push_back(query.identifier);
    identifiers.back().index = static_cast<uint32_t>(identifiers.size() - 1);
  }
  return perflib::WriteCounterIdentifiers(identifiers);
}

std::vector<V1QueryHandle::Query>::iterator V1QueryHandle::Find(
    const CounterIdentifier& identifier) {
  return std::find_if(
      queries_.begin(), queries_.end(), [&](const Query& query) {
        return query.identifier.counterset == identifier.counterset &&
               query.identifier.counter_id == identifier.counter_id &&
               query.identifier.instance == identifier.instance &&
               query.identifier.instance_id == identifier.instance_id;
      });
}

uint32_t V1QueryHandle::Add(const CounterIdentifier& identifier) {
  Query query = {.identifier = identifier,
                 .counterset = catalogue_->Find(identifier.counterset)};
  if (query.counterset == nullptr) return perflib::kErrorGuidNotFound;
  const CountersetRegistration& registration = query.counterset->registration;
  if (registration.HasInstances() == identifier.instance.empty()) {
    return perflib::kErrorInvalidParameter;
  }
  if (Find(identifier) != queries_.end()) return perflib::kErrorAlreadyExists;
  for (const auto& counter : registration.counters) {
    if (identifier.counter_id == perflib::kWildcardCounter ||
        identifier.counter_id == counter.counter_id) {
      query.counter_ids.push_back(counter.counter_id);
    }
  }
  if (query.counter_ids.empty()) return perflib::kErrorItemIdNotFound;
  if (registration.HasInstances()) {
    query.instance = perflib::Pattern(identifier.instance);
  }
  query.identifier.status = perflib::kErrorSuccess;
  queries_.push_back(std::move(query));
  return perflib::kErrorSuccess;
}

std::string V1QueryHandle::Value() const {
  std::set<uint32_t> indexes;
  for (const Query& query : queries_) {
    indexes.insert(query.counterset->shape.object_index);
  }
  return absl::StrJoin(indexes, " ");
}

absl::Status V1QueryHandle::QueryCounterData(std::string* block) {
  if (queries_.empty()) {  // Windows takes "" as "Global"
    return absl::FailedPreconditionError("the handle has no queries");
  }
  RETURN_IF_ERROR(data_->Query(Value(), &bytes_));
  perflib::ReadV1Data(bytes_, &parsed_);
  for (const perflib::Defect& defect : parsed_.defects) {
    const std::string text = absl::StrCat("PerfLib V1: ", defect.ToString());
    catalogue_->defect_log().Warn(std::string(defect.what), text);
  }
  if (!parsed_.has_header) return parsed_.defects.front().ToStatus();
  perflib::BlockWriter writer(parsed_.clocks(), block);
  for (Query& query : queries_) WriteResult(&query, &writer);
  writer.Finish();
  return absl::OkStatus();
}

void V1QueryHandle::WriteResult(Query* query, perflib::BlockWriter* writer) {
  uint32_t error = perflib::kErrorSuccess;
  const V1Object* object = FindObject(query, &error);
  if (object == nullptr) return writer->AddErrorReturn(error);
  const size_t limit =
      std::min(V1ResultLimit(*object),
               kMaxV1Block - std::min(kMaxV1Block, writer->size()));
  BeginResult(*query, writer);
  if (WriteRows(*query, *object, limit, writer)) return writer->EndResult();
  const std::string& name = query->counterset->registration.name;
  catalogue_->defect_log().Warn(
      name,
      absl::StrCat("PerfLib V1: the rows of \"", name, "\" have more than the ",
                   limit, " bytes that its object of ",
                   object->header.total_byte_length, " may have"));
  writer->FailResult(perflib::kErrorInvalidData);
}

void V1QueryHandle::BeginResult(const Query& query,
                                perflib::BlockWriter* writer) {
  const bool all_counters =
      query.identifier.counter_id == perflib::kWildcardCounter;
  if (query.instance.has_value()) {
    writer->BeginResult(
        all_counters ? HeaderType::kCounterset : HeaderType::kMultipleInstances,
        query.counter_ids);
  } else {
    writer->BeginResult(all_counters ? HeaderType::kMultipleCounters
                                     : HeaderType::kSingleCounter,
                        query.counter_ids);
  }
}

const V1Object* V1QueryHandle::FindObject(Query* query, uint32_t* error) {
  const V1Object* object = FindSoundObject(parsed_, *query->counterset, error);
  if (object == nullptr || query->counterset->shape.Matches(parsed_, *object)) {
    return object;
  }
  // The collection reads the registration again and opens a new handle.
  if (!std::exchange(query->is_outdated, true)) {
    const absl::Status updated =
        catalogue_->Update(data_.get(), parsed_, *object);
    if (!updated.ok()) {
      catalogue_->defect_log().Warn("names", updated.message());
    }
  }
  *error = perflib::kErrorNoData;
  return nullptr;
}

bool V1QueryHandle::WriteRows(const Query& query, const V1Object& object,
                              size_t limit,
                              perflib::BlockWriter* writer) const {
  const perflib::V1Values values(parsed_, object,
                                 query.counterset->registration);
  const bool all = query.identifier.instance == perflib::kWildcardInstance;
  const size_t start = writer->size();
  size_t passed_over = 0;  // bytes of names
  for (const V1Instance& instance : parsed_.Instances(object)) {
    if (writer->size() - start + passed_over > limit) return false;
    if (query.instance.has_value()) {
      const uint32_t id = values.InstanceId(instance);
      const std::string name =
          V1InstanceName(*query.counterset, parsed_, object, instance, id);
      const bool selected =
          (all || query.instance->Matches(perflib::Utf8FromUtf16(name))) &&
          (query.identifier.instance_id == perflib::kWildcardInstanceId ||
           query.identifier.instance_id == id);
      if (!selected) {
        passed_over += name.size();
        continue;
      }
      writer->BeginInstance(name, id);
    }
    for (const uint32_t counter_id : query.counter_ids) {
      AddValue(values.Get(instance, counter_id), writer);
    }
  }
  return writer->size() - start + passed_over <= limit;
}

}  // namespace fleetperf::agent
