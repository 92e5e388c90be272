#include "aggregator/export/instance_lines.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"

namespace fleetperf::aggregator {
namespace {

bool AreOne(const Instance& a, const Instance& b) {
  return a.instance_id == b.instance_id && a.occurrence == b.occurrence &&
         a.name == b.name;
}

}  // namespace

void InstanceLines::Set(const Frame& frame, std::vector<InstanceLine> present) {
  frame_ = &frame;
  lines_ = std::move(present);
  for (InstanceLine& line : lines_) line.runs.clear();
  Numbers numbers;
  for (size_t i = 0; i < lines_.size(); ++i) {
    numbers[KeyOf(*lines_[i].instance, lines_[i].index)] = i;
  }
  known_ = &numbers;
  if (kind_ == LineKind::kIdentity) {
    for (size_t run = 0; run < frame.runs.size(); ++run) AddWhole(run);
  } else {
    AddByNumber();
  }
  known_ = nullptr;
}

InstanceLines::Key InstanceLines::KeyOf(const Instance& instance,
                                        uint32_t index) const {
  if (kind_ == LineKind::kNumber) return {instance.name, 0u, index};
  return {instance.name, instance.instance_id, instance.occurrence};
}

void InstanceLines::AddByNumber() {
  // Names are compared as in paths. Nearly always, each is that of one run.
  absl::flat_hash_map<std::string, std::vector<size_t>> by_name;
  for (size_t run = 0; run < frame_->runs.size(); ++run) {
    by_name[absl::AsciiStrToLower(frame_->runs[run].instance->name)].push_back(
        run);
  }
  for (const auto& [name, runs] : by_name) {
    const Instance& first = *frame_->runs[runs[0]].instance;
    const bool is_alone = std::all_of(
        runs.begin(), runs.end(),
        [&](size_t run) { return AreOne(*frame_->runs[run].instance, first); });
    if (!is_alone) {
      AddTwins(runs);
      continue;
    }
    for (const size_t run : runs) AddWhole(run);
  }
}

void InstanceLines::AddWhole(size_t run) {
  const Frame::Run& of = frame_->runs[run];
  AddRun(run, of.first_tick, of.first_tick + of.tick_count, 0);
}

void InstanceLines::AddTwins(const std::vector<size_t>& runs) {
  std::set<uint32_t> changes;  // of the instances that are there
  for (const size_t run : runs) {
    const Frame::Run& of = frame_->runs[run];
    changes.insert({of.first_tick, of.first_tick + of.tick_count});
  }
  for (auto begin = changes.begin(); std::next(begin) != changes.end();
       ++begin) {
    std::vector<size_t> there;
    for (const size_t run : runs) {
      const Frame::Run& of = frame_->runs[run];
      if (of.first_tick <= *begin && of.first_tick + of.tick_count > *begin) {
        there.push_back(run);
      }
    }
    const auto key = [&](size_t run) {
      const Instance& instance = *frame_->runs[run].instance;
      return std::tie(instance.instance_id, instance.occurrence, instance.name);
    };
    std::sort(there.begin(), there.end(),
              [&](size_t a, size_t b) { return key(a) < key(b); });
    for (size_t i = 0; i < there.size(); ++i) {
      AddRun(there[i], *begin, *std::next(begin), static_cast<uint32_t>(i));
    }
  }
}

void InstanceLines::AddRun(size_t run, uint32_t begin, uint32_t end,
                           uint32_t index) {
  if (begin == end) return;
  const std::shared_ptr<const Instance>& instance = frame_->runs[run].instance;
  const auto [known, is_new] =
      known_->try_emplace(KeyOf(*instance, index), lines_.size());
  if (is_new) {
    InstanceLine& line = lines_.emplace_back();
    line.instance = instance;
    line.index = index;
  }
  std::vector<InstanceLine::Part>& parts = lines_[known->second].runs;
  if (!parts.empty() && parts.back().run == run && parts.back().end == begin) {
    parts.back().end = end;
  } else {
    parts.push_back({.run = run, .begin = begin, .end = end});
  }
}

const std::vector<InstanceLine::Part>& InstanceLines::Take(uint32_t begin,
                                                           uint32_t end,
                                                           InstanceLine* line) {
  parts_.clear();
  uint32_t next = begin;
  for (const InstanceLine::Part& run : line->runs) {
    if (run.end <= begin) continue;
    if (run.begin >= end) break;
    EndIn(next, std::max(run.begin, begin), line);
    parts_.push_back({.run = run.run,
                      .begin = std::max(run.begin, begin),
                      .end = std::min(run.end, end)});
    line->is_present = true;
    next = parts_.back().end;
  }
  EndIn(next, end, line);
  return parts_;
}

void InstanceLines::EndIn(uint32_t begin, uint32_t end, InstanceLine* line) {
  if (!line->is_present) return;
  uint32_t tick = begin;
  while (tick < end && frame_->HasFailed(tick)) ++tick;
  if (tick >= end) return;
  line->is_present = false;
  parts_.push_back({.begin = tick, .end = tick + 1, .is_end = true});
}

std::vector<InstanceLine> InstanceLines::TakePresent() {
  std::erase_if(lines_,
                [](const InstanceLine& line) { return !line.is_present; });
  return std::exchange(lines_, {});
}

}  // namespace fleetperf::aggregator
