#include "aggregator/web/http_request.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <charconv>
#include <cstdint>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator::web {
namespace {

namespace http = boost::beast::http;

constexpr absl::string_view kEndOfHead = "\r\n\r\n";

// HTTP statuses.
constexpr int kBadRequest = 400;
constexpr int kTooLarge = 413;
constexpr int kHeadTooLarge = 431;
constexpr int kNotImplemented = 501;
constexpr int kVersionNotSupported = 505;

absl::string_view Trimmed(absl::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Returns the value of "name=value" among `parts`.
template <typename Parts>
absl::string_view ValueIn(const Parts& parts, absl::string_view name) {
  for (absl::string_view part : parts) {
    part = Trimmed(part);
    if (absl::ConsumePrefix(&part, name) && absl::ConsumePrefix(&part, "=")) {
      return part;
    }
  }
  return "";
}

absl::StatusOr<std::string> DecodePart(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    const absl::string_view digits = text.substr(i + 1, 2);
    const char* const end = digits.data() + digits.size();
    uint8_t byte = 0;
    if (digits.size() < 2 ||
        std::from_chars(digits.data(), end, byte, 16).ptr != end) {
      return absl::InvalidArgumentError(
          "a percent sign in the query begins no byte such as %5C");
    }
    decoded.push_back(static_cast<char>(byte));
    i += 2;
  }
  return decoded;
}

}  // namespace

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> DecodeQuery(
    absl::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  for (const absl::string_view part :
       absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    ASSIGN_OR_RETURN(std::string name, DecodePart(sides.first));
    ASSIGN_OR_RETURN(std::string value, DecodePart(sides.second));
    parameters.emplace_back(std::move(name), std::move(value));
  }
  return parameters;
}

absl::string_view HttpRequest::Header(absl::string_view name) const {
  for (const auto& [own, value] : headers) {
    if (own == name) return value;
  }
  return "";
}

bool HttpRequest::HasHeader(absl::string_view name) const {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& header) { return header.first == name; });
}

absl::string_view HttpRequest::Parameter(absl::string_view name) const {
  return ValueIn(absl::StrSplit(query, '&'), name);
}

absl::string_view HttpRequest::Cookie(absl::string_view name) const {
  return ValueIn(absl::StrSplit(Header("cookie"), ';'), name);
}

RequestReader::State RequestReader::Add(absl::string_view bytes) {
  bytes_.append(bytes.data(), bytes.size());
  return Step();
}

HttpRequest RequestReader::Take() {
  HttpRequest request = std::move(request_);
  request_ = {};
  searched_ = 0;
  state_ = State::kHead;
  Step();
  return request;
}

RequestReader::State RequestReader::Fail(int failure) {
  failure_ = failure;
  bytes_.clear();
  return state_ = State::kFailed;
}

RequestReader::State RequestReader::Step() {
  if (state_ == State::kHead) {
    const size_t end = absl::string_view(bytes_).find(kEndOfHead, searched_);
    // Bytes that may be the start of the end do not count.
    const size_t size =
        end != bytes_.npos
            ? end
            : bytes_.size() - std::min(bytes_.size(), kEndOfHead.size() - 1);
    if (size > kMaxHeadBytes) return Fail(kHeadTooLarge);
    if (end == bytes_.npos) {
      searched_ = size;
      return state_;
    }
    const int failure =
        ParseHead(absl::string_view(bytes_).substr(0, end + kEndOfHead.size()));
    if (failure != 0) return Fail(failure);
    bytes_.erase(0, end + kEndOfHead.size());
    state_ = State::kBody;
  }
  if (state_ == State::kBody && bytes_.size() >= request_.content_length) {
    request_.body = bytes_.substr(0, request_.content_length);
    bytes_.erase(0, request_.content_length);
    state_ = State::kDone;
  }
  return state_;
}

int RequestReader::ParseHead(absl::string_view head) {
  // Beast accepts a value that goes on in the next line, which RFC 9112 lets
  // servers refuse.
  if (absl::StrContains(head, "\r\n ") || absl::StrContains(head, "\r\n\t")) {
    return kBadRequest;
  }
  http::request_parser<http::empty_body> parser;
  parser.header_limit(static_cast<uint32_t>(head.size()) + 1);
  parser.body_limit(std::numeric_limits<uint64_t>::max());
  parser.skip(true);  // the body is not Beast's
  boost::beast::error_code error;
  parser.put(boost::asio::const_buffer(head.data(), head.size()), error);
  if (error == http::error::bad_version) return kVersionNotSupported;
  if (error || !parser.is_header_done()) return kBadRequest;
  const http::request_header<>& parsed = parser.get();
  // Clients of HTTP/1.0 do not know chunks.
  if (parsed.version() != 11) return kVersionNotSupported;
  const absl::string_view target(parsed.target().data(),
                                 parsed.target().size());
  if (!absl::StartsWith(target, "/")) return kBadRequest;
  const size_t mark = std::min(target.find('?'), target.size());
  request_.method = std::string(parsed.method_string());
  request_.path = std::string(target.substr(0, mark));
  request_.query =
      std::string(target.substr(std::min(mark + 1, target.size())));
  request_.keeps_alive = parser.keep_alive();
  for (const auto& field : parsed) {
    request_.headers.emplace_back(
        absl::AsciiStrToLower(std::string(field.name_string())),
        std::string(field.value()));
  }
  if (request_.headers.size() > kMaxHeaders) return kHeadTooLarge;
  request_.content_length = parser.content_length().value_or(0);
  return CheckFields();
}

int RequestReader::CheckFields() {
  size_t hosts = 0;
  size_t lengths = 0;
  for (const auto& [name, value] : request_.headers) {
    if (name == "transfer-encoding") return kNotImplemented;
    hosts += name == "host" ? 1 : 0;
    // Beast accepts a list of equal lengths.
    if (name == "content-length")
      lengths += absl::StrContains(value, ',') ? 2 : 1;
    if (name == "expect") {
      request_.expects_continue = absl::EqualsIgnoreCase(value, "100-continue");
    }
  }
  if (hosts != 1 || lengths > 1) return kBadRequest;
  return request_.content_length > kMaxBodyBytes ? kTooLarge : 0;
}

}  // namespace fleetperf::aggregator::web
