#include "driver/perf_event/simulation/simulated_system.h"

#include <linux/perf_event.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace fleetperf::perf_event {
namespace {

constexpr char kDevices[] = "/sys/bus/event_source/devices";
constexpr int kShift = 32;  // of the page's clock

// Hardware counters start this far below 0, as those of real PMUs do so that
// they overflow.
constexpr uint64_t kStartBelowZero = uint64_t{1} << 31;

EventKey KeyOf(const Event& event) {
  return {event.type, event.config, event.config1, event.config2,
          event.config3};
}

// Whether a byte behind `size` is not 0.
bool HasMoreThan(const Attributes& attributes, uint32_t size) {
  const char* const bytes = reinterpret_cast<const char*>(&attributes);
  return std::any_of(bytes + size, bytes + sizeof(attributes),
                     [](char byte) { return byte != 0; });
}

}  // namespace

SimulatedSystem::SimulatedSystem(SimulatedMachine machine)
    : machine_(std::move(machine)),
      last_(absl::UnixEpoch()),
      is_online_(machine_.cpus, true),
      counters_of_cpu0_(machine_.hardware_counters),
      torn_reads_left_(machine_.torn_reads) {
  SetFile("/proc/sys/kernel/osrelease", machine_.release + "\n");
  SetFile("/proc/sys/kernel/perf_event_paranoid",
          absl::StrCat(machine_.paranoid, "\n"));
  SetFile(
      "/sys/devices/system/cpu/online",
      machine_.cpus == 1 ? "0\n" : absl::StrCat("0-", machine_.cpus - 1, "\n"));
  AddPmu("software", type::kSoftware, {});
  if (machine_.hardware_counters > 0) {
    AddPmu("cpu", type::kRaw,
           {{"event", "config:0-7"},
            {"umask", "config:8-15"},
            {"edge", "config:18"},
            {"inv", "config:23"},
            {"cmask", "config:24-31"}});
  }
}

SimulatedSystem::~SimulatedSystem() {
  for (const auto& [page, event] : pages_) std::free(page);
}

void SimulatedSystem::SetRate(const Event& event, uint64_t per_second) {
  for (int cpu = 0; cpu < machine_.cpus; ++cpu) SetRate(event, cpu, per_second);
}

void SimulatedSystem::SetRate(const Event& event, int cpu,
                              uint64_t per_second) {
  const absl::MutexLock lock(&mutex_);
  CatchUp();
  rates_[{KeyOf(event), cpu}] = per_second;
}

void SimulatedSystem::Advance(absl::Duration duration) {
  const absl::MutexLock lock(&mutex_);
  AdvanceLocked(duration);
}

void SimulatedSystem::FollowClock(std::function<absl::Time()> now) {
  const absl::MutexLock lock(&mutex_);
  clock_ = std::move(now);
  last_ = clock_();
}

void SimulatedSystem::Count(const Event& event, int cpu, uint64_t count) {
  const absl::MutexLock lock(&mutex_);
  CatchUp();
  for (const auto& [descriptor, open] : events_) {
    if (open->key == KeyOf(event) && open->cpu == cpu && open->is_enabled &&
        open->leader->is_enabled && !open->is_detached) {
      open->count += count;
    }
  }
}

void SimulatedSystem::Fail(SimulatedCall call, int error, int times) {
  const absl::MutexLock lock(&mutex_);
  failures_[call] = {.error = error, .times = times};
}

void SimulatedSystem::SetOnline(int cpu, bool is_online) {
  const absl::MutexLock lock(&mutex_);
  CatchUp();
  is_online_[cpu] = is_online;
  for (const auto& [descriptor, event] : events_) {
    if (event->cpu == cpu && !is_online) event->is_detached = true;
  }
  std::string text;
  for (int i = 0; i < machine_.cpus; ++i) {
    if (is_online_[i]) absl::StrAppend(&text, text.empty() ? "" : ",", i);
  }
  files_["/sys/devices/system/cpu/online"] = text + "\n";
}

void SimulatedSystem::SetFile(const std::string& path, std::string text) {
  const absl::MutexLock lock(&mutex_);
  files_[path] = std::move(text);
}

void SimulatedSystem::RemoveFile(const std::string& path) {
  const absl::MutexLock lock(&mutex_);
  files_.erase(path);
}

