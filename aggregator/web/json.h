// Writes the JSON of queries and subscriptions without reflection, because a
// page with many machines gets many values a second.

#ifndef FLEETPERF_AGGREGATOR_WEB_JSON_H_
#define FLEETPERF_AGGREGATOR_WEB_JSON_H_

#include <charconv>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator::web {

// Appends the shortest text that reads as the same number, which is finite.
template <typename Number>
void AppendNumber(Number number, std::string* out) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  out->append(text, static_cast<size_t>(end - text));
}

// Appends a string with quotes. Bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);

// Returns {"error":{"code":"NOT_FOUND","message":"..."}}, on one line.
std::string ErrorJson(const absl::Status& error);

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_JSON_H_
