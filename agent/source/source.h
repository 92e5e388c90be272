// A place that blocks come from: one machine's PerfLib, or what stands in for
// it.
//
// The calls are those of the PerfLib V2 consumer API. What they return is
// bytes, as PerfLib lays them out, and untrusted: callers read them with
// perflib/.

#ifndef FLEETPERF_AGENT_SOURCE_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "perflib/guid.h"
#include "perflib/layout.h"
#include "perflib/query.h"

namespace fleetperf::agent {

// A set of queries that are answered together, in one block.
// PerfOpenQueryHandle makes it; destroying it is PerfCloseQueryHandle.
// Used by one thread at a time.
class QueryHandle {
 public:
  virtual ~QueryHandle() = default;

  // PerfAddCounters. Sets the status of each identifier to a Win32 error code;
  // a bad one leaves the others in force.
  virtual absl::Status AddCounters(
      std::vector<perflib::CounterIdentifier>* identifiers) = 0;

  // PerfDeleteCounters. Sets the status of each.
  virtual absl::Status DeleteCounters(
      std::vector<perflib::CounterIdentifier>* identifiers) = 0;

  // PerfQueryCounterInfo: the queries in force as PERF_COUNTER_IDENTIFIERs,
  // whose Index says which result of a block is theirs.
  virtual absl::StatusOr<std::string> QueryCounterInfo() = 0;

  // PerfQueryCounterData: replaces `block` by a new block.
  virtual absl::Status QueryCounterData(std::string* block) = 0;
};

// Thread-safe. Outlives its query handles.
class Source {
 public:
  virtual ~Source() = default;

  // PerfEnumerateCounterSet
  virtual absl::StatusOr<std::vector<perflib::Guid>> EnumerateCounterSet() = 0;

  // PerfQueryCounterSetRegistrationInfo. `argument` is a counter id for
  // kCounterStruct and a language otherwise; 0 is the neutral one.
  virtual absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const perflib::Guid& counterset, perflib::RegistrationRequest request,
      uint32_t argument) = 0;

  // PerfEnumerateCounterSetInstances: PERF_INSTANCE_HEADERs.
  virtual absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const perflib::Guid& counterset) = 0;

  // PerfOpenQueryHandle
  virtual absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_SOURCE_H_
