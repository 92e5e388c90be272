#include "aggregator/web/http_request.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace fleetperf::aggregator::web {
namespace {

constexpr absl::string_view kEndOfLine = "\r\n";
constexpr absl::string_view kEndOfHead = "\r\n\r\n";
constexpr size_t kMaxLengthDigits = 9;

// HTTP statuses.
constexpr int kBadRequest = 400;
constexpr int kTooLarge = 413;
constexpr int kHeadTooLarge = 431;
constexpr int kNotImplemented = 501;
constexpr int kVersionNotSupported = 505;

bool IsTokenCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         absl::StrContains("!#$%&'*+-.^_`|~", c);
}

bool IsToken(absl::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

bool IsVisible(char c) { return c > ' ' && c < '\x7f'; }

// A value may have any bytes but control characters.
bool IsFieldValue(absl::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\t';
  });
}

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

}  // namespace

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
    const int failure = ParseHead(absl::string_view(bytes_).substr(0, end));
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
  const std::vector<absl::string_view> lines = absl::StrSplit(head, kEndOfLine);
  const std::vector<absl::string_view> line = absl::StrSplit(lines[0], ' ');
  if (line.size() != 3 || !IsToken(line[0])) return kBadRequest;
  const absl::string_view target = line[1];
  if (!absl::StartsWith(target, "/") ||
      !std::all_of(target.begin(), target.end(), IsVisible)) {
    return kBadRequest;
  }
  if (line[2] != "HTTP/1.1" && line[2] != "HTTP/1.0") {
    return absl::StartsWith(line[2], "HTTP/") ? kVersionNotSupported
                                              : kBadRequest;
  }
  if (lines.size() > kMaxHeaders + 1) return kHeadTooLarge;
  request_.method = std::string(line[0]);
  const size_t mark = std::min(target.find('?'), target.size());
  request_.path = std::string(target.substr(0, mark));
  request_.query =
      std::string(target.substr(std::min(mark + 1, target.size())));
  request_.keeps_alive = line[2] == "HTTP/1.1";
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t colon = std::min(lines[i].find(':'), lines[i].size());
    const absl::string_view name = lines[i].substr(0, colon);
    // A continued line begins with a space, which is no token.
    if (colon == lines[i].size() || !IsToken(name)) return kBadRequest;
    const absl::string_view value = Trimmed(lines[i].substr(colon + 1));
    if (!IsFieldValue(value)) return kBadRequest;
    request_.headers.emplace_back(absl::AsciiStrToLower(name),
                                  std::string(value));
  }
  return ParseFields();
}

int RequestReader::ParseFields() {
  size_t hosts = 0;
  std::optional<size_t> length;
  for (const auto& [name, value] : request_.headers) {
    if (name == "host") ++hosts;
    if (name == "transfer-encoding") return kNotImplemented;
    if (name == "content-length") {
      if (length.has_value() || value.empty() ||
          !std::all_of(value.begin(), value.end(), [](char c) {
            return absl::ascii_isdigit(static_cast<unsigned char>(c));
          })) {
        return kBadRequest;
      }
      if (value.size() > kMaxLengthDigits) return kTooLarge;
      size_t parsed = 0;
      if (!absl::SimpleAtoi(value, &parsed)) return kBadRequest;
      if (parsed > kMaxBodyBytes) return kTooLarge;
      length = parsed;
    }
    if (name == "connection") {
      for (const absl::string_view option : absl::StrSplit(value, ',')) {
        if (absl::EqualsIgnoreCase(Trimmed(option), "close")) {
          request_.keeps_alive = false;
        }
      }
    }
    if (name == "expect") {
      request_.expects_continue = absl::EqualsIgnoreCase(value, "100-continue");
    }
  }
  if (hosts != 1) return kBadRequest;
  request_.content_length = length.value_or(0);
  return 0;
}

}  // namespace fleetperf::aggregator::web
