#include "agent/collect/capture.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/source/replay/replay_source.h"
#include "base/files.h"
#include "base/os_error.h"
#include "base/status_macros.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

v1::CapturedQuery ToProto(const ResolvedQuery& query) {
  v1::CapturedQuery proto;
  proto.set_counterset(query.registration.guid.Bytes());
  for (const ResolvedQuery::Counter& counter : query.counters) {
    proto.add_counter_ids(counter.id);
    if (counter.only_linked) proto.add_only_linked(counter.id);
  }
  if (query.start_counter_id.has_value()) {
    proto.set_start_counter_id(*query.start_counter_id);
  }
  for (const perflib::Pattern& pattern : query.instances) {
    proto.add_instances(pattern.text());
  }
  proto.set_wrap32(query.wrap32);
  return proto;
}

v1::CapturedIdentifier ToProto(const perflib::CounterIdentifier& identifier) {
  v1::CapturedIdentifier proto;
  proto.set_counterset(identifier.counterset.Bytes());
  proto.set_counter_id(identifier.counter_id);
  proto.set_instance(identifier.instance);
  proto.set_instance_id(identifier.instance_id);
  proto.set_index(identifier.index);
  return proto;
}

std::string ToJson(const v1::Capture& capture) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // Fails only where text is no UTF-8, which the readers of blocks replace.
  (void)google::protobuf::util::MessageToJsonString(capture, &json, options);
  return json;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Capture>> Capture::Open(Options options) {
  RETURN_IF_ERROR(MakeDirectories(options.directory));
  std::unique_ptr<Capture> capture(new Capture(std::move(options)));
  RETURN_IF_ERROR(capture->FindFiles());
  return capture;
}

absl::Status Capture::FindFiles() {
  const auto recordings = ReadRecordings(options_.directory);
  if (absl::IsNotFound(recordings.status())) return absl::OkStatus();
  RETURN_IF_ERROR(recordings.status());
  for (const Recording& recording : *recordings) {
    for (const std::string& path : recording.block_paths) {
      std::error_code error;
      const uint64_t size = std::filesystem::file_size(path, error);
      if (error) continue;
      files_.push_back({path, size});
      bytes_ += size;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> Capture::Begin(
    const std::vector<const ResolvedQuery*>& queries,
    const std::vector<perflib::CounterIdentifier>& identifiers) {
  v1::Capture capture;
  capture.set_machine(options_.machine);
  capture.set_operating_system(options_.operating_system);
  for (const ResolvedQuery* query : queries) {
    *capture.mutable_interval() = fleetperf::ToProto(query->interval);
    *capture.add_queries() = ToProto(*query);
    *capture.add_countersets() = fleetperf::ToProto(query->registration);
  }
  for (const perflib::CounterIdentifier& identifier : identifiers) {
    *capture.add_identifiers() = ToProto(identifier);
  }
  const std::string name = absl::StrFormat(
      "%s-%d",
      absl::FormatTime("%Y%m%dT%H%M%E3SZ", options_.clock->Now(),
                       absl::UTCTimeZone()),
      handles_.size() + 1);
  const std::string directory = ResolvePath(options_.directory, name);
  RETURN_IF_ERROR(MakeDirectories(directory));
  RETURN_IF_ERROR(
      WriteFile(ResolvePath(directory, kCaptureFile), ToJson(capture)));
  handles_.push_back({.directory = directory});
  return handles_.size() - 1;
}

void Capture::Add(size_t number, absl::string_view block) {
  Handle& handle = handles_[number];
  const std::string path =
      ResolvePath(handle.directory,
                  absl::StrFormat("%09d%s", ++handle.blocks, kBlockEnding));
  const absl::Status status = Write(path, block);
  if (!status.ok()) {
    log_.Warn("write",
              absl::StrCat("the capture lacks a block: ", status.message()));
    return;
  }
  files_.push_back({path, block.size()});
  bytes_ += block.size();
  RemoveOldest();
}

// Not synced: a block that a crash cuts short is rejected by who reads it.
absl::Status Capture::Write(const std::string& path, absl::string_view block) {
  std::ofstream file(path, std::ios::binary);
  file.write(block.data(), static_cast<std::streamsize>(block.size()));
  file.close();
  if (file) return absl::OkStatus();
  const int error = errno;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return StatusFromErrno(error, absl::StrCat("cannot write ", path));
}

void Capture::RemoveOldest() {
  while (bytes_ > options_.max_bytes && files_.size() > 1) {
    const std::filesystem::path path = files_.front().path;
    bytes_ -= files_.front().bytes;
    files_.pop_front();
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    // With its last block goes the rest of a directory of a former run.
    const std::filesystem::path directory = path.parent_path();
    const bool has_more =
        !files_.empty() &&
        std::filesystem::path(files_.front().path).parent_path() == directory;
    const bool is_current =
        std::any_of(handles_.begin(), handles_.end(), [&](const Handle& h) {
          return std::filesystem::path(h.directory) == directory;
        });
    if (!has_more && !is_current) {
      std::filesystem::remove(directory / kCaptureFile, ignored);
      std::filesystem::remove(directory, ignored);  // unless more is in it
    }
  }
}

}  // namespace fleetperf::agent
