// The keys of the embedded store. Numbers are big-endian, so RocksDB sorts keys
// in numeric order. Upper-case words stand for numbers or names. MACHINE#,
// EPOCH# and SHAPE# are numbers assigned by the store. Names are canonical.
//
// In the family "default":
//
//   i                   the store's id
//   w                   a time of day that is known to be right
//   k                   CommitMark of the last commit
//   u                   empty; commits were lost, perhaps with definitions, so
//                       agents are asked for them
//   a AGENT \0 EPOCH    EPOCH#. This record and the next one remain while the
//                       epoch has fingerprints; its definitions remain until
//                       it ends
//   h EPOCH#            durable sequence, fingerprint of that batch
//   d KIND EPOCH# ID    a definition of the epoch; the last kind is its agent
//   s HASH              a schema's registration
//   c HASH              a catalogue's contents
//   m MACHINE           the catalogue's hash (32 bytes), Machine
//   x MACHINE           empty; the machine was forgotten: it is in no list, but
//                       its samples may remain
//   l AGENT \0 MACHINE  Machine, whose lost_ticks hold the losses; an empty
//                       MACHINE stands for all machines of the agent
//   n MACHINE           MACHINE#
//   g SHAPE#            a schema's hash, the original interval of thinned data
//                       in seconds (or 0), and QueryDefinition
//   q MACHINE# SHAPE#   empty; the machine has chunks of this shape
//   t MACHINE#          EPOCH#, SEQUENCE and time of the machine's newest
//                       sample in chunks
//   f EPOCH# SEQUENCE   fingerprints of batches in chunks: this batch and the
//                       following ones
//   e EPOCH# MACHINE#   what the export has taken of the epoch's samples of the
//                       machine; removed with the epoch's record
//   p KEY               the chunk whose head has KEY has, or had when it was
//                       removed, samples that the export has not taken: the
//                       sequence of its last batch, the number of its values,
//                       a time of receipt
//
// In "log":
//
//   EPOCH# SEQUENCE     time of receipt, Batch
//
// In "times", which is small and read at startup:
//
//   EPOCH# SEQUENCE     oldest and newest sample, time of receipt, fingerprint
//
// In "chunks", where CHUNK is MACHINE# RESOLUTION HOUR EPOCH# ORDER:
//
//   H CHUNK             size of the body, time of receipt, the chunk's head
//   P CHUNK PAGE        one page of the chunk's body
//   L MACHINE# HOUR EPOCH# SEQUENCE
//                       BatchContent with the losses that end in this hour
//   R RESOLUTION HOUR KEY
//                       marks KEY, of a chunk's head, losses or fingerprints,
//                       as received in this hour. For a chunk, the value is
//                       the shapes of its queries. Data that must not be
//                       thinned has the lowest resolution.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_KEYS_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_KEYS_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/samples/resolution.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

// The column families, numbered as in the database.
enum class Family { kDefault, kLog, kTimes, kChunks };

inline constexpr size_t kHashSize = 32;  // of schemas and catalogues, in bytes

// Returns the first key after all keys that begin with `prefix`. Empty if no
// such key exists.
inline std::string EndOfPrefix(absl::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) ++end.back();
  return end;
}

template <typename Number>
std::string BigEndian(Number number) {
  std::string bytes(sizeof number, '\0');
  for (size_t i = sizeof number; i-- > 0;) {
    bytes[i] = static_cast<char>(number & 0xFF);
    number = static_cast<Number>(number >> 8);
  }
  return bytes;
}

// Consumes a number from the front of `from`. Returns false if `from` is too
// short.
template <typename Number>
bool GetBigEndian(absl::string_view* from, Number* number) {
  if (from->size() < sizeof *number) return false;
  *number = 0;
  for (const char byte : from->substr(0, sizeof *number)) {
    *number = static_cast<Number>(*number << 8 | static_cast<uint8_t>(byte));
  }
  from->remove_prefix(sizeof *number);
  return true;
}

