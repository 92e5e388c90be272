// fleetperf's aggregator as a process, with its own certificate authority.

#ifndef FLEETPERF_TESTS_BENCH_FLEETPERF_PROCESS_H_
#define FLEETPERF_TESTS_BENCH_FLEETPERF_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/tls/certificates.h"
#include "base/tls/credentials.h"
#include "tests/e2e/process.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::bench {

// An aggregator that was idle for this long has no pending work, because it
// checks for work every ten seconds.
inline constexpr absl::Duration kQuiet = absl::Seconds(12);

// Raises the limit of open files of this process. Returns ResourceExhausted,
// with the next step, if it is too low for so many connections.
absl::Status CheckOpenFileLimit(size_t connections);

// Keeps all files of the process in a temporary directory. Thread-compatible.
class FleetperfProcess {
 public:
  // Creates the certificates and an empty directory for the store. Does not
  // start the process. The certificates are of the authority of `other`, if it
  // is not null, so that its readers may ask this one, too.
  static absl::StatusOr<std::unique_ptr<FleetperfProcess>> Make(
      const FleetperfProcess* other = nullptr);
  // Like Make, for collect_floor instead of the aggregator. Agents cannot tell
  // the difference.
  static absl::StatusOr<std::unique_ptr<FleetperfProcess>> MakeFloor();

  // Starts the process. `store` holds lines of YAML for the section "store" of
  // its configuration file, besides the directory, and `sections` further
  // sections. Relative names of files are in File's directory.
  absl::Status Start(const std::vector<std::string>& store = {},
                     const std::string& sections = "");

  // Adds sections to the configuration file that Start wrote, and makes the
  // process read it again. Does not wait until it has.
  absl::Status Reload(const std::string& sections);

  pid_t pid() const { return aggregator_->pid(); }
  const std::string& address() const { return address_; }
  std::string File(const std::string& name) const {
    return directory_.File(name);
  }
  std::string store_directory() const { return directory_.File("store"); }

  // Terminates the process and waits for it to exit.
  absl::Status Stop();

  // Issues a certificate for `names`.
  absl::StatusOr<TlsFiles> Issue(Role role,
                                 const std::vector<std::string>& names) const;
  // Starts, and runs, `fleetperf` as a reader.
  std::unique_ptr<testing::Process> StartFleetperf(
      const std::vector<std::string>& arguments) const;
  absl::Status RunFleetperf(const std::vector<std::string>& arguments) const;
  const TlsFiles& reader() const { return reader_; }

 private:
  explicit FleetperfProcess(std::string executable)
      : executable_(std::move(executable)) {}

  static absl::StatusOr<std::unique_ptr<FleetperfProcess>> MakeOf(
      const std::string& executable, const FleetperfProcess* other);

  const std::string executable_;
  std::string config_;  // the configuration file's text
  testing::TempDirectory directory_;
  KeyPair authority_;
  TlsFiles reader_;
  std::string address_;
  std::unique_ptr<testing::Process> aggregator_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEETPERF_PROCESS_H_
