#include "aggregator/history/query_client.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// About a million samples.
constexpr size_t kMaxAnswer = size_t{32} << 20;
constexpr size_t kMaxIdle = 8;

// Encodes a value for application/x-www-form-urlencoded.
std::string FormText(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '_' || c == '.' || c == '-') {
      encoded.push_back(c);
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", byte);
    }
  }
  return encoded;
}

absl::Status ToStatus(long status, const std::string& what) {
  switch (status) {
    case 401:
      return absl::FailedPreconditionError(absl::StrCat(
          what, "; check basic_auth or bearer_token_file of history"));
    case 403:
      return absl::FailedPreconditionError(absl::StrCat(
          what, "; give the user of history the right to read samples"));
    case 404:
    case 405:
      return absl::FailedPreconditionError(absl::StrCat(
          what,
          "; check history.url: engines answer queries at /api/v1/query"));
    case 422:  // also if a query needs more samples than the engine allows
      return absl::ResourceExhaustedError(what);
    default:
      break;
  }
  // As VictoriaMetrics answers at a wrong path.
  if (status == 400 && absl::StrContains(what, "unsupported path requested")) {
    return ToStatus(404, what);
  }
  if (status / 100 == 3) {
    return absl::FailedPreconditionError(absl::StrCat(
        what, "; let history.url name the place that the answer redirects to"));
  }
  return absl::UnavailableError(what);
}

}  // namespace

absl::StatusOr<std::string> QueryClient::Query(const std::string& expression,
                                               absl::Time time,
                                               const OnWait& on_wait) {
  const int64_t millis = absl::ToUnixMillis(time);
  const std::string body = absl::StrCat(
      "query=", FormText(expression),
      "&time=", absl::StrFormat("%d.%03d", millis / 1000, millis % 1000));
  std::unique_ptr<HttpClient> client = TakeIdle();
  absl::StatusOr<HttpAnswer> answer = client->Post(body, on_wait);
  // A transfer that failed may have left its connection in any state.
  if (!answer.ok()) return answer.status();
  if (answer->is_cut_off) {
    return absl::ResourceExhaustedError(absl::StrCat(
        name_, " answers with more than ", kMaxAnswer >> 20, " MiB"));
  }
  if (!answer->is_success()) {
    const absl::Status status =
        ToStatus(answer->status, client->Describe(*answer));
    GiveBack(std::move(client));
    return status;
  }
  GiveBack(std::move(client));
  return std::move(answer->body);
}

std::unique_ptr<HttpClient> QueryClient::TakeIdle() {
  {
    absl::MutexLock lock(&mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<HttpClient> client = std::move(idle_.back());
      idle_.pop_back();
      return client;
    }
  }
  return std::make_unique<HttpClient>(
      target_,
      HttpClient::Options{
          .action = "cannot read samples from",
          .headers = {"Content-Type: application/x-www-form-urlencoded"},
          .max_body = kMaxAnswer});
}

void QueryClient::GiveBack(std::unique_ptr<HttpClient> client) {
  absl::MutexLock lock(&mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(client));
}

}  // namespace fleetperf::aggregator
