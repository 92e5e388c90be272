#include "aggregator/web/http_response.h"

#include "absl/strings/str_cat.h"
#include "aggregator/web/json.h"

namespace fleetperf::aggregator::web {
namespace {

// Browsers take these for all pages and answers. HSTS is left out: it would
// apply to all ports of the host.
constexpr absl::string_view kStrictHeaders =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; "
    "style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

absl::string_view ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

std::string HeadText(const ResponseHead& head, absl::string_view framing) {
  return absl::StrCat("HTTP/1.1 ", head.status, " ", ReasonOf(head.status),
                      "\r\nContent-Type: ", head.content_type,
                      "\r\nCache-Control: ", head.cache_control, "\r\n",
                      kStrictHeaders, head.more, framing,
                      head.keeps_alive ? "" : "Connection: close\r\n", "\r\n");
}

}  // namespace

std::string FullResponse(const ResponseHead& head, absl::string_view body) {
  return absl::StrCat(ResponseWithoutBody(head, body.size()), body);
}

std::string ResponseWithoutBody(const ResponseHead& head, size_t body_size) {
  return HeadText(head, absl::StrCat("Content-Length: ", body_size, "\r\n"));
}

std::string ResponseWithoutLength(const ResponseHead& head) {
  return HeadText(head, "");
}

std::string ChunkedHead(const ResponseHead& head) {
  return HeadText(head, "Transfer-Encoding: chunked\r\n");
}

std::string Chunk(absl::string_view bytes) {
  return absl::StrCat(absl::Hex(bytes.size()), "\r\n", bytes, "\r\n");
}

int HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return 503;
    default:
      return 500;
  }
}

std::string ErrorResponse(int http_status, const absl::Status& error,
                          bool keeps_alive) {
  return FullResponse({.status = http_status,
                       .content_type = kJson,
                       .keeps_alive = keeps_alive},
                      ErrorJson(error));
}

}  // namespace fleetperf::aggregator::web
