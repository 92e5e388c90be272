// The source of blocks: one machine's PerfLib, or a stand-in for it.
//
// The calls mirror the PerfLib V2 consumer API. They return bytes in PerfLib's
// layout. The bytes are untrusted: callers parse them with perflib/.

#ifndef FLEETPERF_AGENT_SOURCE_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/config/planned_query.h"
#include "perflib/guid.h"
#include "perflib/layout.h"
#include "perflib/query.h"

namespace fleetperf::agent {

// A set of queries that are answered together, in one block. Created by
// PerfOpenQueryHandle; destruction is PerfCloseQueryHandle. Thread-compatible.
class QueryHandle {
 public:
  virtual ~QueryHandle() = default;

  // PerfAddCounters. Sets the status of each identifier to a Win32 error code.
  // A rejected identifier does not affect the others.
  virtual absl::Status AddCounters(
      std::vector<perflib::CounterIdentifier>* identifiers) = 0;

  // PerfDeleteCounters. Sets the status of each.
  virtual absl::Status DeleteCounters(
      std::vector<perflib::CounterIdentifier>* identifiers) = 0;

  // PerfQueryCounterInfo: the queries in force as PERF_COUNTER_IDENTIFIERs. The
  // Index of each is the position of its result in a block.
  virtual absl::StatusOr<std::string> QueryCounterInfo() = 0;

  // PerfQueryCounterData: replaces `block` with a new block. Fails with Aborted
  // if one of the queries may be the reason: its provider hangs, or has ended
  // the process that reads it. Fails with Unavailable if the machine does not
  // answer.
  virtual absl::Status QueryCounterData(std::string* block) = 0;

  // Limits the time that QueryCounterData may block, for sources whose calls
  // may hang: it then fails with DeadlineExceeded, although the block may still
  // come, and with Aborted if it does not. All other sources ignore it.
  virtual void SetPatience(absl::Duration /*patience*/) {}
  // Returns whether a call has not returned yet. A new handle would probably
  // hang, too.
  virtual bool IsHanging() const { return false; }
};

// The result of Source::DefineCounters.
struct DefinedCounters {
  // Countersets whose registrations have new counters.
  std::vector<perflib::Guid> changed;
  // Counters that cannot be counted here: the query's position in the plan, and
  // the reason.
  struct Problem {
    size_t query;
    std::string message;
  };
  std::vector<Problem> problems;
};

// Why values or instances of a counterset are absent.
struct Limitation {
  std::string counterset;
  std::string reason;
};

// Thread-safe. Must outlive its query handles.
class Source {
 public:
  virtual ~Source() = default;

  // Sets which instances a plan wants, before its queries are added to a
  // handle. A source that can does not touch the others; it may return them
  // nevertheless.
  virtual void SelectInstances(absl::Span<const PlannedQuery> /*queries*/,
                               absl::Span<const InstanceRule> /*rules*/) {}

  // Adds the counters that `queries` name to countersets whose counters are
  // chosen by plans, as those of "Linux Perf" are. Replaces each name by that
  // of its registration, and removes names with a problem, unless all have one.
  // Counters that an earlier call defined stay. No
  // PerfLib call: the counters of all other countersets are registered.
  virtual DefinedCounters DefineCounters(
      std::vector<PlannedQuery>* /*queries*/) {
    return {};
  }

  // Names the countersets that a plan will query (names, patterns or GUIDs), so
  // that a list that cannot read all countersets reads these. Never blocks.
  virtual void Want(const std::vector<std::string>& /*countersets*/) {}

  // Waits for a list that EnumerateCounterSet has begun in the background, at
  // most `timeout`. Returns whether none is in progress.
  virtual bool AwaitList(absl::Duration /*timeout*/) { return true; }

  // PerfEnumerateCounterSet
  virtual absl::StatusOr<std::vector<perflib::Guid>> EnumerateCounterSet() = 0;

  // Returns why countersets are missing in the last enumeration, which
  // succeeded.
  virtual std::vector<std::string> Problems() { return {}; }

  // Returns what the last blocks lack that other machines have: a file that
  // cannot be read, or instances beyond a limit.
  virtual std::vector<Limitation> Limitations() { return {}; }

  // A query handle can only have queries of countersets of one group: blocks of
  // different groups have different clocks.
  virtual int HandleGroup(const perflib::Guid& /*counterset*/) { return 0; }

  // PerfQueryCounterSetRegistrationInfo. For kCounterStruct, `argument` is a
  // counter id. For all other requests, it is a language; 0 is the neutral one.
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
