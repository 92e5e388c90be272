// Describes the machines of a store to the aggregators that ask for them.

#ifndef FLEETPERF_AGGREGATOR_PEERS_DESCRIPTION_H_
#define FLEETPERF_AGGREGATOR_PEERS_DESCRIPTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/query/query_context.h"
#include "aggregator/samples/directory.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/peer.pb.h"

namespace fleetperf::aggregator {

struct MachineDescription {
  std::string name;
  Directory::Entry entry;
  std::string catalogue_hash;  // empty if there is none
  absl::Time now;              // by the machine's clock
};

struct Description {
  std::string store_id;
  std::vector<std::string> counterset_names;  // of all countersets
  std::vector<MachineDescription> machines;
};

// Returns the selected machines of a store. Their ticks are those of the
// selected countersets. Returns Cancelled if the caller is gone.
absl::StatusOr<Description> DescribeStore(const Store& store,
                                          const MachineNow& now_of,
                                          const v1::DescribeRequest& request,
                                          const IsCancelled& is_cancelled);

// Passes on a description in messages of limited size, without countersets that
// are too large for a message. Returns the first error of `send`.
absl::Status SendDescription(
    const Description& description,
    const std::function<absl::Status(const v1::DescribeResponse&)>& send);

// Schemas by their hashes.
using Schemas = std::map<std::string, std::shared_ptr<const Schema>>;

// Receives a description. Thread-compatible.
class DescriptionReader {
 public:
  // Uses the schemas that are known, and adds the others. `schemas` must
  // outlive the reader.
  explicit DescriptionReader(Schemas* schemas) : schemas_(*schemas) {}

  // Adds a message. Returns DataLoss if it is malformed, and ResourceExhausted
  // if the description is too large to be kept.
  absl::Status Add(const v1::DescribeResponse& response);

  Description Take() { return std::move(description_); }

 private:
  struct Query {
    std::shared_ptr<const Schema> schema;
    absl::Duration interval;
    std::shared_ptr<const std::set<uint32_t>> counters;
  };

  absl::Status AddSchema(const v1::CountersetRegistration& proto);
  absl::Status AddQuery(const v1::DescribeResponse::Query& proto);
  absl::Status AddMachine(const v1::DescribeResponse::Machine& proto);
  // Counts the bytes of what is kept.
  absl::Status Keep(size_t bytes);

  Schemas& schemas_;
  std::vector<std::shared_ptr<const Schema>> numbered_;
  std::vector<Query> queries_;
  size_t kept_bytes_ = 0;
  Description description_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_DESCRIPTION_H_
