// What is in the batches of a spool.

#ifndef FLEETPERF_TESTS_AGENT_DELIVER_BATCH_CONTENT_H_
#define FLEETPERF_TESTS_AGENT_DELIVER_BATCH_CONTENT_H_

#include <memory>
#include <vector>

#include "agent/deliver/dictionary.h"
#include "agent/deliver/spool.h"
#include "aggregator/store/batch_decoder.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::testing {

inline v1::BatchContent ContentOf(const v1::Batch& batch) {
  return *aggregator::ParseBatch(batch, {}).value();
}

// The batches that the spool holds, oldest first.
inline std::vector<v1::Batch> BatchesOf(const agent::Spool& spool) {
  std::vector<v1::Batch> batches;
  std::shared_ptr<const v1::Batch> batch = spool.Next(0);
  while (batch != nullptr) {
    batches.push_back(*batch);
    batch = spool.Next(batch->sequence());
  }
  return batches;
}

inline std::vector<v1::BatchContent> ContentsOf(const agent::Spool& spool) {
  std::vector<v1::BatchContent> contents;
  for (const v1::Batch& batch : BatchesOf(spool)) {
    contents.push_back(ContentOf(batch));
  }
  return contents;
}

// Everything that is defined.
inline v1::Definitions AllDefinitions(const agent::Dictionary& dictionary) {
  v1::Definitions all;
  for (const v1::Definitions& part : dictionary.All()) all.MergeFrom(part);
  return all;
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_DELIVER_BATCH_CONTENT_H_
