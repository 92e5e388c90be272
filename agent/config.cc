#include "agent/config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/deliver/rendezvous.h"
#include "base/address.h"
#include "base/config/config.h"
#include "base/os/files.h"
#include "base/os/input_file.h"
#include "base/os/native_path.h"
#include "base/os/os.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/suggest.h"

namespace fleetperf::agent {
namespace {

void ReadAggregators(ConfigSection& root, Config* config) {
  root.Read("aggregators", &config->aggregators);
  if (config->aggregators.empty()) root.Error("aggregators", "is missing");
  for (const std::string& address : config->aggregators) {
    const absl::Status status = CheckAddress(address);
    if (!status.ok()) root.Error("aggregators", status.message());
  }
  std::string order = "hash";
  root.Read("aggregators_order", &order);
  const std::vector<std::string> orders = {"hash", "listed"};
  if (std::count(orders.begin(), orders.end(), order) == 0) {
    root.Error("aggregators_order",
               absl::StrCat("\"", order, "\" is not hash or listed",
                            DidYouMean(order, orders)));
  }
  config->aggregators_order =
      order == "listed" ? AggregatorsOrder::kListed : AggregatorsOrder::kHash;
}

}  // namespace

absl::StatusOr<Config> LoadConfig(const std::string& path,
                                  const ConfigFlags& flags) {
  ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path));
  return ParseConfig(text, path, flags);
}

absl::StatusOr<Config> ParseConfig(const std::string& text,
                                   const std::string& path,
                                   const ConfigFlags& flags) {
  ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Parse(text, path));
  ConfigSection root = file.root();
  Config config;
  root.Read("name", &config.name);
  if (!flags.name.empty()) config.name = flags.name;
  ReadAggregators(root, &config);
  config.tls = ReadTlsFiles(root.Section("tls"));
  root.Read("labels", &config.labels);
  config.plan = ReadPlan(root);
  ConfigSection delivery = root.Section("delivery");
  delivery.Read("batch_period", &config.batch_period, absl::ZeroDuration(),
                absl::Minutes(5));
  delivery.ReadByteSize("spool_size", &config.spool_bytes, 128 << 10,
                        uint64_t{64} << 30);
  delivery.Read("spool_age", &config.spool_age, absl::Minutes(1),
                absl::Hours(24 * 365));
  config.state_directory = ResolvePath(
      Utf8FromPath(NativePath(path).parent_path()), DefaultStateDirectory());
  root.ReadPath("state_directory", &config.state_directory);
  ConfigSection capture = root.Section("capture");
  capture.ReadPath("directory", &config.capture_directory);
  capture.ReadByteSize("max_size", &config.capture_bytes, 1 << 20,
                       uint64_t{1} << 50);
  root.ReadPath("root", &config.root);
  root.ReadPath("perflib_dll", &config.perflib_dll);
  root.ReadPath("replay", &config.replay_directory);
  if (!flags.capture.empty()) config.capture_directory = flags.capture;
  if (!flags.replay.empty()) config.replay_directory = flags.replay;
  // A capture comes from another machine or another time, so its name cannot be
  // derived from this machine.
  if (config.name.empty() && !config.replay_directory.empty()) {
    root.Error(
        "name",
        "is missing; set it to the machine that the capture is played as");
  }
  config.is_named = !config.name.empty();
  if (!config.is_named) config.name = HostName();
  const absl::Status is_text = CheckText(config.name);
  if (!is_text.ok()) {
    root.Error("name", absl::StrCat("must be set, since the host name ",
                                    is_text.message()));
  }
  config.log = ReadLogConfig(root);
  RETURN_IF_ERROR(file.Finish());
  config.settings = file.settings();
  return config;
}

std::vector<std::string> PreferredAggregators(const Config& config) {
  return config.aggregators_order == AggregatorsOrder::kListed
             ? config.aggregators
             : ByPreference(config.name, config.aggregators);
}

}  // namespace fleetperf::agent
