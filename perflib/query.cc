#include "perflib/query.h"

#include "perflib/bytes.h"
#include "perflib/defect.h"
#include "perflib/utf16.h"

namespace fleetperf::perflib {
namespace {

using Problem = Defect::Problem;

// Loads the structure of type T at `offset`, whose size field `size_of`
// returns. Returns an error if the structure exceeds the bounds.
template <typename T, typename SizeOf>
absl::StatusOr<T> LoadSized(absl::string_view bytes, size_t offset,
                            absl::string_view structure,
                            absl::string_view size_field, SizeOf size_of) {
  const size_t rest = bytes.size() - offset;
  if (rest < sizeof(T)) {
    return Defect{Problem::kTruncated, structure, offset, sizeof(T), rest}
        .ToStatus();
  }
  const T value = LoadAt<T>(bytes, offset);
  if (size_of(value) < sizeof(T)) {
    return Defect{Problem::kTooSmall, size_field, offset, size_of(value),
                  sizeof(T)}
        .ToStatus();
  }
  if (size_of(value) > rest) {
    return Defect{Problem::kTooLarge, size_field, offset, size_of(value), rest}
        .ToStatus();
  }
  return value;
}

absl::StatusOr<std::string> ReadName(absl::string_view field,
                                     absl::string_view what, size_t offset) {
  const size_t size = TerminatedUtf16Length(field);
  if (size == absl::string_view::npos) {
    return Defect{Problem::kUnterminated, what, offset, 0, field.size()}
        .ToStatus();
  }
  return Utf8FromUtf16(field.substr(0, size));
}

void AppendName(absl::string_view utf8, std::string* bytes) {
  bytes->append(Utf16FromUtf8(utf8));
  AppendBytes(char16_t{0}, bytes);
  bytes->resize(AlignUp(bytes->size()));
}

}  // namespace

absl::StatusOr<std::vector<CounterIdentifier>> ReadCounterIdentifiers(
    absl::string_view bytes) {
  std::vector<CounterIdentifier> identifiers;
  for (size_t offset = 0; offset < bytes.size();) {
    const auto fixed = LoadSized<PerfCounterIdentifier>(
        bytes, offset, "PERF_COUNTER_IDENTIFIER",
        "PERF_COUNTER_IDENTIFIER.Size",
        [](const auto& identifier) { return identifier.size; });
    if (!fixed.ok()) return fixed.status();
    CounterIdentifier& identifier = identifiers.emplace_back();
    identifier.counterset = fixed->counterset;
    identifier.counter_id = fixed->counter_id;
    identifier.instance_id = fixed->instance_id;
    identifier.status = fixed->status;
    identifier.index = fixed->index;
    // A single-instance counterset has exactly the fixed part and no name.
    if (fixed->size > sizeof(PerfCounterIdentifier)) {
      auto name = ReadName(bytes.substr(offset, fixed->size)
                               .substr(sizeof(PerfCounterIdentifier)),
                           "PERF_COUNTER_IDENTIFIER's name", offset);
      if (!name.ok()) return name.status();
      identifier.instance = *std::move(name);
    }
    offset += fixed->size;
  }
  return identifiers;
}

std::string WriteCounterIdentifiers(
    const std::vector<CounterIdentifier>& identifiers) {
  std::string bytes;
  for (const CounterIdentifier& identifier : identifiers) {
    const size_t start = bytes.size();
    AppendBytes(PerfCounterIdentifier{.counterset = identifier.counterset,
                                      .status = identifier.status,
                                      .size = 0,
                                      .counter_id = identifier.counter_id,
                                      .instance_id = identifier.instance_id,
                                      .index = identifier.index,
                                      .reserved = 0},
                &bytes);
    if (!identifier.instance.empty()) AppendName(identifier.instance, &bytes);
    StoreAt(static_cast<uint32_t>(bytes.size() - start),
            start + offsetof(PerfCounterIdentifier, size), &bytes);
  }
  return bytes;
}

absl::StatusOr<std::vector<InstanceName>> ReadInstanceList(
    absl::string_view bytes) {
  std::vector<InstanceName> instances;
  for (size_t offset = 0; offset < bytes.size();) {
    const auto header = LoadSized<PerfInstanceHeader>(
        bytes, offset, "PERF_INSTANCE_HEADER", "PERF_INSTANCE_HEADER.Size",
        [](const auto& instance) { return instance.size; });
    if (!header.ok()) return header.status();
    auto name = ReadName(
        bytes.substr(offset, header->size).substr(sizeof(PerfInstanceHeader)),
        "PERF_INSTANCE_HEADER's name", offset);
    if (!name.ok()) return name.status();
    instances.push_back({*std::move(name), header->instance_id});
    offset += header->size;
  }
  return instances;
}

std::string WriteInstanceList(const std::vector<InstanceName>& instances) {
  std::string bytes;
  for (const InstanceName& instance : instances) {
    const size_t start = bytes.size();
    AppendBytes(
        PerfInstanceHeader{.size = 0, .instance_id = instance.instance_id},
        &bytes);
    AppendName(instance.name, &bytes);
    StoreAt(static_cast<uint32_t>(bytes.size() - start),
            start + offsetof(PerfInstanceHeader, size), &bytes);
  }
  return bytes;
}

}  // namespace fleetperf::perflib
