#include "perflib/aggregates.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "perflib/layout.h"
#include "perflib/path.h"

namespace fleetperf::perflib {
namespace {

bool IsAggregateName(absl::string_view name) {
  const auto names = AggregateNames();
  return std::any_of(names.begin(), names.end(),
                     [&](const AggregateName& aggregate) {
                       return absl::EqualsIgnoreCase(name, aggregate.name);
                     });
}

}  // namespace

absl::Span<const AggregateName> AggregateNames() {
  static constexpr AggregateName kNames[] = {
      {kAggregateInstance,
       "Windows; MSExchange Transport Queues and others write `_total`",
       "perflib.h: PERF_AGGREGATE_INSTANCE; "
       "https://learn.microsoft.com/en-us/previous-versions/exchange-server/"
       "exchange-140/ff367923(v=exchg.140)"},
      {"_Global_", ".NET CLR Memory and the other countersets of .NET CLR",
       "https://learn.microsoft.com/en-us/previous-versions/"
       "x2tyfybc(v=vs.110)"},
      {"__Total__", "ASP.NET Applications",
       "https://learn.microsoft.com/en-us/previous-versions/windows/it-pro/"
       "windows-server-2003/cc778343(v=ws.10)"},
  };
  return kNames;
}

bool EndsInAggregate(absl::string_view instance) {
  const size_t separator = instance.find_last_of(",/");
  return separator != absl::string_view::npos &&
         IsAggregateName(instance.substr(separator + 1));
}

bool HasAggregateName(absl::string_view instance) {
  return IsAggregateName(instance) || EndsInAggregate(instance);
}

bool IsAggregate(const CountersetRegistration& registration,
                 absl::string_view instance) {
  const auto& more = registration.aggregates;
  return HasAggregateName(instance) ||
         std::any_of(more.begin(), more.end(), [&](const std::string& text) {
           return Pattern(text).Matches(instance);
         });
}

}  // namespace fleetperf::perflib
