// Parsers for the statistics of network protocols in /proc/net.
//
// The number and order of fields differ between kernels, so fields are found by
// name. The positions found are kept while the names in the file stay the same.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_PROTOCOL_STATISTICS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_PROTOCOL_STATISTICS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/source/linux/counters.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

// A number in a file, which is added to a column.
struct StatisticsField {
  absl::string_view section;  // "Tcp"; empty in a file without sections
  absl::string_view name;     // "InSegs"
  size_t column;

  bool operator==(const StatisticsField&) const = default;
};

// Returns the fields that the counters' sources name: a file followed by one
// field, or by several whose sum is the counter:
// "/proc/net/snmp Tcp InSegs + Tcp OutSegs". The result refers to the sources.
std::vector<StatisticsField> FieldsOf(absl::Span<const LinuxCounter> counters);

// The format of /proc/net/snmp and /proc/net/netstat: a line of names, then one
// of numbers: "Tcp: InSegs OutSegs", "Tcp: 12 34". Thread-compatible.
class LinePairs {
 public:
  explicit LinePairs(absl::Span<const StatisticsField> fields);

  // Adds the numbers in `text` to the last row of `sample`. A column stays
  // absent if one of its fields is not in `text`, or has no number.
  void Read(absl::string_view text, CountersetSample* sample);

 private:
  struct Position {
    size_t word;  // of the line, after the section
    size_t column;
  };
  struct Section {
    std::string prefix;  // "Tcp:"
    std::vector<StatisticsField> fields;
    // The line of names that `positions` belongs to, and the places of the
    // fields in ascending order.
    std::string names;
    std::vector<Position> positions;
    std::vector<size_t> incomplete;  // columns of which a field is missing
  };

  Section* FindSection(absl::string_view line);
  static void Locate(absl::string_view names, Section& section);
  static void ReadNumbers(absl::string_view numbers, const Section& section,
                          CountersetSample* sample);

  std::vector<Section> sections_;
};

// The format of /proc/net/snmp6: lines "Udp6InDatagrams  12".
// Thread-compatible.
class NamedLines {
 public:
  explicit NamedLines(absl::Span<const StatisticsField> fields);

  // As LinePairs::Read.
  void Read(absl::string_view text, CountersetSample* sample);

 private:
  struct Position {
    size_t line;
    size_t field;
  };

  void Locate(absl::string_view text);
  // Returns false if a line does not have the expected name.
  bool ReadNumbers(absl::string_view text);

  const std::vector<StatisticsField> fields_;
  std::vector<Position> positions_;  // in ascending order
  std::vector<size_t> incomplete_;   // columns of which a field is missing
  std::vector<std::optional<uint64_t>> numbers_;  // by position
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_PROTOCOL_STATISTICS_H_
