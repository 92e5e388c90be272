#include "aggregator/web/metrics.h"

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "aggregator/export/scrape.h"
#include "aggregator/query/request_limits.h"
#include "aggregator/web/http_response.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator::web {
namespace {

// Each costs a comparison with each series of its machines.
constexpr size_t kMaxScrapedPaths = 32;
constexpr absl::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
constexpr absl::string_view kPrometheusType =
    "text/plain; version=0.0.4; charset=utf-8";

// Returns the weight of a media type in a header Accept; 0 if it is not there.
double WeightOf(absl::string_view type, absl::string_view version,
                absl::string_view accept) {
  double weight = 0;
  for (const absl::string_view range : absl::StrSplit(accept, ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(range, ';');
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(parts[0]), type)) {
      continue;
    }
    double of_range = 1;
    for (absl::string_view part : parts) {
      part = absl::StripAsciiWhitespace(part);
      if (absl::ConsumePrefix(&part, "version=") && part != version) {
        of_range = 0;
        break;
      }
      if (absl::ConsumePrefix(&part, "q=") &&
          !absl::SimpleAtod(part, &of_range)) {
        of_range = 0;
      }
    }
    weight = std::max(weight, of_range);
  }
  return weight;
}

absl::StatusOr<std::vector<std::string>> PathsOf(const HttpRequest& request) {
  ASSIGN_OR_RETURN(const auto parameters, DecodeQuery(request.query));
  std::vector<std::string> paths;
  size_t bytes = 0;
  for (const auto& [name, value] : parameters) {
    if (name != "path") {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no parameter ", name, "; there is path"));
    }
    bytes += value.size();
    paths.push_back(value);
  }
  if (paths.size() > kMaxScrapedPaths) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request has ", paths.size(), " paths; the limit is ",
                     kMaxScrapedPaths, ": use wildcards, or several scrapes"));
  }
  RETURN_IF_ERROR(CheckPathBytes(bytes));
  return paths;
}

void LogLeftOut(const std::string& machine, const absl::Status& error,
                LogOncePerCause* log) {
  log->Warn("left out of scrapes",
            absl::StrCat("machine ", machine,
                         " is left out of scrapes: ", error.message()),
            machine);
}

// Sends the answer.
absl::Status SendValues(const MetricsParts& parts, const HttpRequest& request,
                        const Caller& caller, LogOncePerCause* log,
                        Reply* reply) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths, PathsOf(request));
  // The slot is kept until the answer is sent, because the text takes memory.
  ASSIGN_OR_RETURN(const auto slot, Admit(absl::OkStatus(), caller,
                                          Pool::kQueries, parts.quota));
  const ExpositionFormat format = FormatFor(request.Header("accept"));
  ASSIGN_OR_RETURN(
      Exposition text,
      aggregator::Scrape(
          {.paths = paths.empty() ? parts.paths : paths,
           .format = format,
           .now_of = parts.now_of,
           .is_cancelled = caller.is_cancelled,
           .machines = parts.machines,
           .on_left_out =
               [&](const std::string& machine, const absl::Status& error) {
                 LogLeftOut(machine, error, log);
               }},
          parts.store));
  reply->Send(ResponseWithoutBody(
      {.content_type = format == ExpositionFormat::kOpenMetrics
                           ? kOpenMetricsType
                           : kPrometheusType,
       .keeps_alive = request.keeps_alive,
       .more = "Vary: Accept\r\n"},
      text.bytes()));
  const absl::Status sent = text.Write(
      [&](std::string part) { return reply->SendAndWait(std::move(part)); });
  reply->Finish(sent.ok() && request.keeps_alive);
  return absl::OkStatus();
}

}  // namespace

ExpositionFormat FormatFor(absl::string_view accept) {
  const double open_metrics =
      WeightOf("application/openmetrics-text", "1.0.0", accept);
  return open_metrics > 0 &&
                 open_metrics >= WeightOf("text/plain", "0.0.4", accept)
             ? ExpositionFormat::kOpenMetrics
             : ExpositionFormat::kPrometheusText;
}

void Metrics::Answer(const HttpRequest& request, const Caller& caller,
                     absl::string_view subject, Reply* reply) {
  const absl::Status status = SendValues(parts_, request, caller, &log_, reply);
  if (status.ok()) return;
  reply->Fail(status, request.keeps_alive);
  if (absl::IsCancelled(status)) return;
  // Prometheus does not show the text of the answer.
  log_.Warn(
      absl::StrCat("scrape by ", subject, ": ",
                   absl::StatusCodeToString(status.code())),
      absl::StrCat("a scrape by ", subject, " failed: ", status.message()));
}

}  // namespace fleetperf::aggregator::web
