#include "agent/source/linux/network/linux_conntrack.h"

#include <iterator>
#include <optional>

#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kEntries,
  kEntriesLimit,
  kEntriesUsed,
  kEntriesUsedBase,
  kInsertFailures,
  kDrops,
  kEarlyDrops,
  kChainsTooLong,
  kInvalid,
  kIcmpErrors,
  kFound,
  kClashes,
  kSearchRestarts,
  kNumColumns
};

constexpr uint32_t kEntriesUsedBaseId = kFirstLinuxCounterId + 100;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterRawcount, "Entries", "Connections that are tracked."},
     "connections",
     "/proc/sys/net/netfilter/nf_conntrack_count"},
    {{1, kPerfCounterRawcount, "Entries Limit",
      "The largest number of connections that can be tracked."},
     "connections",
     "/proc/sys/net/netfilter/nf_conntrack_max"},
    {{2, kPerfRawFraction, "% Entries Used",
      "Entries as a percentage of Entries Limit.", kEntriesUsedBaseId},
     "%",
     "/proc/sys/net/netfilter nf_conntrack_count, nf_conntrack_max",
     "At 100 %, packets of new connections are dropped."},
    {{kEntriesUsedBaseId, kPerfRawBase, "", ""},
     "",
     "/proc/sys/net/netfilter/nf_conntrack_max"},
    {{3, kPerfCounterLargeDelta, "Insert Failures",
      "Connections that could not be entered into the table."},
     "connections",
     "/proc/net/stat/nf_conntrack insert_failed",
     "For example because of the same addresses and ports."},
    {{4, kPerfCounterLargeDelta, "Drops",
      "Packets dropped because a connection could not be tracked."},
     "packets",
     "/proc/net/stat/nf_conntrack drop",
     "Mostly because the table was full."},
    {{5, kPerfCounterLargeDelta, "Early Drops",
      "Connections removed from the full table to make room."},
     "connections",
     "/proc/net/stat/nf_conntrack early_drop"},
    {{6, kPerfCounterLargeDelta, "Chains Too Long",
      "Connections not entered because too many have the same hash."},
     "connections",
     "/proc/net/stat/nf_conntrack chainlength",
     "Absent in older kernels."},
    {{7, kPerfCounterCounter, "Invalid Packets/sec",
      "Packets that belong to no connection and cannot start one."},
     "packets/s",
     "/proc/net/stat/nf_conntrack invalid"},
    {{8, kPerfCounterCounter, "ICMP Errors/sec",
      "ICMP error messages that could not be assigned to a connection."},
     "messages/s",
     "/proc/net/stat/nf_conntrack icmp_error"},
    {{9, kPerfCounterCounter, "Found/sec",
      "Searches that found the connection."},
     "searches/s",
     "/proc/net/stat/nf_conntrack found",
     "Not those for every packet of a connection: those for new ones and for "
     "NAT."},
    {{10, kPerfCounterCounter, "Clashes/sec",
      "Insertions at the same time by several CPUs that were resolved."},
     "insertions/s",
     "/proc/net/stat/nf_conntrack clashres",
     "Absent in older kernels."},
    {{11, kPerfCounterCounter, "Search Restarts/sec",
      "Searches repeated because the table changed."},
     "searches/s",
     "/proc/net/stat/nf_conntrack search_restart"},
};
static_assert(std::size(kCounters) == kNumColumns);

struct Field {
  absl::string_view name;
  Column column;
};

constexpr Field kFields[] = {{"insert_failed", kInsertFailures},
                             {"drop", kDrops},
                             {"early_drop", kEarlyDrops},
                             {"chainlength", kChainsTooLong},
                             {"invalid", kInvalid},
                             {"icmp_error", kIcmpErrors},
                             {"found", kFound},
                             {"clashres", kClashes},
                             {"search_restart", kSearchRestarts}};

