#include "agent/deliver/rendezvous.h"

#include <functional>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/sha256.h"

namespace fleetperf::agent {

std::vector<std::string> ByPreference(absl::string_view agent,
                                      std::vector<std::string> addresses) {
  std::multimap<std::string, std::string, std::greater<>> by_weight;
  for (std::string& address : addresses) {
    std::string weight =
        Sha256(absl::AsciiStrToLower(absl::StrCat(agent, "\n", address)));
    by_weight.emplace(std::move(weight), std::move(address));
  }
  std::vector<std::string> ordered;
  for (auto& [weight, address] : by_weight) {
    ordered.push_back(std::move(address));
  }
  return ordered;
}

}  // namespace fleetperf::agent