void SimulatedSystem::AddPmu(absl::string_view name, uint32_t event_type,
                             const std::map<std::string, std::string>& formats,
                             absl::string_view cpumask) {
  const std::string directory = absl::StrCat(kDevices, "/", name);
  SetFile(directory + "/type", absl::StrCat(event_type, "\n"));
  for (const auto& [field, bits] : formats) {
    SetFile(absl::StrCat(directory, "/format/", field), bits + "\n");
  }
  if (!cpumask.empty()) {
    SetFile(directory + "/cpumask", absl::StrCat(cpumask, "\n"));
  }
}

int SimulatedSystem::open_descriptors() const {
  const absl::MutexLock lock(&mutex_);
  return static_cast<int>(events_.size());
}

// Time.

void SimulatedSystem::CatchUp() {
  if (!clock_) return;
  const absl::Time now = clock_();
  if (now > last_) AdvanceLocked(now - last_);
  last_ = now;
}

void SimulatedSystem::AdvanceLocked(absl::Duration duration) {
  elapsed_ += duration;
  while (duration > absl::ZeroDuration()) {
    const absl::Duration turn = std::min(duration, machine_.turn);
    RunTurn(static_cast<uint64_t>(absl::ToInt64Nanoseconds(turn)));
    duration -= turn;
  }
  WritePages();
}

uint64_t SimulatedSystem::RateOf(const SimulatedEvent& event) const {
  const auto rate = rates_.find({event.key, event.cpu});
  return rate == rates_.end() ? 0 : rate->second;
}

// Groups with pinned leaders come first; the others take turns. A group runs if
// all its events fit.
void SimulatedSystem::RunTurn(uint64_t nanoseconds) {
  std::vector<std::vector<SimulatedEvent*>> groups;
  for (const auto& [descriptor, event] : events_) {
    if (event->leader == event.get() && event->is_enabled &&
        !event->is_detached) {
      groups.push_back(GroupOf(event.get()));
    }
  }
  if (!groups.empty()) {
    std::rotate(groups.begin(), groups.begin() + turns_ % groups.size(),
                groups.end());
  }
  ++turns_;
  std::stable_partition(groups.begin(), groups.end(), [](const auto& group) {
    return (group.front()->attributes.flags & flag::kPinned) != 0;
  });

  std::vector<int> used(machine_.cpus, 0);
  for (const auto& [descriptor, event] : events_) event->is_running = false;
  for (const std::vector<SimulatedEvent*>& group : groups) {
    const int cpu = group.front()->cpu;
    const auto needed = std::count_if(
        group.begin(), group.end(), [](const SimulatedEvent* event) {
          return event->is_enabled && NeedsHardware(event->key);
        });
    const bool fits = used[cpu] + needed <= machine_.hardware_counters;
    for (SimulatedEvent* event : group) {
      if (!event->is_enabled) continue;
      event->time_enabled += nanoseconds;
      if (!fits) continue;
      event->is_running = true;
      event->hardware_counter = NeedsHardware(event->key) ? used[cpu]++ : -1;
      event->Run(nanoseconds, RateOf(*event));
    }
  }
}

