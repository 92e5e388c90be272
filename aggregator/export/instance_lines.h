// The instances of a frame as series have them: by name, and by their number
// among the instances with that name or by their identity.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_INSTANCE_LINES_H_
#define FLEETPERF_AGGREGATOR_EXPORT_INSTANCE_LINES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// The property that the instances of a line have in common.
enum class LineKind : uint8_t {
  // Their name and number. The number counts, at each tick, the instances with
  // that name from 0, by instance id, as PDH does: after the end of an
  // instance, the later ones with its name move up.
  kNumber,
  // Their name, id and occurrence. The number is 0.
  kIdentity,
};

// All ticks of a frame with one name and number, or with one identity.
struct InstanceLine {
  // Consecutive ticks: of a run, or a single one that ends the line.
  struct Part {
    size_t run = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
    bool is_end = false;
  };

  std::shared_ptr<const Instance> instance;  // one of the line
  uint32_t index = 0;
  std::vector<Part> runs;
  bool is_present = false;  // at the last sound tick
  // The labels before and after that of the metric's name, encoded.
  std::string labels_before;
  std::string labels_after;
  bool has_labels = false;
};

// Thread-compatible.
class InstanceLines {
 public:
  explicit InstanceLines(LineKind kind) : kind_(kind) {}

  // Sets the lines of a frame, which must outlive them. `present` has the lines
  // that were present at the last sound tick before the frame.
  void Set(const Frame& frame, std::vector<InstanceLine> present);

  std::vector<InstanceLine>& lines() { return lines_; }

  // Returns the parts of a line in these ticks, which follow those of the last
  // call for the line. Valid until the next call.
  const std::vector<InstanceLine::Part>& Take(uint32_t begin, uint32_t end,
                                              InstanceLine* line);
  // Moves out the lines that are present after all ticks were taken.
  std::vector<InstanceLine> TakePresent();

 private:
  using Key = std::tuple<absl::string_view, uint32_t, uint32_t>;
  using Numbers = absl::flat_hash_map<Key, size_t>;

  Key KeyOf(const Instance& instance, uint32_t index) const;
  void AddByNumber();
  // Adds all ticks of a run to the line with the number 0.
  void AddWhole(size_t run);
  void AddRun(size_t run, uint32_t begin, uint32_t end, uint32_t index);
  void AddTwins(const std::vector<size_t>& runs);
  // Ends the line at its first sound tick from `begin` to before `end`.
  void EndIn(uint32_t begin, uint32_t end, InstanceLine* line);

  const LineKind kind_;
  const Frame* frame_ = nullptr;
  std::vector<InstanceLine> lines_;
  Numbers* known_ = nullptr;  // during Set: the lines by key
  std::vector<InstanceLine::Part> parts_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_INSTANCE_LINES_H_
