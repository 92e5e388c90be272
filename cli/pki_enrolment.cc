// Enrolment of agents: one-time tokens, and the server that exchanges them for
// certificates.
//
// A token is kept as a file in the directory "tokens". The file's name is the
// SHA-256 of the token, with the granted names and the expiry; its content is
// the expiry in seconds since 1970. Renaming the file spends the token, which
// only one call can. Making a token removes the files of expired ones.

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/address.h"
#include "base/daemon/daemon.h"
#include "base/log.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/input_file.h"
#include "base/rpc/rpc_error.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text/units.h"
#include "base/tls/certificates.h"
#include "base/tls/enrolment_token.h"
#include "base/tls/pki_commands.h"
#include "cli/commands.h"
#include "cli/enrolment_server.h"
#include "cli/pki_directory.h"
#include "fleetperf/v1/enrolment.grpc.pb.h"

namespace fleetperf::cli {
namespace {

constexpr absl::Duration kTokenValid = absl::Hours(1);

std::string TokensDirectory(const PkiFlags& flags) {
  return ResolvePath(flags.directory, "tokens");
}

std::string TokenFile(const PkiFlags& flags, const std::string& token) {
  return ResolvePath(TokensDirectory(flags),
                     absl::BytesToHexString(Sha256(token)));
}

// Removes the files of tokens that expired before they were used.
absl::Status RemoveExpired(const PkiFlags& flags) {
  const absl::Time now = Clock::Real().Now();
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(TokensDirectory(flags)));
  for (const DirectoryEntry& entry : entries) {
    const std::string path = ResolvePath(TokensDirectory(flags), entry.name);
    const auto content = ReadInputFile(path);
    int64_t expiry = 0;
    // Another process may have spent the token meanwhile.
    if (content.ok() && absl::SimpleAtoi(*content, &expiry) &&
        absl::FromUnixSeconds(expiry) <= now) {
      RETURN_IF_ERROR(RemoveFile(path));
    }
  }
  return absl::OkStatus();
}

// Spends a token and returns its names.
absl::StatusOr<std::vector<std::string>> Spend(const PkiFlags& flags,
                                               const std::string& token) {
  ASSIGN_OR_RETURN(const EnrolmentToken parsed, ParseEnrolmentToken(token));
  if (parsed.expiry <= Clock::Real().Now()) {
    return absl::PermissionDeniedError(
        absl::StrCat("the token expired at ", FormatUtc(parsed.expiry),
                     "; make one with: ", TokenCommand(parsed.names)));
  }
  const std::string path = TokenFile(flags, token);
  const std::string spent = absl::StrCat(path, ".spent");
  if (!FileExists(path) || !RenameFile(path, spent).ok()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the token is unknown, was used or has been altered; make one with: ",
        TokenCommand(parsed.names)));
  }
  RETURN_IF_ERROR(RemoveFile(spent));
  return parsed.names;
}

class EnrolmentService : public v1::EnrolmentService::Service {
 public:
  EnrolmentService(const PkiFlags& flags, KeyPair authority)
      : flags_(flags), authority_(std::move(authority)) {}

  grpc::Status Enroll(grpc::ServerContext* context,
                      const v1::EnrollRequest* request,
                      v1::EnrollResponse* response) override {
    const auto names = Exchange(*request, response);
    if (!names.ok()) {
      log_.Warn(names.status().message(),
                absl::StrCat("denied a call from ", context->peer(), ": ",
                             names.status().message()));
      return RpcFromStatus(names.status());
    }
    LogInfo("issued a certificate for ", absl::StrJoin(*names, ", "), " to ",
            context->peer());
    return grpc::Status::OK;
  }

 private:
  // Returns the names in the certificate.
  absl::StatusOr<std::vector<std::string>> Exchange(
      const v1::EnrollRequest& request, v1::EnrollResponse* response) const {
    ASSIGN_OR_RETURN(std::vector<std::string> names,
                     Spend(flags_, request.token()));
    ASSIGN_OR_RETURN(
        const std::string certificate,
        SignRequest(authority_, request.signing_request(),
                    {.role = Role::kAgent,
                     .names = names,
                     .not_after = Clock::Real().Now() + kCertificateValid}));
    RETURN_IF_ERROR(KeepCopy(flags_, certificate));
    response->set_certificate(certificate);
    response->set_authority(authority_.certificate);
    return names;
  }

  const PkiFlags flags_;
  const KeyPair authority_;
  LogOncePerCause log_;
};

// Returns credentials with a certificate that is made for this server. Agents
// know it by its authority and role, so its name does not matter.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(
    const KeyPair& authority) {
  ASSIGN_OR_RETURN(
      KeyPair pair,
      IssueCertificate(authority,
                       {.role = Role::kEnrolment,
                        .names = {"fleetperf-enrolment"},
                        .not_after = Clock::Real().Now() + kCertificateValid}));
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back(
      {std::move(pair.key),
       absl::StrCat(pair.certificate, authority.certificate)});
  return grpc::SslServerCredentials(options);
}

}  // namespace

absl::Status PkiToken(const PkiFlags& flags) {
  ASSIGN_OR_RETURN(const KeyPair authority, ReadAuthority(flags));
  ASSIGN_OR_RETURN(const CertificateInfo info,
                   ReadCertificate(authority.certificate));
  ASSIGN_OR_RETURN(const absl::Time expiry, NotAfter(flags, kTokenValid));
  // Checks the names now, not when the token is used.
  RETURN_IF_ERROR(
      IssueCertificate(authority, {.role = Role::kAgent,
                                   .names = flags.names,
                                   .not_after = expiry + kCertificateValid})
          .status());
  ASSIGN_OR_RETURN(const EnrolmentToken token,
                   MakeEnrolmentToken(info.fingerprint, expiry, flags.names));
  const std::string text = FormatEnrolmentToken(token);
  RETURN_IF_ERROR(MakeDirectories(TokensDirectory(flags)));
  RETURN_IF_ERROR(RemoveExpired(flags));
  RETURN_IF_ERROR(WriteFile(TokenFile(flags, text),
                            absl::StrCat(absl::ToUnixSeconds(token.expiry)),
                            FileAccess::kOwnerOnly));
  PutLine(text);
  return absl::OkStatus();
}

absl::Status PkiServe(const PkiFlags& flags) {
  RETURN_IF_ERROR(CheckAddress(flags.listen, /*least_port=*/0, "0.0.0.0:7444"));
  StopSignal stop;  // before gRPC starts threads
  RETURN_IF_ERROR(StartLogging("fleetperf pki", LogConfig()));
  ASSIGN_OR_RETURN(KeyPair authority, ReadAuthority(flags));
  ASSIGN_OR_RETURN(const auto credentials, MakeCredentials(authority));
  return ServeEnrolment(
      flags.listen, credentials,
      std::make_unique<EnrolmentService>(flags, std::move(authority)), &stop);
}

}  // namespace fleetperf::cli