// The page's times are those of this moment, and its clock starts here.
void SimulatedSystem::WritePages() {
  const uint64_t mask = machine_.counter_width == 64
                            ? ~uint64_t{0}
                            : (uint64_t{1} << machine_.counter_width) - 1;
  for (const auto& [address, event] : pages_) {
    MmapPage& page = *event->page;
    page.lock += 2;
    page.size = offsetof(MmapPage, reserved);
    page.capabilities = capability::kBit0IsDeprecated |
                        (machine_.user_rdpmc ? capability::kUserRdpmc : 0) |
                        (machine_.user_time ? capability::kUserTime : 0);
    page.pmc_width = static_cast<uint16_t>(machine_.counter_width);
    page.time_enabled = event->time_enabled;
    page.time_running = event->time_running;
    page.time_shift = kShift;
    page.time_mult = static_cast<uint32_t>((uint64_t{1'000'000'000} << kShift) /
                                           machine_.timestamp_hertz);
    page.time_offset =
        -static_cast<uint64_t>(absl::ToInt64Nanoseconds(elapsed_));
    const bool is_on_counter =
        event->is_running && event->hardware_counter >= 0;
    page.index = is_on_counter ? event->hardware_counter + 1 : 0;
    page.offset = 0;
    if (is_on_counter) {
      // A third of the count is in the offset, the rest in the counter.
      const uint64_t in_counter = event->count - event->count / 3;
      page.offset = static_cast<int64_t>(event->count / 3 + kStartBelowZero);
      counters_of_cpu0_[event->hardware_counter] =
          (in_counter - kStartBelowZero) & mask;
    }
  }
}

// System.

int SimulatedSystem::TakeFailure(SimulatedCall call) {
  Failure& failure = failures_[call];
  if (failure.times == 0) return 0;
  --failure.times;
  return -failure.error;
}

SimulatedEvent* SimulatedSystem::Find(int descriptor) {
  const auto found = events_.find(descriptor);
  return found == events_.end() ? nullptr : found->second.get();
}

std::vector<SimulatedEvent*> SimulatedSystem::GroupOf(SimulatedEvent* leader) {
  std::vector<SimulatedEvent*> group = {leader};
  for (const auto& [descriptor, event] : events_) {
    if (event->leader == leader && event.get() != leader) {
      group.push_back(event.get());
    }
  }
  return group;
}

int SimulatedSystem::CheckOpen(Attributes* attributes, int pid, int cpu,
                               int group) const {
  if (HasMoreThan(*attributes, machine_.known_attributes)) {
    attributes->size = machine_.known_attributes;
    return -E2BIG;
  }
  if (cpu < -1 || cpu >= machine_.cpus || (cpu == -1 && pid == -1)) {
    return -EINVAL;
  }
  if (cpu >= 0 && !is_online_[cpu]) return -ENODEV;
  const bool counts_kernel = (attributes->flags & flag::kExcludeKernel) == 0;
  if (!machine_.is_privileged && ((counts_kernel && machine_.paranoid > 1) ||
                                  (pid == -1 && machine_.paranoid > 0))) {
    return -EACCES;
  }
  const EventKey key = perf_event::KeyOf(*attributes);
  if (key.type != type::kSoftware &&
      !rates_.contains({key, std::max(cpu, 0)})) {
    return -ENOENT;
  }
  if (NeedsHardware(key) && machine_.hardware_counters == 0) return -ENOENT;
  if (group >= 0 && !events_.contains(group)) return -EBADF;
  if (static_cast<int>(events_.size()) >= machine_.max_descriptors) {
    return -EMFILE;
  }
  return 0;
}

int SimulatedSystem::Open(Attributes* attributes, int pid, int cpu, int group,
                          unsigned long) {
  const absl::MutexLock lock(&mutex_);
  CatchUp();
  if (const int failure = TakeFailure(SimulatedCall::kOpen)) return failure;
  if (const int error = CheckOpen(attributes, pid, cpu, group)) return error;
  SimulatedEvent* const leader = group < 0 ? nullptr : Find(group)->leader;
  if (leader != nullptr && leader->cpu != std::max(cpu, 0)) return -EINVAL;
  auto event = std::make_unique<SimulatedEvent>(
      SimulatedEvent{.attributes = *attributes,
                     .key = perf_event::KeyOf(*attributes),
                     .cpu = std::max(cpu, 0),
                     .id = next_id_++,
                     .leader = leader,
                     .is_enabled = (attributes->flags & flag::kDisabled) == 0});
  if (leader == nullptr) event->leader = event.get();
  const int descriptor = next_descriptor_++;
  events_.emplace(descriptor, std::move(event));
  return descriptor;
}

// Members of a closed group lead themselves.
int SimulatedSystem::Close(int descriptor) {
  const absl::MutexLock lock(&mutex_);
  CatchUp();
  SimulatedEvent* const closed = Find(descriptor);
  if (closed == nullptr) return -EBADF;
  for (const auto& [other, event] : events_) {
    if (event->leader == closed) event->leader = event.get();
  }
  for (auto page = pages_.begin(); page != pages_.end();) {
    if (page->second == closed) {
      std::free(page->first);
      page = pages_.erase(page);
    } else {
      ++page;
    }
  }
  events_.erase(descriptor);
  return 0;
}

int SimulatedSystem::Ioctl(int descriptor, unsigned long request,
                           unsigned long argument) {
  const absl::MutexLock lock(&mutex_);
  CatchUp();
  if (const int failure = TakeFailure(SimulatedCall::kIoctl)) return failure;
  SimulatedEvent* const event = Find(descriptor);
  if (event == nullptr) return -EBADF;
  if (request == PERF_EVENT_IOC_ID) {
    *reinterpret_cast<uint64_t*>(argument) = event->id;
    return 0;
  }
  std::vector<SimulatedEvent*> targets = {event};
  if (argument == PERF_IOC_FLAG_GROUP) targets = GroupOf(event->leader);
  for (SimulatedEvent* target : targets) {
    switch (request) {
      case PERF_EVENT_IOC_ENABLE:
        target->is_enabled = true;
        break;
      case PERF_EVENT_IOC_DISABLE:
        target->is_enabled = false;
        break;
      case PERF_EVENT_IOC_RESET:
        target->count = 0;
        break;
      default:
        return -ENOTTY;
    }
  }
  return 0;
}

int64_t SimulatedSystem::Read(int descriptor, void* buffer, size_t size) {
  const absl::MutexLock lock(&mutex_);
  CatchUp();
  if (const int failure = TakeFailure(SimulatedCall::kRead)) return failure;
  SimulatedEvent* const event = Find(descriptor);
  if (event == nullptr) return -EBADF;
  std::vector<uint64_t> words;
  if ((event->attributes.read_format & read_format::kGroup) == 0) {
    event->AppendTo(&words);
  } else {
    const std::vector<SimulatedEvent*> group = GroupOf(event->leader);
    words = {group.size()};
    const uint64_t format = event->attributes.read_format;
    if ((format & read_format::kTotalTimeEnabled) != 0) {
      words.push_back(event->leader->time_enabled);
    }
    if ((format & read_format::kTotalTimeRunning) != 0) {
      words.push_back(event->leader->time_running);
    }
    for (const SimulatedEvent* member : group) member->AppendTo(&words);
  }
  const size_t bytes = words.size() * sizeof(uint64_t);
  if (bytes > size) return -ENOSPC;
  std::memcpy(buffer, words.data(), bytes);
  return static_cast<int64_t>(bytes);
}

int SimulatedSystem::Map(int descriptor, size_t size, uint64_t offset, bool,
                         void** address) {
  const absl::MutexLock lock(&mutex_);
  CatchUp();
  if (const int failure = TakeFailure(SimulatedCall::kMap)) return failure;
  SimulatedEvent* const event = Find(descriptor);
  if (event == nullptr) return -EBADF;
  // Only the page of positions and counts: the simulation writes no records.
  if (size != page_size() || offset != 0 || event->page != nullptr) {
    return -EINVAL;
  }
  *address = std::aligned_alloc(page_size(), size);
  std::memset(*address, 0, size);
  event->page = static_cast<MmapPage*>(*address);
  pages_[*address] = event;
  WritePages();
  return 0;
}

void SimulatedSystem::Unmap(void* address, size_t) {
  const absl::MutexLock lock(&mutex_);
  const auto page = pages_.find(address);
  if (page == pages_.end()) return;
  page->second->page = nullptr;
  pages_.erase(page);
  std::free(address);
}

int SimulatedSystem::Poll(int, short, int, short* occurred) {
  const absl::MutexLock lock(&mutex_);
  *occurred = 0;
  return TakeFailure(SimulatedCall::kPoll);
}

uint64_t SimulatedSystem::ReadPmc(uint32_t index) {
  const absl::MutexLock lock(&mutex_);
  if (torn_reads_left_ > 0) {
    --torn_reads_left_;
    WritePages();
  }
  return counters_of_cpu0_.at(index);
}

uint64_t SimulatedSystem::ReadTimestampCounter() {
  const absl::MutexLock lock(&mutex_);
  CatchUp();
  return static_cast<uint64_t>(
      static_cast<unsigned __int128>(absl::ToInt64Nanoseconds(elapsed_)) *
      machine_.timestamp_hertz / 1'000'000'000);
}

absl::StatusOr<std::string> SimulatedSystem::ReadFile(const std::string& path) {
  const absl::MutexLock lock(&mutex_);
  const auto file = files_.find(path);
  if (file == files_.end()) return absl::ErrnoToStatus(ENOENT, path);
  return file->second;
}

absl::StatusOr<std::vector<std::string>> SimulatedSystem::ListDirectory(
    const std::string& path) {
  const absl::MutexLock lock(&mutex_);
  const std::string prefix = path + "/";
  std::set<std::string> names;
  for (auto file = files_.lower_bound(prefix);
       file != files_.end() && absl::StartsWith(file->first, prefix); ++file) {
    const absl::string_view rest =
        absl::string_view(file->first).substr(prefix.size());
    names.emplace(rest.substr(0, rest.find('/')));
  }
  if (names.empty()) return absl::ErrnoToStatus(ENOENT, path);
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace fleetperf::perf_event
