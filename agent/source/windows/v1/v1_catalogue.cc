#include "agent/source/windows/v1/v1_catalogue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "perflib/guid.h"
#include "perflib/path.h"
#include "perflib/utf16.h"
#include "perflib/v1/counterset.h"

namespace fleetperf::agent {
namespace {

using perflib::ParsedV1Data;
using perflib::V1Names;
using perflib::V1Object;

constexpr char kProcess[] = "Process";
constexpr char kProcessV2[] = "Process V2";

// The objects that are read one by one if the list as a whole fails.
constexpr absl::string_view kWellKnown[] = {
    "Cache",     "LogicalDisk", "Memory",       "Network Interface",
    "Objects",   "Paging File", "PhysicalDisk", kProcess,
    "Processor", "Server",      "System",       "TCPv4",
    "TCPv6",     "UDPv4",       "UDPv6"};

// The objects that are read at once if only a pattern names them.
constexpr size_t kMaxPart = 256;

std::string NameOfUnnamed(uint32_t index) {
  return absl::StrCat("object ", index);
}

// Removes the empty string that ends a REG_MULTI_SZ.
void RemoveListEnd(std::string* bytes) {
  if (absl::EndsWith(*bytes, absl::string_view("\0\0\0\0", 4))) {
    bytes->resize(bytes->size() - 2);
  }
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
    ListParts(data, &found, &problems);
  }
  absl::MutexLock lock(&mutex_);
  if (!names_.status().ok()) {
    problems.push_back(absl::StrCat(
        "PerfLib V1 has corrupt names, which \"lodctr /R\" mends: ",
        names_.status().message()));
  }
  // A counterset that cannot be read now stays: its service may start again,
  // and its queries say why they fail.
  for (const auto& [guid, known] : countersets_) {
    if (HasItsName(*known)) found.try_emplace(guid, known);
  }
  countersets_ = std::move(found);
  problems_ = std::move(problems);
  return absl::OkStatus();
}

absl::Status V1Catalogue::ReadNames(PerformanceData* data) {
  std::string bytes;
  const absl::Status read = ReadNameBytes(data, &bytes);
  if (absl::IsNotFound(read)) {
    return absl::NotFoundError(absl::StrCat(
        "PerfLib V1 has no names (value \"Counter 009\"), which \"lodctr "
        "/R\" mends: ",
        read.message()));
  }
  RETURN_IF_ERROR(read);
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

// The first name of an index counts, so the English table comes first.
absl::Status V1Catalogue::ReadNameBytes(PerformanceData* data,
                                        std::string* bytes) const {
  const absl::Status status = data->Query("Counter 009", bytes);
  if (language_.empty()) return status;
  if (!status.ok()) {
    if (absl::IsAborted(status) || absl::IsUnavailable(status)) return status;
    bytes->clear();
  }
  std::string localized;
  if (!data->Query(absl::StrCat("Counter ", language_), &localized).ok()) {
    return bytes->empty() ? status : absl::OkStatus();
  }
  RemoveListEnd(bytes);
  *bytes += localized;
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

void V1Catalogue::ListParts(PerformanceData* data, Countersets* found,
                            std::vector<std::string>* problems) {
  std::set<uint32_t> named;
  std::vector<uint32_t> matched;
  FindCandidates(&named, &matched);
  for (const uint32_t index : named) ListPart(data, {index}, found, problems);
  absl::Span<const uint32_t> rest = matched;
  while (!rest.empty()) {
    ListPart(data, rest.subspan(0, kMaxPart), found, problems);
    rest.remove_prefix(std::min(kMaxPart, rest.size()));
  }
}

void V1Catalogue::ListPart(PerformanceData* data,
                           absl::Span<const uint32_t> indexes,
                           Countersets* found,
                           std::vector<std::string>* problems) {
  std::string bytes;
  absl::Status status = data->Query(absl::StrJoin(indexes, " "), &bytes);
  if (status.ok()) status = AddObjects(bytes, found);
  if (status.ok()) return;
  if (indexes.size() > 1) {
    const size_t half = indexes.size() / 2;
    ListPart(data, indexes.subspan(0, half), found, problems);
    ListPart(data, indexes.subspan(half), found, problems);
    return;
  }
  absl::MutexLock lock(&mutex_);
  problems->push_back(absl::StrCat("counterset \"", names_.Find(indexes[0]),
                                   "\": ", status.message()));
}

void V1Catalogue::FindCandidates(std::set<uint32_t>* named,
                                 std::vector<uint32_t>* matched) const {
  absl::MutexLock lock(&mutex_);
  std::set<std::string> names;  // in lower case
  std::set<perflib::Guid> guids;
  std::vector<perflib::Pattern> patterns;
  for (const absl::string_view name : kWellKnown) {
    names.insert(absl::AsciiStrToLower(name));
  }
  for (const std::string& text : wanted_) {
    perflib::Pattern pattern(text);
    if (const auto guid = perflib::ParseGuid(text)) {
      guids.insert(*guid);
    } else if (pattern.has_wildcards()) {
      patterns.push_back(std::move(pattern));
    } else {
      names.insert(absl::AsciiStrToLower(pattern.literal()));
    }
  }
  for (const auto& [guid, counterset] : countersets_) {
    named->insert(counterset->shape.object_index);
  }
  for (const auto& [index, text] : names_.all()) {
    if (names.contains(absl::AsciiStrToLower(text)) ||
        guids.contains(perflib::V1CountersetGuid(text))) {
      named->insert(index);
    } else if (std::any_of(patterns.begin(), patterns.end(),
                           [&text = text](const auto& one) {
                             return one.Matches(text);
                           })) {
      matched->push_back(index);
    }
  }
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

// Of objects with the same name, the first counts.
void V1Catalogue::AddObject(const ParsedV1Data& data, const V1Object& object,
                            Countersets* found) const {
  auto registration = perflib::V1Registration(data, object, names_, help_);
  if (absl::IsNotFound(registration.status())) {
    const std::string index =
        absl::StrCat(object.header.object_name_title_index);
    log_.Warn(index,
              absl::StrCat("PerfLib V1: object ", index, " has no name"));
    registration =
        perflib::V1Registration(data, object, NamesWith(object), help_);
  }
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

// An index may be given to another name.
bool V1Catalogue::HasItsName(const V1Counterset& counterset) const {
  const uint32_t index = counterset.shape.object_index;
  const std::string& name = counterset.registration.name;
  if (names_.Find(index).empty()) return name == NameOfUnnamed(index);
  return absl::EqualsIgnoreCase(names_.Find(index),
                                counterset.is_process_v2 ? kProcess : name);
}

perflib::V1Names V1Catalogue::NamesWith(const V1Object& unnamed) const {
  const uint32_t index = unnamed.header.object_name_title_index;
  std::string bytes = name_bytes_;
  RemoveListEnd(&bytes);
  const std::string nul(sizeof(char16_t), '\0');
  absl::StrAppend(&bytes, perflib::Utf16FromUtf8(absl::StrCat(index)), nul,
                  perflib::Utf16FromUtf8(NameOfUnnamed(index)), nul, nul);
  return V1Names::Read(bytes);
}

bool V1Catalogue::Want(const std::vector<std::string>& countersets) {
  absl::MutexLock lock(&mutex_);
  bool is_news = false;
  for (const std::string& text : countersets) {
    is_news |= wanted_.insert(text).second;
  }
  return is_news;
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
