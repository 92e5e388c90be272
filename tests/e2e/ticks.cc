#include "tests/e2e/ticks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/text/units.h"
#include "perflib/bytes.h"
#include "perflib/layout.h"

namespace fleetperf::testing {
namespace {

namespace fs = std::filesystem;

// Returns the time of a block, or 0 if the file has no complete header.
int64_t TimeOfBlock(const fs::path& block) {
  std::string header(sizeof(perflib::PerfDataHeader), '\0');
  std::ifstream file(block, std::ios::binary);
  if (!file.read(header.data(), static_cast<std::streamsize>(header.size()))) {
    return 0;
  }
  return perflib::LoadAt<perflib::PerfDataHeader>(header, 0).perf_time_100nsec;
}

template <typename Use>
void ForEachBlock(const std::string& directory, Use use) {
  std::error_code error;
  for (const auto& file : fs::recursive_directory_iterator(directory, error)) {
    if (file.path().extension() == ".block") use(file.path());
  }
}

}  // namespace

Ticks ReadTaken(const std::string& capture) {
  Ticks taken;
  ForEachBlock(capture, [&](const fs::path& path) {
    const int64_t time = TimeOfBlock(path);
    if (time != 0) taken.insert(time);
  });
  return taken;
}

Ticks ReadNewestTaken(const std::string& capture) {
  fs::path newest;
  fs::file_time_type newest_time = fs::file_time_type::min();
  std::error_code ignored;
  ForEachBlock(capture, [&](const fs::path& path) {
    const fs::file_time_type time = fs::last_write_time(path, ignored);
    if (time < newest_time) return;
    newest = path;
    newest_time = time;
  });
  if (newest.empty() || TimeOfBlock(newest) == 0) return {};
  return {TimeOfBlock(newest)};
}

Stored ReadStored(const Deployment& deployment, const std::string& machine,
                  const std::string& path, absl::Time from, absl::Time to,
                  const std::string& aggregator) {
  Stored stored;
  const auto ask = [&](std::vector<std::string> arguments) {
    if (!aggregator.empty()) {
      arguments.insert(arguments.end(), {"--aggregator", aggregator});
    }
    return deployment.Fleetperf(std::move(arguments));
  };
  const Result raw = ask({"query", absl::StrCat("\\\\", machine, path),
                          "--from", FormatUtc(from), "--to", FormatUtc(to),
                          "--raw", "--format", "json"});
  for (const absl::string_view line : absl::StrSplit(raw.output, '\n')) {
    if (line.empty()) continue;
    const auto sample = nlohmann::json::parse(line);
    if (!sample.contains("perf_time_100ns")) continue;  // no samples yet
    const int64_t time =
        std::stoll(sample.at("perf_time_100ns").get<std::string>());
    if (!stored.ticks.insert(time).second) stored.repeated.push_back(time);
  }
  const Result machines =
      ask({"machines", "--machine", machine, "--format", "json"});
  for (const absl::string_view line : absl::StrSplit(machines.output, '\n')) {
    if (line.empty()) continue;
    const auto json = nlohmann::json::parse(line);
    if (!json.contains("lost_by_cause")) continue;
    for (const auto& [cause, ticks] : json["lost_by_cause"].items()) {
      stored.lost[cause] = std::stoull(ticks.get<std::string>());
    }
  }
  return stored;
}

Ticks FindMissing(const Ticks& taken, const Stored& stored) {
  Ticks missing;
  std::set_difference(taken.begin(), taken.end(), stored.ticks.begin(),
                      stored.ticks.end(),
                      std::inserter(missing, missing.end()));
  return missing;
}

}  // namespace fleetperf::testing
