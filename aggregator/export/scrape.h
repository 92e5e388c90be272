// Gathers the newest values of a fleet for a scraper.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_SCRAPE_H_
#define FLEETPERF_AGGREGATOR_EXPORT_SCRAPE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/export/exposition.h"
#include "aggregator/export/machine_series.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/query/query_context.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

// Older values are left out, by the machine's clock: Prometheus does not show
// values for longer either.
inline constexpr absl::Duration kOldestScraped = absl::Minutes(5);
// The bytes of a text: some 300,000 series.
inline constexpr size_t kMaxScrape = 64 << 20;
// The bytes of a machine's values in memory: some 40,000 series. As text, they
// may have twice as many.
inline constexpr size_t kMaxScrapeOfMachine = 8 << 20;
// The part of a text that the machines of one certificate have if not all
// values fit: some 20,000 series.
inline constexpr size_t kHolderShare = 16;

struct ScrapeRequest {
  std::vector<std::string> paths;  // that select counters; empty: all
  ExpositionFormat format = ExpositionFormat::kPrometheusText;
  MachineNow now_of;
  IsCancelled is_cancelled = nullptr;
  size_t max_bytes = kMaxScrape;
  size_t max_machine_bytes = kMaxScrapeOfMachine;
  ExportedMachines machines = {};
  // Called with each machine that is left out, because it or its certificate's
  // machines have more bytes or the store returns an error, and that error. May
  // be empty.
  std::function<void(const std::string& machine, const absl::Status& error)>
      on_left_out = nullptr;
};

// Returns the newest value of each selected series, and the series that tell
// of machines: names, labels and values are those of the export. If the text
// has more bytes than `max_bytes`, machines beyond the share of their
// certificate are left out, and the text says so. Returns OutOfRange, with the
// next step, if that is not enough; ResourceExhausted if too many samples must
// be read; InvalidArgument if a path is not valid; and the last error if all
// selected machines are left out.
absl::StatusOr<Exposition> Scrape(const ScrapeRequest& request, Store* store);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_SCRAPE_H_
