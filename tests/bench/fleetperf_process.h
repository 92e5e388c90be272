// fleetperf's aggregator as a process, with certificates of its own.

#ifndef FLEETPERF_TESTS_BENCH_FLEETPERF_PROCESS_H_
#define FLEETPERF_TESTS_BENCH_FLEETPERF_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/certificates.h"
#include "base/credentials.h"
#include "tests/e2e/process.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::bench {

// An aggregator that has done nothing for so long has nothing to do: every ten
// seconds it looks.
inline constexpr absl::Duration kQuiet = absl::Seconds(12);

// All its files are in a temporary directory. Thread-compatible.
class FleetperfProcess {
 public:
  // Makes certificates. The store's directory is there, too, and empty.
  static absl::StatusOr<std::unique_ptr<FleetperfProcess>> Make();
  // The same, but instead of an aggregator it is collect_floor, which agents
  // take for one.
  static absl::StatusOr<std::unique_ptr<FleetperfProcess>> MakeFloor();

  // Starts it. `store` is what its configuration file says of the store besides
  // the directory, as lines of YAML.
  absl::Status Start(const std::vector<std::string>& store = {});

  pid_t pid() const { return aggregator_->pid(); }
  const std::string& address() const { return address_; }
  std::string store_directory() const { return directory_.File("store"); }

  // Ends it, and waits for its end.
  absl::Status Stop();

  // Issues a certificate.
  absl::StatusOr<TlsFiles> Issue(Role role,
                                 const std::vector<std::string>& names) const;
  // Runs `fleetperf` as a reader.
  absl::Status RunFleetperf(const std::vector<std::string>& arguments) const;
  const TlsFiles& reader() const { return reader_; }

 private:
  explicit FleetperfProcess(std::string executable)
      : executable_(std::move(executable)) {}

  static absl::StatusOr<std::unique_ptr<FleetperfProcess>> MakeOf(
      const std::string& executable);

  const std::string executable_;
  testing::TempDirectory directory_;
  KeyPair authority_;
  TlsFiles reader_;
  std::string address_;
  std::unique_ptr<testing::Process> aggregator_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEETPERF_PROCESS_H_
