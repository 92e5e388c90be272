// The fields of a sample that are more than one number. Views: valid as long as
// the record's bytes. Source of the layouts: include/uapi/linux/perf_event.h of
// Linux 6.18.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_SAMPLE_FIELDS_H_
#define FLEETPERF_DRIVER_PERF_EVENT_SAMPLE_FIELDS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "driver/perf_event/attributes.h"
#include "driver/perf_event/values.h"
#include "driver/perf_event/words.h"

namespace fleetperf::perf_event {

// Numbers of the pid namespace of the process that opened the event. 0 is an
// idle CPU, and 2^32 - 1 a thread that has ended.
struct ThreadId {
  uint32_t pid;
  uint32_t tid;

  friend bool operator==(const ThreadId&, const ThreadId&) = default;
};

// Entries of a call chain that are no addresses, but say in which mode the
// following ones were executed.
namespace callchain {
inline constexpr uint64_t kHypervisor = static_cast<uint64_t>(-32);
inline constexpr uint64_t kKernel = static_cast<uint64_t>(-128);
inline constexpr uint64_t kUser = static_cast<uint64_t>(-512);
inline constexpr uint64_t kGuest = static_cast<uint64_t>(-2048);
inline constexpr uint64_t kGuestKernel = static_cast<uint64_t>(-2176);
inline constexpr uint64_t kGuestUser = static_cast<uint64_t>(-2560);
inline constexpr uint64_t kMax = static_cast<uint64_t>(-4095);

inline bool IsContext(uint64_t entry) { return entry >= kMax; }
}  // namespace callchain

// What read(2) of the event, or of its group, would return. An event without
// read_format::kGroup has one entry.
class ReadValues {
 public:
  ReadValues(Words words, uint64_t read_format)
      : words_(words), read_format_(read_format) {}

  bool is_group() const { return Has(read_format::kGroup); }
  std::optional<uint64_t> time_enabled() const {
    if (!Has(read_format::kTotalTimeEnabled)) return std::nullopt;
    return words_[1];
  }
  std::optional<uint64_t> time_running() const {
    if (!Has(read_format::kTotalTimeRunning)) return std::nullopt;
    return words_[Has(read_format::kTotalTimeEnabled) ? 2 : 1];
  }

  size_t size() const {
    return is_group() ? static_cast<size_t>(words_[0]) : 1;
  }
  // `index` is less than size().
  GroupEntry operator[](size_t index) const;

  // Words before the entries of a group, and of each entry.
  static size_t HeadWords(uint64_t read_format);
  static size_t EntryWords(uint64_t read_format);

 private:
  bool Has(uint64_t bit) const { return (read_format_ & bit) != 0; }

  Words words_;
  uint64_t read_format_;
};

// PERF_BR_*. The last ones are those of `new_type`.
enum class BranchType : uint8_t {
  kUnknown = 0,
  kConditional = 1,
  kUnconditional = 2,
  kIndirect = 3,
  kCall = 4,
  kIndirectCall = 5,
  kReturn = 6,
  kSystemCall = 7,
  kSystemReturn = 8,
  kConditionalCall = 9,
  kConditionalReturn = 10,
  kExceptionReturn = 11,
  kInterrupt = 12,
  kSystemError = 13,
  kNoTransaction = 14,
  kExtended = 15,  // see BranchEntry::new_type
};
enum class NewBranchType : uint8_t {
  kAlignmentFault = 0,
  kDataFault = 1,
  kInstructionFault = 2,
  kArchitecture1 = 3,
  kArchitecture2 = 4,
  kArchitecture3 = 5,
  kArchitecture4 = 6,
  kArchitecture5 = 7,
};
enum class BranchSpeculation : uint8_t {
  kUnknown = 0,
  kWrongPath = 1,
  kNotSpeculative = 2,
  kCorrectPath = 3,
};
enum class BranchPrivilege : uint8_t {
  kUnknown = 0,
  kUser = 1,
  kKernel = 2,
  kHypervisor = 3,
};

struct BranchEntry {
  uint64_t from = 0;
  uint64_t to = 0;
  // Both are false if the CPU does not tell.
  bool mispredicted = false;
  bool predicted = false;
  bool in_transaction = false;
  bool abort = false;
  uint16_t cycles = 0;  // since the previous branch; 0: unknown
  BranchType type = BranchType::kUnknown;  // with branch::kTypeSave
  BranchSpeculation speculation = BranchSpeculation::kUnknown;
  NewBranchType new_type = NewBranchType::kAlignmentFault;
  BranchPrivilege privilege =
      BranchPrivilege::kUnknown;  // branch::kPrivilegeSave

  friend bool operator==(const BranchEntry&, const BranchEntry&) = default;
};

// The last branches, the newest first.
class BranchStack {
 public:
  static constexpr size_t kEntryWords = 3;

  BranchStack() = default;
  BranchStack(std::optional<uint64_t> hardware_index, Words entries,
              Words counters, bool big_endian)
      : hardware_index_(hardware_index),
        entries_(entries),
        counters_(counters),
        big_endian_(big_endian) {}

  size_t size() const { return entries_.size() / kEntryWords; }
  bool empty() const { return entries_.empty(); }
  // `index` is less than size().
  BranchEntry operator[](size_t index) const;
  // What branch::kCounters adds to each entry, in the PMU's own format; empty
  // without it.
  Words counters() const { return counters_; }
  // With branch::kHardwareIndex, unless the stack is empty; 2^64 - 1: unknown.
  std::optional<uint64_t> hardware_index() const { return hardware_index_; }

