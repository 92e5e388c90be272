#include "agent/source/linux/cgroup_name.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace fleetperf::agent {
namespace {

constexpr size_t kIdDigits = 64;
constexpr size_t kShownDigits = 12;
constexpr size_t kUidLength = 36;  // 8-4-4-4-12

bool IsLowerHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// Splits "docker-ID.scope", "docker-ID" or "ID" into the runtime and the id. In
// "crio-conmon-ID.scope" is the process that watches the container.
bool ParseContainer(absl::string_view part, absl::string_view* runtime,
                    absl::string_view* id) {
  absl::ConsumeSuffix(&part, ".scope");
  if (part.size() < kIdDigits) return false;
  *runtime = part.substr(0, part.size() - kIdDigits);
  *id = part.substr(runtime->size());
  if (!std::all_of(id->begin(), id->end(), IsLowerHex)) return false;
  if (runtime->empty()) return true;
  return absl::ConsumeSuffix(runtime, "-") &&
         !absl::EndsWith(*runtime, "-conmon");
}

// Returns the UID of a pod's part: "podUID" or
// "kubepods-besteffort-podUID.slice", in which underscores replace dashes. ""
// if the part is none.
std::string PodUid(absl::string_view part) {
  absl::ConsumeSuffix(&part, ".slice");
  if (part.size() < kUidLength) return "";
  const absl::string_view uid = part.substr(part.size() - kUidLength);
  const absl::string_view before = part.substr(0, part.size() - kUidLength);
  const bool is_pod = before == "pod" || absl::EndsWith(before, "-pod");
  const bool is_uid = std::all_of(uid.begin(), uid.end(), [](char c) {
    return IsLowerHex(c) || c == '-' || c == '_';
  });
  return is_pod && is_uid ? absl::StrReplaceAll(uid, {{"_", "-"}}) : "";
}

}  // namespace

std::string CgroupName(absl::string_view path) {
  std::string pod;
  absl::string_view parent;
  absl::string_view rest = path;
  while (absl::ConsumePrefix(&rest, "/")) {
    const absl::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(part.size());
    absl::string_view runtime;
    absl::string_view id;
    if (ParseContainer(part, &runtime, &id)) {
      const absl::string_view shown = id.substr(0, kShownDigits);
      if (!pod.empty()) return absl::StrCat("pod/", pod, "/", shown, rest);
      if (!runtime.empty()) return absl::StrCat(runtime, "/", shown, rest);
      if (parent == "docker") return absl::StrCat("docker/", shown, rest);
      const size_t before = path.size() - rest.size() - part.size();
      return absl::StrCat(path.substr(0, before), shown, rest);
    }
    if (pod.empty()) {
      pod = PodUid(part);
    } else {
      return absl::StrCat("pod/", pod, "/", part, rest);
    }
    parent = part;
  }
  return pod.empty() ? std::string(path) : absl::StrCat("pod/", pod);
}

}  // namespace fleetperf::agent
