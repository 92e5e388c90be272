// A deployment as users run it: real executables, configuration files and
// certificates in a temporary directory.

#ifndef FLEETPERF_TESTS_E2E_DEPLOYMENT_H_
#define FLEETPERF_TESTS_E2E_DEPLOYMENT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/tls/credentials.h"
#include "nlohmann/json_fwd.hpp"
#include "tests/e2e/process.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {

// An aggregator, its agents and the command line. Thread-compatible.
class Deployment {
 public:
  // Creates the certificates with `fleetperf pki`.
  Deployment();

  const std::string& directory() const { return directory_.path(); }
  std::string File(const std::string& name) const {
    return directory_.File(name);
  }

  // Issues a certificate for `names`. The files are ROLE-NAME.pem and
  // ROLE-NAME.key, where NAME is the first name.
  TlsFiles Issue(const std::string& role,
                 const std::vector<std::string>& names);
  // Returns the section "tls" of a configuration file.
  static std::string TlsSection(const TlsFiles& files);

  // Writes the aggregator's configuration, followed by `more`.
  void WriteAggregatorConfig(const std::string& more);
  // Writes the configuration, starts an aggregator and waits until it listens.
  // A restarted aggregator listens at the same address.
  std::unique_ptr<Process> StartAggregator(
      const std::string& more = "",
      const std::map<std::string, std::string>& environment = {});
  const std::string& address() const { return address_; }

  // Writes NAME.yaml for an agent, followed by `more`, and returns the path.
  // The agent's certificate also names the machines `others`.
  std::string WriteAgentConfig(const std::string& name,
                               const std::vector<std::string>& others,
                               const std::string& more);
  // Writes the configuration of an agent and starts the agent.
  std::unique_ptr<Process> StartAgent(const std::string& name,
                                      const std::string& more = "");

  // Runs fleetperf with a certificate of the role reader.
  Result Fleetperf(std::vector<std::string> arguments) const;
  std::unique_ptr<Process> StartFleetperf(
      std::vector<std::string> arguments) const;
  // Same with the arguments of a shell command, which may redirect and pipe.
  Result Shell(const std::string& arguments,
               std::map<std::string, std::string> environment = {}) const;
  // Same in a terminal, created by script(1). It is an xterm unless
  // `environment` has TERM.
  Result InTerminal(const std::string& arguments, int columns,
                    std::map<std::string, std::string> environment = {}) const;

  // Runs fleetperf with --format json and returns the parsed lines.
  std::vector<nlohmann::json> Json(std::vector<std::string> arguments) const;

  // Waits until a query of `path` returns a value. Returns false if it does not
  // within kPatience.
  bool WaitForAnswer(const std::string& path) const;
  // Waits until the machine's samples can be queried.
  void WaitForSamples(const std::string& machine) const;

  // Returns the path of an executable, in the directory that the environment
  // variable FLEETPERF_BIN names, else in that of this build.
  static std::string Executable(const std::string& name);
  static void Write(const std::string& path, const std::string& text);

 private:
  TempDirectory directory_;
  std::string address_ = "127.0.0.1:0";
};

// Returns a command that runs a shell command in a terminal of this size.
std::vector<std::string> TerminalCommand(const std::string& command,
                                         int columns, int rows = 30);

// Returns the lines of an output, also of a terminal's, that are not empty.
std::vector<std::string> LinesOf(const std::string& text);

// Returns the number of UTF-8 characters.
int WidthOf(const std::string& text);

// Returns the field "time" of a line of fleetperf --format json.
absl::Time TimeOf(const nlohmann::json& line);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_DEPLOYMENT_H_
