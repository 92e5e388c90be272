// The files of an authority, in its directory.

#ifndef FLEETPERF_CLI_PKI_DIRECTORY_H_
#define FLEETPERF_CLI_PKI_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/tls/certificates.h"
#include "cli/commands.h"

namespace fleetperf::cli {

inline constexpr absl::Duration kCertificateValid = absl::Hours(24 * 365);

struct PairFiles {
  std::string certificate;
  std::string key;
};

// Returns STEM.pem and STEM.key.
PairFiles FilesOf(const std::string& stem);
// Returns the path of the authority's files without suffix.
std::string AuthorityStem(const PkiFlags& flags);

// Returns an error if there is no default directory and none is given.
absl::Status CheckDirectory(const PkiFlags& flags);

// Returns the command that makes an authority in the directory.
std::string InitCommand(const PkiFlags& flags);

// Reads the authority. Returns NotFound, with the remedy, if there is none.
absl::StatusOr<KeyPair> ReadAuthority(const PkiFlags& flags);

// Returns the end of --valid, or of `fallback`, from now on.
absl::StatusOr<absl::Time> NotAfter(const PkiFlags& flags,
                                    absl::Duration fallback);

// The directory of copies of all certificates that were issued, so that those
// of a name can be revoked after their files were replaced.
std::string IssuedDirectory(const PkiFlags& flags);
absl::Status KeepCopy(const PkiFlags& flags, const std::string& certificate);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PKI_DIRECTORY_H_
