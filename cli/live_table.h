// The newest values of watched series, as a table for users.

#ifndef FLEETPERF_CLI_LIVE_TABLE_H_
#define FLEETPERF_CLI_LIVE_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output.h"
#include "cli/sparkline.h"
#include "cli/values.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::cli {

// Thread-compatible.
class LiveTable {
 public:
  // Adds a response of the subscription.
  void Add(const v1::SubscribeResponse& response);

  // The order of rows: by path; or by counter and value, with the largest or
  // the smallest value first. Late rows follow the current ones of their
  // counter, in the same order.
  enum class Order : uint8_t { kPath, kLargest, kSmallest };
  void SetOrder(Order order);
  Order order() const { return order_; }

  // Returns the number of rows that are late at `now`.
  size_t CountLate(absl::Time now) const;

  // Moves `pages` pages forward or back.
  void TurnPage(int pages);

  struct Look {
    size_t rows = 0;                  // the maximum number of lines, if not 0
    size_t columns = 0;               // the maximum line length, if not 0
    std::optional<Characters> trend;  // nullopt: no trend
    bool has_keys = false;            // keys sort and turn pages
    bool pivot = false;               // counters are columns; no trend
  };
  // Returns a title line, the table (FormatTable), and a line about hidden
  // rows. A row whose sample is late at `now`, by the sample's own time, has
  // its age beside it.
  std::vector<std::string> Lines(const Look& look, absl::Time now);

 private:
  struct Row {
    v1::Series series;
    Value newest{.time = absl::InfinitePast()};
    std::vector<absl::Duration> intervals;  // the last few between values
    std::vector<std::optional<double>> trend;

    bool is_empty() const { return newest.time == absl::InfinitePast(); }
    bool IsLate(absl::Time now) const;
  };

  void AddPoints(const v1::Points& points);
  std::vector<const Row*> SortedRows(absl::Time now) const;
  // Returns the lines of a page of at most `page_size` rows, or of all if 0.
  std::vector<std::string> PageLines(const std::vector<const Row*>& rows,
                                     const Look& look, absl::Time now,
                                     size_t page_size);
  // The same with counters as columns.
  std::vector<std::string> PivotLines(const std::vector<const Row*>& rows,
                                      const Look& look, absl::Time now);
  static Record ToRecord(const Row& row, absl::Time now, bool has_share);
  std::string OrderText(absl::Time now) const;
  std::string Title(const Look& look, size_t series, absl::Time now) const;

  std::map<uint32_t, Row> rows_;
  Order order_ = Order::kPath;
  size_t first_ = 0;      // the first visible row
  size_t page_size_ = 0;  // in the last Lines; 0: no pages
  uint64_t lagged_ = 0;
  v1::LiveMachines live_machines_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_LIVE_TABLE_H_
