// The contents of a spool's batches.

#ifndef FLEETPERF_TESTS_AGENT_DELIVER_BATCH_CONTENT_H_
#define FLEETPERF_TESTS_AGENT_DELIVER_BATCH_CONTENT_H_

#include <string>
#include <vector>

#include "agent/deliver/dictionary.h"
#include "agent/deliver/spool.h"
#include "base/zstd.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::testing {

inline v1::BatchContent ContentOf(const v1::Batch& batch) {
  std::string bytes = batch.payload();
  if (batch.compression() == v1::COMPRESSION_ZSTD) {
    EXPECT_OK(ZstdDecompress(batch.payload(), batch.content_size(), &bytes));
  }
  v1::BatchContent content;
  EXPECT_TRUE(content.ParseFromString(bytes));
  return content;
}

// Returns all batches of the spool, oldest first.
inline std::vector<agent::SpooledBatch> SpooledBatchesOf(agent::Spool& spool) {
  std::vector<agent::SpooledBatch> batches;
  for (auto next = spool.Next({}).value(); next.has_value();
       next = spool.Next(batches.back().place).value()) {
    batches.push_back(*next);
  }
  return batches;
}

// Same, as messages with their sequences.
inline std::vector<v1::Batch> BatchesOf(agent::Spool& spool) {
  std::vector<v1::Batch> batches;
  for (const agent::SpooledBatch& spooled : SpooledBatchesOf(spool)) {
    batches.push_back(*spooled.batch);
    batches.back().set_sequence(spooled.place.sequence);
  }
  return batches;
}

inline std::vector<v1::BatchContent> ContentsOf(agent::Spool& spool) {
  std::vector<v1::BatchContent> contents;
  for (const v1::Batch& batch : BatchesOf(spool)) {
    contents.push_back(ContentOf(batch));
  }
  return contents;
}

// Acknowledges batches of a spool with one epoch.
inline void Acknowledge(agent::Spool& spool, uint64_t sequence) {
  spool.Acknowledge({.epoch = agent::kThisProcess, .sequence = sequence});
}

// Returns all definitions.
inline v1::Definitions AllDefinitions(const agent::Dictionary& dictionary) {
  v1::Definitions all;
  for (const v1::Definitions& part : dictionary.All()) all.MergeFrom(part);
  return all;
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_DELIVER_BATCH_CONTENT_H_
