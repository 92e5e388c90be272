// The newest values of series that are watched, as a table for people.

#ifndef FLEETPERF_AGGREGATOR_CLI_LIVE_TABLE_H_
#define FLEETPERF_AGGREGATOR_CLI_LIVE_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/cli/output.h"
#include "aggregator/cli/sparkline.h"
#include "aggregator/cli/values.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::cli {

// Thread-compatible.
class LiveTable {
 public:
  // Takes what a subscription brings, at `now`.
  void Add(const v1::SubscribeResponse& response, absl::Time now);

  // Rows are in the order of their paths, or of their values: the largest or
  // the smallest first.
  enum class Order : uint8_t { kPath, kLargest, kSmallest };
  void SetOrder(Order order);
  Order order() const { return order_; }

  // Shows later rows, or earlier ones.
  void TurnPage(int pages);

  struct Look {
    size_t rows = 0;                  // lines at most, if not 0
    size_t columns = 0;               // characters in a line at most, if not 0
    std::optional<Characters> trend;  // nothing: without
    bool has_keys = false;            // that sort and turn pages
  };
  // A line about all of it, a table, and a line about what is not shown.
  std::vector<std::string> Lines(const Look& look, absl::Time now);

 private:
  struct Row {
    v1::Series series;
    Value newest;
    absl::Time arrived = absl::InfinitePast();
    absl::Duration interval = absl::Seconds(1);  // between the newest two
    std::vector<std::optional<double>> trend;

    bool is_empty() const { return arrived == absl::InfinitePast(); }
  };

  void AddPoints(const v1::Points& points, absl::Time now);
  std::vector<const Row*> SortedRows() const;
  std::string Title(const Look& look, size_t series, absl::Time now) const;

  std::map<uint32_t, Row> rows_;
  Order order_ = Order::kPath;
  size_t first_ = 0;      // row that is shown
  size_t page_size_ = 0;  // of the last Lines; 0: there are no pages
  uint64_t lagged_ = 0;
  v1::LiveMachines live_machines_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_LIVE_TABLE_H_
