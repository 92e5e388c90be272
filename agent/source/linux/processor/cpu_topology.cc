#include "agent/source/linux/processor/cpu_topology.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/sysfs.h"

namespace fleetperf::agent {
namespace {

// Returns the node that the directory of a CPU has a link to.
std::optional<uint32_t> LinkedNode(const std::string& cpu_directory) {
  for (const std::string& name : ListNames(cpu_directory)) {
    absl::string_view digits = name;
    uint32_t node;
    if (absl::ConsumePrefix(&digits, "node") &&
        absl::SimpleAtoi(digits, &node) && node < kMaxNodes) {
      return node;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<CpuTopology::Position> CpuTopology::Find(
    const std::vector<uint32_t>& cpus) {
  const auto is_known = [this](uint32_t cpu) {
    return node_of_cpu_.contains(cpu);
  };
  if (!std::all_of(cpus.begin(), cpus.end(), is_known)) Read(cpus);
  std::map<uint32_t, Position> positions;
  std::map<uint32_t, uint32_t> sizes;  // of the nodes
  for (const auto& [cpu, node] : node_of_cpu_) {
    positions[cpu] = {.node = node, .index = sizes[node]++};
  }
  std::vector<Position> found;
  for (const uint32_t cpu : cpus) found.push_back(positions.at(cpu));
  return found;
}

void CpuTopology::Read(const std::vector<uint32_t>& cpus) {
  std::vector<uint32_t> nodes;
  ReadListFile(directory_ + "node/online", kMaxNodes,
               [&](uint32_t node) { nodes.push_back(node); });
  for (const uint32_t node : nodes) {
    ReadListFile(absl::StrCat(directory_, "node/node", node, "/cpulist"),
                 kMaxCpus, [&](uint32_t cpu) { node_of_cpu_[cpu] = node; });
  }
  const auto add_possible = [&](uint32_t cpu) {
    if (node_of_cpu_.contains(cpu)) return;
    const uint32_t only_node = nodes.empty() ? 0 : nodes.front();
    const auto node = nodes.size() > 1
                          ? LinkedNode(absl::StrCat(directory_, "cpu/cpu", cpu))
                          : std::optional(only_node);
    if (node.has_value()) node_of_cpu_[cpu] = *node;
  };
  if (!ReadListFile(directory_ + "cpu/possible", kMaxCpus, add_possible)) {
    const uint32_t last = *std::max_element(cpus.begin(), cpus.end());
    for (uint32_t cpu = 0; cpu <= last; ++cpu) add_possible(cpu);
  }
  // CPUs that sysfs does not know.
  for (const uint32_t cpu : cpus) node_of_cpu_.try_emplace(cpu, 0);
}

}  // namespace fleetperf::agent
