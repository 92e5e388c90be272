#include "aggregator/check.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "aggregator/config.h"
#include "aggregator/store/backup/inspect.h"
#include "aggregator/store/backup/repair.h"
#include "aggregator/store/tables/room.h"
#include "base/os/os_error.h"
#include "base/server/certificate_watch.h"
#include "base/server/client_certificates.h"
#include "base/server/listening_socket.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/suggest.h"
#include "base/text/units.h"
#include "base/tls/certificate_info.h"
#include "base/tls/credentials.h"
#include "base/tls/pki_commands.h"
#include "base/tls/tls_identity.h"
#include "base/version.h"

namespace fleetperf::aggregator {
namespace {

// A clock may be a little behind the time that was recorded in the store.
constexpr absl::Duration kClockTolerance = absl::Minutes(5);

std::string MiB(uint64_t bytes) { return absl::StrCat(bytes >> 20, " MiB"); }

// Returns the directory, or the nearest one above it that exists.
std::filesystem::path NearestDirectory(std::filesystem::path directory) {
  std::error_code ignored;
  while (!std::filesystem::exists(directory, ignored) &&
         directory.has_relative_path()) {
    directory = directory.parent_path();
  }
  return directory.empty() ? "." : directory;
}

class Checker {
 public:
  Checker(const Config& config, const Clock& clock)
      : config_(config), clock_(clock) {}

  absl::Status Run() {
    absl::PrintF("fleetperf-aggregator %s\n", kVersion);
    CheckCertificate();
    CheckRevoked();
    CheckAddress("listen", config_.listen);
    CheckPage();
    CheckStore();
    CheckFile("address_file", config_.address_file);
    CheckFile("web.address_file", config_.web.address_file);
    CheckFile("log.file", config_.log.file);
    if (problems_ == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(problems_, problems_ == 1 ? " problem" : " problems"));
  }

 private:
  void Problem(absl::string_view text) {
    ++problems_;
    absl::PrintF("  PROBLEM  %s\n", Printable(text));
  }

  void CheckCertificate() {
    absl::PrintF("\ncertificate %s\n", config_.tls.certificate);
    const auto identity =
        TlsIdentity::Load(config_.tls, Role::kAggregator, &clock_);
    if (!identity.ok()) return Problem(identity.status().message());
    const CertificateInfo certificate = (*identity)->certificate();
    absl::PrintF("  for %s, until %s\n", absl::StrJoin(certificate.names, ", "),
                 FormatUtc(certificate.not_after));
    if (IsIssued()) return;
    Problem(absl::StrCat(config_.tls.certificate,
                         " is not from an authority in ", config_.tls.authority,
                         "; add its authority to that file, or make one with: ",
                         ReissueCommand(certificate)));
  }

  // Clients with the same authorities refuse a certificate of another one.
  bool IsIssued() const {
    const auto texts = ReadTlsTexts(config_.tls);
    if (!texts.ok()) return false;
    const auto authorities = ReadCertificates(texts->authority);
    if (!authorities.ok()) return false;
    const std::string chain =
        absl::StrCat(texts->certificate, "\n", texts->authority);
    return std::any_of(
        authorities->begin(), authorities->end(),
        [&](const CertificateInfo& authority) {
          return CheckServerChain(chain, authority.fingerprint).ok();
        });
  }

  void CheckRevoked() {
    if (config_.revoked.empty()) return;
    absl::PrintF("\ntls.revoked %s\n", config_.revoked);
    ClientCertificates clients(&clock_);
    const auto revoked = RevokedFile::Load(config_.revoked, &clients);
    if (!revoked.ok()) return Problem(revoked.status().message());
    absl::PrintF("  readable\n");
  }

  void CheckPage() {
    if (config_.web.listen.empty()) return;
    CheckAddress("web.listen", config_.web.listen);
    if (config_.web.certificate.empty()) return;
    absl::PrintF("\nweb.certificate %s\n", config_.web.certificate);
    const auto identity =
        TlsIdentity::Load({.authority = config_.tls.authority,
                           .certificate = config_.web.certificate,
                           .key = config_.web.key},
                          /*role=*/std::nullopt, &clock_);
    if (!identity.ok()) return Problem(identity.status().message());
    absl::PrintF("  until %s\n",
                 FormatUtc((*identity)->certificate().not_after));
  }