 private:
  std::optional<uint64_t> hardware_index_;
  Words entries_;
  Words counters_;
  bool big_endian_ = false;
};

enum class RegistersAbi : uint64_t { kNone = 0, k32 = 1, k64 = 2 };

// Registers at the time of the sample. Bit n of the mask is register n of the
// architecture's asm/perf_regs.h.
class Registers {
 public:
  Registers() = default;
  Registers(RegistersAbi abi, uint64_t mask, Words values)
      : abi_(abi), mask_(mask), values_(values) {}

  // kNone: the sample has no registers, because the thread has none.
  RegistersAbi abi() const { return abi_; }
  uint64_t mask() const { return mask_; }
  // In the order of the mask's bits.
  Words values() const { return values_; }
  // Returns nothing for registers that the sample does not have.
  std::optional<uint64_t> Get(int number) const {
    if (number < 0 || number > 63 || values_.empty()) return std::nullopt;
    const uint64_t bit = uint64_t{1} << number;
    if ((mask_ & bit) == 0) return std::nullopt;
    return values_[static_cast<size_t>(std::popcount(mask_ & (bit - 1)))];
  }

 private:
  RegistersAbi abi_ = RegistersAbi::kNone;
  uint64_t mask_ = 0;
  Words values_;
};

// sample::kWeightStruct. Meanings depend on the CPU; on x86, var1_dw is the
// latency of the cache in cycles and var2_w that of the instruction.
struct WeightStruct {
  uint32_t var1_dw;
  uint16_t var2_w;
  uint16_t var3_w;

  friend bool operator==(const WeightStruct&, const WeightStruct&) = default;
};

// Where the data of a memory access came from. Fields hold the bits of the
// constants PERF_MEM_*, shifted to bit 0; 0: not available.
struct DataSource {
  uint64_t value = 0;

  // Bits of Operation.
  enum Operation : uint32_t {
    kOperationUnknown = 1,
    kLoad = 2,
    kStore = 4,
    kPrefetch = 8,
    kExecute = 16,
  };
  uint32_t operation() const { return Field(0, 5); }  // mem_op

  // Bits; superseded by level_number(), remote() and snoop_extended().
  enum Level : uint32_t {
    kLevelUnknown = 1,
    kLevelHit = 2,
    kLevelMiss = 4,
    kLevelL1 = 8,
    kLevelLineFillBuffer = 0x10,
    kLevelL2 = 0x20,
    kLevelL3 = 0x40,
    kLevelLocalRam = 0x80,
    kLevelRemoteRam1 = 0x100,
    kLevelRemoteRam2 = 0x200,
    kLevelRemoteCache1 = 0x400,
    kLevelRemoteCache2 = 0x800,
    kLevelIo = 0x1000,
    kLevelUncached = 0x2000,
  };
  uint32_t level() const { return Field(5, 14); }  // mem_lvl

  // Bits.
  enum Snoop : uint32_t {
    kSnoopUnknown = 1,
    kSnoopNone = 2,
    kSnoopHit = 4,
    kSnoopMiss = 8,
    kSnoopHitModified = 16,
  };
  uint32_t snoop() const { return Field(19, 5); }  // mem_snoop

  // Bits.
  enum Lock : uint32_t { kLockUnknown = 1, kLocked = 2 };
  uint32_t lock() const { return Field(24, 2); }  // mem_lock

  // Bits.
  enum Tlb : uint32_t {
    kTlbUnknown = 1,
    kTlbHit = 2,
    kTlbMiss = 4,
    kTlbL1 = 8,
    kTlbL2 = 0x10,
    kTlbWalker = 0x20,
    kTlbFaultHandler = 0x40,
  };
  uint32_t tlb() const { return Field(26, 7); }  // mem_dtlb

  // Numbers.
  enum LevelNumber : uint32_t {
    kL1 = 1,
    kL2 = 2,
    kL3 = 3,
    kL4 = 4,
    kL2Mhb = 5,
    kMemorySideCache = 6,
    kUncached = 8,
    kCxl = 9,
    kIo = 0xA,
    kAnyCache = 0xB,
    kLineFillBuffer = 0xC,
    kRam = 0xD,
    kPersistentMemory = 0xE,
    kLevelNumberUnknown = 0xF,
  };
  uint32_t level_number() const { return Field(33, 4); }  // mem_lvl_num

  bool remote() const { return Field(37, 1) != 0; }  // mem_remote

  // Bits.
  enum SnoopExtended : uint32_t { kForwarded = 1, kFromPeer = 2 };
  uint32_t snoop_extended() const { return Field(38, 2); }  // mem_snoopx

  // Bits.
  enum Blocked : uint32_t {
    kBlockedUnknown = 1,
    kBlockedData = 2,
    kBlockedAddress = 4,
  };
  uint32_t blocked() const { return Field(40, 3); }  // mem_blk

  // 1: another core of the node; 2: another node of the socket; 3: another
  // socket of the board; 4: another board.
  uint32_t hops() const { return Field(43, 3); }  // mem_hops

 private:
  uint32_t Field(int shift, int bits) const {
    return static_cast<uint32_t>(value >> shift & ((1u << bits) - 1));
  }
};

// Why a hardware transaction was aborted.
struct Transaction {
  uint64_t value = 0;

  bool elision() const { return Bit(0); }
  bool transaction() const { return Bit(1); }
  bool synchronous() const { return Bit(2); }
  bool asynchronous() const { return Bit(3); }
  bool retry() const { return Bit(4); }
  bool conflict() const { return Bit(5); }
  bool capacity_write() const { return Bit(6); }
  bool capacity_read() const { return Bit(7); }
  uint32_t abort_code() const { return static_cast<uint32_t>(value >> 32); }

 private:
  bool Bit(int number) const { return (value >> number & 1) != 0; }
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_SAMPLE_FIELDS_H_
