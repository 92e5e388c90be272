#include "base/tls/certificate_renewal.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/text/printable.h"
#include "base/text/units.h"
#include "base/tls/pki_commands.h"

namespace fleetperf {
namespace {

constexpr absl::Duration kWarnBefore = absl::Hours(24 * 30);
constexpr absl::Duration kWarnEvery = absl::Hours(24);

}  // namespace

CertificateRenewal::CertificateRenewal(std::shared_ptr<TlsIdentity> identity,
                                       const Clock* clock)
    : identity_(std::move(identity)), clock_(*clock) {}

void CertificateRenewal::Run() {
  const auto renewed = identity_->Refresh();
  const std::string problem(renewed.status().message());
  if (!renewed.ok() && problem != problem_) {
    LogWarning("keeping the certificate in use: ", problem);
  }
  problem_ = problem;
  if (renewed.ok() && *renewed) {
    LogInfo("using a renewed certificate, valid until ",
            FormatUtc(identity_->certificate().not_after));
    next_warning_ = -absl::InfiniteDuration();
  }
  WarnOfExpiry();
}

void CertificateRenewal::WarnOfExpiry() {
  const CertificateInfo certificate = identity_->certificate();
  const absl::Duration left = certificate.not_after - clock_.Now();
  const absl::Duration life = certificate.not_after - certificate.not_before;
  const absl::Duration now = clock_.Monotonic();
  if (left > std::min(kWarnBefore, life / 3) || now < next_warning_) return;
  next_warning_ = now + kWarnEvery;
  const std::string when =
      left <= absl::ZeroDuration()
          ? "has expired"
          : absl::StrCat("expires in ", left / absl::Hours(24), " days");
  LogWarning(
      "the certificate ", when, ", at ", FormatUtc(certificate.not_after),
      "; replace its files with a new one: ", ReissueCommand(certificate));
}

uint64_t SecondsLeft(const CertificateInfo& certificate, absl::Time now) {
  const absl::Duration left = certificate.not_after - now;
  return static_cast<uint64_t>(
      std::max<int64_t>(absl::ToInt64Seconds(left), 0));
}

}  // namespace fleetperf