constexpr ColumnSet kCountColumns = Bit(kEntries) | Bit(kEntriesUsed);
constexpr ColumnSet kMaxColumns = Bit(kEntriesLimit) | Bit(kEntriesUsedBase);
constexpr ColumnSet kStatisticsColumns =
    ~(kCountColumns | kMaxColumns) & (Bit(kNumColumns) - 1);

}  // namespace

constinit const LinuxCounterset LinuxConntrack::kCounterset = {
    .guid = "{2b97a450-899a-55ab-92bc-3ecbc91f516e}",
    .name = "Linux Conntrack",
    .help = "The table of connections that the packet filter tracks.",
    .instance_type = kCountersetSingleInstance,
    .counters = kCounters};

LinuxConntrack::LinuxConntrack(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      count_(root + "/proc/sys/net/netfilter/nf_conntrack_count",
             ProcFile::Kind::kSmall),
      max_path_(root + "/proc/sys/net/netfilter/nf_conntrack_max"),
      statistics_(root + "/proc/net/stat/nf_conntrack") {}

absl::Status LinuxConntrack::Sample(ColumnSet needed, const Clocks& clocks,
                                    CountersetSample* sample) {
  sample->AddInstance("", 0);
  if ((needed & kCountColumns) != 0) {
    sample->Note(ReadCount(sample));
  }
  if ((needed & kMaxColumns) != 0) AddLimit(clocks, sample);
  if ((needed & kStatisticsColumns) != 0) {
    sample->Note(ReadStatistics(sample));
  }
  return absl::OkStatus();
}

absl::Status LinuxConntrack::ReadCount(CountersetSample* sample) {
  auto text = count_.Read(&buffer_);
  if (!text.ok()) return OkIfNotFound(text.status());
  if (const auto entries = NextNumber(&*text)) {
    sample->Set(kEntries, *entries);
    sample->Set(kEntriesUsed, *entries);
  }
  return absl::OkStatus();
}

void LinuxConntrack::AddLimit(const Clocks& clocks, CountersetSample* sample) {
  if (read_max_.IsDue(clocks)) limit_ = ReadNumber(max_path_);
  if (!limit_.has_value()) return;
  sample->Set(kEntriesLimit, *limit_);
  sample->Set(kEntriesUsedBase, *limit_);
}

// A line of names is followed by a line of hexadecimal numbers for each CPU
// that can exist.
absl::Status LinuxConntrack::ReadStatistics(CountersetSample* sample) {
  auto text = statistics_.Read(&buffer_);
  if (!text.ok()) return OkIfNotFound(text.status());
  absl::string_view line;
  if (!NextLine(&*text, &line)) return absl::OkStatus();
  if (line != names_) Locate(line);
  for (size_t cpu = 0; NextLine(&*text, &line); ++cpu) {
    AddCpu(cpu, line, sample);
  }
  return absl::OkStatus();
}

void LinuxConntrack::Locate(absl::string_view names) {
  names_ = std::string(names);
  positions_.clear();
  cpus_.clear();
  size_t word = 0;
  for (absl::string_view name = NextWord(&names); !name.empty();
       name = NextWord(&names), ++word) {
    for (const Field& field : kFields) {
      if (field.name == name) positions_.push_back({word, field.column});
    }
  }
}

void LinuxConntrack::AddCpu(size_t cpu, absl::string_view line,
                            CountersetSample* sample) {
  if (cpu == cpus_.size()) cpus_.emplace_back(positions_.size());
  size_t next = 0;
  for (size_t i = 0; i < positions_.size(); ++i) {
    const auto [word, column] = positions_[i];
    for (; next < word; ++next) NextWord(&line);
    const auto number = NextHexNumber(&line);
    ++next;
    sample->Add(column, number.has_value()
                            ? std::optional(cpus_[cpu][i].Update(*number))
                            : std::nullopt);
  }
}

}  // namespace fleetperf::agent
