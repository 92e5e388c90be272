#include "aggregator/export/remote_write_client.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Whether the path in the URL is not one where the engine takes samples.
// VictoriaMetrics answers with 400 and this text.
bool IsWrongPath(long status, const std::string& what) {
  return status == 404 || status == 405 ||
         (status == 400 &&
          absl::StrContains(what, "unsupported path requested"));
}

// Whether the engine refuses the samples. Prometheus answers with 500, and not
// with 400, to samples older than its out_of_order_time_window.
bool IsRefusal(long status, const std::string& what) {
  return status / 100 == 4 ||
         (status / 100 == 5 &&
          (absl::StrContains(what, "too old sample") ||
           absl::StrContains(what, "out of bounds") ||
           absl::StrContains(what, "out of order sample")));
}

// Translates the status of an answer other than 2xx.
absl::Status ToStatus(long status, const std::string& what) {
  if (IsWrongPath(status, what)) {
    return absl::UnavailableError(absl::StrCat(
        what,
        "; check url: VictoriaMetrics receives samples at /api/v1/write, and "
        "Prometheus, too, if it runs with --web.enable-remote-write-receiver"));
  }
  switch (status) {
    case 401:
      return absl::UnauthenticatedError(absl::StrCat(
          what, "; check basic_auth or bearer_token_file of the export"));
    case 403:
      return absl::PermissionDeniedError(absl::StrCat(
          what, "; give the export's user the right to write samples"));
    case 408:
    case 421:
    case 425:
    case 429:
      return absl::UnavailableError(what);
    default:
      break;
  }
  if (IsRefusal(status, what)) return absl::InvalidArgumentError(what);
  if (status == 500) return absl::InternalError(what);
  if (status / 100 == 3) {
    return absl::UnavailableError(absl::StrCat(
        what, "; let url name the place that the answer redirects to"));
  }
  return absl::UnavailableError(what);
}

}  // namespace

RemoteWriteClient::RemoteWriteClient(EngineTarget target)
    : client_(std::move(target),
              {.action = "cannot send samples to",
               .headers = {"Content-Encoding: snappy",
                           "Content-Type: application/x-protobuf",
                           "X-Prometheus-Remote-Write-Version: 0.1.0"}}) {}

absl::Status RemoteWriteClient::Send(absl::string_view body) {
  retry_after_.reset();
  ASSIGN_OR_RETURN(const HttpAnswer answer, client_.Post(body));
  if (answer.is_success()) return absl::OkStatus();
  retry_after_ = answer.retry_after;
  return ToStatus(answer.status, client_.Describe(answer));
}

}  // namespace fleetperf::aggregator
