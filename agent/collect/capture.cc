#include "agent/collect/capture.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "agent/source/replay/replay_source.h"
#include "base/os/files.h"
#include "base/os/native_path.h"
#include "base/os/os_error.h"
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
  for (const InstanceFilter& filter : query.filters) {
    v1::CapturedFilter& added = *proto.add_filters();
    for (const perflib::Pattern& pattern : filter.instances) {
      added.add_instances(pattern.text());
    }
    for (const perflib::Pattern& pattern : filter.except) {
      added.add_except(pattern.text());
    }
  }
  for (const perflib::Pattern& pattern : query.selection.include()) {
    proto.add_include(pattern.text());
  }
  for (const perflib::Pattern& pattern : query.selection.exclude()) {
    proto.add_exclude(pattern.text());
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
  // Fails only on invalid UTF-8, which the block parser replaces.
  (void)google::protobuf::util::MessageToJsonString(capture, &json, options);
  return json;
}

constexpr char kTimeFormat[] = "%E4Y%m%dT%H%M%E3SZ";

// Returns whether `name` has the form "TIME-NUMBER".
bool IsHandleName(absl::string_view name) {
  const size_t dash = name.rfind('-');
  absl::Time time;
  uint64_t number;
  return dash != absl::string_view::npos &&
         absl::ParseTime(kTimeFormat, name.substr(0, dash), &time, nullptr) &&
         absl::SimpleAtoi(name.substr(dash + 1), &number);
}

// Parses "000000001.block". Returns false for other names.
bool BlockNumber(absl::string_view name, uint64_t* number) {
  return absl::ConsumeSuffix(&name, kBlockEnding) &&
         absl::SimpleAtoi(name, number);
}

std::string BlockPath(const std::string& directory, uint64_t number) {
  return ResolvePath(directory,
                     absl::StrFormat("%09d%s", number, kBlockEnding));
}

uint64_t DiskBytes(uint64_t bytes) {
  constexpr uint64_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Capture>> Capture::Open(Options options) {
  RETURN_IF_ERROR(MakeDirectories(options.directory));
  std::unique_ptr<Capture> capture(new Capture(std::move(options)));
  RETURN_IF_ERROR(capture->FindFormerRuns());
  return capture;
}

// Skips foreign files: the directory may have had other contents before.
absl::Status Capture::FindFormerRuns() {
  struct Found {
    std::filesystem::file_time_type time;
    Block block;
  };
  std::vector<Found> found;
  std::error_code error, ignored;
  for (const auto& entry : std::filesystem::directory_iterator(
           NativePath(options_.directory), error)) {
    if (!entry.is_directory(ignored) ||
        !IsHandleName(Utf8FromPath(entry.path().filename()))) {
      continue;
    }
    const size_t number = next_handle_++;
    Handle& handle = handles_[number];
    handle.directory = Utf8FromPath(entry.path());
    for (const auto& file :
         std::filesystem::directory_iterator(entry.path(), ignored)) {
      if (!file.is_regular_file(ignored)) continue;
      const std::string name = Utf8FromPath(file.path().filename());
      const uint64_t bytes = DiskBytes(file.file_size(ignored));
      uint64_t block;
      if (BlockNumber(name, &block)) {
        ++handle.kept_blocks;
        found.push_back(
            {file.last_write_time(ignored),
             {.handle = number, .number = block, .disk_bytes = bytes}});
        disk_bytes_ += bytes;
      } else if (name == kCaptureFile) {
        handle.disk_bytes = bytes;
        disk_bytes_ += bytes;
      }
    }
    RemoveIfDone(number);
  }
  if (error) {
    return StatusFromErrorCode(
        error, absl::StrCat("cannot list ", options_.directory));
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.time, a.block.number) < std::tie(b.time, b.block.number);
  });
  for (const Found& one : found) blocks_.push_back(one.block);
  RemoveOldest();
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
  const std::string json = ToJson(capture);
  const std::string directory = ResolvePath(
      options_.directory,
      absl::StrCat(absl::FormatTime(kTimeFormat, options_.clock->Now(),
                                    absl::UTCTimeZone()),
                   "-", ++opened_));
  RETURN_IF_ERROR(MakeDirectories(directory));
  RETURN_IF_ERROR(WriteFile(ResolvePath(directory, kCaptureFile), json));
  const size_t number = next_handle_++;
  handles_[number] = {.directory = directory,
                      .disk_bytes = DiskBytes(json.size()),
                      .is_open = true};
  disk_bytes_ += DiskBytes(json.size());
  return number;
}

void Capture::Add(size_t number, absl::string_view block) {
  Handle& handle = handles_[number];
  const uint64_t block_number = ++handle.last_block;
  const absl::Status status =
      Write(BlockPath(handle.directory, block_number), block);
  if (!status.ok()) {
    log_.Warn("write",
              absl::StrCat("cannot capture a block: ", status.message()));
    return;
  }
  ++handle.kept_blocks;
  blocks_.push_back({.handle = number,
                     .number = block_number,
                     .disk_bytes = DiskBytes(block.size())});
  disk_bytes_ += blocks_.back().disk_bytes;
  RemoveOldest();
}

void Capture::End(size_t number) {
  handles_[number].is_open = false;
  RemoveIfDone(number);
}

// The file is not synced. If a crash truncates the block, its readers reject
// it.
absl::Status Capture::Write(const std::string& path, absl::string_view block) {
  std::ofstream file(NativePath(path), std::ios::binary);
  file.write(block.data(), static_cast<std::streamsize>(block.size()));
  file.close();
  if (file) return absl::OkStatus();
  const int error = errno;
  std::error_code ignored;
  std::filesystem::remove(NativePath(path), ignored);
  return StatusFromErrno(error, absl::StrCat("cannot write ", path));
}

// Always keeps the newest block.
void Capture::RemoveOldest() {
  while (disk_bytes_ > options_.max_bytes && blocks_.size() > 1) {
    const Block block = blocks_.front();
    blocks_.pop_front();
    Handle& handle = handles_[block.handle];
    std::error_code ignored;
    std::filesystem::remove(
        NativePath(BlockPath(handle.directory, block.number)), ignored);
    disk_bytes_ -= block.disk_bytes;
    --handle.kept_blocks;
    RemoveIfDone(block.handle);
  }
}

// Removes the directory of a closed handle without blocks.
void Capture::RemoveIfDone(size_t number) {
  const Handle& handle = handles_[number];
  if (handle.is_open || handle.kept_blocks > 0) return;
  const std::filesystem::path directory = NativePath(handle.directory);
  std::error_code ignored;
  std::filesystem::remove(directory / kCaptureFile, ignored);
  std::filesystem::remove(directory,
                          ignored);  // fails if other files are in it
  disk_bytes_ -= handle.disk_bytes;
  handles_.erase(number);
}

}  // namespace fleetperf::agent