// Times are stored as 64-bit numbers.
inline std::string EncodeTime(absl::Time time) {
  return BigEndian(static_cast<uint64_t>(absl::ToUnixNanos(time)));
}
inline bool GetTime(absl::string_view* from, absl::Time* time) {
  uint64_t nanos = 0;
  if (!GetBigEndian(from, &nanos)) return false;
  *time = absl::FromUnixNanos(static_cast<int64_t>(nanos));
  return true;
}

// The error for a record whose value was not written by the store.
inline absl::Status DamagedRecord(absl::string_view key) {
  return absl::DataLossError(absl::StrCat(
      "the store's record \"", absl::CHexEscape(key), "\" is damaged"));
}

// The hour of a tick by its machine's clock, in hours since 1601.
inline constexpr int64_t kHour = int64_t{3600} * 10'000'000;  // in 100 ns
inline uint32_t HourOf(const perflib::Clocks& clocks) {
  return static_cast<uint32_t>(std::max<int64_t>(clocks.perf_time_100nsec, 0) /
                               kHour);
}
inline uint32_t HourOf(absl::Time time) {
  return HourOf(perflib::Clocks{.perf_time_100nsec =
                                    perflib::PerfTime100NSecFromTime(time)});
}
// A key may hold any number. Hours beyond the clock's range are clamped to its
// end.
inline absl::Time StartOfHour(uint32_t hour) {
  return perflib::TimeFromPerfTime100NSec(
      std::min<int64_t>(hour, INT64_MAX / kHour) * kHour);
}

// The position of a batch's first chunk among the chunks of an epoch. The
// batch's other chunks follow. A sequence has 40 bits.
constexpr uint64_t OrderOf(uint64_t sequence) { return sequence << 24; }
constexpr uint64_t SequenceOf(uint64_t order) { return order >> 24; }

