#include "tests/bench/fleetperf_process.h"

#include <csignal>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/os/files.h"
#include "base/os/os.h"
#include "base/status_macros.h"

namespace fleetperf::bench {
namespace {

constexpr char kFleetperf[] = FLEETPERF_BIN "/fleetperf";
constexpr char kAggregator[] = FLEETPERF_BIN "/fleetperf-aggregator";
constexpr char kFloor[] = FLEETPERF_BENCH_BIN "/collect_floor";

constexpr char kConfig[] = "aggregator.yaml";
// An upper bound of the files that a process has open besides connections.
constexpr size_t kOtherFiles = 500;

// Longer than any run.
constexpr absl::Duration kCertificatesValid = absl::Hours(24);

std::string TlsSection(const TlsFiles& files) {
  return absl::StrCat("tls:\n  authority: ", files.authority,
                      "\n  certificate: ", files.certificate,
                      "\n  key: ", files.key, "\n");
}

// The default limits would reject the load of a benchmark.
constexpr char kLimits[] = R"(agents:
  max_samples_per_second: 1000000000000
  max_new_series_per_hour: 1000000000000
  catch_up_samples_per_second: 1000000000000
)";

}  // namespace

absl::Status CheckOpenFileLimit(size_t connections) {
  const size_t files = connections + kOtherFiles;
  const size_t limit = RaiseOpenFileLimit();
  if (limit >= files) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      connections, " connections need ", files,
      " open files, but the limit is ", limit, "; as root, run: ulimit -Hn ",
      files, ", or add \"* hard nofile ", files,
      "\" to /etc/security/limits.conf and log in again"));
}

absl::StatusOr<std::unique_ptr<FleetperfProcess>> FleetperfProcess::Make(
    const FleetperfProcess* other) {
  return MakeOf(kAggregator, other);
}

absl::StatusOr<std::unique_ptr<FleetperfProcess>>
FleetperfProcess::MakeFloor() {
  return MakeOf(kFloor, nullptr);
}

absl::StatusOr<std::unique_ptr<FleetperfProcess>> FleetperfProcess::MakeOf(
    const std::string& executable, const FleetperfProcess* other) {
  std::unique_ptr<FleetperfProcess> process(new FleetperfProcess(executable));
  if (other != nullptr) {
    process->authority_ = other->authority_;
  } else {
    ASSIGN_OR_RETURN(
        process->authority_,
        MakeAuthority("fleetperf bench", absl::Now() + kCertificatesValid));
  }
  RETURN_IF_ERROR(WriteFile(process->directory_.File("authority.pem"),
                            process->authority_.certificate));
  ASSIGN_OR_RETURN(process->reader_, process->Issue(Role::kReader, {"bench"}));
  RETURN_IF_ERROR(MakeDirectories(process->store_directory()));
  return process;
}

absl::Status FleetperfProcess::Start(const std::vector<std::string>& store,
                                     const std::string& sections) {
  ASSIGN_OR_RETURN(const TlsFiles tls,
                   Issue(Role::kAggregator, {"localhost", "127.0.0.1"}));
  config_ = absl::StrCat("listen: 127.0.0.1:0\naddress_file: address\n",
                         "store:\n  directory: store\n  ",
                         absl::StrJoin(store, "\n  "), "\n", TlsSection(tls),
                         kLimits, sections);
  const std::string config = directory_.File(kConfig);
  RETURN_IF_ERROR(WriteFile(config, config_));
  aggregator_ = std::make_unique<testing::Process>(
      std::vector<std::string>{executable_, "--config", config});
  if (!aggregator_->WaitForError("listening on ")) {
    return absl::UnavailableError(
        absl::StrCat("cannot start the aggregator: ", aggregator_->error()));
  }
  ASSIGN_OR_RETURN(const std::string address,
                   ReadFile(directory_.File("address")));
  address_ = std::string(absl::StripSuffix(address, "\n"));
  return WriteFile(
      directory_.File("config.yaml"),
      absl::StrCat("aggregators: ", address_, "\n", TlsSection(reader_)));
}

absl::Status FleetperfProcess::Reload(const std::string& sections) {
  RETURN_IF_ERROR(
      WriteFile(directory_.File(kConfig), absl::StrCat(config_, sections)));
  aggregator_->Signal(SIGHUP);
  return absl::OkStatus();
}

absl::Status FleetperfProcess::Stop() {
  aggregator_->Signal(SIGTERM);
  const int status = aggregator_->Wait();
  if (status == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the aggregator exited with ", status,
                                          ": ", aggregator_->error()));
}

absl::StatusOr<TlsFiles> FleetperfProcess::Issue(
    Role role, const std::vector<std::string>& names) const {
  ASSIGN_OR_RETURN(
      const KeyPair pair,
      IssueCertificate(authority_,
                       {.role = role,
                        .names = names,
                        .not_after = absl::Now() + kCertificatesValid}));
  const std::string stem =
      directory_.File(absl::StrCat(RoleName(role), "-", names.front()));
  const TlsFiles files = {.authority = directory_.File("authority.pem"),
                          .certificate = stem + ".pem",
                          .key = stem + ".key"};
  RETURN_IF_ERROR(WriteFile(files.certificate, pair.certificate));
  RETURN_IF_ERROR(WriteFile(files.key, pair.key, FileAccess::kOwnerOnly));
  return files;
}

std::unique_ptr<testing::Process> FleetperfProcess::StartFleetperf(
    const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = {kFleetperf};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return std::make_unique<testing::Process>(
      command, std::map<std::string, std::string>{
                   {"FLEETPERF_CONFIG", directory_.File("config.yaml")}});
}

absl::Status FleetperfProcess::RunFleetperf(
    const std::vector<std::string>& arguments) const {
  const auto process = StartFleetperf(arguments);
  if (process->Wait() == 0) return absl::OkStatus();
  process->WaitForError("\n", 1 << 30);  // until the pipe is closed
  return absl::InternalError(
      absl::StrCat("fleetperf ", arguments.front(), ": ", process->error()));
}

}  // namespace fleetperf::bench
