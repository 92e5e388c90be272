#include "base/tls/certificate_list.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/units.h"

namespace fleetperf {
namespace {

constexpr absl::string_view kTitle = "# fleetperf certificate list, version ";
constexpr absl::string_view kTitleOfVersion1 =
    "# fleetperf certificate list, version 1";
constexpr size_t kFingerprintDigits = 64;

absl::StatusOr<ListedCertificate> ParseLine(absl::string_view line) {
  const std::vector<std::string> fields =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  for (const std::string& field : fields) {
    const absl::Status status = CheckText(field);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("is not text: ", status.message()));
    }
  }
  ListedCertificate certificate;
  certificate.fingerprint =
      absl::AsciiStrToLower(absl::StrReplaceAll(fields[0], {{":", ""}}));
  if (certificate.fingerprint.size() != kFingerprintDigits ||
      !std::all_of(certificate.fingerprint.begin(),
                   certificate.fingerprint.end(),
                   [](char c) { return absl::ascii_isxdigit(c); })) {
    return absl::InvalidArgumentError(
        "does not begin with a SHA-256 fingerprint of 64 hexadecimal digits");
  }
  std::string error;
  if (fields.size() > 1 && !absl::ParseTime(absl::RFC3339_full, fields[1],
                                            &certificate.not_after, &error)) {
    return absl::InvalidArgumentError("has no RFC 3339 time after it");
  }
  if (fields.size() > 2) certificate.role = fields[2];
  if (fields.size() > 3) certificate.names = absl::StrSplit(fields[3], ',');
  return certificate;
}

}  // namespace

absl::StatusOr<std::vector<ListedCertificate>> ParseCertificateList(
    absl::string_view text, absl::string_view name) {
  std::vector<ListedCertificate> certificates;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    const auto error = [&](absl::string_view reason) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ":", number, ": the line ", reason));
    };
    if (absl::StartsWith(line, kTitle) && line != kTitleOfVersion1) {
      return error("names a version that this program does not know");
    }
    if (line.empty() || line[0] == '#') continue;
    auto certificate = ParseLine(line);
    if (!certificate.ok()) return error(certificate.status().message());
    certificates.push_back(*std::move(certificate));
  }
  return certificates;
}

std::string FormatCertificateList(
    const std::vector<ListedCertificate>& certificates) {
  std::string text = absl::StrCat(kTitleOfVersion1, "\n");
  for (const ListedCertificate& certificate : certificates) {
    absl::StrAppend(&text, certificate.fingerprint, " ",
                    FormatUtc(certificate.not_after), " ", certificate.role,
                    " ", absl::StrJoin(certificate.names, ","), "\n");
  }
  return text;
}

}  // namespace fleetperf
