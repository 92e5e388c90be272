#include "agent/source/replay/replay_source.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/source/registration_info.h"
#include "base/os/files.h"
#include "base/os/native_path.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"
#include "perflib/bytes.h"
#include "perflib/clocks.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using perflib::CountersetRegistration;

// Returns the paths in a directory, sorted by name.
absl::StatusOr<std::vector<std::string>> List(const std::string& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entries(NativePath(directory), error);
  std::vector<std::string> paths;
  for (; !error && entries != std::filesystem::directory_iterator();
       entries.increment(error)) {
    paths.push_back(Utf8FromPath(entries->path()));
  }
  if (error) {
    return StatusFromErrorCode(error, absl::StrCat("cannot list ", directory));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<v1::Capture> ReadCapture(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string json, ReadFile(path));
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // written by a later version
  v1::Capture capture;
  const auto status =
      google::protobuf::util::JsonStringToMessage(json, &capture, options);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a capture: ", status.ToString()));
  }
  return capture;
}

absl::StatusOr<std::vector<CountersetRegistration>> RegistrationsOf(
    const v1::Capture& capture) {
  std::vector<CountersetRegistration> registrations;
  for (const v1::CountersetRegistration& proto : capture.countersets()) {
    ASSIGN_OR_RETURN(CountersetRegistration registration, FromProto(proto));
    registrations.push_back(std::move(registration));
  }
  return registrations;
}

std::vector<CounterIdentifier> IdentifiersOf(const v1::Capture& capture) {
  std::vector<CounterIdentifier> identifiers;
  for (const v1::CapturedIdentifier& proto : capture.identifiers()) {
    identifiers.push_back(
        {.counterset = perflib::GuidFromBytes(proto.counterset())
                           .value_or(perflib::Guid()),
         .counter_id = proto.counter_id(),
         .instance = proto.instance(),
         .instance_id = proto.instance_id(),
         .index = proto.index()});
  }
  return identifiers;
}

class ReplayHandle : public QueryHandle {
 public:
  explicit ReplayHandle(const Recording& recording)
      : identifiers_(IdentifiersOf(recording.capture)),
        block_paths_(recording.block_paths) {}

  absl::Status AddCounters(
      std::vector<CounterIdentifier>* identifiers) override {
    for (CounterIdentifier& identifier : *identifiers) {
      identifier.status = WasCaptured(identifier) ? perflib::kErrorSuccess
                                                  : perflib::kErrorPathNotFound;
    }
    return absl::OkStatus();
  }

  absl::Status DeleteCounters(std::vector<CounterIdentifier>*) override {
    return absl::UnimplementedError(
        "cannot delete counters from a capture's queries");
  }

  absl::StatusOr<std::string> QueryCounterInfo() override {
    return perflib::WriteCounterIdentifiers(identifiers_);
  }

  absl::Status QueryCounterData(std::string* block) override {
    if (next_ == block_paths_.size()) {
      return absl::OutOfRangeError("the capture has no more blocks");
    }
    ASSIGN_OR_RETURN(*block, ReadFile(block_paths_[next_++]));
    return absl::OkStatus();
  }

 private:
  bool WasCaptured(const CounterIdentifier& wanted) const {
    return std::any_of(identifiers_.begin(), identifiers_.end(),
                       [&](const CounterIdentifier& captured) {
                         return captured.counterset == wanted.counterset &&
                                captured.counter_id == wanted.counter_id;
                       });
  }

  const std::vector<CounterIdentifier> identifiers_;
  const std::vector<std::string>& block_paths_;
  size_t next_ = 0;
};

class ReplaySource : public Source {
 public:
  explicit ReplaySource(Recording recording)
      : recording_(std::move(recording)) {}

  absl::StatusOr<std::vector<perflib::Guid>> EnumerateCounterSet() override {
    ASSIGN_OR_RETURN(const auto registrations,
                     RegistrationsOf(recording_.capture));
    std::vector<perflib::Guid> guids;
    for (const CountersetRegistration& registration : registrations) {
      guids.push_back(registration.guid);
    }
    return guids;
  }

  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const perflib::Guid& counterset, perflib::RegistrationRequest request,
      uint32_t argument) override {
    ASSIGN_OR_RETURN(const auto registrations,
                     RegistrationsOf(recording_.capture));
    for (const CountersetRegistration& registration : registrations) {
      if (registration.guid == counterset) {
        return RegistrationInfo(registration, perflib::Guid(), request,
                                argument);
      }
    }
    return StatusFromWin32(perflib::kErrorGuidNotFound, counterset.ToString());
  }

  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const perflib::Guid&) override {
    return absl::FailedPreconditionError(
        "cannot list the current instances: this agent plays a capture");
  }

  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    return std::make_unique<ReplayHandle>(recording_);
  }

 private:
  const Recording recording_;
};

}  // namespace

absl::StatusOr<std::vector<Recording>> ReadRecordings(
    const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> entries, List(directory));
  std::vector<Recording> recordings;
  for (const std::string& entry : entries) {
    const std::string capture_path = ResolvePath(entry, kCaptureFile);
    if (!FileExists(capture_path)) continue;
    Recording& recording = recordings.emplace_back();
    ASSIGN_OR_RETURN(recording.capture, ReadCapture(capture_path));
    RETURN_IF_ERROR(RegistrationsOf(recording.capture).status());
    ASSIGN_OR_RETURN(const std::vector<std::string> files, List(entry));
    for (const std::string& file : files) {
      if (absl::EndsWith(file, kBlockEnding)) {
        recording.block_paths.push_back(file);
      }
    }
  }
  if (recordings.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there is no capture in ", directory,
                     "; fleetperf-agent --capture DIR makes one"));
  }
  return recordings;
}

std::unique_ptr<Source> MakeReplaySource(Recording recording) {
  return std::make_unique<ReplaySource>(std::move(recording));
}

absl::Time BlockTime(const std::string& path) {
  std::string header(sizeof(perflib::PerfDataHeader), '\0');
  std::ifstream file(NativePath(path), std::ios::binary);
  if (!file.read(header.data(), static_cast<std::streamsize>(header.size()))) {
    return absl::InfinitePast();
  }
  return perflib::TimeFromPerfTime100NSec(
      perflib::LoadAt<perflib::PerfDataHeader>(header, 0).perf_time_100nsec);
}

}  // namespace fleetperf::agent
