#include "agent/source/linux/process/reaped_children.h"

#include <algorithm>
#include <utility>

namespace fleetperf::agent {
namespace {

// Returns the growth of a counter, 0 if it fell.
uint64_t Growth(uint64_t before, uint64_t now) {
  return now > before ? now - before : 0;
}

// Returns `growth` without the counts of processes that have ended, in this
// pass or the last one. A parent read before its child ended has the child's
// counts only in the next pass, so `awaited` keeps them until then. Longer
// would be wrong: if the parent ignores SIGCHLD, it never has them.
uint64_t WithoutEnded(uint64_t growth, uint64_t ended, uint64_t* awaited) {
  const uint64_t seen = *awaited + ended;
  *awaited = std::min(Growth(growth, seen), ended);
  return Growth(seen, growth);
}

ProcessCounts Growth(const ProcessCounts& before, const ProcessCounts& now) {
  ProcessCounts growth;
  for (size_t i = 0; i < now.size(); ++i) growth[i] = Growth(before[i], now[i]);
  return growth;
}

ProcessCounts WithoutEnded(const ProcessCounts& growth,
                           const ProcessCounts& ended, ProcessCounts* awaited) {
  ProcessCounts rest;
  for (size_t i = 0; i < growth.size(); ++i) {
    rest[i] = WithoutEnded(growth[i], ended[i], &(*awaited)[i]);
  }
  return rest;
}

}  // namespace

ProcessCounts& operator+=(ProcessCounts& counts, const ProcessCounts& other) {
  for (size_t i = 0; i < counts.size(); ++i) counts[i] += other[i];
  return counts;
}

void ReapedChildren::Add(uint32_t pid, const Process& process) {
  Known& known = processes_[pid];
  if (known.last_pass != 0 && known.process.identity != process.identity) {
    ended_.push_back(known.process);
    known = {};
  }
  if (known.last_pass == 0) {
    known.first_pass = pass_;
    // The first pass is the start of counting.
    if (pass_ == 1) known.process.children = process.children;
  }
  known.growth = Growth(known.process.children, process.children);
  known.ended = {};
  known.process = process;
  known.last_pass = pass_;
  known.order = ++reads_;
}

ProcessCounts ReapedChildren::Finish(
    absl::FunctionRef<bool(uint32_t pid)> has_ended) {
  CheckReadBeforeParents(has_ended);
  const ProcessCounts orphans = RemoveEnded();
  ProcessCounts missing = {};
  for (auto& [pid, known] : processes_) {
    missing += WithoutEnded(known.growth, known.ended, &known.awaited);
  }
  return WithoutEnded(missing, orphans, &awaited_orphans_);
}

void ReapedChildren::CheckReadBeforeParents(
    absl::FunctionRef<bool(uint32_t pid)> has_ended) {
  for (auto& [pid, known] : processes_) {
    if (known.last_pass != pass_) continue;
    const auto parent = processes_.find(known.process.parent);
    if (parent == processes_.end()) continue;
    const bool may_be_in_parent = known.order < parent->second.order &&
                                  parent->second.growth != ProcessCounts{};
    if (may_be_in_parent && has_ended(pid)) known.last_pass = 0;
  }
}

ProcessCounts ReapedChildren::RemoveEnded() {
  for (const auto& [pid, known] : processes_) {
    if (known.last_pass != pass_) ended_.push_back(known.process);
  }
  ProcessCounts orphans = {};
  for (const Process& process : std::exchange(ended_, {})) {
    const auto found = processes_.find(process.parent);
    if (found == processes_.end()) continue;  // not visible
    Known& parent = found->second;
    const bool lives = parent.first_pass < pass_ && parent.last_pass == pass_;
    ProcessCounts& ended = lives ? parent.ended : orphans;
    ended += process.own;
    ended += process.children;
  }
  absl::erase_if(processes_, [this](const auto& entry) {
    return entry.second.last_pass != pass_;
  });
  return orphans;
}

}  // namespace fleetperf::agent
