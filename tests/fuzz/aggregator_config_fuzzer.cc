// Fuzzes configuration files of the aggregator, with plans and labels. A file
// is accepted, or rejected with an error that names the file. What is accepted
// arrives in every message.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "aggregator/config.h"
#include "aggregator/plan/planner.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/configuration.pb.h"
#include "fleetperf/v1/fleet.pb.h"
#include "fleetperf/v1/query.pb.h"
#include "fleetperf/v1/values.pb.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/config_texts.h"
#include "tests/fuzz/every_message.h"

namespace fleetperf::aggregator {
namespace {

constexpr char kMachine[] = "web-1";

void AddTexts(const PlanEntry& plan, std::vector<std::string>* texts) {
  texts->push_back(plan.name);
  for (const perflib::Pattern& machine : plan.machines) {
    texts->push_back(machine.text());
  }
  if (plan.operating_system.has_value()) {
    texts->push_back(plan.operating_system->text());
  }
  for (const auto& [name, pattern] : plan.labels) {
    fleetperf::AddTexts({name, pattern.text()}, texts);
  }
  fleetperf::AddTexts(plan.queries, texts);
  fleetperf::AddTexts(plan.rules, texts);
}

void AddTexts(const EngineTarget& target, std::vector<std::string>* texts) {
  fleetperf::AddTexts(
      {target.url, target.authority, target.certificate, target.key,
       target.user, target.password_file, target.bearer_token_file},
      texts);
}

std::vector<std::string> TextsOf(const Config& config) {
  std::vector<std::string> texts = {
      config.name,
      config.listen,
      config.address_file,
      config.tls.authority,
      config.tls.certificate,
      config.tls.key,
      config.web.listen,
      config.web.address_file,
      config.web.certificate,
      config.web.key,
      config.web.public_url,
      config.revoked,
      config.store_directory,
      config.log.level,
      config.log.format,
      config.log.file,
  };
  texts.insert(texts.end(), config.expected_machines.begin(),
               config.expected_machines.end());
  for (const OtherAggregator& other : config.others) {
    fleetperf::AddTexts({other.address, other.page}, &texts);
  }
  for (const auto& [name, value] : config.machine_labels.For(kMachine)) {
    fleetperf::AddTexts({name, value}, &texts);
  }
  for (const PlanEntry& plan : config.plans) AddTexts(plan, &texts);
  if (config.exporting.has_value()) {
    AddTexts(config.exporting->target, &texts);
    fleetperf::AddTexts(config.exporting->paths, &texts);
  }
  if (config.history.has_value()) AddTexts(*config.history, &texts);
  return texts;
}

// Checks the Welcome of an agent that all plans without wildcards in their
// selectors match.
void CheckWelcome(const Config& config) {
  v1::Machine machine;
  machine.set_name(kMachine);
  const Labels labels = config.machine_labels.For(kMachine);
  machine.mutable_labels()->insert(labels.begin(), labels.end());
  CheckArrives(machine);
  const Planner planner(config.plans);
  v1::CollectResponse response;
  *response.mutable_welcome()->mutable_plan() = planner.PlanFor(machine);
  CheckArrives(response);
}

void Check(const std::string& text) {
  // The files that an engine's section names are read, and these never end.
  if (absl::StrContains(text, "/dev/")) return;
  const auto config = ParseConfig(text, "fuzz.yaml");
  CheckError(config.status());
  if (!config.ok()) return;
  CheckArriveInEveryMessage(
      TextsOf(*config),
      {v1::CollectRequest::descriptor()->file(), v1::Plan::descriptor()->file(),
       v1::Machine::descriptor()->file(),
       v1::QueryRangeRequest::descriptor()->file(),
       v1::Series::descriptor()->file()});
  CheckWelcome(*config);
}

}  // namespace
}  // namespace fleetperf::aggregator

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::aggregator::Check(
      std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
