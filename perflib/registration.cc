#include "perflib/registration.h"

#include <algorithm>
#include <string>

#include "perflib/bytes.h"
#include "perflib/defect.h"
#include "perflib/guid.h"
#include "perflib/utf16.h"

namespace fleetperf::perflib {
namespace {

using Problem = Defect::Problem;

// Bounds the output: a hostile string buffer can point many entries at one long
// string.
constexpr size_t kMaxTextPerInputByte = 4;

absl::Status Truncated(absl::string_view structure, size_t needed,
                       size_t remain) {
  return Defect{Problem::kTruncated, structure, 0, needed, remain}.ToStatus();
}

CounterRegistration FromRegInfo(const PerfCounterRegInfo& info) {
  CounterRegistration counter;
  counter.counter_id = info.counter_id;
  counter.type = info.type;
  counter.attrib = info.attrib;
  counter.detail_level = info.detail_level;
  counter.default_scale = info.default_scale;
  counter.base_counter_id = info.base_counter_id;
  counter.perf_time_id = info.perf_time_id;
  counter.perf_freq_id = info.perf_freq_id;
  counter.multi_id = info.multi_id;
  counter.aggregate_function = info.aggregate_function;
  return counter;
}

PerfCounterRegInfo ToRegInfo(const CounterRegistration& counter) {
  return {.counter_id = counter.counter_id,
          .type = counter.type,
          .attrib = counter.attrib,
          .detail_level = counter.detail_level,
          .default_scale = counter.default_scale,
          .base_counter_id = counter.base_counter_id,
          .perf_time_id = counter.perf_time_id,
          .perf_freq_id = counter.perf_freq_id,
          .multi_id = counter.multi_id,
          .aggregate_function = counter.aggregate_function,
          .reserved = 0};
}

void AppendUtf16WithNul(absl::string_view utf8, std::string* bytes) {
  bytes->append(Utf16FromUtf8(utf8));
  AppendBytes(char16_t{0}, bytes);
}

}  // namespace

const CounterRegistration* CountersetRegistration::FindCounter(
    uint32_t counter_id) const {
  const auto found = std::find_if(
      counters.begin(), counters.end(),
      [&](const auto& counter) { return counter.counter_id == counter_id; });
  return found != counters.end() ? &*found : nullptr;
}

std::string CountersetRegistration::CanonicalBytes() const {
  std::string bytes = WriteCountersetStruct(*this);
  AppendUtf16WithNul(name, &bytes);
  for (const CounterRegistration& counter : counters)
    AppendUtf16WithNul(counter.name, &bytes);
  for (const std::string& text : aggregates) AppendUtf16WithNul(text, &bytes);
  return bytes;
}

absl::StatusOr<CountersetRegistration> ReadCountersetStruct(
    absl::string_view bytes) {
  if (bytes.size() < sizeof(PerfCountersetRegInfo)) {
    return Truncated("PERF_COUNTERSET_REG_INFO", sizeof(PerfCountersetRegInfo),
                     bytes.size());
  }
  const auto info = LoadAt<PerfCountersetRegInfo>(bytes, 0);
  const size_t room = (bytes.size() - sizeof info) / sizeof(PerfCounterRegInfo);
  if (info.num_counters > room) {
    return Defect{Problem::kTooLarge, "PERF_COUNTERSET_REG_INFO.NumCounters", 0,
                  info.num_counters, room}
        .ToStatus();
  }
  CountersetRegistration registration;
  registration.guid = info.counterset;
  registration.detail_level = info.detail_level;
  registration.instance_type = info.instance_type;
  registration.counters.reserve(info.num_counters);
  for (size_t i = 0; i < info.num_counters; ++i) {
    registration.counters.push_back(FromRegInfo(LoadAt<PerfCounterRegInfo>(
        bytes, sizeof info + i * sizeof(PerfCounterRegInfo))));
  }
  return registration;
}

absl::StatusOr<CounterRegistration> ReadCounterStruct(absl::string_view bytes) {
  if (bytes.size() < sizeof(PerfCounterRegInfo)) {
    return Truncated("PERF_COUNTER_REG_INFO", sizeof(PerfCounterRegInfo),
                     bytes.size());
  }
  return FromRegInfo(LoadAt<PerfCounterRegInfo>(bytes, 0));
}

absl::StatusOr<std::string> ReadString(absl::string_view bytes) {
  const size_t size = TerminatedUtf16Length(bytes);
  if (size == absl::string_view::npos) {
    return Defect{Problem::kUnterminated, "string", 0, 0, bytes.size()}
        .ToStatus();
  }
  return Utf8FromUtf16(bytes.substr(0, size));
}

absl::StatusOr<std::vector<CounterString>> ReadStringBuffer(
    absl::string_view bytes) {
  if (bytes.size() < sizeof(PerfStringBufferHeader)) {
    return Truncated("PERF_STRING_BUFFER_HEADER",
                     sizeof(PerfStringBufferHeader), bytes.size());
  }
  const auto header = LoadAt<PerfStringBufferHeader>(bytes, 0);
  if (header.size < sizeof header) {
    return Defect{Problem::kTooSmall, "PERF_STRING_BUFFER_HEADER.dwSize", 0,
                  header.size, sizeof header}
        .ToStatus();
  }
  if (header.size > bytes.size()) {
    return Defect{Problem::kTooLarge, "PERF_STRING_BUFFER_HEADER.dwSize", 0,
                  header.size, bytes.size()}
        .ToStatus();
  }
  bytes = bytes.substr(0, header.size);
  const size_t room =
      (bytes.size() - sizeof header) / sizeof(PerfStringCounterHeader);
  if (header.num_strings > room) {
    return Defect{Problem::kTooLarge, "PERF_STRING_BUFFER_HEADER.dwCounters", 0,
                  header.num_strings, room}
        .ToStatus();
  }

  std::vector<CounterString> strings;
  size_t text_budget = kMaxTextPerInputByte * bytes.size();
  for (size_t i = 0; i < header.num_strings; ++i) {
    const size_t entry_offset =
        sizeof header + i * sizeof(PerfStringCounterHeader);
    const auto entry = LoadAt<PerfStringCounterHeader>(bytes, entry_offset);
    if (entry.offset == kNoString) continue;
    if (entry.offset > bytes.size()) {
      return Defect{Problem::kTooLarge, "PERF_STRING_COUNTER_HEADER.dwOffset",
                    entry_offset, entry.offset, bytes.size()}
          .ToStatus();
    }
    // The search for the NUL is charged to the budget, too, so that overlapping
    // strings cannot make it quadratic.
    const absl::string_view field = bytes.substr(entry.offset, text_budget);
    const size_t size = TerminatedUtf16Length(field);
    if (size == absl::string_view::npos) {
      return Defect{Problem::kUnterminated,
                    "PERF_STRING_COUNTER_HEADER's string", entry.offset, 0,
                    field.size()}
          .ToStatus();
    }
    text_budget -= size;
    strings.push_back({entry.counter_id, Utf8FromUtf16(field.substr(0, size))});
  }
  return strings;
}

absl::StatusOr<Guid> ReadGuid(absl::string_view bytes) {
  if (bytes.size() < sizeof(Guid))
    return Truncated("GUID", sizeof(Guid), bytes.size());
  return LoadAt<Guid>(bytes, 0);
}

std::string WriteCountersetStruct(const CountersetRegistration& registration) {
  std::string bytes;
  AppendBytes(
      PerfCountersetRegInfo{
          .counterset = registration.guid,
          .counterset_type = 0,
          .detail_level = registration.detail_level,
          .num_counters = static_cast<uint32_t>(registration.counters.size()),
          .instance_type = registration.instance_type},
      &bytes);
  for (const CounterRegistration& counter : registration.counters) {
    AppendBytes(ToRegInfo(counter), &bytes);
  }
  return bytes;
}

std::string WriteCounterStruct(const CounterRegistration& counter) {
  std::string bytes;
  AppendBytes(ToRegInfo(counter), &bytes);
  return bytes;
}

std::string WriteString(absl::string_view utf8) {
  std::string bytes;
  AppendUtf16WithNul(utf8, &bytes);
  return bytes;
}

std::string WriteStringBuffer(const std::vector<CounterString>& strings) {
  const size_t text_start = sizeof(PerfStringBufferHeader) +
                            strings.size() * sizeof(PerfStringCounterHeader);
  std::string entries;
  std::string text;
  for (const CounterString& string : strings) {
    const uint32_t offset =
        string.text.empty() ? kNoString
                            : static_cast<uint32_t>(text_start + text.size());
    AppendBytes(PerfStringCounterHeader{.counter_id = string.counter_id,
                                        .offset = offset},
                &entries);
    if (!string.text.empty()) AppendUtf16WithNul(string.text, &text);
  }
  std::string bytes;
  AppendBytes(
      PerfStringBufferHeader{
          .size = static_cast<uint32_t>(text_start + text.size()),
          .num_strings = static_cast<uint32_t>(strings.size())},
      &bytes);
  return bytes + entries + text;
}

std::string WriteGuid(const Guid& guid) { return guid.Bytes(); }

CountersetRegistration MakeRegistration(
    absl::string_view guid, absl::string_view name, absl::string_view help,
    absl::string_view provider_name, uint32_t instance_type,
    absl::Span<const CounterSpec> counters) {
  CountersetRegistration registration;
  registration.guid = ParseGuid(guid).value();
  registration.name = std::string(name);
  registration.help = std::string(help);
  registration.provider_name = std::string(provider_name);
  registration.instance_type = instance_type;
  for (const CounterSpec& spec : counters) {
    CounterRegistration& counter = registration.counters.emplace_back();
    counter.counter_id = spec.id;
    counter.type = spec.type;
    counter.default_scale = spec.scale;
    counter.base_counter_id = spec.base_id;
    counter.perf_time_id = spec.time_id;
    counter.perf_freq_id = spec.freq_id;
    counter.name = std::string(spec.name);
    counter.help = std::string(spec.help);
    if (spec.name.empty()) counter.attrib |= kAttribNoDisplayable;
    // A scaled integer is displayed as a real number.
    if (spec.scale != 0) counter.attrib |= kAttribDisplayAsReal;
  }
  return registration;
}

}  // namespace fleetperf::perflib
