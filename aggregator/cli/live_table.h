// The newest values of watched series, as a table for users.

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
  // Adds a response of the subscription, received at `now`.
  void Add(const v1::SubscribeResponse& response, absl::Time now);

  // The order of rows: by path, or by value with the largest or the smallest
  // first.
  enum class Order : uint8_t { kPath, kLargest, kSmallest };
  void SetOrder(Order order);
  Order order() const { return order_; }

  // Moves `pages` pages forward or back.
  void TurnPage(int pages);

  struct Look {
    size_t rows = 0;                  // the maximum number of lines, if not 0
    size_t columns = 0;               // the maximum line length, if not 0
    std::optional<Characters> trend;  // nullopt: no trend
    bool has_keys = false;            // keys sort and turn pages
  };
  // Returns a title line, the table, and a line about hidden rows.
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
  size_t first_ = 0;      // the first visible row
  size_t page_size_ = 0;  // in the last Lines; 0: no pages
  uint64_t lagged_ = 0;
  v1::LiveMachines live_machines_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_LIVE_TABLE_H_
