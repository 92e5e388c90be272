// Fuzzes configuration files of the agent. A file is accepted, or rejected with
// an error that names the file. What is accepted arrives in every message.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/collect/plan.h"
#include "agent/config.h"
#include "agent/deliver/catalogue.h"
#include "agent/deliver/conversation.h"
#include "agent/deliver/delivery.h"
#include "base/logging.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/configuration.pb.h"
#include "fleetperf/v1/fleet.pb.h"
#include "proto/conversions.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/config_texts.h"
#include "tests/fuzz/every_message.h"

namespace fleetperf::agent {
namespace {

std::vector<std::string> TextsOf(const Config& config) {
  std::vector<std::string> texts = {
      config.name,
      config.tls.authority,
      config.tls.certificate,
      config.tls.key,
      config.state_directory,
      config.capture_directory,
      config.replay_directory,
      config.root,
      config.perflib_dll,
      config.log.level,
      config.log.format,
      config.log.file,
  };
  AddTexts(config.aggregators, &texts);
  for (const auto& [name, value] : config.labels) {
    AddTexts({name, value}, &texts);
  }
  AddTexts(config.plan.queries, &texts);
  AddTexts(config.plan.rules, &texts);
  return texts;
}

v1::CollectRequest HelloOf(const Config& config) {
  Delivery delivery({.batch_period = config.batch_period});
  const AgentDescription agent = {
      .agent = config.name,
      .labels = config.labels,
      .delivery = &delivery,
      .catalogue = [] { return MakeCatalogue({}); }};
  LogOncePerCause log;
  return Conversation(&agent, &log).Next().value();
}

void Check(const std::string& text) {
  const auto config = ParseConfig(text, "fuzz.yaml", {});
  CheckError(config.status());
  if (!config.ok()) return;
  CheckArriveInEveryMessage(
      TextsOf(*config),
      {v1::CollectRequest::descriptor()->file(), v1::Plan::descriptor()->file(),
       v1::Machine::descriptor()->file()});
  CheckArrives(HelloOf(*config));
  v1::Plan plan;
  for (const PlannedQuery& query : config->plan.queries) {
    *plan.add_queries() = ToProto(query);
  }
  for (const InstanceRule& rule : config->plan.rules) {
    *plan.add_instance_rules() = ToProto(rule);
  }
  CheckArrives(plan);
  FUZZ_CHECK(PlanFromProto(plan, config->plan).ok());
}

}  // namespace
}  // namespace fleetperf::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::agent::Check(
      std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
