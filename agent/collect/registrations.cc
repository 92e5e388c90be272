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

// Returns whether other countersets of the source would fail, too.
bool IsSourceError(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status);
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
  ASSIGN_OR_RETURN(registration.name,
                   LoadString(source, counterset,
                              RegistrationRequest::kCountersetEnglishName));
  RETURN_IF_ERROR(
      LoadCounterStrings(source, RegistrationRequest::kCounterEnglishNames,
                         &CounterRegistration::name, &registration));

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
  std::vector<CountersetRegistration> registrations;
  for (const perflib::Guid& guid : guids) {
    if (known.contains(guid)) continue;
    if (stop) return absl::CancelledError("stopped");
    auto registration = LoadRegistration(source, guid, warnings);
    if (IsSourceError(registration.status())) return registration.status();
    if (registration.ok()) {
      registrations.push_back(*std::move(registration));
    } else {
      warnings->push_back(absl::StrCat("counterset ", guid.ToString(), ": ",
                                       registration.status().message()));
    }
  }
  std::sort(registrations.begin(), registrations.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return registrations;
}

}  // namespace fleetperf::agent
