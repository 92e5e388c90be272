// Encodes definitions and samples into batches as collection.proto describes
// them, independently of the agent's own encoder.

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

// Builds the batches of one epoch. Thread-compatible.
class BatchWriter {
 public:
  struct Column {
    uint32_t counter_id;
    uint32_t value_size = 8;
    bool only_linked = false;
    bool wraps = false;
  };
  // The values of an instance in a block, one per column; std::nullopt where a
  // value is missing.
  struct Row {
    uint32_t instance;
    std::vector<std::optional<uint64_t>> values;
  };
  // The result of a query in a block.
  struct Result {
    uint32_t query;
    std::vector<Row> rows;
    std::optional<uint32_t> failure = std::nullopt;  // a status
  };

  // Adds a definition and returns its new id.
  uint32_t Machine(const std::string& name);
  uint32_t Counterset(const perflib::CountersetRegistration& registration);
  uint32_t Query(uint32_t machine, uint32_t counterset, absl::Duration interval,
                 const std::vector<Column>& columns);
  uint32_t Instance(uint32_t machine, uint32_t counterset,
                    const std::string& name = "", uint32_t instance_id = 0,
                    uint32_t occurrence = 0, bool is_born = false);
  void Retire(uint32_t instance);
  void Lose(const std::string& machine, absl::Time start, absl::Time end,
            uint64_t ticks, v1::LossCause cause);

  // Adds the next block of a query handle.
  void AddBlock(uint32_t handle, const perflib::Clocks& clocks,
                std::vector<Result> results);
  // Adds a block of one query. The query's id serves as its handle.
  void AddTick(uint32_t query, const perflib::Clocks& clocks,
               std::vector<Row> rows);

  // Returns everything added since the last call.
  v1::BatchContent TakeContent();

  // All definitions added so far.
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
  v1::BatchContent content_;  // without blocks
  std::map<uint32_t, std::vector<Block>> blocks_;
  std::map<uint32_t, size_t> columns_of_query_;
};

// Returns the message that carries `content`.
v1::Batch MakeBatch(uint64_t epoch, uint64_t sequence,
                    const v1::BatchContent& content,
                    v1::Compression compression = v1::COMPRESSION_NONE);
// The same with its fingerprint, as an agent sends it.
v1::Batch MakeSealedBatch(uint64_t epoch, uint64_t sequence,
                          const v1::BatchContent& content,
                          v1::Compression compression = v1::COMPRESSION_NONE);

// Decodes `content`. Its definitions must already be in `dictionary`.
absl::StatusOr<aggregator::DecodedBatch> Decode(
    const v1::BatchContent& content, aggregator::Dictionary* dictionary,
    const aggregator::BatchLimits& limits = {},
    const aggregator::QueryFilter& filter = nullptr);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_BATCH_WRITER_H_
