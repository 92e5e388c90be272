// Prints docs/reference/configuration.md.

#include <iostream>

#include "tests/configuration/configuration_page.h"
#include "tests/support/temp_directory.h"

int main() {
  const fleetperf::testing::TempDirectory directory;
  const auto page = fleetperf::testing::ConfigurationPage(directory.path());
  if (!page.ok()) {
    std::cerr << page.status().message() << "\n";
    return 1;
  }
  std::cout << *page;
}
