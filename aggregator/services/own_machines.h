// Lists the machines of the own store and their instances.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_OWN_MACHINES_H_
#define FLEETPERF_AGGREGATOR_SERVICES_OWN_MACHINES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/ingest/expected_machines.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/fleet.pb.h"
#include "perflib/guid.h"
#include "perflib/query.h"

namespace fleetperf::aggregator {

// The limit of machines that one call asks for their instances.
inline constexpr size_t kMaxMachinesAsked = 1000;

// The current instances of a counterset on a machine, in its order.
struct MachineInstances {
  bool is_answered = false;  // else those of the machine's newest samples
  std::vector<perflib::InstanceName> instances;
};

// Thread-safe.
class OwnMachines {
 public:
  // The pointers must outlive the object.
  OwnMachines(Store* store, Ingest* ingest, const ExpectedMachines* expected)
      : store_(*store), ingest_(*ingest), expected_(*expected) {}

  // Returns a page of machines, stored or expected. Its token is the last name
  // on the page. Returns Cancelled if the caller is gone.
  absl::StatusOr<v1::ListMachinesResponse> List(
      const v1::ListMachinesRequest& request,
      const IsCancelled& is_cancelled) const;

  // Asks the agents of the machines, and waits for some seconds at most.
  // Returns the instances in the order of `machines`.
  std::vector<MachineInstances> Instances(
      const std::vector<std::string>& machines,
      const perflib::Guid& counterset) const;

 private:
  std::vector<v1::Machine> MachinesAfter(const std::string& last) const;
  void Describe(bool with_plan_report, v1::Machine* stored) const;
  std::vector<perflib::InstanceName> StoredInstances(
      const std::string& machine, const perflib::Guid& counterset) const;

  Store& store_;
  Ingest& ingest_;
  const ExpectedMachines& expected_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_OWN_MACHINES_H_
