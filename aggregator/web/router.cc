#include "aggregator/web/router.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "aggregator/web/http_response.h"

namespace fleetperf::aggregator::web {
namespace {

constexpr absl::string_view kApi = "/api/v1/";
constexpr absl::string_view kStream = "/api/v1/subscribe";
constexpr absl::string_view kMetrics = "/metrics";
constexpr absl::string_view kHealth = "/healthz";
constexpr absl::string_view kLogin = "/login";

constexpr absl::string_view kHowToLogIn =
    "To use this page, log in: run\n\n    fleetperf web login\n\n"
    "with your reader's or operator's certificate, and open the link that it "
    "prints. Or give your browser that certificate.\n";

constexpr absl::string_view kLinkIsVoid =
    "This link was used before, or has expired. Make another one:\n\n"
    "    fleetperf web login\n";

constexpr absl::string_view kLoggedIn =
    "<!DOCTYPE html><html lang=\"en\"><title>fleetperf</title>"
    "<p>You are logged in: <a href=\"/\">open the page</a>.</p></html>\n";

constexpr absl::string_view kPageIsMissing =
    "This aggregator was built without its page, because npm or the folder "
    "web/ "
    "was missing. The interface below /api/v1/ is available.\n";

bool IsApi(const HttpRequest& request) {
  return absl::StartsWith(request.path, kApi);
}

bool IsMetrics(const HttpRequest& request) { return request.path == kMetrics; }

bool IsRead(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

bool IsPublic(const HttpRequest& request) {
  return request.path == kHealth || request.path == kLogin;
}

// Returns the name of the session's cookie. Browsers send cookies to all ports
// of a host, so the pages of two aggregators need different names: this one has
// the port that the browser asked for. The prefix keeps other hosts of the
// domain from setting it.
std::string CookieName(const HttpRequest& request) {
  const absl::string_view host = request.Header("host");
  const size_t colon = host.rfind(':');
  uint32_t port = 443;
  if (colon != host.npos && !absl::SimpleAtoi(host.substr(colon + 1), &port)) {
    port = 443;  // an IPv6 address without a port
  }
  return absl::StrCat("__Host-fleetperf_", port, "_session");
}

// Browsers say where a request comes from. Programs do not. "none": the user
// typed the address.
bool IsFromElsewhere(const HttpRequest& request) {
  const absl::string_view site = request.Header("sec-fetch-site");
  return !site.empty() && site != "same-origin" &&
         (site != "none" || IsApi(request));
}

bool IsJson(const HttpRequest& request) {
  absl::string_view type = request.Header("content-type");
  type = absl::StripAsciiWhitespace(type.substr(0, type.find(';')));
  return absl::EqualsIgnoreCase(type, kJson);
}

void End(const HttpRequest& request, ResponseHead head, absl::string_view body,
         Reply* reply) {
  head.keeps_alive &= request.keeps_alive;
  reply->Send(request.method == "HEAD" ? ResponseWithoutBody(head, body.size())
                                       : FullResponse(head, body));
  reply->Finish(head.keeps_alive);
}

// Ends the answer and the connection, because the body may not have been read.
void EndWith(int http_status, absl::Status error, Reply* reply) {
  reply->Send(ErrorResponse(http_status, error, /*keeps_alive=*/false));
  reply->Finish(/*keeps_connection=*/false);
}

}  // namespace

void Router::Refuse(int http_status, Reply* reply) const {
  ++requests_;
  const bool is_too_large = http_status == 413 || http_status == 431;
  EndWith(http_status,
          absl::InvalidArgumentError(is_too_large ? "the request is too large"
                                                  : "not a valid request"),
          reply);
}

void Router::RefuseForQuota(const absl::Status& error, Reply* reply) const {
  EndWith(429, error, reply);
}

void Router::Deny(int http_status, const absl::Status& error,
                  Reply* reply) const {
  ++denied_;
  EndWith(http_status, error, reply);
}

bool Router::IsStream(const HttpRequest& request) {
  return request.path == kStream;
}

std::optional<Identity> Router::Admit(
    const HttpRequest& request, const std::optional<Identity>& certificate,
    Reply* reply) const {
  ++requests_;
  const bool is_head_of_metrics =
      IsMetrics(request) && request.method == "HEAD";
  if (IsRead(request)
          ? IsApi(request) || request.content_length > 0 || is_head_of_metrics
          : request.method != "POST" || !IsApi(request)) {
    EndWith(405,
            absl::InvalidArgumentError(
                "the page is read with GET, and /api/v1/ called with POST"),
            reply);
    return std::nullopt;
  }
  if (IsPublic(request)) return std::nullopt;
  std::optional<Identity> identity = certificate;
  if (!identity.has_value()) {
    identity = logins_.Find(request.Cookie(CookieName(request)));
  }
  if (!identity.has_value()) {
    if (IsApi(request)) {
      Deny(401, absl::UnauthenticatedError("log in: fleetperf web login"),
           reply);
    } else {
      ++denied_;
      End(request, {.status = 401, .keeps_alive = false}, kHowToLogIn, reply);
    }
    return std::nullopt;
  }
  if (!IsApi(request) && !IsMetrics(request)) return identity;
  if (IsFromElsewhere(request)) {
    Deny(403,
         absl::PermissionDeniedError(
             "only the page itself may call the interface from a browser"),
         reply);
  } else if (IsMetrics(request)) {
    return identity;
  } else if (!api_.Has(absl::StripPrefix(request.path, kApi))) {
    EndWith(404,
            absl::NotFoundError(
                absl::StrCat("there is no ", request.path.substr(0, 100))),
            reply);
  } else if (!IsJson(request)) {
    EndWith(415,
            absl::InvalidArgumentError(
                "the request needs Content-Type: application/json"),
            reply);
  } else {
    return identity;
  }
  return std::nullopt;
}

void Router::Answer(HttpRequest request,
                    const std::optional<Identity>& identity,
                    const std::shared_ptr<Reply>& reply) const {
  // A client that has not shown who it is keeps no connection.
  if (!identity.has_value()) request.keeps_alive = false;
  if (request.path == kHealth) {
    End(request, {}, "OK\n", reply.get());
  } else if (request.path == kLogin) {
    Login(request, reply.get());
  } else if (IsApi(request)) {
    const std::string method(absl::StripPrefix(request.path, kApi));
    api_.Answer(std::move(request), method, *identity, reply);
  } else if (IsMetrics(request)) {
    api_.Answer(std::move(request), kScrapeMethod, *identity, reply);
  } else {
    SendAsset(request, reply.get());
  }
}

void Router::Login(const HttpRequest& request, Reply* reply) const {
  // A look at the link must not use it up.
  const auto session = request.method == "GET"
                           ? logins_.Redeem(request.Parameter("token"))
                           : std::nullopt;
  if (!session.has_value()) {
    ++denied_;
    return End(request, {.status = 403}, kLinkIsVoid, reply);
  }
  // Not a redirection: after a link in a mail or a chat, which is another site,
  // browsers would follow it without the cookie, which is strict. This page
  // starts the next request itself.
  End(request,
      {.content_type = "text/html; charset=utf-8",
       .more = absl::StrCat(
           "Refresh: 0; url=/\r\nSet-Cookie: ", CookieName(request), "=",
           *session, "; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=",
           absl::ToInt64Seconds(Logins::kSessionLife), "\r\n")},
      kLoggedIn, reply);
}

void Router::SendAsset(const HttpRequest& request, Reply* reply) const {
  if (assets_.empty()) {
    return End(request, {.status = 404}, kPageIsMissing, reply);
  }
  const Asset* const asset =
      assets_.Find(request.path == "/" ? "/index.html" : request.path);
  if (asset == nullptr) {
    return End(request, {.status = 404}, "There is no such file.\n", reply);
  }
  const bool is_hashed = absl::StartsWith(request.path, "/assets/");
  ResponseHead head = {
      .content_type = asset->content_type,
      .cache_control =
          is_hashed ? "private, max-age=31536000, immutable" : "no-cache",
      .more = absl::StrCat("ETag: ", asset->etag,
                           "\r\nVary: Accept-Encoding, Cookie\r\n")};
  for (const absl::string_view tag :
       absl::StrSplit(request.Header("if-none-match"), ',')) {
    if (absl::StripPrefix(absl::StripAsciiWhitespace(tag), "W/") !=
        asset->etag) {
      continue;
    }
    head.status = 304;
    head.keeps_alive = request.keeps_alive;
    reply->Send(ResponseWithoutLength(head));
    return reply->Finish(head.keeps_alive);
  }
  if (AcceptsGzip(request.Header("accept-encoding"))) {
    absl::StrAppend(&head.more, "Content-Encoding: gzip\r\n");
    return End(request, head, asset->gzip, reply);
  }
  const auto plain = Unzip(*asset);
  if (!plain.ok()) return EndWith(500, plain.status(), reply);
  End(request, head, *plain, reply);
}

}  // namespace fleetperf::aggregator::web
