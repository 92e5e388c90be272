#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/input_file.h"
#include "base/os/user_directory.h"
#include "base/status_macros.h"
#include "base/tls/certificate_list.h"
#include "base/tls/certificates.h"
#include "cli/commands.h"
#include "cli/pki_directory.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kAuthorityValid = absl::Hours(24 * 3650);

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

std::string RevokedFile(const PkiFlags& flags) {
  return ResolvePath(flags.directory, "revoked");
}

absl::StatusOr<CertificateInfo> ReadCertificateFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path));
  auto certificate = ReadCertificate(text);
  if (certificate.ok()) return certificate;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", certificate.status().message()));
}

// Returns the certificates that were issued for this role and name and have not
// expired.
absl::StatusOr<std::vector<CertificateInfo>> FindIssued(const PkiFlags& flags) {
  ASSIGN_OR_RETURN(const Role role, ParseRole(flags.role));
  const std::string& name = flags.revoked;
  std::vector<CertificateInfo> found;
  std::vector<std::string> paths = {ResolvePath(
      flags.directory, absl::StrCat(flags.role, "-", name, ".pem"))};
  if (FileExists(IssuedDirectory(flags))) {
    ASSIGN_OR_RETURN(const auto entries, ListDirectory(IssuedDirectory(flags)));
    for (const DirectoryEntry& entry : entries) {
      paths.push_back(ResolvePath(IssuedDirectory(flags), entry.name));
    }
  }
  for (const std::string& path : paths) {
    if (!FileExists(path)) continue;
    ASSIGN_OR_RETURN(CertificateInfo info, ReadCertificateFile(path));
    info.names.push_back(info.subject);  // addresses are no DNS names
    const bool is_named = std::any_of(
        info.names.begin(), info.names.end(), [&](const std::string& other) {
          return absl::EqualsIgnoreCase(other, name);
        });
    if (is_named && info.role == role && info.not_after > Clock::Real().Now()) {
      found.push_back(std::move(info));
    }
  }
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no valid certificate of ", flags.role, " ", name, " in ",
                     flags.directory, "; name one with --file"));
  }
  return found;
}

absl::Status CheckRevocable(const PkiFlags& flags,
                            const CertificateInfo& certificate) {
  if (certificate.is_authority) {
    return absl::FailedPreconditionError(absl::StrCat(
        "without the authority, every certificate would be refused; make a new "
        "one with: ",
        InitCommand(flags), " --force, and issue all certificates again"));
  }
  return absl::OkStatus();
}

// Adds the certificates to the list, and drops those that have expired.
absl::Status AddRevoked(const PkiFlags& flags,
                        const std::vector<CertificateInfo>& certificates) {
  const std::string path = RevokedFile(flags);
  std::vector<ListedCertificate> list;
  if (FileExists(path)) {
    ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path));
    ASSIGN_OR_RETURN(list, ParseCertificateList(text, path));
  }
  for (const CertificateInfo& info : certificates) {
    std::erase_if(list, [&](const ListedCertificate& listed) {
      return listed.fingerprint == info.fingerprint;
    });
    list.push_back({.fingerprint = info.fingerprint,
                    .not_after = info.not_after,
                    .role = std::string(
                        info.role.has_value() ? RoleName(*info.role) : "none"),
                    .names = {info.subject}});
  }
  std::erase_if(list, [](const ListedCertificate& listed) {
    return listed.not_after <= Clock::Real().Now();
  });
  return WriteFile(path, FormatCertificateList(list));
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
  RETURN_IF_ERROR(WriteFile(RevokedFile(flags), FormatCertificateList({})));
  return Write(files, authority);
}

absl::Status PkiIssue(const PkiFlags& flags) {
  ASSIGN_OR_RETURN(const Role role, ParseRole(flags.role));
  ASSIGN_OR_RETURN(const KeyPair authority, ReadAuthority(flags));
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
  RETURN_IF_ERROR(KeepCopy(flags, pair.certificate));
  return Write(files, pair);
}

absl::Status PkiRevoke(const PkiFlags& flags) {
  RETURN_IF_ERROR(ReadAuthority(flags).status());
  if (flags.file.empty() == flags.revoked.empty()) {
    return absl::InvalidArgumentError(
        "name either a role and a name, or --file");
  }
  std::vector<CertificateInfo> certificates;
  if (!flags.file.empty()) {
    ASSIGN_OR_RETURN(CertificateInfo info, ReadCertificateFile(flags.file));
    certificates.push_back(std::move(info));
  } else {
    ASSIGN_OR_RETURN(certificates, FindIssued(flags));
  }
  std::set<std::string> fingerprints;
  for (const CertificateInfo& certificate : certificates) {
    RETURN_IF_ERROR(CheckRevocable(flags, certificate));
    fingerprints.insert(certificate.fingerprint);
  }
  RETURN_IF_ERROR(AddRevoked(flags, certificates));
  PutLine(absl::StrCat(
      "revoked ", fingerprints.size(),
      fingerprints.size() == 1 ? " certificate" : " certificates", " of \"",
      certificates.front().subject, "\" in ", RevokedFile(flags),
      "; copy this list to the file tls.revoked of each aggregator"));
  if (certificates.front().role == Role::kAggregator) {
    PutLine(absl::StrCat(
        "agents and users do not read the list, and still trust it: if its key "
        "was stolen, also make a new authority with: ",
        InitCommand(flags), " --force, and issue all certificates again"));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::cli
