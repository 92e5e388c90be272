#include "aggregator/engine/engine_target.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/os/input_file.h"
#include "base/os/systemd_credential.h"
#include "base/status_macros.h"
#include "base/tls/certificates.h"

namespace fleetperf::aggregator {
namespace {

// Parts of a URL.
class Url {
 public:
  explicit Url(const std::string& text) : url_(curl_url(), &curl_url_cleanup) {
    is_valid_ =
        url_ != nullptr && curl_url_set(url_.get(), CURLUPART_URL, text.c_str(),
                                        CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
  }

  bool is_valid() const { return is_valid_; }

  // Returns "" for a part that is missing.
  std::string Part(CURLUPart part) const {
    char* text = nullptr;
    if (curl_url_get(url_.get(), part, &text, 0) != CURLUE_OK) return "";
    const std::string result(text);
    curl_free(text);
    return result;
  }

  void Remove(CURLUPart part) { curl_url_set(url_.get(), part, nullptr, 0); }

 private:
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url_;
  bool is_valid_ = false;
};

// Returns why the URL cannot be used, with the next step; "" if it can.
std::string WhyInvalid(const std::string& text, absl::string_view example) {
  const Url url(text);
  const std::string scheme = url.is_valid() ? url.Part(CURLUPART_SCHEME) : "";
  if ((scheme != "http" && scheme != "https") ||
      url.Part(CURLUPART_HOST).empty()) {
    return absl::StrCat("is not a URL of HTTP; write it as ", example);
  }
  if (!url.Part(CURLUPART_USER).empty() ||
      !url.Part(CURLUPART_PASSWORD).empty()) {
    return "has a user or a password, which others could read in this file; "
           "write them to basic_auth.user and the file that "
           "basic_auth.password_file names";
  }
  if (!url.Part(CURLUPART_FRAGMENT).empty()) {
    return "has a fragment; remove # and what follows it";
  }
  return "";
}

// Reads the path of a file with a secret.
void ReadSecretPath(ConfigSection& section, absl::string_view key,
                    std::string* path) {
  section.ReadPath(key, path);
  if (!path->empty()) *path = FindCredential(*path);
}

// Returns the line in a file with a secret.
absl::StatusOr<std::string> ReadSecretLine(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(path));
  const absl::string_view line = absl::StripAsciiWhitespace(text);
  if (line.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is empty; write the secret to it, in one line"));
  }
  if (std::any_of(line.begin(), line.end(), [](char c) {
        return absl::ascii_iscntrl(static_cast<unsigned char>(c));
      })) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        " has several lines or control characters; write the secret "
        "alone to it, in one line"));
  }
  return std::string(line);
}

// Checks that a section has both of two keys, or none.
bool HasBoth(ConfigSection& section, absl::string_view first,
             const std::string& first_value, absl::string_view second,
             const std::string& second_value) {
  if (first_value.empty() == second_value.empty()) return !first_value.empty();
  const bool has_first = !first_value.empty();
  section.Error(has_first ? first : second,
                absl::StrCat("needs ", has_first ? second : first,
                             " beside it; add it, or remove both"));
  return false;
}

void ReadTls(ConfigSection tls, EngineTarget* target) {
  tls.ReadPath("authority", &target->authority);
  tls.ReadPath("certificate", &target->certificate);
  ReadSecretPath(tls, "key", &target->key);
  const bool has_certificate =
      HasBoth(tls, "certificate", target->certificate, "key", target->key);
  if (!target->authority.empty()) {
    const auto text = ReadInputFile(target->authority);
    const auto status =
        text.ok() ? ReadCertificates(*text).status() : text.status();
    if (!status.ok()) {
      tls.Error("authority", absl::StrCat(status.message(),
                                          "; name a PEM file with the "
                                          "authority's certificate"));
    }
  }
  if (!has_certificate) return;
  const auto certificate = ReadInputFile(target->certificate);
  if (!certificate.ok()) {
    return tls.Error("certificate", certificate.status().message());
  }
  const auto key = ReadSecretFile(target->key);
  if (!key.ok()) return tls.Error("key", key.status().message());
  const absl::Status fits = CheckKeyFits(*certificate, *key, target->key);
  if (!fits.ok()) tls.Error("key", fits.message());
}

void ReadBasicAuth(ConfigSection section, EngineTarget* target) {
  section.Read("user", &target->user);
  ReadSecretPath(section, "password_file", &target->password_file);
  if (!HasBoth(section, "user", target->user, "password_file",
               target->password_file)) {
    return;
  }
  if (absl::StrContains(target->user, ':')) {
    section.Error("user",
                  "has a colon, which separates user and password in HTTP; use "
                  "another user");
  }
  const auto password = ReadSecretLine(target->password_file);
  if (!password.ok()) {
    section.Error("password_file", password.status().message());
  }
}

void ReadBearerToken(ConfigSection& section, EngineTarget* target) {
  ReadSecretPath(section, "bearer_token_file", &target->bearer_token_file);
  if (target->bearer_token_file.empty()) return;
  if (!target->user.empty() || !target->password_file.empty()) {
    section.Error("bearer_token_file",
                  "cannot be used together with basic_auth, since a request "
                  "has one authorization; remove one of them");
  }
  const auto token = ReadSecretLine(target->bearer_token_file);
  if (!token.ok()) section.Error("bearer_token_file", token.status().message());
}

}  // namespace

EngineTarget ReadEngineTarget(ConfigSection section,
                              absl::string_view example) {
  EngineTarget target;
  section.Require("url", &target.url);
  const std::string reason =
      target.url.empty() ? "" : WhyInvalid(target.url, example);
  if (!reason.empty()) section.Error("url", reason);
  section.Read("timeout", &target.timeout, absl::Seconds(1), absl::Minutes(10));
  ReadTls(section.Section("tls"), &target);
  const bool has_tls = !target.authority.empty() || !target.certificate.empty();
  if (has_tls && absl::StartsWithIgnoreCase(target.url, "http:")) {
    section.Error("tls",
                  "has no effect on http://; write https:// in url, or "
                  "remove tls");
  }
  ReadBasicAuth(section.Section("basic_auth"), &target);
  ReadBearerToken(section, &target);
  return target;
}

std::string DisplayUrl(const EngineTarget& target) {
  Url url(target.url);
  if (!url.is_valid()) return "the engine";
  url.Remove(CURLUPART_QUERY);
  return url.Part(CURLUPART_URL);
}

absl::StatusOr<std::string> ReadAuthorization(const EngineTarget& target) {
  if (!target.password_file.empty()) {
    ASSIGN_OR_RETURN(const std::string password,
                     ReadSecretLine(target.password_file));
    return absl::StrCat(
        "Basic ", absl::Base64Escape(absl::StrCat(target.user, ":", password)));
  }
  if (!target.bearer_token_file.empty()) {
    ASSIGN_OR_RETURN(const std::string token,
                     ReadSecretLine(target.bearer_token_file));
    return absl::StrCat("Bearer ", token);
  }
  return std::string();
}

}  // namespace fleetperf::aggregator
