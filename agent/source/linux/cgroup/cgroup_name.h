// Readable names of cgroups.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_NAME_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_NAME_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// Returns the path of a cgroup, "/system.slice/nginx.service", unless it
// belongs to a container, whose runtime puts a long id into the path:
//
//   docker/0123456789ab       a container of Docker; the same for libpod
//                             (Podman), crio, and any other name before the id
//   pod/UID                   a pod of Kubernetes
//   pod/UID/0123456789ab      a container of the pod
//   pod/UID/0123456789ab/a/b  cgroups in the container
//   /other/0123456789ab       an id without the name of a runtime
//
// The cgroups in a container are named by the same rules, so that a pod on a
// node that is a container is docker/0123456789ab/pod/UID. Runtimes' tools show
// the same twelve digits. The cgroup of conmon, which watches a container,
// keeps its long name. docs/reference/cgroup-names.md lists the layouts of
// kubelets and runtimes with their sources.
std::string CgroupName(absl::string_view path);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUP_NAME_H_
