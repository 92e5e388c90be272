// Puts definitions and samples into batches, as collection.proto describes them
// and independently of the agent's own encoder.

#ifndef FLEETPERF_TESTS_SUPPORT_BATCH_WRITER_H_
#define FLEETPERF_TESTS_SUPPORT_BATCH_WRITER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/samples/batch_decoder.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/clocks.h"
#include "perflib/registration.h"

namespace fleetperf::testing {

// The batches of one epoch.
class BatchWriter {
 public:
  struct Column {
    uint32_t counter_id;
    uint32_t value_size = 8;
    bool only_linked = false;
    bool wraps = false;
  };
  // The values of an instance in a block, by column; nothing where missing.
  struct Row {
    uint32_t instance;
    std::vector<std::optional<uint64_t>> values;
  };
  // What a query returned in a block.
  struct Result {
    uint32_t query;
    std::vector<Row> rows;
    std::optional<uint32_t> failure = std::nullopt;  // its status
  };

  // Each returns the new id.
  uint32_t Machine(const std::string& name);
  uint32_t Counterset(const perflib::CountersetRegistration& registration);
  uint32_t Query(uint32_t machine, uint32_t counterset, absl::Duration interval,
                 const std::vector<Column>& columns);
  uint32_t Instance(uint32_t machine, uint32_t counterset,
                    const std::string& name = "", uint32_t instance_id = 0,
                    uint32_t occurrence = 0);
  void Retire(uint32_t instance);
  void Lose(const std::string& machine, absl::Time start, absl::Time end,
            uint64_t ticks, v1::LossCause cause);

  // The next block of a query handle.
  void AddBlock(uint32_t handle, const perflib::Clocks& clocks,
                std::vector<Result> results);
  // A block with one query, which has a handle of its own.
  void AddTick(uint32_t query, const perflib::Clocks& clocks,
               std::vector<Row> rows);

  // Everything since the last call.
  v1::BatchContent TakeContent();

  // All definitions so far.
  const v1::Definitions& definitions() const { return definitions_; }

 private:
  struct Block {
    perflib::Clocks clocks;
    std::vector<Result> results;
  };

  v1::BlockColumns Encode(const std::vector<Block>& blocks) const;
  v1::QueryColumns EncodeQuery(uint32_t query,
                               const std::vector<Block>& blocks) const;

  uint32_t next_id_ = 1;
  v1::Definitions definitions_;
  v1::BatchContent content_;  // but for the blocks
  std::map<uint32_t, std::vector<Block>> blocks_;
  std::map<uint32_t, size_t> columns_of_query_;
};

// The message that brings `content`.
v1::Batch MakeBatch(uint64_t epoch, uint64_t sequence,
                    const v1::BatchContent& content,
                    v1::Compression compression = v1::COMPRESSION_NONE);

// What is decoded of it, whose definitions are in `dictionary`.
absl::StatusOr<aggregator::DecodedBatch> Decode(
    const v1::BatchContent& content, aggregator::Dictionary* dictionary,
    const aggregator::BatchLimits& limits = {},
    const aggregator::QueryFilter& filter = nullptr);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_BATCH_WRITER_H_
