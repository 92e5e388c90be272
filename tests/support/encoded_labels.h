// Decodes the labels of exported series.

#ifndef FLEETPERF_TESTS_SUPPORT_ENCODED_LABELS_H_
#define FLEETPERF_TESTS_SUPPORT_ENCODED_LABELS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::testing {

// Consumes a field with a length of one byte.
inline absl::string_view TakeField(absl::string_view* from) {
  const auto size = static_cast<size_t>((*from)[1]);
  const absl::string_view field = from->substr(2, size);
  from->remove_prefix(2 + size);
  return field;
}

// Returns labels that EncodeLabels has encoded, of at most 127 bytes each.
// Expects them in the order of their names.
inline std::map<std::string, std::string> LabelsIn(absl::string_view encoded) {
  std::map<std::string, std::string> labels;
  std::string last;
  while (!encoded.empty()) {
    absl::string_view label = TakeField(&encoded);
    const std::string name(TakeField(&label));
    EXPECT_LT(last, name);
    last = name;
    labels[name] = std::string(TakeField(&label));
  }
  return labels;
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_ENCODED_LABELS_H_
