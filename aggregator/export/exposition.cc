#include "aggregator/export/exposition.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text/printable.h"

namespace fleetperf::aggregator {
namespace {

// Small metrics are written together.
constexpr size_t kBytesAtOnce = 32 << 10;
constexpr absl::string_view kMetricLabel = "__name__";

void AppendLabelValue(absl::string_view value, std::string* out) {
  for (const char c : value) {
    switch (c) {
      case '\\':
        out->append("\\\\");
        break;
      case '"':
        out->append("\\\"");
        break;
      case '\n':
        out->append("\\n");
        break;
      default:
        out->push_back(c);
    }
  }
}

void AppendValue(double value, std::string* out) {
  if (std::isinf(value)) {
    out->append(value > 0 ? "+Inf" : "-Inf");
    return;
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out->append(text, static_cast<size_t>(end - text));
}

// OpenMetrics has seconds, the text format milliseconds.
void AppendTime(int64_t unix_millis, ExpositionFormat format,
                std::string* out) {
  if (format == ExpositionFormat::kPrometheusText) {
    absl::StrAppend(out, unix_millis);
    return;
  }
  if (unix_millis < 0) out->push_back('-');
  const int64_t millis = std::abs(unix_millis);
  absl::StrAppend(out, millis / 1000, ".",
                  absl::Dec(millis % 1000, absl::kZeroPad3));
}

}  // namespace

absl::string_view Exposition::End() const {
  return format_ == ExpositionFormat::kOpenMetrics ? "# EOF\n" : "";
}

size_t Exposition::bytes() const {
  return bytes_ + comments_.size() + End().size();
}

void Exposition::AddLeftOut(const std::vector<std::string>& machines,
                            absl::string_view reason) {
  constexpr absl::string_view kMetric = "fleetperf_scrape_machines_left_out";
  std::string& text = metrics_[kMetric];
  absl::StrAppend(&text, "# TYPE ", kMetric, " gauge\n", kMetric, " ",
                  machines.size(), "\n");
  bytes_ += text.size();
  if (format_ != ExpositionFormat::kPrometheusText) return;
  for (const std::string& machine : machines) {
    absl::StrAppend(&comments_, "# left out: ", Printable(machine), ": ",
                    reason, "\n");
  }
}

void Exposition::Add(absl::string_view encoded_labels,
                     const ExportSample& sample) {
  absl::string_view metric;
  line_.clear();
  ForEachLabel(
      encoded_labels, [&](absl::string_view name, absl::string_view value) {
        if (name == kMetricLabel) {
          metric = value;
          return;
        }
        absl::StrAppend(&line_, line_.empty() ? "{" : ",", name, "=\"");
        AppendLabelValue(value, &line_);
        line_.push_back('"');
      });
  absl::StrAppend(&line_, line_.empty() ? " " : "} ");
  AppendValue(sample.value, &line_);
  line_.push_back(' ');
  AppendTime(sample.unix_millis, format_, &line_);
  std::string& text = metrics_[metric];
  const size_t before = text.size();
  if (text.empty()) absl::StrAppend(&text, "# TYPE ", metric, " gauge\n");
  absl::StrAppend(&text, metric, line_, "\n");
  bytes_ += text.size() - before;
}

absl::Status Exposition::Write(
    absl::FunctionRef<absl::Status(std::string part)> write) {
  std::vector<std::pair<absl::string_view, std::string*>> metrics;
  metrics.reserve(metrics_.size());
  for (auto& [name, text] : metrics_) metrics.emplace_back(name, &text);
  std::sort(metrics.begin(), metrics.end());
  std::string part;
  size_t bytes = 0;  // of `part`
  for (const auto& [name, text] : metrics) {
    bytes += text->size();
    if (part.empty()) {
      part = std::move(*text);
    } else {
      part.append(*text);
    }
    if (bytes < kBytesAtOnce) continue;
    RETURN_IF_ERROR(write(std::move(part)));
    part.clear();
    bytes = 0;
  }
  absl::StrAppend(&part, comments_, End());
  return part.empty() ? absl::OkStatus() : write(std::move(part));
}

}  // namespace fleetperf::aggregator
