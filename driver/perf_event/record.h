// All records of the kernel, up to Linux 6.18. Strings and lists are views into
// the record's bytes.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_RECORD_H_
#define FLEETPERF_DRIVER_PERF_EVENT_RECORD_H_

#include <cstdint>
#include <variant>

#include "absl/strings/string_view.h"
#include "driver/perf_event/raw_record.h"
#include "driver/perf_event/sample.h"
#include "driver/perf_event/words.h"

namespace fleetperf::perf_event {

// A type that is newer than this library.
struct UnknownRecord {
  uint32_t type = 0;
  absl::string_view data;  // with the fields of SampleId, if any
};

// Memory that became executable, or with flag::kMmapData any mapping.
struct MmapRecord {
  ThreadId thread;
  uint64_t address;
  uint64_t length;
  uint64_t page_offset;    // bytes from the start of the file
  bool is_data;            // not executable
  absl::string_view file;  // or a name such as [vdso] or //anon
};

// Records that the event `id` dropped because the ring was full.
struct LostRecord {
  uint64_t id;
  uint64_t lost;
};

// A thread has a new name.
struct CommRecord {
  ThreadId thread;
  bool is_exec;  // with flag::kCommExec
  absl::string_view name;
};

// A thread ended (kExit) or started (kFork).
struct TaskRecord {
  ThreadId thread;
  ThreadId parent;
  uint64_t time;  // as SampleId::time()
};
struct ExitRecord : TaskRecord {};
struct ForkRecord : TaskRecord {};

// The event sampled too often and takes a break, or continues.
struct ThrottleBase {
  uint64_t time;
  uint64_t id;
  uint64_t stream_id;
};
struct ThrottleRecord : ThrottleBase {};
struct UnthrottleRecord : ThrottleBase {};

// The count of a thread that ended, with flag::kInheritStat.
struct ReadRecord {
  ThreadId thread;
  ReadValues values;
};

// With flag::kMmap2. The inode, or with flag::kBuildId the build id.
struct Mmap2Record {
  ThreadId thread;
  uint64_t address;
  uint64_t length;
  uint64_t page_offset;
  bool is_data;
  uint32_t major;  // 0 with a build id, and so are the next three
  uint32_t minor;
  uint64_t inode;
  uint64_t inode_generation;
  absl::string_view build_id;  // bytes; empty without one
  uint32_t protection;         // PROT_...
  uint32_t flags;              // MAP_...
  absl::string_view file;
};

// New data in the AUX area.
struct AuxRecord {
  uint64_t offset;
  uint64_t size;
  // Bits: kTruncated, kOverwrite, kPartial, kCollision, kFormatMask.
  uint64_t flags;

  static constexpr uint64_t kTruncated = 1;
  static constexpr uint64_t kOverwrite = 2;
  static constexpr uint64_t kPartial = 4;
  static constexpr uint64_t kCollision = 8;
  static constexpr uint64_t kFormatMask = 0xFF00;
};

struct ITraceStartRecord {
  ThreadId thread;
};

// Samples that the hardware dropped.
struct LostSamplesRecord {
  uint64_t lost;
};

// The thread of SampleId was switched in or out.
struct SwitchRecord {
  bool out;
  bool preempted;  // switched out while it could have run on
};
// The same in an event of a CPU, with the thread that ran before (or runs
// next, if `out`).
struct SwitchCpuWideRecord {
  bool out;
  bool preempted;
  ThreadId other;
};

// The namespaces of a thread.
struct NamespacesRecord {
  // Indexes of `links`.
  enum Kind { kNet, kUts, kIpc, kPid, kUser, kMount, kCgroup };

  ThreadId thread;
  Words links;  // device and inode number of each

  size_t size() const { return links.size() / 2; }
  // `index` is less than size().
  uint64_t device(size_t index) const { return links[2 * index]; }
  uint64_t inode(size_t index) const { return links[2 * index + 1]; }
};

// Code of the kernel that came, or went.
struct KsymbolRecord {
  enum Type : uint16_t { kUnknown = 0, kBpf = 1, kOutOfLine = 2 };

  uint64_t address;
  uint32_t length;
  uint16_t type;
  bool unregistered;
  absl::string_view name;
};

struct BpfEventRecord {
  enum Type : uint16_t { kUnknown = 0, kLoad = 1, kUnload = 2 };

  uint16_t type;
  uint16_t flags;
  uint32_t id;
  absl::string_view tag;  // 8 bytes
};

// A cgroup was created.
struct CgroupRecord {
  uint64_t id;
  absl::string_view path;
};

// Code of the kernel was changed.
struct TextPokeRecord {
  uint64_t address;
  absl::string_view old_bytes;
  absl::string_view new_bytes;
};

struct AuxOutputHardwareIdRecord {
  uint64_t hardware_id;
};

struct Record {
  uint16_t misc;  // bits of namespace misc
  SampleId id;    // of samples, too
  std::variant<UnknownRecord, MmapRecord, LostRecord, CommRecord, ExitRecord,
               ThrottleRecord, UnthrottleRecord, ForkRecord, ReadRecord, Sample,
               Mmap2Record, AuxRecord, ITraceStartRecord, LostSamplesRecord,
               SwitchRecord, SwitchCpuWideRecord, NamespacesRecord,
               KsymbolRecord, BpfEventRecord, CgroupRecord, TextPokeRecord,
               AuxOutputHardwareIdRecord>
      data;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_RECORD_H_
