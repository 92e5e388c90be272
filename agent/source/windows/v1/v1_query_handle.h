// Queries of PerfLib V1 countersets, answered in blocks of V2.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_V1_V1_QUERY_HANDLE_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_V1_V1_QUERY_HANDLE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/source/source.h"
#include "agent/source/windows/v1/performance_data.h"
#include "agent/source/windows/v1/v1_catalogue.h"
#include "perflib/block_writer.h"
#include "perflib/path.h"
#include "perflib/v1/counterset.h"

namespace fleetperf::agent {

// Reads the objects of all its queries at once, by their indexes, and no other.
// Its blocks have the clocks of that read. An object that is absent, changed or
// not sound to its end is an error return, with ERROR_NO_DATA or
// ERROR_INVALID_DATA; so is a result that exceeds V1ResultLimit or takes its
// block beyond kMaxV1Block. Defects are logged. Thread-compatible.
class V1QueryHandle : public QueryHandle {
 public:
  V1QueryHandle(std::shared_ptr<V1Catalogue> catalogue,
                std::unique_ptr<PerformanceData> data)
      : catalogue_(std::move(catalogue)), data_(std::move(data)) {}

  absl::Status AddCounters(
      std::vector<perflib::CounterIdentifier>* identifiers) override;
  absl::Status DeleteCounters(
      std::vector<perflib::CounterIdentifier>* identifiers) override;
  absl::StatusOr<std::string> QueryCounterInfo() override;
  absl::Status QueryCounterData(std::string* block) override;

 private:
  struct Query {
    perflib::CounterIdentifier identifier;
    std::shared_ptr<const V1Counterset> counterset;
    std::optional<perflib::Pattern> instance;  // unset: no instances
    std::vector<uint32_t> counter_ids;
    bool is_outdated = false;  // the object has not the counterset's shape
  };

  uint32_t Add(const perflib::CounterIdentifier& identifier);
  std::vector<Query>::iterator Find(
      const perflib::CounterIdentifier& identifier);
  // The value to read: the indexes of the objects.
  std::string Value() const;
  void WriteResult(Query* query, perflib::BlockWriter* writer);
  // Returns the object, or null and why it has no result.
  const perflib::V1Object* FindObject(Query* query, uint32_t* error);
  static void BeginResult(const Query& query, perflib::BlockWriter* writer);
  // Returns false if the limit is exceeded. Names of instances that the query
  // does not select count too, because they cost as much time.
  bool WriteRows(const Query& query, const perflib::V1Object& object,
                 size_t limit, perflib::BlockWriter* writer) const;

  const std::shared_ptr<V1Catalogue> catalogue_;
  const std::unique_ptr<PerformanceData> data_;
  std::vector<Query> queries_;
  std::string bytes_;
  perflib::ParsedV1Data parsed_;
};

// The largest block, whatever the number of queries. Sizes in it are u32.
inline constexpr size_t kMaxV1Block = size_t{1} << 30;

// Returns the largest result of a query of this object, in bytes: 16 for each
// of the object, and 64 KiB. Sound objects need fewer: a value of 4 bytes
// becomes one of 16. But definitions may overlap, and many small instances may
// name one parent, so results are not linear in the object by themselves.
size_t V1ResultLimit(const perflib::V1Object& object);

// Returns the name of an instance of the counterset, in UTF-16.
std::string V1InstanceName(const V1Counterset& counterset,
                           const perflib::ParsedV1Data& data,
                           const perflib::V1Object& object,
                           const perflib::V1Instance& instance,
                           uint32_t instance_id);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_V1_V1_QUERY_HANDLE_H_
