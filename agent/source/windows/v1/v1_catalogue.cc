#include "agent/source/windows/v1/v1_catalogue.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "perflib/v1/counterset.h"

namespace fleetperf::agent {
namespace {

using perflib::ParsedV1Data;
using perflib::V1Names;
using perflib::V1Object;

constexpr char kProcess[] = "Process";
constexpr char kProcessV2[] = "Process V2";

// The objects that are asked for one by one if the list as a whole fails.
constexpr absl::string_view kWellKnown[] = {
    "Cache",     "LogicalDisk", "Memory",       "Network Interface",
    "Objects",   "Paging File", "PhysicalDisk", kProcess,
    "Processor", "Server",      "System",       "TCPv4",
    "TCPv6",     "UDPv4",       "UDPv6"};

std::optional<uint32_t> IndexOf(absl::string_view name, const V1Names& names) {
  for (const auto& [index, text] : names.all()) {
    if (absl::EqualsIgnoreCase(text, name)) return index;
  }
  return std::nullopt;
}

V1Counterset UnderTheNameOfProcessV2(V1Counterset process) {
  // The registered GUID of Process V2 stays Windows' own.
  process.registration.name = kProcessV2;
  process.registration.guid = perflib::V1CountersetGuid(kProcessV2);
  process.is_process_v2 = true;
  return process;
}

}  // namespace

const V1Object* FindSoundObject(const ParsedV1Data& data,
                                const V1Counterset& counterset,
                                uint32_t* error) {
  const V1Object* object = data.FindObject(counterset.shape.object_index);
  if (object != nullptr && object->complete) return object;
  // An absent object may be there, behind bytes whose sizes are wrong.
  *error = data.defect_count > 0 ? perflib::kErrorInvalidData
                                 : perflib::kErrorNoData;
  return nullptr;
}

absl::Status V1Catalogue::List(PerformanceData* data) {
  RETURN_IF_ERROR(ReadNames(data));
  Countersets found;
  std::vector<std::string> problems;
  const absl::Status status = ListAll(data, &found);
  if (!status.ok()) {
    problems.push_back(absl::StrCat("PerfLib V1 cannot list its countersets: ",
                                    status.message()));
    ListOneByOne(data, &found, &problems);
  }
  absl::MutexLock lock(&mutex_);
  if (!names_.status().ok()) {
    problems.push_back(absl::StrCat(
        "PerfLib V1 has corrupt names, which \"lodctr /R\" mends: ",
        names_.status().message()));
  }
  // A counterset that cannot be read now stays: its queries say why.
  if (!status.ok()) found.insert(countersets_.begin(), countersets_.end());
  countersets_ = std::move(found);
  problems_ = std::move(problems);
  return absl::OkStatus();
}

absl::Status V1Catalogue::ReadNames(PerformanceData* data) {
  std::string bytes;
  RETURN_IF_ERROR(data->Query("Counter 009", &bytes));
  {
    absl::MutexLock lock(&mutex_);
    if (bytes == name_bytes_) return absl::OkStatus();
  }
  V1Names names = V1Names::Read(bytes);
  if (names.all().empty()) RETURN_IF_ERROR(names.status());
  // Without help texts, the counters are still useful.
  std::string help_bytes;
  absl::Status has_help = data->Query("Help 009", &help_bytes);
  if (!has_help.ok()) has_help = data->Query("Explain 009", &help_bytes);
  V1Names help;
  if (has_help.ok()) help = V1Names::Read(help_bytes);
  absl::MutexLock lock(&mutex_);
  name_bytes_ = std::move(bytes);
  names_ = std::move(names);
  help_ = std::move(help);
  return absl::OkStatus();
}

// "OLD_Global" leaves out V2 countersets that Windows translates to V1.
absl::Status V1Catalogue::ListAll(PerformanceData* data, Countersets* found) {
  std::string bytes;
  RETURN_IF_ERROR(data->Query("OLD_Global", &bytes));
  RETURN_IF_ERROR(AddObjects(bytes, found));
  if (!found->empty()) return absl::OkStatus();
  RETURN_IF_ERROR(data->Query("Global", &bytes));
  return AddObjects(bytes, found);
}

void V1Catalogue::ListOneByOne(PerformanceData* data, Countersets* found,
                               std::vector<std::string>* problems) {
  std::string bytes;
  for (const std::string& name : CandidateNames()) {
    std::optional<uint32_t> index;
    {
      absl::MutexLock lock(&mutex_);
      index = IndexOf(name, names_);
    }
    if (!index.has_value()) continue;
    absl::Status status = data->Query(absl::StrCat(*index), &bytes);
    if (status.ok()) status = AddObjects(bytes, found);
    if (status.ok()) continue;
    problems->push_back(
        absl::StrCat("counterset \"", name, "\": ", status.message()));
  }
}

std::set<std::string> V1Catalogue::CandidateNames() const {
  absl::MutexLock lock(&mutex_);
  std::set<std::string> names = wanted_;
  for (const absl::string_view name : kWellKnown) names.emplace(name);
  for (const auto& [guid, counterset] : countersets_) {
    names.insert(counterset->registration.name);
  }
  return names;
}

// Adds the sound objects. Returns the first defect, which may hide others.
absl::Status V1Catalogue::AddObjects(const std::string& bytes,
                                     Countersets* found) const {
  ParsedV1Data data;
  perflib::ReadV1Data(bytes, &data);
  absl::MutexLock lock(&mutex_);
  for (const V1Object& object : data.objects) {
    if (object.complete) AddObject(data, object, found);
  }
  return data.defects.empty() ? absl::OkStatus()
                              : data.defects.front().ToStatus();
}

// Objects without an English name cannot be asked for. Of objects with the same
// name, the first counts.
void V1Catalogue::AddObject(const ParsedV1Data& data, const V1Object& object,
                            Countersets* found) const {
  auto registration = perflib::V1Registration(data, object, names_, help_);
  if (!registration.ok()) return;
  V1Counterset counterset = {.registration = *std::move(registration),
                             .shape = perflib::V1ShapeOf(data, object)};
  const auto add = [&](V1Counterset added) {
    const perflib::Guid guid = added.registration.guid;
    found->try_emplace(guid,
                       std::make_shared<const V1Counterset>(std::move(added)));
  };
  if (absl::EqualsIgnoreCase(counterset.registration.name, kProcess)) {
    add(UnderTheNameOfProcessV2(counterset));
  }
  add(std::move(counterset));
}

void V1Catalogue::Want(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  wanted_.insert(absl::EqualsIgnoreCase(name, kProcessV2) ? kProcess : name);
}

std::vector<std::string> V1Catalogue::problems() const {
  absl::MutexLock lock(&mutex_);
  return problems_;
}

std::vector<std::shared_ptr<const V1Counterset>> V1Catalogue::all() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<const V1Counterset>> all;
  for (const auto& [guid, counterset] : countersets_) all.push_back(counterset);
  return all;
}

std::shared_ptr<const V1Counterset> V1Catalogue::Find(
    const perflib::Guid& guid) const {
  absl::MutexLock lock(&mutex_);
  const auto found = countersets_.find(guid);
  return found == countersets_.end() ? nullptr : found->second;
}

absl::Status V1Catalogue::Update(PerformanceData* data,
                                 const ParsedV1Data& parsed,
                                 const V1Object& object) {
  RETURN_IF_ERROR(ReadNames(data));
  absl::MutexLock lock(&mutex_);
  std::erase_if(countersets_, [&](const auto& entry) {
    return entry.second->shape.object_index ==
           object.header.object_name_title_index;
  });
  Countersets updated;
  AddObject(parsed, object, &updated);
  for (auto& [guid, counterset] : updated) countersets_[guid] = counterset;
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