inline std::string StoreIdKey() { return "i"; }
inline std::string KnownTimeKey() { return "w"; }
inline std::string CommitMarkKey() { return "k"; }
inline std::string LostDefinitionsKey() { return "u"; }
inline std::string EpochPrefix() { return "a"; }
inline std::string EpochKey(absl::string_view agent, uint64_t epoch) {
  return absl::StrCat(EpochPrefix(), agent, absl::string_view("\0", 1),
                      BigEndian(epoch));
}
inline bool ParseEpochKey(absl::string_view key, std::string* agent) {
  key.remove_prefix(1);
  constexpr size_t kEnd = 1 + sizeof(uint64_t);
  if (key.size() < kEnd || key[key.size() - kEnd] != '\0') return false;
  *agent = std::string(key.substr(0, key.size() - kEnd));
  return true;
}
inline std::string DurableKey(uint32_t epoch_number) {
  return absl::StrCat("h", BigEndian(epoch_number));
}
inline bool IsDurableKey(absl::string_view key) {
  return !key.empty() && key[0] == 'h';
}
inline bool ParseDurableKey(absl::string_view key, uint32_t* epoch_number) {
  key.remove_prefix(1);
  return GetBigEndian(&key, epoch_number) && key.empty();
}
// The prefix of all definitions of one kind, for all epochs.
inline std::string DefinitionPrefix(uint8_t kind) {
  return absl::StrCat("d", BigEndian(kind));
}
// The prefix of all definitions of one kind and one epoch.
inline std::string DefinitionPrefix(uint8_t kind, uint32_t epoch_number) {
  return absl::StrCat(DefinitionPrefix(kind), BigEndian(epoch_number));
}
inline std::string DefinitionKey(uint8_t kind, uint32_t epoch_number,
                                 uint32_t id) {
  return absl::StrCat(DefinitionPrefix(kind, epoch_number), BigEndian(id));
}
inline bool ParseDefinitionKey(absl::string_view key, uint32_t* epoch_number,
                               uint32_t* id) {
  key.remove_prefix(std::min(key.size(), DefinitionPrefix(0).size()));
  return GetBigEndian(&key, epoch_number) && GetBigEndian(&key, id) &&
         key.empty();
}
inline std::string SchemaKey(absl::string_view hash) {
  return absl::StrCat("s", hash);
}
inline std::string CatalogueKey(absl::string_view hash) {
  return absl::StrCat("c", hash);
}
inline std::string MachineKey(absl::string_view machine) {
  return absl::StrCat("m", machine);
}
inline std::string ForgottenKey(absl::string_view machine) {
  return absl::StrCat("x", machine);
}
inline std::string LostTicksPrefix() { return "l"; }
inline std::string LostTicksKey(absl::string_view agent,
                                absl::string_view machine) {
  return absl::StrCat(LostTicksPrefix(), agent, absl::string_view("\0", 1),
                      machine);
}
inline bool ParseLostTicksKey(absl::string_view key, std::string* agent,
                              std::string* machine) {
  key.remove_prefix(1);
  const size_t end = key.find('\0');
  if (end == key.npos) return false;
  *agent = std::string(key.substr(0, end));
  *machine = std::string(key.substr(end + 1));
  return true;
}
inline std::string MachineNumberKey(absl::string_view machine) {
  return absl::StrCat("n", machine);
}
inline std::string ShapeKey(uint32_t shape) {
  return absl::StrCat("g", BigEndian(shape));
}
inline std::string CollectedKey(uint32_t machine, uint32_t shape) {
  return absl::StrCat("q", BigEndian(machine), BigEndian(shape));
}
inline bool ParseCollectedKey(absl::string_view key, uint32_t* machine,
                              uint32_t* shape) {
  key.remove_prefix(1);
  return GetBigEndian(&key, machine) && GetBigEndian(&key, shape) &&
         key.empty();
}
inline std::string NewestKey(uint32_t machine) {
  return absl::StrCat("t", BigEndian(machine));
}
inline std::string FingerprintsKey(uint32_t epoch_number, uint64_t sequence) {
  return absl::StrCat("f", BigEndian(epoch_number), BigEndian(sequence));
}
// The prefix of all fingerprints of one epoch.
inline std::string FingerprintsPrefix(uint32_t epoch_number) {
  return absl::StrCat("f", BigEndian(epoch_number));
}
inline bool IsFingerprintsKey(absl::string_view key) {
  return !key.empty() && key[0] == 'f';
}
inline bool ParseFingerprintsKey(absl::string_view key, uint32_t* epoch_number,
                                 uint64_t* sequence) {
  if (!IsFingerprintsKey(key)) return false;
  key.remove_prefix(1);
  return GetBigEndian(&key, epoch_number) && GetBigEndian(&key, sequence) &&
         key.empty();
}
inline std::string ExportCursorKey(uint32_t epoch_number, uint32_t machine) {
  return absl::StrCat("e", BigEndian(epoch_number), BigEndian(machine));
}
// The prefix of the cursors of one epoch.
inline std::string ExportCursorPrefix(uint32_t epoch_number) {
  return absl::StrCat("e", BigEndian(epoch_number));
}
// `head_key` is the key of a chunk's head.
inline std::string UnexportedKey(absl::string_view head_key) {
  return absl::StrCat("p", head_key);
}
// The key that marks `key` as received in this hour.
inline std::string ReceivedKey(Resolution resolution, uint32_t hour,
                               absl::string_view key) {
  return absl::StrCat("R", BigEndian(static_cast<uint8_t>(resolution)),
                      BigEndian(hour), key);
}
inline std::string LogKey(uint32_t epoch_number, uint64_t sequence) {
  return absl::StrCat(BigEndian(epoch_number), BigEndian(sequence));
}
inline bool ParseLogKey(absl::string_view key, uint32_t* epoch_number,
                        uint64_t* sequence) {
  return GetBigEndian(&key, epoch_number) && GetBigEndian(&key, sequence) &&
         key.empty();
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_KEYS_H_
