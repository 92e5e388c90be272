// Versions of machines' chunks and losses, which tell a cache whether its
// contents are current.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_MACHINE_VERSIONS_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_MACHINE_VERSIONS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

namespace fleetperf::aggregator {

// Machines share versions if their numbers do not differ modulo kVersions: the
// version of a machine may change without its data. Thread-safe.
class MachineVersions {
 public:
  static constexpr uint32_t kVersions = 4096;

  // Returns the version of a machine's data, by MACHINE#. std::nullopt while it
  // changes. If the version is the same before a snapshot is taken and
  // afterwards, the snapshot has the data of this version, and so does each
  // other snapshot with the same version afterwards.
  std::optional<uint64_t> Of(uint32_t machine) const {
    const Version& version = versions_[machine % kVersions];
    // In this order, because `ended` never exceeds `begun`.
    const uint64_t ended = version.ended;
    const uint64_t begun = version.begun;
    if (begun != ended) return std::nullopt;
    return begun;
  }

  // A change of data, as long as the object exists.
  class Change {
   public:
    // `machines` has the numbers modulo kVersions. Both must outlive the
    // object.
    Change(const std::set<uint32_t>* machines, MachineVersions* versions)
        : machines_(*machines), versions_(*versions) {
      for (const uint32_t machine : machines_) {
        ++versions_.versions_[machine].begun;
      }
    }
    ~Change() {
      for (const uint32_t machine : machines_) {
        ++versions_.versions_[machine].ended;
      }
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    const std::set<uint32_t>& machines_;
    MachineVersions& versions_;
  };

 private:
  struct Version {
    std::atomic<uint64_t> begun = 0;
    std::atomic<uint64_t> ended = 0;
  };
  std::array<Version, kVersions> versions_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_MACHINE_VERSIONS_H_
