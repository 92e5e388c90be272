#include "driver/perf_event/counter.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "driver/perf_event/builder.h"

namespace fleetperf::perf_event {
namespace {

constexpr size_t kMaxWords = 5;  // value, two times, id, lost

// The value of one event; see GroupValues::Parse for the order of a group.
bool ParseValue(const uint64_t* words, size_t size, uint64_t format,
                CounterValue* value) {
  const size_t needed = 1u + ((format & read_format::kTotalTimeEnabled) != 0) +
                        ((format & read_format::kTotalTimeRunning) != 0) +
                        ((format & read_format::kId) != 0) +
                        ((format & read_format::kLost) != 0);
  if (size < needed) return false;
  value->value = *words++;
  if ((format & read_format::kTotalTimeEnabled) != 0) {
    value->time_enabled = *words++;
  }
  if ((format & read_format::kTotalTimeRunning) != 0) {
    value->time_running = *words++;
  }
  if ((format & read_format::kId) != 0) value->id = *words++;
  if ((format & read_format::kLost) != 0) value->lost = *words++;
  return true;
}

absl::Status Truncated(absl::string_view name) {
  return absl::DataLossError(
      absl::StrCat(name, ": the kernel returned fewer values than asked for"));
}

}  // namespace

absl::Status Counter::Ioctl(unsigned long request, unsigned long argument,
                            absl::string_view what) const {
  const int result = system().Ioctl(descriptor(), request, argument);
  if (result >= 0) return absl::OkStatus();
  return absl::ErrnoToStatus(-result, absl::StrCat(name_, ": ", what));
}

absl::Status Counter::Enable() {
  return Ioctl(PERF_EVENT_IOC_ENABLE, 0, "cannot enable");
}
absl::Status Counter::Disable() {
  return Ioctl(PERF_EVENT_IOC_DISABLE, 0, "cannot disable");
}
absl::Status Counter::Reset() {
  return Ioctl(PERF_EVENT_IOC_RESET, 0, "cannot reset");
}
absl::Status Counter::EnableGroup() {
  return Ioctl(PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP,
               "cannot enable the group");
}
absl::Status Counter::DisableGroup() {
  return Ioctl(PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP,
               "cannot disable the group");
}
absl::Status Counter::ResetGroup() {
  return Ioctl(PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP,
               "cannot reset the group");
}

absl::StatusOr<size_t> Counter::ReadWords(uint64_t* words, size_t size) const {
  const int64_t bytes =
      system().Read(descriptor(), words, size * sizeof(uint64_t));
  if (bytes < 0) {
    return absl::ErrnoToStatus(static_cast<int>(-bytes),
                               absl::StrCat(name_, ": cannot read"));
  }
  if (bytes == 0) {
    return absl::UnavailableError(
        absl::StrCat(name_,
                     ": the PMU has no counter left for this pinned event, so "
                     "it is in error; open fewer events, or do not pin it"));
  }
  return static_cast<size_t>(bytes) / sizeof(uint64_t);
}

absl::Status Counter::ReadGroupWords(std::vector<uint64_t>* words) const {
  constexpr size_t kFirst = 32;
  constexpr size_t kLimit = 1 << 20;
  if (words->size() < kFirst) words->resize(kFirst);
  // The group grows if an event joins it elsewhere. A buffer that is too small
  // is ENOSPC.
  while (true) {
    const int64_t bytes = system().Read(descriptor(), words->data(),
                                        words->size() * sizeof(uint64_t));
    if (bytes != -ENOSPC || words->size() > kLimit) {
      if (bytes > 0) return absl::OkStatus();
      return ReadWords(words->data(), words->size()).status();
    }
    words->resize(words->size() * 2);
  }
}

absl::Status Counter::ReadGroup(GroupValues* values) const {
  if ((attributes_.read_format & read_format::kGroup) == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        name_, ": the read format lacks kGroup; add it with ReadFormat()"));
  }
  RETURN_IF_ERROR(ReadGroupWords(&values->words_));
  if (!values->Parse(values->words_, attributes_.read_format)) {
    return Truncated(name_);
  }
  return absl::OkStatus();
}

