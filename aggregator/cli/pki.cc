#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "aggregator/cli/commands.h"
#include "base/certificates.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "base/user_directory.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kAuthorityValid = absl::Hours(24 * 3650);
constexpr absl::Duration kCertificateValid = absl::Hours(24 * 365);

struct PairFiles {
  std::string certificate;
  std::string key;
};

PairFiles FilesOf(const std::string& stem) {
  return {stem + ".pem", stem + ".key"};
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

absl::Status CheckAbsent(const PairFiles& files, bool force) {
  for (const std::string& path : {files.certificate, files.key}) {
    if (FileExists(path) && !force) {
      return absl::AlreadyExistsError(
          absl::StrCat(path, " exists; --force replaces it"));
    }
  }
  return absl::OkStatus();
}

absl::Status Write(const PairFiles& files, const KeyPair& pair) {
  RETURN_IF_ERROR(WriteFile(files.key, pair.key, FileAccess::kOwnerOnly));
  RETURN_IF_ERROR(WriteFile(files.certificate, pair.certificate));
  PutLine(absl::StrCat("wrote ", files.certificate, " and ", files.key));
  return absl::OkStatus();
}

absl::Status CheckDirectory(const PkiFlags& flags) {
  return !flags.directory.empty()
             ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   "this account has no home directory; use --directory");
}

std::string AuthorityStem(const PkiFlags& flags) {
  return ResolvePath(flags.directory, "authority");
}

}  // namespace

absl::Status PkiInit(const PkiFlags& flags) {
  RETURN_IF_ERROR(CheckDirectory(flags));
  const PairFiles files = FilesOf(AuthorityStem(flags));
  RETURN_IF_ERROR(CheckAbsent(files, flags.force));
  ASSIGN_OR_RETURN(const absl::Time not_after,
                   NotAfter(flags, kAuthorityValid));
  ASSIGN_OR_RETURN(const KeyPair authority,
                   MakeAuthority(flags.name, not_after));
  RETURN_IF_ERROR(MakeProtectedDirectory(flags.directory));
  return Write(files, authority);
}

absl::Status PkiIssue(const PkiFlags& flags) {
  RETURN_IF_ERROR(CheckDirectory(flags));
  ASSIGN_OR_RETURN(const Role role, ParseRole(flags.role));
  const PairFiles authority_files = FilesOf(AuthorityStem(flags));
  if (!FileExists(authority_files.key)) {
    return absl::NotFoundError(absl::StrCat(
        "no authority in ", flags.directory,
        "; create one with: fleetperf pki init --directory ", flags.directory));
  }
  RETURN_IF_ERROR(CheckProtected(flags.directory));
  KeyPair authority;
  ASSIGN_OR_RETURN(authority.certificate,
                   ReadFile(authority_files.certificate));
  ASSIGN_OR_RETURN(authority.key, ReadFile(authority_files.key));
  const std::string stem =
      flags.output.empty()
          ? ResolvePath(flags.directory,
                        absl::StrCat(flags.role, "-", flags.names.front()))
          : flags.output;
  const PairFiles files = FilesOf(stem);
  RETURN_IF_ERROR(CheckAbsent(files, flags.force));
  ASSIGN_OR_RETURN(const absl::Time not_after,
                   NotAfter(flags, kCertificateValid));
  ASSIGN_OR_RETURN(const KeyPair pair,
                   IssueCertificate(authority, {.role = role,
                                                .names = flags.names,
                                                .not_after = not_after}));
  return Write(files, pair);
}

}  // namespace fleetperf::cli
