// The page docs/reference/configuration.md.

#ifndef FLEETPERF_TESTS_CONFIGURATION_CONFIGURATION_PAGE_H_
#define FLEETPERF_TESTS_CONFIGURATION_CONFIGURATION_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/config/config.h"
#include "base/config/config_key.h"

namespace fleetperf::testing {

// Returns the page. Writes its examples to files in `directory` and reads them
// as the programs do. Returns an error if an example is wrong, or if a table of
// keys and the code that reads them differ.
absl::StatusOr<std::string> ConfigurationPage(const std::string& directory);

// Returns the rows of `keys`. Returns an error if `keys` and `settings` do not
// have the same names.
absl::StatusOr<std::string> ConfigurationRows(absl::Span<const ConfigKey> keys,
                                              const ConfigSettings& settings);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_CONFIGURATION_CONFIGURATION_PAGE_H_
