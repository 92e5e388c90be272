// An aggregator, agents and the command line as a user has them: real
// executables, configuration files and certificates in a temporary directory.

#ifndef FLEETPERF_TESTS_E2E_DEPLOYMENT_H_
#define FLEETPERF_TESTS_E2E_DEPLOYMENT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/credentials.h"
#include "nlohmann/json_fwd.hpp"
#include "tests/e2e/process.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {

class Deployment {
 public:
  // Makes the certificates with `fleetperf pki`.
  Deployment();

  const std::string& directory() const { return directory_.path(); }
  std::string File(const std::string& name) const {
    return directory_.File(name);
  }

  // Issues a certificate; the files are ROLE-NAME.pem and .key.
  TlsFiles Issue(const std::string& role,
                 const std::vector<std::string>& names);
  // The lines of a configuration file that name a certificate.
  static std::string TlsSection(const TlsFiles& files);

  // Writes an aggregator's configuration; `more` is added to it.
  void WriteAggregatorConfig(const std::string& more);
  // Starts an aggregator and waits until it listens; the second time at the
  // same address. `more` is added to its file.
  std::unique_ptr<Process> StartAggregator(
      const std::string& more = "",
      const std::map<std::string, std::string>& environment = {});
  const std::string& address() const { return address_; }

  // Writes NAME.yaml for an agent that may speak for `others`, too. `more` is
  // added to the file.
  std::string WriteAgentConfig(const std::string& name,
                               const std::vector<std::string>& others,
                               const std::string& more);
  // The same, and starts it.
  std::unique_ptr<Process> StartAgent(const std::string& name,
                                      const std::string& more = "");

  // Runs fleetperf as a reader.
  Result Fleetperf(std::vector<std::string> arguments) const;
  std::unique_ptr<Process> StartFleetperf(
      std::vector<std::string> arguments) const;

  // Runs fleetperf with --format json and parses the lines.
  std::vector<nlohmann::json> Json(std::vector<std::string> arguments) const;

  // Whether the path has a value, in the end.
  bool WaitForAnswer(const std::string& path) const;
  // Waits until the machine's samples can be queried.
  void WaitForSamples(const std::string& machine) const;

  // The path of an executable of this build, or of the directory that the
  // environment variable FLEETPERF_BIN names.
  static std::string Executable(const std::string& name);
  static void Write(const std::string& path, const std::string& text);

 private:
  TempDirectory directory_;
  std::string address_ = "127.0.0.1:0";
};

// The field "time" of a line of fleetperf --format json.
absl::Time TimeOf(const nlohmann::json& line);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_DEPLOYMENT_H_
