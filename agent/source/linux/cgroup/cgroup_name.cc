#include "agent/source/linux/cgroup/cgroup_name.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace fleetperf::agent {
namespace {

constexpr size_t kIdDigits = 64;
constexpr size_t kShownDigits = 12;

bool IsLowerHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// A part of a path that ends with the id of a container.
struct Container {
  absl::string_view runtime;  // "" if it is not named
  absl::string_view id;       // as shown
};

// Parses "docker-ID.scope", "docker-ID" or "ID". In "crio-conmon-ID.scope" is
// the process that watches the container. "system.slice:docker:ID" is what runc
// makes of a path for systemd if it does not use systemd.
std::optional<Container> ParseContainer(absl::string_view part) {
  absl::ConsumeSuffix(&part, ".scope");
  if (part.size() < kIdDigits) return std::nullopt;
  absl::string_view runtime = part.substr(0, part.size() - kIdDigits);
  const absl::string_view id = part.substr(runtime.size());
  if (!std::all_of(id.begin(), id.end(), IsLowerHex)) return std::nullopt;
  const Container container = {.id = id.substr(0, kShownDigits)};
  if (runtime.empty()) return container;
  if (absl::ConsumeSuffix(&runtime, ":")) {
    return Container{runtime.substr(runtime.rfind(':') + 1), container.id};
  }
  if (!absl::ConsumeSuffix(&runtime, "-") ||
      absl::EndsWith(runtime, "-conmon")) {
    return std::nullopt;
  }
  // A service of systemd has parts for Podman's payload and for conmon.
  absl::ConsumeSuffix(&runtime, "-payload");
  return Container{runtime, container.id};
}

// Returns the short id of "machine-libpod_pod_ID.slice", or "".
absl::string_view PodmanPod(absl::string_view part) {
  absl::ConsumeSuffix(&part, ".slice");
  const size_t begin = part.rfind("libpod_pod_");
  if (begin == absl::string_view::npos) return "";
  const absl::string_view id = part.substr(part.rfind('_') + 1);
  return id.size() == kIdDigits ? id.substr(0, kShownDigits) : "";
}

// Returns the UID of a pod's part: "podUID" or
// "kubepods-besteffort-podUID.slice", in which underscores replace dashes. ""
// if the part is none. The UIDs of static pods are hashes without dashes.
std::string PodUid(absl::string_view part) {
  constexpr size_t kUidLengths[] = {36, 32};  // 8-4-4-4-12, an MD5 hash
  part = part.substr(0, part.find(".slice"));
  for (const size_t length : kUidLengths) {
    if (part.size() < length) continue;
    const absl::string_view uid = part.substr(part.size() - length);
    const absl::string_view before = part.substr(0, part.size() - length);
    const bool is_pod = before == "pod" || absl::EndsWith(before, "-pod");
    const bool is_uid = std::all_of(uid.begin(), uid.end(), [](char c) {
      return IsLowerHex(c) || c == '-' || c == '_';
    });
    if (is_pod && is_uid) return absl::StrReplaceAll(uid, {{"_", "-"}});
  }
  return "";
}

// Removes the first part of a path, "/a" of "/a/b", and returns it without "/".
absl::string_view NextPart(absl::string_view* path) {
  path->remove_prefix(1);
  const absl::string_view part = path->substr(0, path->find('/'));
  path->remove_prefix(part.size());
  return part;
}

// Appends the name of a cgroup in a container or pod: "" or "/path".
std::string Join(absl::string_view name, absl::string_view inner) {
  if (inner.empty()) return std::string(name);
  const std::string inner_name = CgroupName(inner);
  const bool is_path = absl::StartsWith(inner_name, "/");
  return absl::StrCat(name, is_path ? "" : "/", inner_name);
}

// `part` is that of the pod, `rest` follows it.
std::string NameInPod(absl::string_view uid, absl::string_view part,
                      absl::string_view rest) {
  const std::string pod = absl::StrCat("pod/", uid);
  absl::string_view below = rest;
  if (!absl::StrContains(part, ':')) {
    if (rest.empty()) return pod;
    part = NextPart(&below);
  }
  const auto container = ParseContainer(part);
  return container.has_value()
             ? Join(absl::StrCat(pod, "/", container->id), below)
             : Join(pod, rest);
}

}  // namespace

std::string CgroupName(absl::string_view path) {
  absl::string_view podman_pod;
  absl::string_view parent;
  absl::string_view rest = path;
  while (absl::StartsWith(rest, "/")) {
    const absl::string_view part = NextPart(&rest);
    const std::string uid = PodUid(part);
    if (!uid.empty()) return NameInPod(uid, part, rest);
    if (const auto container = ParseContainer(part)) {
      const absl::string_view runtime =
          container->runtime.empty() && parent == "docker" ? parent
                                                           : container->runtime;
      const absl::string_view before =
          path.substr(0, path.size() - rest.size() - part.size());
      return Join(runtime.empty() ? absl::StrCat(before, container->id)
                                  : absl::StrCat(runtime, "/", container->id),
                  rest);
    }
    podman_pod = PodmanPod(part);
    parent = part;
  }
  return podman_pod.empty() ? std::string(path)
                            : absl::StrCat("libpod_pod/", podman_pod);
}

}  // namespace fleetperf::agent