absl::StatusOr<CounterValue> Counter::ReadFull() const {
  CounterValue value;
  if ((attributes_.read_format & read_format::kGroup) != 0) {
    GroupValues group;
    RETURN_IF_ERROR(ReadGroup(&group));
    const GroupEntry* const entry = group.Find(id_);
    if (entry == nullptr) return Truncated(name_);
    return CounterValue{.value = entry->value,
                        .time_enabled = group.time_enabled(),
                        .time_running = group.time_running(),
                        .id = entry->id,
                        .lost = entry->lost};
  }
  uint64_t words[kMaxWords];
  ASSIGN_OR_RETURN(const size_t size, ReadWords(words, kMaxWords));
  if (!ParseValue(words, size, attributes_.read_format, &value)) {
    return Truncated(name_);
  }
  return value;
}

absl::StatusOr<uint64_t> Counter::Read() const {
  if ((attributes_.read_format & read_format::kGroup) != 0) {
    ASSIGN_OR_RETURN(const CounterValue value, ReadFull());
    return value.value;
  }
  uint64_t words[kMaxWords];
  ASSIGN_OR_RETURN(const size_t size, ReadWords(words, kMaxWords));
  if (size == 0) return Truncated(name_);
  return words[0];
}

absl::StatusOr<std::optional<uint64_t>> Counter::ReadScaled() const {
  ASSIGN_OR_RETURN(const CounterValue value, ReadFull());
  if (!value.time_enabled || !value.time_running) {
    return absl::FailedPreconditionError(
        absl::StrCat(name_,
                     ": the read format lacks kTotalTimeEnabled or "
                     "kTotalTimeRunning; add both with ReadFormat()"));
  }
  return Scaled(value.value, *value.time_enabled, *value.time_running);
}

absl::Status Counter::SetPeriod(uint64_t period) {
  return Ioctl(PERF_EVENT_IOC_PERIOD, reinterpret_cast<unsigned long>(&period),
               "cannot set the period");
}

absl::Status Counter::Refresh(int overflows) {
  return Ioctl(PERF_EVENT_IOC_REFRESH, static_cast<unsigned long>(overflows),
               "cannot refresh");
}

absl::Status Counter::SetOutput(const Counter* other) {
  // The kernel compares the whole word with -1.
  const long target = other == nullptr ? -1L : other->descriptor();
  return Ioctl(PERF_EVENT_IOC_SET_OUTPUT, static_cast<unsigned long>(target),
               "cannot redirect records");
}

absl::Status Counter::PauseOutput(bool pause) {
  return Ioctl(PERF_EVENT_IOC_PAUSE_OUTPUT, pause ? 1 : 0,
               "cannot pause records");
}

absl::Status Counter::SetFilter(const std::string& filter) {
  return Ioctl(PERF_EVENT_IOC_SET_FILTER,
               reinterpret_cast<unsigned long>(filter.c_str()),
               absl::StrCat("cannot set the filter \"", filter, "\""));
}

absl::Status Counter::SetBpf(int program) {
  return Ioctl(PERF_EVENT_IOC_SET_BPF, static_cast<unsigned long>(program),
               "cannot attach the eBPF program");
}

absl::StatusOr<std::vector<uint32_t>> Counter::QueryBpf() const {
  constexpr size_t kHeader = 2;        // perf_event_query_bpf: room, count
  constexpr size_t kMaxPrograms = 64;  // the kernel's limit for one event
  std::vector<uint32_t> words(kHeader + kMaxPrograms);
  words[0] = kMaxPrograms;
  RETURN_IF_ERROR(Ioctl(PERF_EVENT_IOC_QUERY_BPF,
                        reinterpret_cast<unsigned long>(words.data()),
                        "cannot list eBPF programs"));
  const size_t count = std::min<size_t>(words[1], kMaxPrograms);
  return std::vector<uint32_t>(words.begin() + kHeader,
                               words.begin() + kHeader + count);
}

absl::Status Counter::ModifyAttributes(const Builder& builder) {
  Attributes attributes = builder.attributes();
  RETURN_IF_ERROR(Ioctl(PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
                        reinterpret_cast<unsigned long>(&attributes),
                        "cannot modify"));
  attributes_ = attributes;
  name_ = builder.event().name;
  return absl::OkStatus();
}

}  // namespace fleetperf::perf_event
