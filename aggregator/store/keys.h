// The keys of the embedded store. Numbers are big-endian, so that RocksDB's
// order is theirs.
//
//   column family "default":
//     i                      the store's id
//     a AGENT \0 EPOCH       number of the epoch, which stands for both
//     h NUMBER               its durable sequence, the fingerprint of that
//     batch d KIND NUMBER ID       a definition of the epoch s HASH the
//     registration of a schema c HASH                 a catalogue's contents m
//     MACHINE              catalogue hash (32 bytes), Machine l AGENT \0
//     MACHINE     Machine, whose lost_ticks say what is lost; no
//                            machine: to all of the agent's
//   column family "log":
//     NUMBER SEQUENCE        time of receipt, Batch
//   column family "times", small and read at the start:
//     NUMBER SEQUENCE        oldest and newest sample, time of receipt,
//                            fingerprint

#ifndef FLEETPERF_AGGREGATOR_STORE_KEYS_H_
#define FLEETPERF_AGGREGATOR_STORE_KEYS_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

template <typename Number>
std::string BigEndian(Number number) {
  std::string bytes(sizeof number, '\0');
  for (size_t i = sizeof number; i-- > 0;) {
    bytes[i] = static_cast<char>(number & 0xFF);
    number = static_cast<Number>(number >> 8);
  }
  return bytes;
}

// The caller has checked that the bytes are there.
template <typename Number>
Number FromBigEndian(absl::string_view bytes) {
  Number number = 0;
  for (size_t i = 0; i < sizeof number; ++i) {
    number = static_cast<Number>(number << 8 | static_cast<uint8_t>(bytes[i]));
  }
  return number;
}

inline std::string StoreIdKey() { return "i"; }
inline std::string EpochKey(absl::string_view agent, uint64_t epoch) {
  return absl::StrCat("a", agent, absl::string_view("\0", 1), BigEndian(epoch));
}
inline std::string DurableKey(uint32_t epoch_number) {
  return absl::StrCat("h", BigEndian(epoch_number));
}
// All definitions of one kind, of all epochs.
inline std::string DefinitionPrefix(uint8_t kind) {
  return absl::StrCat("d", BigEndian(kind));
}
inline std::string DefinitionKey(uint8_t kind, uint32_t epoch_number,
                                 uint32_t id) {
  return absl::StrCat(DefinitionPrefix(kind), BigEndian(epoch_number),
                      BigEndian(id));
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
inline std::string LostTicksKey(absl::string_view agent,
                                absl::string_view machine) {
  return absl::StrCat("l", agent, absl::string_view("\0", 1), machine);
}
inline std::string LogKey(uint32_t epoch_number, uint64_t sequence) {
  return absl::StrCat(BigEndian(epoch_number), BigEndian(sequence));
}
inline constexpr size_t kLogKeySize = sizeof(uint32_t) + sizeof(uint64_t);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_KEYS_H_
