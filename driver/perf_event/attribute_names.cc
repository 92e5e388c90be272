#include "driver/perf_event/attribute_names.h"

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace fleetperf::perf_event {
namespace {

struct Name {
  uint64_t bit;
  absl::string_view name;
  absl::string_view since = "3.0";
};

constexpr Name kFlags[] = {
    {flag::kDisabled, "disabled"},
    {flag::kInherit, "inherit"},
    {flag::kPinned, "pinned"},
    {flag::kExclusive, "exclusive"},
    {flag::kExcludeUser, "exclude_user"},
    {flag::kExcludeKernel, "exclude_kernel"},
    {flag::kExcludeHypervisor, "exclude_hv"},
    {flag::kExcludeIdle, "exclude_idle"},
    {flag::kMmap, "mmap"},
    {flag::kComm, "comm"},
    {flag::kFrequency, "freq"},
    {flag::kInheritStat, "inherit_stat"},
    {flag::kEnableOnExec, "enable_on_exec"},
    {flag::kTask, "task"},
    {flag::kWatermark, "watermark"},
    {1ull << flag::kPreciseIpShift, "precise_ip (1)"},
    {2ull << flag::kPreciseIpShift, "precise_ip (2)"},
    {flag::kMmapData, "mmap_data"},
    {flag::kSampleIdAll, "sample_id_all"},
    {flag::kExcludeHost, "exclude_host", "3.2"},
    {flag::kExcludeGuest, "exclude_guest", "3.2"},
    {flag::kExcludeCallchainKernel, "exclude_callchain_kernel", "3.7"},
    {flag::kExcludeCallchainUser, "exclude_callchain_user", "3.7"},
    {flag::kMmap2, "mmap2", "3.12"},
    {flag::kCommExec, "comm_exec", "3.16"},
    {flag::kUseClockId, "use_clockid", "4.1"},
    {flag::kContextSwitch, "context_switch", "4.3"},
    {flag::kWriteBackward, "write_backward", "4.7"},
    {flag::kNamespaces, "namespaces", "4.12"},
    {flag::kKsymbol, "ksymbol", "5.1"},
    {flag::kBpfEvent, "bpf_event", "5.1"},
    {flag::kAuxOutput, "aux_output", "5.4"},
    {flag::kCgroup, "cgroup", "5.7"},
    {flag::kTextPoke, "text_poke", "5.8"},
    {flag::kBuildId, "build_id", "5.12"},
    {flag::kInheritThread, "inherit_thread", "5.13"},
    {flag::kRemoveOnExec, "remove_on_exec", "5.13"},
    {flag::kSigtrap, "sigtrap", "5.13"},
};

constexpr Name kReadFormats[] = {
    {read_format::kTotalTimeEnabled, "read_format TOTAL_TIME_ENABLED"},
    {read_format::kTotalTimeRunning, "read_format TOTAL_TIME_RUNNING"},
    {read_format::kId, "read_format ID"},
    {read_format::kGroup, "read_format GROUP"},
    {read_format::kLost, "read_format LOST", "6.0"},
};

constexpr Name kSampleTypes[] = {
    {sample::kIp, "sample_type IP"},
    {sample::kTid, "sample_type TID"},
    {sample::kTime, "sample_type TIME"},
    {sample::kAddress, "sample_type ADDR"},
    {sample::kRead, "sample_type READ"},
    {sample::kCallchain, "sample_type CALLCHAIN"},
    {sample::kId, "sample_type ID"},
    {sample::kCpu, "sample_type CPU"},
    {sample::kPeriod, "sample_type PERIOD"},
    {sample::kStreamId, "sample_type STREAM_ID"},
    {sample::kRaw, "sample_type RAW"},
    {sample::kBranchStack, "sample_type BRANCH_STACK", "3.4"},
    {sample::kRegsUser, "sample_type REGS_USER", "3.7"},
    {sample::kStackUser, "sample_type STACK_USER", "3.7"},
    {sample::kWeight, "sample_type WEIGHT", "3.10"},
    {sample::kDataSource, "sample_type DATA_SRC", "3.10"},
    {sample::kIdentifier, "sample_type IDENTIFIER", "3.12"},
    {sample::kTransaction, "sample_type TRANSACTION", "3.13"},
    {sample::kRegsIntr, "sample_type REGS_INTR", "3.19"},
    {sample::kPhysicalAddress, "sample_type PHYS_ADDR", "4.14"},
    {sample::kAux, "sample_type AUX", "5.5"},
    {sample::kCgroup, "sample_type CGROUP", "5.7"},
    {sample::kDataPageSize, "sample_type DATA_PAGE_SIZE", "5.11"},
    {sample::kCodePageSize, "sample_type CODE_PAGE_SIZE", "5.11"},
    {sample::kWeightStruct, "sample_type WEIGHT_STRUCT", "5.12"},
};

constexpr Name kBranchTypes[] = {
    {branch::kUser, "branch_sample_type USER", "3.4"},
    {branch::kKernel, "branch_sample_type KERNEL", "3.4"},
    {branch::kHypervisor, "branch_sample_type HV", "3.4"},
    {branch::kAny, "branch_sample_type ANY", "3.4"},
    {branch::kAnyCall, "branch_sample_type ANY_CALL", "3.4"},
    {branch::kAnyReturn, "branch_sample_type ANY_RETURN", "3.4"},
    {branch::kIndirectCall, "branch_sample_type IND_CALL", "3.4"},
    {branch::kAbortTransaction, "branch_sample_type ABORT_TX", "3.11"},
    {branch::kInTransaction, "branch_sample_type IN_TX", "3.11"},
    {branch::kNoTransaction, "branch_sample_type NO_TX", "3.11"},
    {branch::kConditional, "branch_sample_type COND", "3.16"},
    {branch::kCallStack, "branch_sample_type CALL_STACK", "4.1"},
    {branch::kIndirectJump, "branch_sample_type IND_JUMP", "4.2"},
    {branch::kCall, "branch_sample_type CALL", "4.4"},
    {branch::kNoFlags, "branch_sample_type NO_FLAGS", "4.5"},
    {branch::kNoCycles, "branch_sample_type NO_CYCLES", "4.5"},
    {branch::kTypeSave, "branch_sample_type TYPE_SAVE", "4.14"},
    {branch::kHardwareIndex, "branch_sample_type HW_INDEX", "5.7"},
    {branch::kPrivilegeSave, "branch_sample_type PRIV_SAVE", "6.1"},
    {branch::kCounters, "branch_sample_type COUNTERS", "6.8"},
};

#define END(field) (offsetof(Attributes, field) + sizeof(Attributes::field))

class Collector {
 public:
  void AddNumber(absl::string_view name, uint64_t value, size_t end,
                 absl::string_view since = "3.0") {
    if (value == 0) return;
    used_.push_back({name, absl::StrCat("0x", absl::Hex(value)), since, end});
  }

  template <size_t n>
  void AddBits(const Name (&names)[n], uint64_t bits, size_t end) {
    for (const Name& name : names) {
      if ((bits & name.bit) == 0) continue;
      used_.push_back({name.name, "1", name.since, end});
      bits &= ~name.bit;
    }
    AddNumber("unknown bits", bits, end);
  }

  std::vector<UsedAttribute> Take() { return std::move(used_); }

 private:
  std::vector<UsedAttribute> used_;
};

// Major and minor number of "5.10.0-28-amd64".
std::optional<std::pair<int, int>> ParseVersion(absl::string_view text) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(text, absl::ByAnyChar(".-"));
  std::pair<int, int> version;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &version.first) ||
      !absl::SimpleAtoi(parts[1], &version.second)) {
    return std::nullopt;
  }
  return version;
}

}  // namespace

