#include "agent/source/linux/gpu/gpu_use.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/source/linux/process/process_list.h"
#include "agent/source/linux/sysfs.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

// Bounds the memory that processes can make the agent use.
constexpr size_t kMaxDescriptors = 4096;

// Returns whether a link of /proc/PID/fd leads to a graphics device.
bool IsDevice(int directory, const char* name) {
  constexpr absl::string_view kDevices = "/dev/dri/";
  char target[kDevices.size()];
  const ssize_t size = readlinkat(directory, name, target, sizeof(target));
  return size == static_cast<ssize_t>(sizeof(target)) &&
         absl::string_view(target, sizeof(target)) == kDevices;
}

void AddBytes(std::optional<uint64_t> bytes, std::optional<uint64_t>* sum) {
  if (bytes.has_value()) *sum = sum->value_or(0) + *bytes;
}

void AddMemory(const DrmClient& client, GpuUse::Memory* memory) {
  AddBytes(client.committed, &memory->committed);
  AddBytes(client.dedicated, &memory->dedicated);
  AddBytes(client.shared, &memory->shared);
}

// As Windows' names, with the adapter in place of its LUID.
std::string ProcessName(uint32_t pid, const std::string& adapter) {
  return absl::StrCat("pid_", pid, "_gpu_", adapter);
}

}  // namespace

void GpuUse::Update(const perflib::Clocks& clocks, CountersetSample* sample) {
  Read(clocks);
  if (left_out_descriptors_ > 0) {
    sample->LeaveOut(
        left_out_descriptors_,
        absl::StrCat("processes have more than ", kMaxDescriptors,
                     " descriptors of graphics devices open; those of the last "
                     "processes do not count"));
  }
  if (left_out_parts_ > 0) {
    sample->LeaveOut(left_out_parts_,
                     "a graphics device has more than 64 kinds of engines or "
                     "regions of memory; the last do not count");
  }
}

void GpuUse::Read(const perflib::Clocks& clocks) {
  if (last_update_ == clocks.perf_time_stamp) return;
  last_update_ = clocks.perf_time_stamp;
  if (find_.IsDue(clocks)) FindDescriptors();
  ++pass_;
  left_out_parts_ = 0;
  processes_.clear();
  adapters_.clear();
  std::erase_if(descriptors_, [this](Descriptor& descriptor) {
    const auto text = descriptor.info.Read(&buffer_);
    // A program can have hundreds, and another can get its number.
    descriptor.info.Close();
    const auto client = text.ok() ? ParseDrmClient(*text) : std::nullopt;
    if (client.has_value()) Add(descriptor.pid, *client);
    return !client.has_value();
  });
  RemoveEnded();
}

bool GpuUse::HasDevices() const {
  const std::vector<std::string> names = ListNames(root_ + "/sys/class/drm");
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return absl::StartsWith(name, "card") || absl::StartsWith(name, "renderD");
  });
}

void GpuUse::FindDescriptors() {
  descriptors_.clear();
  left_out_descriptors_ = 0;
  if (!HasDevices() || !ListProcesses(root_ + "/proc", &pids_).ok()) return;
  for (const uint32_t pid : pids_) FindDescriptorsOf(pid);
}

void GpuUse::FindDescriptorsOf(uint32_t pid) {
  const std::string process = absl::StrCat(root_, "/proc/", pid);
  DIR* const directory = opendir((process + "/fd").c_str());
  if (directory == nullptr) return;
  const absl::Cleanup close = [directory] { closedir(directory); };
  while (const dirent* entry = readdir(directory)) {
    if (!IsDevice(dirfd(directory), entry->d_name)) continue;
    if (descriptors_.size() == kMaxDescriptors) {
      ++left_out_descriptors_;
      continue;
    }
    descriptors_.push_back(
        {.pid = pid,
         .info = ProcFile(absl::StrCat(process, "/fdinfo/", entry->d_name))});
  }
}

void GpuUse::Add(uint32_t pid, const DrmClient& client) {
  Client& known = clients_[{client.adapter, client.id}];
  if (known.last_pass == pass_) return;  // another descriptor of the client
  known.last_pass = pass_;
  left_out_parts_ += client.left_out;
  for (const DrmClient::Engine& engine : client.engines) {
    if (engine.busy.has_value()) AddEngine(pid, client.adapter, engine, &known);
  }
  Memory& process = processes_[{pid, client.adapter}];
  Memory& adapter = adapters_[client.adapter];
  if (process.utf16_name.empty()) {
    process.utf16_name =
        perflib::Utf16FromUtf8(ProcessName(pid, client.adapter));
  }
  if (adapter.utf16_name.empty()) {
    adapter.utf16_name =
        perflib::Utf16FromUtf8(absl::StrCat("gpu_", client.adapter));
  }
  AddMemory(client, &process);
  AddMemory(client, &adapter);
}

void GpuUse::AddEngine(uint32_t pid, const std::string& adapter,
                       const DrmClient::Engine& engine, Client* known) {
  Engine& use = engines_[{pid, adapter, engine.name}];
  if (use.last_pass == 0) {
    use.utf16_name = perflib::Utf16FromUtf8(
        absl::StrCat(ProcessName(pid, adapter), "_engtype_", engine.name));
    use.first_pass = pass_;
  }
  use.last_pass = pass_;
  use.capacity = engine.capacity;
  const bool is_new = use.first_pass == pass_;
  uint64_t& last =
      known->busy.try_emplace(engine.name, is_new ? 0 : *engine.busy)
          .first->second;
  // Drivers may report less for a while, and catch up.
  if (*engine.busy <= last) return;
  use.busy += *engine.busy - last;
  last = *engine.busy;
}

void GpuUse::RemoveEnded() {
  const auto has_ended = [this](const auto& entry) {
    return entry.second.last_pass != pass_;
  };
  std::erase_if(clients_, has_ended);
  std::erase_if(engines_, has_ended);
}

}  // namespace fleetperf::agent
