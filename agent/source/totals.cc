#include "agent/source/totals.h"

#include <algorithm>

namespace fleetperf::agent {
namespace {

bool IsGrowth(TotalKind kind) {
  return kind == TotalKind::kGrowth || kind == TotalKind::kMeanGrowth;
}

}  // namespace

Totals::Totals(std::vector<TotalKind> kinds, NewInstance new_instance)
    : new_instance_(new_instance) {
  for (const TotalKind kind : kinds) columns_.push_back({.kind = kind});
}

void Totals::Begin() {
  ++pass_;
  for (Column& column : columns_) {
    column.present = column.grown = column.sum = 0;
  }
}

void Totals::Add(uint64_t key, absl::Span<const uint64_t> values,
                 ColumnSet present) {
  auto [entry, is_new] = known_.try_emplace(key);
  Known& known = entry->second;
  if (is_new) {
    known.first_pass = pass_;
    known.values.resize(columns_.size());
  }
  known.last_pass = pass_;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    if (column.kind == TotalKind::kNone || !Has(present, i)) continue;
    ++column.present;
    if (column.kind == TotalKind::kHighest) {
      column.total = std::max(column.total, values[i]);
    } else if (!IsGrowth(column.kind)) {
      column.sum += values[i];
    } else if (const auto growth = Growth(column, i, known, values[i])) {
      column.sum += *growth;
      ++column.grown;
    }
    known.values[i] = values[i];
  }
  known.present |= present;
}

std::optional<uint64_t> Totals::Growth(const Column& column, size_t i,
                                       const Known& known,
                                       uint64_t value) const {
  if (Has(known.present, i)) {
    if (value < known.values[i]) return std::nullopt;  // counter restarted
    return value - known.values[i];
  }
  // A pass may omit columns. For a column, an instance is new if it did not
  // exist when the column was last collected. If the column was never
  // collected, no growth is known.
  const bool counts_from_zero = new_instance_ == NewInstance::kStartedAtZero &&
                                column.last_pass != 0 &&
                                known.first_pass > column.last_pass;
  return counts_from_zero ? std::optional(value) : std::nullopt;
}

void Totals::Finish(CountersetSample* sample) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    if (column.present == 0) continue;
    switch (column.kind) {
      case TotalKind::kNone:
        continue;
      case TotalKind::kGrowth:
        sample->Set(i, column.total += column.sum);
        break;
      case TotalKind::kMeanGrowth:
        if (column.grown > 0) {
          column.remainder += column.sum;
          column.total += column.remainder / column.grown;
          column.remainder %= column.grown;
        }
        sample->Set(i, column.total);
        break;
      case TotalKind::kSum:
        sample->Set(i, column.sum);
        break;
      case TotalKind::kMean:
        sample->Set(i, column.sum / column.present);
        break;
      case TotalKind::kHighest:
        sample->Set(i, column.total);
        break;
    }
    column.last_pass = pass_;
  }
  absl::erase_if(known_, [this](const auto& entry) {
    return entry.second.last_pass != pass_;
  });
}

}  // namespace fleetperf::agent
