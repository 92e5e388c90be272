#include "tests/support/many_epochs.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/samples/batch_decoder.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/support/batch_writer.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"

namespace fleetperf::testing {
namespace {

using aggregator::BatchToCommit;
using aggregator::DecodedBatch;
using aggregator::Store;

constexpr absl::Duration kRoundInterval = absl::Hours(4);

// Returns the definitions and the tick of an agent in a round.
v1::BatchContent MakeContent(const ManyEpochs& load, int agent, int round) {
  BatchWriter writer;
  const uint32_t machine = writer.Machine(ManyEpochsMachine(agent));
  const uint32_t disk = writer.Counterset(DiskRegistration());
  const uint32_t query =
      writer.Query(machine, disk, absl::Seconds(60), {{kTransfers}});
  std::vector<BatchWriter::Row> rows;
  for (int i = 0; i < load.instances; ++i) {
    const uint32_t instance =
        writer.Instance(machine, disk, absl::StrCat("disk-", i));
    rows.push_back({instance, {static_cast<uint64_t>(round)}});
  }
  writer.AddTick(query, ClocksAt(absl::ToDoubleSeconds(kRoundInterval * round)),
                 std::move(rows));
  return writer.TakeContent();
}

absl::Status SendRound(Store* store, const ManyEpochs& load, int round) {
  std::vector<aggregator::StoredEpoch> epochs;
  std::vector<v1::BatchContent> contents;
  std::vector<v1::Batch> batches;
  std::vector<DecodedBatch> decoded;
  for (int agent = 0; agent < load.agents; ++agent) {
    const std::string name = ManyEpochsMachine(agent);
    const auto id = static_cast<uint64_t>(load.restarts ? round + 1 : 1);
    ASSIGN_OR_RETURN(auto epoch, store->OpenEpoch(name, id, {}));
    contents.push_back(MakeContent(load, agent, round));
    RETURN_IF_ERROR(epoch.dictionary->Apply(contents.back().definitions()));
    ASSIGN_OR_RETURN(decoded.emplace_back(),
                     Decode(contents.back(), epoch.dictionary.get()));
    batches.push_back(
        MakeBatch(id, epoch.durable_sequence + 1, contents.back()));
    epochs.push_back(std::move(epoch));
  }
  std::vector<BatchToCommit> to_commit;
  std::vector<std::string> names;
  for (int agent = 0; agent < load.agents; ++agent) {
    names.push_back(ManyEpochsMachine(agent));
  }
  for (size_t i = 0; i < epochs.size(); ++i) {
    to_commit.push_back({.epoch_number = epochs[i].number,
                         .sequence = batches[i].sequence(),
                         .agent = names[i],
                         .fingerprint = batches[i].sequence(),
                         .received = kStart + kRoundInterval * round,
                         .batch = &batches[i],
                         .definitions = &contents[i].definitions(),
                         .decoded = &decoded[i]});
  }
  return store->Commit(to_commit);
}

}  // namespace

std::string ManyEpochsMachine(int agent) {
  return absl::StrCat("machine-", agent, ".example.com");
}

absl::Status SendRounds(Store* store, const ManyEpochs& load, int first_round,
                        int rounds) {
  for (int round = first_round; round < first_round + rounds; ++round) {
    RETURN_IF_ERROR(SendRound(store, load, round));
    for (bool more = true; more;) {
      ASSIGN_OR_RETURN(more, store->Compact(absl::InfiniteFuture()));
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::testing
