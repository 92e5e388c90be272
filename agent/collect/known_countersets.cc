#include "agent/collect/known_countersets.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/collect/registrations.h"

namespace fleetperf::agent {
namespace {

using perflib::CountersetRegistration;

// The interval of the search for new countersets.
constexpr absl::Duration kSearchInterval = absl::Minutes(1);
// The first and the longest interval between retries.
constexpr absl::Duration kFirstSearchRetry = absl::Seconds(1);
constexpr absl::Duration kMaxSearchRetry = absl::Minutes(1);

}  // namespace

KnownCountersets::KnownCountersets(Options options)
    : options_(std::move(options)),
      next_search_(options_.clock->Monotonic()),
      search_backoff_(kFirstSearchRetry, kMaxSearchRetry) {}

std::vector<CountersetRegistration> KnownCountersets::registrations() const {
  absl::MutexLock lock(&mutex_);
  return registrations_;
}

void KnownCountersets::RetryIncompleteSearch() {
  if (has_problems_) next_search_ = options_.clock->Monotonic();
}

bool KnownCountersets::Search(
    const std::vector<const CountersetRegistration*>& collected) {
  std::set<perflib::Guid> known;
  for (const CountersetRegistration& registration : registrations()) {
    known.insert(registration.guid);
  }
  std::vector<std::string> warnings;
  auto found =
      LoadRegistrations(*options_.source, known, *options_.stopping, &warnings);
  for (const std::string& warning : warnings) {
    options_.log->Warn(warning, absl::StrCat(options_.machine, ": ", warning),
                       options_.machine);
  }
  const bool was_ok = status_.ok();
  status_ = found.status();
  if (!found.ok()) {
    options_.log->Warn(
        "countersets",
        absl::StrCat("cannot list the countersets of ", options_.machine, ": ",
                     found.status().message()),
        options_.machine);
    next_search_ = options_.clock->Monotonic() + search_backoff_.Next();
    return was_ok && known.empty();
  }
  // Countersets that are missing now may be there soon.
  has_problems_ = !options_.source->Problems().empty();
  if (!has_problems_) search_backoff_.Reset();
  next_search_ = options_.clock->Monotonic() +
                 (has_problems_ ? search_backoff_.Next() : kSearchInterval);
  const bool has_changed = ReloadChanged(collected);
  if (found->empty() && was_ok) return has_changed;
  WithdrawReplaced(*found);
  absl::MutexLock lock(&mutex_);
  std::move(found->begin(), found->end(), std::back_inserter(registrations_));
  std::sort(registrations_.begin(), registrations_.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return true;
}

void KnownCountersets::WithdrawReplaced(
    const std::vector<CountersetRegistration>& found) {
  std::set<std::string> names;
  for (const CountersetRegistration& registration : found) {
    names.insert(absl::AsciiStrToLower(registration.name));
  }
  std::set<perflib::Guid> gone;
  for (const CountersetRegistration& known : registrations()) {
    if (!names.contains(absl::AsciiStrToLower(known.name))) continue;
    const auto loaded = LoadRegistration(*options_.source, known.guid);
    if (absl::IsNotFound(loaded.status())) gone.insert(known.guid);
  }
  absl::MutexLock lock(&mutex_);
  std::erase_if(registrations_, [&](const CountersetRegistration& known) {
    return gone.contains(known.guid);
  });
}

bool KnownCountersets::ReloadChanged(
    const std::vector<const CountersetRegistration*>& collected) {
  std::set<perflib::Guid> checked;
  int unanswered = 0;
  bool has_changed = false;
  for (const CountersetRegistration* const before : collected) {
    if (*options_.stopping) break;
    if (!checked.insert(before->guid).second) continue;
    const auto changed = HasChanged(*options_.source, *before);
    // The ticks show whether a source fails, and a counterset may fail alone.
    if (absl::IsDeadlineExceeded(changed.status()) &&
        ++unanswered == kMaxUnanswered) {
      break;
    }
    if (changed.value_or(false) && Reload(*before)) has_changed = true;
  }
  return has_changed;
}

bool KnownCountersets::Reload(const CountersetRegistration& before) {
  const auto loaded = LoadRegistration(*options_.source, before.guid);
  CountersetRegistration known = before;
  known.aggregates.clear();  // from the plan, not from the source
  if (!loaded.ok() || *loaded == known) return false;
  absl::MutexLock lock(&mutex_);
  for (CountersetRegistration& registration : registrations_) {
    if (registration.guid == loaded->guid) registration = *loaded;
  }
  return true;
}

bool KnownCountersets::IsListed() const {
  absl::MutexLock lock(&mutex_);
  return status_.ok() || !registrations_.empty();
}

Resolution KnownCountersets::Resolve(const Plan& plan) {
  std::vector<CountersetRegistration> known = registrations();
  Resolution resolution =
      DefineAndResolve(*options_.source, plan, options_.machine, &known);
  absl::MutexLock lock(&mutex_);
  registrations_ = std::move(known);
  return resolution;
}

}  // namespace fleetperf::agent