std::vector<UsedAttribute> UsedAttributes(const Attributes& a) {
  Collector collector;
  collector.AddNumber("type", a.type, END(type));
  collector.AddNumber("config", a.config, END(config));
  collector.AddNumber("sample_period", a.sample_period, END(sample_period));
  collector.AddBits(kSampleTypes, a.sample_type, END(sample_type));
  collector.AddBits(kReadFormats, a.read_format, END(read_format));
  collector.AddBits(kFlags, a.flags, END(flags));
  collector.AddNumber("wakeup", a.wakeup, END(wakeup));
  collector.AddNumber("bp_type", a.breakpoint_type, END(breakpoint_type));
  collector.AddNumber("config1", a.config1, END(config1));
  collector.AddNumber("config2", a.config2, END(config2));
  collector.AddBits(kBranchTypes, a.branch_sample_type,
                    END(branch_sample_type));
  collector.AddNumber("sample_regs_user", a.sample_regs_user,
                      END(sample_regs_user), "3.7");
  collector.AddNumber("sample_stack_user", a.sample_stack_user,
                      END(sample_stack_user), "3.7");
  collector.AddNumber("clockid", static_cast<uint32_t>(a.clock_id),
                      END(clock_id), "4.1");
  collector.AddNumber("sample_regs_intr", a.sample_regs_intr,
                      END(sample_regs_intr), "3.19");
  collector.AddNumber("aux_watermark", a.aux_watermark, END(aux_watermark),
                      "4.1");
  collector.AddNumber("sample_max_stack", a.sample_max_stack,
                      END(sample_max_stack), "4.8");
  collector.AddNumber("aux_sample_size", a.aux_sample_size,
                      END(aux_sample_size), "5.5");
  collector.AddNumber("aux_action", a.aux_action, END(aux_action), "6.13");
  collector.AddNumber("sig_data", a.signal_data, END(signal_data), "5.13");
  collector.AddNumber("config3", a.config3, END(config3), "6.3");
  return collector.Take();
}

#undef END

bool IsOlder(absl::string_view release, absl::string_view version) {
  const auto running = ParseVersion(release);
  const auto wanted = ParseVersion(version);
  return running && wanted && *running < *wanted;
}

}  // namespace fleetperf::perf_event
