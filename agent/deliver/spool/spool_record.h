// Converts between the records of the spool's files and the types in memory.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_RECORD_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_RECORD_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "agent/deliver/losses.h"
#include "agent/deliver/spool/held_batch.h"
#include "agent/deliver/spool/held_run.h"
#include "agent/deliver/spooled_batch.h"
#include "fleetperf/v1/spool.pb.h"

namespace fleetperf::agent {

// Infinite times convert to and from the ends of the range of nanoseconds.
int64_t ToNanoseconds(absl::Time time);
absl::Time FromNanoseconds(int64_t nanoseconds);

void ToProto(const TickRange& range, v1::SpoolTicks* to);
TickRange FromProto(const v1::SpoolTicks& ticks);

// In files, kThisProcess becomes the process's own number, `process`.
void ToProto(const SpoolEpoch& epoch, uint32_t process, v1::SpoolEpoch* to);
SpoolEpoch FromProto(const v1::SpoolEpoch& epoch);
void ToProto(BatchPlace place, uint32_t process, v1::SpoolPlace* to);
BatchPlace FromProto(const v1::SpoolPlace& place);
void ToProto(const HeldBatch& batch, uint32_t process, v1::SpoolBatch* to);
HeldBatch FromProto(const v1::SpoolBatch& batch);
void ToProto(const HeldRun& run, uint32_t process, v1::SpoolRun* to);
HeldRun FromProto(const v1::SpoolRun& run);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_RECORD_H_
