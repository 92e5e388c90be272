#include "aggregator/export/scrape.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "aggregator/export/exported_schema.h"
#include "aggregator/export/newest_values.h"
#include "aggregator/query/resolver.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::StatusOr<Exposition> Scrape(const ScrapeRequest& request, Store* store) {
  const Directory& directory = store->directory();
  std::optional<PathSet> paths;
  if (!request.paths.empty()) {
    ASSIGN_OR_RETURN(paths, PathSet::Parse(request.paths, directory));
  }
  Exposition text(request.format);
  ExportedSchemas schemas;
  const auto add = [&](absl::string_view labels, const ExportSample& sample) {
    text.Add(labels, sample);
    if (text.bytes() <= request.max_bytes) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat(
        "the newest values have more than ", request.max_bytes,
        " bytes: select counters and machines, as in "
        "/metrics?path=\\Memory\\*, in several scrapes if need be; or have the "
        "aggregator send its values by remote write (export.url)"));
  };
  for (const std::string& machine : directory.Machines()) {
    if (paths.has_value() && !paths->MatchesMachine(machine)) continue;
    RETURN_IF_ERROR(CheckNotCancelled(request.is_cancelled));
    schemas.Trim();
    RETURN_IF_ERROR(
        ReadNewestValues({.machine = machine,
                          .oldest = request.now_of(machine) - kOldestScraped,
                          .paths = paths.has_value() ? &*paths : nullptr,
                          .is_cancelled = request.is_cancelled},
                         store, &schemas, add));
  }
  return text;
}

}  // namespace fleetperf::aggregator
