#include "agent/source/linux/gpu/drm_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/text.h"
#include "agent/source/linux/units.h"

namespace fleetperf::agent {
namespace {

// Bound what a driver can make the agent keep.
constexpr size_t kMaxEngines = 64;
constexpr size_t kMaxRegions = 64;

struct Region {
  absl::string_view name;
  std::optional<uint64_t> total;
  std::optional<uint64_t> resident;
  std::optional<uint64_t> legacy;  // drm-memory-, before drm-resident-
};

// Returns the element with this name; adds it if it is new. Null if there are
// too many.
template <typename T>
T* FindOrAdd(absl::string_view name, size_t limit, std::vector<T>* elements) {
  const auto found =
      std::find_if(elements->begin(), elements->end(),
                   [&](const T& element) { return element.name == name; });
  if (found != elements->end()) return &*found;
  if (elements->size() == limit) return nullptr;
  T& added = elements->emplace_back();
  added.name = decltype(T::name)(name);
  return &added;
}

// Returns a number with an optional unit in bytes.
std::optional<uint64_t> Bytes(absl::string_view value) {
  const std::optional<uint64_t> number = NextNumber(&value);
  if (!number.has_value()) return std::nullopt;
  const absl::string_view unit = NextWord(&value);
  return *number * (unit == "KiB"   ? kBytesPerKib
                    : unit == "MiB" ? kBytesPerMib
                                    : 1);
}

void ReadEngine(absl::string_view key, absl::string_view value,
                DrmClient* client) {
  const bool is_capacity = absl::ConsumePrefix(&key, "capacity-");
  const std::optional<uint64_t> number = NextNumber(&value);
  if (!number.has_value()) return;
  DrmClient::Engine* const engine =
      FindOrAdd(key, kMaxEngines, &client->engines);
  if (engine == nullptr) {
    ++client->left_out;
    return;
  }
  if (!is_capacity) {
    engine->busy = *number;
  } else if (*number != 0) {
    engine->capacity = *number;
  }
}

void ReadRegion(absl::string_view key, absl::string_view value,
                std::vector<Region>* regions, DrmClient* client) {
  if (absl::StartsWith(key, "total-cycles-")) return;  // of an engine
  std::optional<uint64_t> Region::*member = nullptr;
  if (absl::ConsumePrefix(&key, "total-")) {
    member = &Region::total;
  } else if (absl::ConsumePrefix(&key, "resident-")) {
    member = &Region::resident;
  } else if (absl::ConsumePrefix(&key, "memory-")) {
    member = &Region::legacy;
  } else {
    return;
  }
  Region* const region = FindOrAdd(key, kMaxRegions, regions);
  if (region == nullptr) {
    ++client->left_out;
    return;
  }
  region->*member = Bytes(value);
}

// Names of drivers: "vram" of amdgpu, "vram0" of xe, "local0" of i915.
bool IsDedicated(absl::string_view region) {
  return absl::StartsWith(region, "vram") || absl::StartsWith(region, "local");
}

void Add(std::optional<uint64_t> value, std::optional<uint64_t>* sum) {
  if (value.has_value()) *sum = sum->value_or(0) + *value;
}

void AddRegions(const std::vector<Region>& regions, DrmClient* client) {
  for (const Region& region : regions) {
    // Some drivers tell both, with the same value.
    const auto resident =
        region.resident.has_value() ? region.resident : region.legacy;
    Add(region.total.has_value() ? region.total : resident, &client->committed);
    Add(resident,
        IsDedicated(region.name) ? &client->dedicated : &client->shared);
  }
}

}  // namespace

std::optional<DrmClient> ParseDrmClient(absl::string_view text) {
  DrmClient client;
  std::vector<Region> regions;
  absl::string_view driver;
  std::optional<uint64_t> id;
  absl::string_view line;
  while (NextLine(&text, &line)) {
    const size_t colon = line.find(':');
    absl::string_view key = line.substr(0, colon);
    if (colon == absl::string_view::npos ||
        !absl::ConsumePrefix(&key, "drm-")) {
      continue;
    }
    absl::string_view value = line.substr(colon + 1);
    if (key == "driver") {
      driver = NextWord(&value);
    } else if (key == "pdev") {
      client.adapter = std::string(NextWord(&value));
    } else if (key == "client-id") {
      id = NextNumber(&value);
    } else if (absl::ConsumePrefix(&key, "engine-")) {
      ReadEngine(key, value, &client);
    } else {
      ReadRegion(key, value, &regions, &client);
    }
  }
  if (driver.empty() || !id.has_value()) return std::nullopt;
  if (client.adapter.empty()) client.adapter = std::string(driver);
  client.id = *id;
  AddRegions(regions, &client);
  return client;
}

}  // namespace fleetperf::agent