  void CheckAddress(absl::string_view key, const std::string& address) {
    absl::PrintF("\n%s %s\n", key, address);
    const auto sockets = ListenAt(address);
    if (!sockets.ok()) {
      return Problem(absl::StrCat(
          sockets.status().message(),
          "; stop that process (an aggregator that runs with this "
          "configuration must be stopped for the check), or change ",
          key));
    }
    absl::PrintF("  free\n");
  }

  // Returns whether files can be created in the directory. It may be missing if
  // it can be created.
  bool CheckDirectory(const std::string& directory) {
    const std::string nearest = NearestDirectory(directory).string();
    std::error_code ignored;
    if (!std::filesystem::is_directory(nearest, ignored)) {
      Problem(absl::StrCat(nearest,
                           " is not a directory; remove it or change "
                           "the path"));
      return false;
    }
    if (access(nearest.c_str(), W_OK | X_OK) == 0) return true;
    const int error = errno;
    Problem(absl::StrCat(
        StatusFromErrno(error, absl::StrCat("cannot write to ", nearest))
            .message(),
        "; give it to the user that runs the aggregator: chown USER ",
        ShellQuoted(nearest)));
    return false;
  }

  void CheckFile(absl::string_view key, const std::string& path) {
    if (path.empty()) return;
    absl::PrintF("\n%s %s\n", key, path);
    const std::filesystem::path directory =
        std::filesystem::path(path).parent_path();
    if (CheckDirectory(directory.string())) absl::PrintF("  writable\n");
  }

  void CheckStore() {
    absl::PrintF("\nstore.directory %s\n", config_.store_directory);
    if (!CheckDirectory(config_.store_directory)) return;
    const auto state = InspectStore(config_.store_directory);
    if (absl::IsNotFound(state.status())) {
      absl::PrintF("  no store yet\n");
      return CheckDisk(0);
    }
    if (absl::IsDataLoss(state.status())) {
      return Problem(absl::StrCat(state.status().message(), "; ", kRepairHint));
    }
    if (!state.ok()) return Problem(state.status().message());
    absl::PrintF("  %s; fleetperf-aggregator verify reads all of it\n",
                 MiB(state->size));
    CheckDisk(state->size);
    CheckClock(*state);
  }

  void CheckDisk(uint64_t store_size) {
    const std::string directory =
        NearestDirectory(config_.store_directory).string();
    std::error_code error;
    const auto space = std::filesystem::space(directory, error);
    if (error) return Problem(absl::StrCat(directory, ": ", error.message()));
    absl::PrintF("  %s free\n", MiB(space.available));
    const absl::Status room = CheckRoom(directory, 0, DiskUse::kBatches);
    if (!room.ok()) {
      Problem(absl::StrCat(room.message(), "; free space or set a lower ",
                           "store.max_size"));
    }
    const uint64_t most = store_size + space.available;
    const uint64_t max_size = config_.retention.max_size;
    if (max_size <= most) return;
    Problem(absl::StrCat("store.max_size is ", MiB(max_size),
                         ", but the disk has room for ", MiB(most),
                         "; free space or set a lower store.max_size"));
  }

  // The certificate's check finds a clock that is far behind without a store.
  void CheckClock(const StoreState& state) {
    const absl::Time now = clock_.Now();
    if (!state.known_time.has_value()) return;
    if (now + kClockTolerance >= *state.known_time) return;
    Problem(absl::StrCat(
        "the clock says ", FormatUtc(now), ", but the store was in use at ",
        FormatUtc(*state.known_time), "; set this machine's clock"));
  }

  const Config& config_;
  const Clock& clock_;
  int problems_ = 0;
};

}  // namespace

absl::Status CheckCommand(const std::string& config_path, const Clock& clock) {
  ASSIGN_OR_RETURN(const Config config, LoadConfig(config_path));
  return Checker(config, clock).Run();
}

}  // namespace fleetperf::aggregator
