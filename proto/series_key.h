// The identity of series, which is the same in the stores of all aggregators.

#ifndef FLEETPERF_PROTO_SERIES_KEY_H_
#define FLEETPERF_PROTO_SERIES_KEY_H_

#include <cstdint>
#include <map>
#include <string>

namespace fleetperf::v1 {
class Series;
}  // namespace fleetperf::v1

namespace fleetperf {

// Returns a key that is equal for the same series of several stores, and
// ordered as answers are: by machine, then by path without the index of the
// instance ("#2"), which each store numbers itself, then by instance, id and
// unit.
std::string SeriesKey(const v1::Series& series);

// Distinguishes instances of one name and id, which some providers have, by
// their order in one answer. Thread-compatible.
class DistinctSeriesKeys {
 public:
  // In a sorted answer, equal keys follow each other, and only one is kept.
  explicit DistinctSeriesKeys(bool is_sorted) : is_sorted_(is_sorted) {}

  // Returns the SeriesKey and how often the answer had it before.
  std::string KeyOf(const v1::Series& series);

 private:
  const bool is_sorted_;
  std::map<std::string, uint32_t> counts_;  // by SeriesKey
};

}  // namespace fleetperf

#endif  // FLEETPERF_PROTO_SERIES_KEY_H_
