#include "aggregator/export/scrape.h"

#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "aggregator/export/exported_schema.h"
#include "aggregator/export/newest_values.h"
#include "aggregator/query/resolver.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Machines between two calls of ExportedSchemas::Trim.
constexpr size_t kMachinesToTrim = 100;

// Whether an error is not the machine's alone.
bool EndsScrape(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsResourceExhausted(status);
}

absl::Status AddTo(Exposition* text, const NewestValues& values,
                   size_t max_bytes) {
  for (const auto& [labels, sample] : values) {
    text->Add(labels, sample);
    if (text->bytes() <= max_bytes) continue;
    return absl::OutOfRangeError(absl::StrCat(
        "the newest values have more than ", max_bytes,
        " bytes: select counters and machines, as in "
        "/metrics?path=\\Memory\\*, in several scrapes if need be; or have the "
        "aggregator send its values by remote write (export.url)"));
  }
  return absl::OkStatus();
}

// About the bytes of the values in a text.
size_t TextBytes(const NewestValues& values) {
  constexpr size_t kOfNumbers = 40;
  size_t bytes = 0;
  for (const auto& [labels, sample] : values)
    bytes += labels.size() + kOfNumbers;
  return bytes;
}

class FleetScrape {
 public:
  // `paths` is null for all. `max_holder_bytes` limits the machines of each
  // certificate.
  FleetScrape(const ScrapeRequest& request, const PathSet* paths,
              size_t max_holder_bytes, Store* store)
      : request_(request),
        paths_(paths),
        max_holder_bytes_(max_holder_bytes),
        store_(*store),
        context_{.store = *store,
                 .now_of = request.now_of,
                 .is_cancelled = request.is_cancelled},
        meter_(context_),
        text_(request.format) {}

  absl::StatusOr<Exposition> Run() {
    size_t machines = 0;
    for (const std::string& machine : store_.directory().Machines()) {
      RETURN_IF_ERROR(meter_.CheckCancelled());
      if (paths_ != nullptr && !paths_->MatchesMachine(machine)) continue;
      if (++machines % kMachinesToTrim == 0) schemas_.Trim();
      const absl::Status status = Add(machine);
      if (status.ok()) continue;
      if (EndsScrape(status) || is_full_) return status;
      // One machine must not take the values of all others away.
      error_ = status;
      ++left_out_;
      if (request_.on_left_out) request_.on_left_out(machine, status);
    }
    if (left_out_ > 0 && left_out_ == machines) return error_;
    RETURN_IF_ERROR(AddMachineSeries());
    if (!beyond_share_.empty()) {
      text_.AddLeftOut(beyond_share_, "beyond the share of its certificate");
    }
    return std::move(text_);
  }

  // Whether Run has failed because the text has too many bytes.
  bool is_full() const { return is_full_; }

 private:
  absl::Status Add(const std::string& machine) {
    ASSIGN_OR_RETURN(
        const NewestValues values,
        ReadNewestValues(
            {.machine = machine,
             .labels = LabelsOfValues(request_.machines, machine,
                                      store_.directory().LabelsOf(machine)),
             .oldest = request_.now_of(machine) - kOldestScraped,
             .paths = paths_,
             .meter = &meter_,
             .max_bytes = request_.max_machine_bytes},
            &store_, &schemas_));
    size_t& bytes_of_holder = bytes_of_[store_.directory().HolderOf(machine)];
    const size_t bytes = TextBytes(values);
    if (bytes > max_holder_bytes_ - bytes_of_holder) {
      beyond_share_.push_back(machine);
      return absl::OutOfRangeError(
          absl::StrCat("not all values fit, and the machines of its "
                       "certificate have more than ",
                       max_holder_bytes_,
                       " bytes: select counters and machines, as in "
                       "/metrics?path=\\Memory\\*"));
    }
    bytes_of_holder += bytes;
    if (!values.empty()) with_values_.insert(machine);
    return AddToText(values);
  }

  absl::Status AddMachineSeries() {
    const Directory& directory = store_.directory();
    NewestValues values;
    const auto add = [&](const std::string& machine, std::string series) {
      values[std::move(series)] = {
          .unix_millis = absl::ToUnixMillis(request_.now_of(machine)),
          .value = 1};
    };
    for (const std::string& machine : with_values_) {
      add(machine,
          InfoSeries(request_.machines, machine, directory.LabelsOf(machine)));
    }
    for (const std::string& machine :
         SelectExpected(request_.machines, paths_)) {
      add(machine, ExpectedSeries(request_.machines, machine,
                                  directory.LabelsOf(machine)));
    }
    return AddToText(values);
  }

  absl::Status AddToText(const NewestValues& values) {
    const absl::Status added = AddTo(&text_, values, request_.max_bytes);
    is_full_ = !added.ok();
    return added;
  }

  const ScrapeRequest& request_;
  const PathSet* const paths_;
  const size_t max_holder_bytes_;
  Store& store_;
  const QueryContext context_;
  QueryMeter meter_;
  Exposition text_;
  ExportedSchemas schemas_;
  absl::flat_hash_map<std::string, size_t> bytes_of_;  // by holder
  std::set<std::string> with_values_;                  // machines
  std::vector<std::string> beyond_share_;
  size_t left_out_ = 0;
  absl::Status error_;
  bool is_full_ = false;
};

}  // namespace

absl::StatusOr<Exposition> Scrape(const ScrapeRequest& request, Store* store) {
  std::optional<PathSet> paths;
  if (!request.paths.empty()) {
    ASSIGN_OR_RETURN(paths, PathSet::Parse(request.paths, store->directory()));
  }
  const PathSet* const selected = paths.has_value() ? &*paths : nullptr;
  FleetScrape all(request, selected, std::numeric_limits<size_t>::max(), store);
  absl::StatusOr<Exposition> text = all.Run();
  if (!all.is_full()) return text;
  const absl::Status error = text.status();
  FleetScrape shared(request, selected, request.max_bytes / kHolderShare,
                     store);
  text = shared.Run();
  // The first error says more than that all machines have more than a share.
  return text.ok() || EndsScrape(text.status()) ? std::move(text) : error;
}

}  // namespace fleetperf::aggregator
