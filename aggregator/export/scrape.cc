#include "aggregator/export/scrape.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "aggregator/export/exported_schema.h"
#include "aggregator/export/newest_values.h"
#include "aggregator/query/resolver.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Machines between two calls of ExportedSchemas::Trim.
constexpr size_t kMachinesToTrim = 100;

// Whether an error is not the machine's alone.
bool EndsScrape(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsResourceExhausted(status);
}

absl::Status AddTo(Exposition* text, const NewestValues& values,
                   size_t max_bytes) {
  for (const auto& [labels, sample] : values) {
    text->Add(labels, sample);
    if (text->bytes() <= max_bytes) continue;
    return absl::OutOfRangeError(absl::StrCat(
        "the newest values have more than ", max_bytes,
        " bytes: select counters and machines, as in "
        "/metrics?path=\\Memory\\*, in several scrapes if need be; or have the "
        "aggregator send its values by remote write (export.url)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Exposition> Scrape(const ScrapeRequest& request, Store* store) {
  const Directory& directory = store->directory();
  std::optional<PathSet> paths;
  if (!request.paths.empty()) {
    ASSIGN_OR_RETURN(paths, PathSet::Parse(request.paths, directory));
  }
  const QueryContext context{.store = *store,
                             .now_of = request.now_of,
                             .is_cancelled = request.is_cancelled};
  QueryMeter meter(context);
  Exposition text(request.format);
  ExportedSchemas schemas;
  size_t machines = 0;
  size_t left_out = 0;
  absl::Status error;
  for (const std::string& machine : directory.Machines()) {
    RETURN_IF_ERROR(meter.CheckCancelled());
    if (paths.has_value() && !paths->MatchesMachine(machine)) continue;
    if (++machines % kMachinesToTrim == 0) schemas.Trim();
    const auto values =
        ReadNewestValues({.machine = machine,
                          .oldest = request.now_of(machine) - kOldestScraped,
                          .paths = paths.has_value() ? &*paths : nullptr,
                          .meter = &meter,
                          .max_bytes = request.max_machine_bytes},
                         store, &schemas);
    if (values.ok()) {
      RETURN_IF_ERROR(AddTo(&text, *values, request.max_bytes));
      continue;
    }
    if (EndsScrape(values.status())) return values.status();
    // One machine must not take the values of all others away.
    error = values.status();
    ++left_out;
    if (request.on_left_out) request.on_left_out(machine, error);
  }
  if (left_out > 0 && left_out == machines) return error;
  return text;
}

}  // namespace fleetperf::aggregator
