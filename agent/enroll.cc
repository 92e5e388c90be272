#include "agent/enroll.h"

#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/certificate_names.h"
#include "base/address.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/rpc/channel.h"
#include "base/rpc/rpc_deadline.h"
#include "base/rpc/rpc_error.h"
#include "base/status_macros.h"
#include "base/text/units.h"
#include "base/tls/certificates.h"
#include "base/tls/credentials.h"
#include "base/tls/enrolment_token.h"
#include "base/tls/pki_commands.h"
#include "fleetperf/v1/enrolment.grpc.pb.h"

namespace fleetperf::agent {
namespace {

constexpr absl::Duration kEnrollTime = absl::Seconds(15);

// Accepts the enrolment server whose chain has the authority of the token. The
// agent does not have the authority's certificate yet, so TLS cannot check the
// chain.
class AuthorityVerifier
    : public grpc::experimental::ExternalCertificateVerifier {
 public:
  explicit AuthorityVerifier(std::string authority)
      : authority_(std::move(authority)) {}

  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    const grpc::string_ref chain = request->peer_cert_full_chain();
    *status = RpcFromStatus(CheckEnrolmentServer(
        std::string(chain.data(), chain.size()), authority_));
    return true;  // the status is set
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {
  }

 private:
  const std::string authority_;
};

std::shared_ptr<grpc::ChannelCredentials> CredentialsFor(
    const std::string& authority) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      grpc::experimental::ExternalCertificateVerifier::Create<
          AuthorityVerifier>(authority));
  return grpc::experimental::TlsCredentials(options);
}

absl::Status CheckNamed(const std::string& machine,
                        const EnrolmentToken& token) {
  const absl::Status named =
      CertificateNames(machine, token.names).Check(machine);
  if (named.ok() || !CheckCertificateName(machine).ok()) return named;
  std::vector<std::string> wanted = {machine};
  wanted.insert(wanted.end(), token.names.begin(), token.names.end());
  return absl::PermissionDeniedError(
      absl::StrCat("the token does not name \"", machine,
                   "\"; make one with: ", TokenCommand(wanted)));
}

// The token names its authority, so the answer of another one is wrong, however
// it came about.
absl::Status CheckAnswer(const TlsTexts& texts, const Config& config,
                         const EnrolmentToken& token) {
  ASSIGN_OR_RETURN(const CertificateInfo authority,
                   ReadCertificate(texts.authority));
  if (authority.fingerprint != token.authority) {
    return absl::PermissionDeniedError(
        "the server answered with another authority");
  }
  ASSIGN_OR_RETURN(
      const CertificateInfo certificate,
      CheckTlsTexts(texts, config.tls, Role::kAgent, Clock::Real().Now()));
  return CertificateNames(config.name, certificate.names).Check(config.name);
}

}  // namespace

absl::Status Enroll(const Config& config, const std::string& address,
                    const std::string& text) {
  RETURN_IF_ERROR(CheckAddress(address, /*least_port=*/1, "pki.example:7444"));
  ASSIGN_OR_RETURN(const EnrolmentToken token, ParseEnrolmentToken(text));
  if (FileExists(config.tls.key)) {
    return absl::AlreadyExistsError(absl::StrCat(
        config.tls.key, " exists; remove it to enroll this machine again"));
  }
  // Before the token is spent.
  RETURN_IF_ERROR(CheckNamed(config.name, token));
  ASSIGN_OR_RETURN(SigningRequest signing, MakeSigningRequest(config.name));
  // Before the token is spent, because the directory may not be writable.
  RETURN_IF_ERROR(
      WriteFile(config.tls.key, signing.key, FileAccess::kOwnerOnly));
  absl::Cleanup remove_key = [&] { RemoveFile(config.tls.key).IgnoreError(); };
  v1::EnrollRequest request;
  request.set_token(text);
  request.set_signing_request(signing.request);
  v1::EnrollResponse response;
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kEnrollTime));
  const grpc::Status status =
      v1::EnrolmentService::NewStub(
          MakeChannel(address, CredentialsFor(token.authority)))
          ->Enroll(&context, request, &response);
  if (!status.ok()) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        absl::StrCat("cannot enroll at ", address, ": ",
                                     status.error_message()));
  }
  const TlsTexts texts = {.authority = response.authority(),
                          .certificate = response.certificate(),
                          .key = signing.key};
  RETURN_IF_ERROR(CheckAnswer(texts, config, token));
  // The agent may run as another user than the one that enrolls it.
  RETURN_IF_ERROR(
      WriteFile(config.tls.authority, texts.authority, FileAccess::kPublic));
  RETURN_IF_ERROR(WriteFile(config.tls.certificate, texts.certificate,
                            FileAccess::kPublic));
  std::move(remove_key).Cancel();
  std::printf("enrolled %s; wrote %s, %s and %s\n",
              absl::StrJoin(token.names, ", ").c_str(),
              config.tls.authority.c_str(), config.tls.certificate.c_str(),
              config.tls.key.c_str());
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
