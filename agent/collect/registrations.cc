#include "agent/collect/registrations.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterRegistration;
using perflib::CountersetRegistration;
using perflib::RegistrationRequest;

// Returns whether the status may be that of the whole source.
bool IsSourceError(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status);
}

absl::StatusOr<std::string> LoadString(Source& source,
                                       const perflib::Guid& counterset,
                                       RegistrationRequest request) {
  ASSIGN_OR_RETURN(
      const std::string bytes,
      source.QueryCounterSetRegistrationInfo(counterset, request, 0));
  return perflib::ReadString(bytes);
}

absl::Status LoadCounterStrings(Source& source, RegistrationRequest request,
                                std::string CounterRegistration::*text,
                                CountersetRegistration* registration) {
  ASSIGN_OR_RETURN(
      const std::string bytes,
      source.QueryCounterSetRegistrationInfo(registration->guid, request, 0));
  ASSIGN_OR_RETURN(std::vector<perflib::CounterString> strings,
                   perflib::ReadStringBuffer(bytes));
  std::sort(strings.begin(), strings.end(), [](const auto& a, const auto& b) {
    return a.counter_id < b.counter_id;
  });
  for (CounterRegistration& counter : registration->counters) {
    const auto found =
        std::lower_bound(strings.begin(), strings.end(), counter.counter_id,
                         [](const perflib::CounterString& string, uint32_t id) {
                           return string.counter_id < id;
                         });
    if (found != strings.end() && found->counter_id == counter.counter_id) {
      counter.*text = found->text;
    }
  }
  return absl::OkStatus();
}

// Providers without English names are known by their localized ones.
absl::StatusOr<std::string> LoadName(Source& source,
                                     const perflib::Guid& counterset) {
  auto english = LoadString(source, counterset,
                            RegistrationRequest::kCountersetEnglishName);
  if ((english.ok() && !english->empty()) || IsSourceError(english.status())) {
    return english;
  }
  auto localized =
      LoadString(source, counterset, RegistrationRequest::kCountersetName);
  return localized.ok() ? localized : english;
}

absl::Status LoadCounterNames(Source& source,
                              CountersetRegistration* registration) {
  const absl::Status english =
      LoadCounterStrings(source, RegistrationRequest::kCounterEnglishNames,
                         &CounterRegistration::name, registration);
  const bool has_names =
      std::any_of(registration->counters.begin(), registration->counters.end(),
                  [](const auto& counter) { return !counter.name.empty(); });
  if (has_names || IsSourceError(english)) return english;
  const absl::Status localized =
      LoadCounterStrings(source, RegistrationRequest::kCounterNames,
                         &CounterRegistration::name, registration);
  return localized.ok() ? localized : english;
}

// Resets invalid scales here, because the aggregator would do so silently.
void ResetInvalidScales(CountersetRegistration* registration,
                        std::vector<std::string>* warnings) {
  for (CounterRegistration& counter : registration->counters) {
    if (perflib::IsScale(counter.default_scale)) continue;
    if (warnings != nullptr) {
      warnings->push_back(absl::StrCat(
          "counterset \"", registration->name, "\", counter ",
          counter.counter_id, ": DefaultScale is ", counter.default_scale,
          ", not between -", perflib::kMaxScale, " and ", perflib::kMaxScale,
          "; it is not scaled"));
    }
    counter.default_scale = 0;
  }
}

}  // namespace

absl::StatusOr<CountersetRegistration> LoadRegistration(
    Source& source, const perflib::Guid& counterset,
    std::vector<std::string>* warnings) {
  ASSIGN_OR_RETURN(const std::string bytes,
                   source.QueryCounterSetRegistrationInfo(
                       counterset, RegistrationRequest::kCountersetStruct, 0));
  ASSIGN_OR_RETURN(CountersetRegistration registration,
                   perflib::ReadCountersetStruct(bytes));
  registration.guid = counterset;
  ASSIGN_OR_RETURN(registration.name, LoadName(source, counterset));
  RETURN_IF_ERROR(LoadCounterNames(source, &registration));

  const auto help =
      LoadString(source, counterset, RegistrationRequest::kCountersetHelp);
  if (help.ok()) registration.help = *help;
  const auto provider =
      LoadString(source, counterset, RegistrationRequest::kProviderName);
  if (provider.ok()) registration.provider_name = *provider;
  LoadCounterStrings(source, RegistrationRequest::kCounterHelp,
                     &CounterRegistration::help, &registration)
      .IgnoreError();  // many providers have none
  RETURN_IF_ERROR(CheckLimits(registration));
  ResetInvalidScales(&registration, warnings);
  return registration;
}

absl::StatusOr<std::vector<CountersetRegistration>> LoadRegistrations(
    Source& source, const std::set<perflib::Guid>& known,
    const std::atomic<bool>& stop, std::vector<std::string>* warnings) {
  ASSIGN_OR_RETURN(const std::vector<perflib::Guid> guids,
                   source.EnumerateCounterSet());
  for (std::string& problem : source.Problems()) {
    warnings->push_back(std::move(problem));
  }
  std::vector<CountersetRegistration> registrations;
  absl::Status refusal;  // the first error that may be the source's
  int unanswered = 0;
  for (const perflib::Guid& guid : guids) {
    if (known.contains(guid)) continue;
    if (stop) return absl::CancelledError("stopped");
    const auto registration = LoadRegistration(source, guid, warnings);
    if (registration.ok()) {
      registrations.push_back(*registration);
      continue;
    }
    const absl::Status& status = registration.status();
    if (absl::IsDeadlineExceeded(status) && ++unanswered == kMaxUnanswered) {
      return status;
    }
    if (IsSourceError(status)) refusal.Update(status);
    warnings->push_back(
        absl::StrCat("counterset ", guid.ToString(), ": ", status.message()));
  }
  if (known.empty() && registrations.empty() && !refusal.ok()) {
    warnings->clear();
    return refusal;
  }
  std::sort(registrations.begin(), registrations.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return registrations;
}

absl::StatusOr<bool> HasChanged(Source& source,
                                const CountersetRegistration& known) {
  ASSIGN_OR_RETURN(const std::string bytes,
                   source.QueryCounterSetRegistrationInfo(
                       known.guid, RegistrationRequest::kCountersetStruct, 0));
  ASSIGN_OR_RETURN(CountersetRegistration current,
                   perflib::ReadCountersetStruct(bytes));
  current.guid = known.guid;
  ResetInvalidScales(&current, nullptr);
  if (perflib::WriteCountersetStruct(current) !=
      perflib::WriteCountersetStruct(known)) {
    return true;
  }
  ASSIGN_OR_RETURN(current.name, LoadName(source, known.guid));
  RETURN_IF_ERROR(LoadCounterNames(source, &current));
  return current.name != known.name ||
         !std::equal(
             current.counters.begin(), current.counters.end(),
             known.counters.begin(), known.counters.end(),
             [](const auto& a, const auto& b) { return a.name == b.name; });
}

}  // namespace fleetperf::agent
