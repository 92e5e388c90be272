#include "aggregator/ingest/plan_exchange.h"

#include <cstdint>
#include <string>
#include <utility>

namespace fleetperf::aggregator {
namespace {

// What is kept of a PlanReport: queries, and bytes of each text.
constexpr int kMostReports = 1000;
constexpr size_t kMostReportBytes = 1000;

// To what is kept of it, whole characters of UTF-8.
void Shorten(std::string* text) {
  if (text->size() <= kMostReportBytes) return;
  size_t size = kMostReportBytes;
  while (size > 0 && (static_cast<uint8_t>((*text)[size]) & 0xC0) == 0x80) {
    --size;
  }
  text->resize(size);
}

}  // namespace

// Plans are asked for and sent under the lock: of two callers, the later one's
// word is the last.

void PlanExchange::SendWelcome(v1::CollectResponse welcome) {
  absl::MutexLock lock(&mutex_);
  plan_ = planner_.PlanFor(machine_);
  if (!IsAgentsOwn(*plan_)) *welcome.mutable_welcome()->mutable_plan() = *plan_;
  link_.Send(std::move(welcome));
}

void PlanExchange::Update() {
  absl::MutexLock lock(&mutex_);
  if (!plan_.has_value()) return;  // comes with Welcome
  v1::Plan plan = planner_.PlanFor(machine_);
  if (HaveSameQueries(plan, *plan_)) return;
  plan_ = std::move(plan);
  v1::CollectResponse response;
  *response.mutable_plan() = *plan_;
  link_.Send(std::move(response));
}

// It is kept as long as the stream is open: it must not be large.
void PlanExchange::TakeReport(v1::PlanReport report) {
  if (report.queries_size() > kMostReports) {
    report.mutable_queries()->DeleteSubrange(
        kMostReports, report.queries_size() - kMostReports);
  }
  for (v1::QueryReport& query : *report.mutable_queries()) {
    for (std::string* text : {query.mutable_name(), query.mutable_counterset(),
                              query.mutable_error()}) {
      Shorten(text);
    }
  }
  absl::MutexLock lock(&mutex_);
  report_ = std::make_shared<const v1::PlanReport>(std::move(report));
}

std::shared_ptr<const v1::PlanReport> PlanExchange::report() const {
  absl::MutexLock lock(&mutex_);
  return report_;
}

}  // namespace fleetperf::aggregator
