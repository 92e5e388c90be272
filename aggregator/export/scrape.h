// Gathers the newest values of a fleet for a scraper.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_SCRAPE_H_
#define FLEETPERF_AGGREGATOR_EXPORT_SCRAPE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/export/exposition.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/query/query_context.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

// Older values are left out, by the machine's clock: Prometheus does not show
// values for longer either.
inline constexpr absl::Duration kOldestScraped = absl::Minutes(5);
// The bytes of a text: some 300,000 series.
inline constexpr size_t kMaxScrape = 64 << 20;

struct ScrapeRequest {
  std::vector<std::string> paths;  // that select counters; empty: all
  ExpositionFormat format = ExpositionFormat::kPrometheusText;
  MachineNow now_of;
  IsCancelled is_cancelled = nullptr;
  size_t max_bytes = kMaxScrape;
};

// Returns the newest value of each selected series: names, labels and values
// are those of the export. Returns OutOfRange, with the next step, if the text
// has more bytes than `max_bytes`; InvalidArgument if a path is not valid; and
// errors of the store.
absl::StatusOr<Exposition> Scrape(const ScrapeRequest& request, Store* store);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_SCRAPE_H_
