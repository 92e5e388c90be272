#include "cli/capture_types.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "fleetperf/v1/capture.pb.h"
#include "perflib/registration.h"
#include "proto/conversions.h"

namespace fleetperf::cli {
namespace {

constexpr uint32_t kAllCounters = 0xFFFFFFFF;

}  // namespace

absl::StatusOr<CaptureTypes> CaptureTypes::Read(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/capture.json");
  if (!FileExists(path)) return CaptureTypes();
  ASSIGN_OR_RETURN(const std::string json, ReadFile(path));
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // written by a later version
  v1::Capture capture;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(json, &capture, options);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a capture: ", parsed.ToString()));
  }
  CaptureTypes types;
  for (const v1::CountersetRegistration& proto : capture.countersets()) {
    ASSIGN_OR_RETURN(const perflib::CountersetRegistration registration,
                     FromProto(proto));
    for (const perflib::CounterRegistration& counter : registration.counters) {
      types.formulas_[{proto.guid(), counter.counter_id}] =
          FormulaOf(registration, counter);
    }
  }
  for (const v1::CapturedIdentifier& identifier : capture.identifiers()) {
    Result& result = types.results_[identifier.index()];
    result.counterset = identifier.counterset();
    result.instance = identifier.instance();
    result.instance_id = identifier.instance_id();
    result.counters.insert(identifier.counter_id());
  }
  return types;
}

bool CaptureTypes::Result::Has(uint32_t counter_id) const {
  return counters.contains(counter_id) || counters.contains(kAllCounters);
}

bool CaptureTypes::Result::IsOfSameInstances(const Result& other) const {
  return counterset == other.counterset && instance == other.instance &&
         instance_id == other.instance_id;
}

std::optional<uint32_t> CaptureTypes::CounterOf(uint32_t query) const {
  const auto result = results_.find(query);
  if (result == results_.end()) return std::nullopt;
  const std::set<uint32_t>& counters = result->second.counters;
  if (counters.size() != 1 || counters.contains(kAllCounters)) {
    return std::nullopt;
  }
  return *counters.begin();
}

const CounterFormula* CaptureTypes::Find(uint32_t query,
                                         uint32_t counter_id) const {
  const auto result = results_.find(query);
  if (result == results_.end()) return nullptr;
  const auto found = formulas_.find({result->second.counterset, counter_id});
  return found != formulas_.end() ? &found->second : nullptr;
}

std::optional<uint32_t> CaptureTypes::QueryOf(uint32_t query,
                                              uint32_t counter_id) const {
  const auto own = results_.find(query);
  if (own == results_.end()) return std::nullopt;
  for (const auto& [number, result] : results_) {
    if (result.IsOfSameInstances(own->second) && result.Has(counter_id)) {
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace fleetperf::cli
