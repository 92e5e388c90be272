#include "agent/source/registration_info.h"

#include <vector>

#include "base/os/os_error.h"

namespace fleetperf::agent {
namespace {

using perflib::RegistrationRequest;

std::string WriteStrings(const perflib::CountersetRegistration& registration,
                         std::string perflib::CounterRegistration::*text) {
  std::vector<perflib::CounterString> strings;
  for (const auto& counter : registration.counters) {
    strings.push_back({counter.counter_id, counter.*text});
  }
  return perflib::WriteStringBuffer(strings);
}

}  // namespace

absl::StatusOr<std::string> RegistrationInfo(
    const perflib::CountersetRegistration& registration,
    const perflib::Guid& provider, RegistrationRequest request,
    uint32_t argument) {
  switch (request) {
    case RegistrationRequest::kCountersetStruct:
      return perflib::WriteCountersetStruct(registration);
    case RegistrationRequest::kCounterStruct: {
      const auto* counter = registration.FindCounter(argument);
      if (counter == nullptr) {
        return StatusFromWin32(perflib::kErrorItemIdNotFound,
                               "PerfQueryCounterSetRegistrationInfo");
      }
      return perflib::WriteCounterStruct(*counter);
    }
    case RegistrationRequest::kCountersetName:
    case RegistrationRequest::kCountersetEnglishName:
      return perflib::WriteString(registration.name);
    case RegistrationRequest::kCountersetHelp:
      return perflib::WriteString(registration.help);
    case RegistrationRequest::kProviderName:
      return perflib::WriteString(registration.provider_name);
    case RegistrationRequest::kCounterNames:
    case RegistrationRequest::kCounterEnglishNames:
      return WriteStrings(registration, &perflib::CounterRegistration::name);
    case RegistrationRequest::kCounterHelp:
      return WriteStrings(registration, &perflib::CounterRegistration::help);
    case RegistrationRequest::kProviderGuid:
      return perflib::WriteGuid(provider);
  }
  return StatusFromWin32(perflib::kErrorInvalidParameter,
                         "PerfQueryCounterSetRegistrationInfo");
}

}  // namespace fleetperf::agent
