#include "cli/pki_directory.h"

#include "absl/strings/str_cat.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/input_file.h"
#include "base/os/user_directory.h"
#include "base/status_macros.h"
#include "base/text/suggest.h"
#include "base/text/units.h"

namespace fleetperf::cli {

PairFiles FilesOf(const std::string& stem) {
  return {stem + ".pem", stem + ".key"};
}

std::string AuthorityStem(const PkiFlags& flags) {
  return ResolvePath(flags.directory, "authority");
}

absl::Status CheckDirectory(const PkiFlags& flags) {
  return !flags.directory.empty()
             ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   "this account has no home directory; use --directory");
}

std::string InitCommand(const PkiFlags& flags) {
  return absl::StrCat("fleetperf pki init --directory ",
                      ShellQuoted(flags.directory));
}

absl::StatusOr<KeyPair> ReadAuthority(const PkiFlags& flags) {
  RETURN_IF_ERROR(CheckDirectory(flags));
  const PairFiles files = FilesOf(AuthorityStem(flags));
  if (!FileExists(files.key)) {
    return absl::NotFoundError(
        absl::StrCat("no authority in ", flags.directory,
                     "; create one with: ", InitCommand(flags)));
  }
  RETURN_IF_ERROR(CheckProtected(flags.directory));
  KeyPair authority;
  ASSIGN_OR_RETURN(authority.certificate, ReadInputFile(files.certificate));
  ASSIGN_OR_RETURN(authority.key, ReadSecretFile(files.key));
  return authority;
}

absl::StatusOr<absl::Time> NotAfter(const PkiFlags& flags,
                                    absl::Duration fallback) {
  absl::Duration valid = fallback;
  if (!flags.valid.empty()) {
    const auto parsed = ParseDuration(flags.valid);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--valid: ", parsed.status().message()));
    }
    valid = *parsed;
  }
  return Clock::Real().Now() + valid;
}

std::string IssuedDirectory(const PkiFlags& flags) {
  return ResolvePath(flags.directory, "issued");
}

absl::Status KeepCopy(const PkiFlags& flags, const std::string& certificate) {
  ASSIGN_OR_RETURN(const CertificateInfo info, ReadCertificate(certificate));
  RETURN_IF_ERROR(MakeDirectories(IssuedDirectory(flags)));
  return WriteFile(
      ResolvePath(IssuedDirectory(flags), info.fingerprint + ".pem"),
      certificate);
}

}  // namespace fleetperf::cli
