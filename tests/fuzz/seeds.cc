// Writes the inputs that the fuzzers start from: one directory a fuzzer.

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/block_writer.h"
#include "perflib/counter_type.h"
#include "perflib/query.h"
#include "perflib/registration.h"
#include "perflib/utf16.h"

namespace fleetperf {
namespace {

using perflib::HeaderType;

// A block with results of all types.
std::string Block() {
  std::string bytes;
  perflib::BlockWriter writer({1, 2, 3}, &bytes);
  const uint32_t ids[] = {0, 1, 26};
  writer.BeginResult(HeaderType::kCounterset, ids);
  for (const char* name : {"0,0", "_Total"}) {
    writer.BeginInstance(perflib::Utf16FromUtf8(name), 7);
    writer.AddValue32(1);
    writer.AddValue64(uint64_t{1} << 40);
    writer.AddValueBytes("text");
  }
  writer.EndResult();
  writer.AddErrorReturn(perflib::kErrorNoData);
  writer.BeginResult(HeaderType::kSingleCounter);
  writer.AddValue32(5);
  writer.EndResult();
  writer.BeginResult(HeaderType::kMultipleCounters, ids);
  for (int i = 0; i < 3; ++i) writer.AddValue64(9);
  writer.EndResult();
  writer.BeginResult(HeaderType::kMultipleInstances);
  writer.BeginInstance(perflib::Utf16FromUtf8("a"), 1);
  writer.AddValue64(3);
  writer.EndResult();
  writer.Finish();
  return bytes;
}

perflib::CountersetRegistration Registration() {
  perflib::CountersetRegistration registration;
  registration.guid =
      *perflib::ParseGuid("{b4fc721a-0378-476f-89ba-a5a79f810b36}");
  registration.name = "Set";
  registration.instance_type = perflib::kCountersetMultipleInstances;
  registration.counters.push_back({.counter_id = 1,
                                   .type = perflib::kPerfAverageBulk,
                                   .base_counter_id = 2,
                                   .name = "Average"});
  registration.counters.push_back(
      {.counter_id = 2, .type = perflib::kPerfAverageBase});
  return registration;
}

v1::BatchContent Content() {
  v1::BatchContent content;
  v1::Definitions* definitions = content.mutable_definitions();
  v1::MachineDefinition* machine = definitions->add_machines();
  machine->set_id(1);
  machine->set_name("box");
  v1::CountersetDefinition* counterset = definitions->add_countersets();
  counterset->set_id(2);
  counterset->mutable_registration()->set_guid(std::string(16, 'g'));
  counterset->mutable_registration()->add_counters()->set_counter_id(1);
  v1::QueryDefinition* query = definitions->add_queries();
  query->set_id(3);
  query->set_machine(1);
  query->set_counterset(2);
  query->mutable_interval()->set_seconds(1);
  query->add_columns()->set_counter_id(1);
  query->mutable_columns(0)->set_value_size(8);
  v1::InstanceDefinition* instance = definitions->add_instances();
  instance->set_id(4);
  instance->set_machine(1);
  instance->set_counterset(2);
  v1::BlockColumns* block = content.add_blocks();
  for (int i = 0; i < 3; ++i) {
    block->add_perf_time_100nsec(10);
    block->add_perf_time_stamp(10);
    block->add_perf_freq(0);
  }
  v1::QueryColumns* columns = block->add_queries();
  columns->set_query(3);
  for (const int difference : {4, 0}) columns->add_instances(difference);
  for (const uint32_t first : {0, 2}) columns->add_first_block(first);
  for (const uint32_t count : {2, 1}) columns->add_block_count(count);
  v1::Column* column = columns->add_columns();
  column->add_first(100);
  column->add_first(90);
  column->add_differences(-5);
  column->add_missing(1);
  columns->add_failures()->set_block(1);
  content.add_retired_instances(4);
  content.add_losses()->set_ticks(1);
  return content;
}

absl::Status Write(const std::string& root, const std::string& fuzzer,
                   const std::string& name, const std::string& bytes) {
  const std::string directory = absl::StrCat(root, "/", fuzzer);
  RETURN_IF_ERROR(MakeDirectories(directory));
  return WriteFile(absl::StrCat(directory, "/", name), bytes);
}

absl::Status WriteSeeds(const std::string& root) {
  const auto registration = [&](char kind, const std::string& name,
                                const std::string& bytes) {
    return Write(root, "registration", name, kind + bytes);
  };
  RETURN_IF_ERROR(Write(root, "block_reader", "all_types", Block()));
  RETURN_IF_ERROR(registration('\0', "counterset",
                               perflib::WriteCountersetStruct(Registration())));
  RETURN_IF_ERROR(registration(
      '\1', "counter",
      perflib::WriteCounterStruct(Registration().counters.front())));
  RETURN_IF_ERROR(registration('\2', "string", perflib::WriteString("name")));
  RETURN_IF_ERROR(registration(
      '\3', "strings", perflib::WriteStringBuffer({{1, "a"}, {2, ""}})));
  RETURN_IF_ERROR(registration(
      '\5', "identifiers",
      perflib::WriteCounterIdentifiers(
          {{.counterset = Registration().guid, .instance = "*"}, {}})));
  RETURN_IF_ERROR(registration(
      '\6', "instances", perflib::WriteInstanceList({{"a", 1}, {"b", 2}})));
  RETURN_IF_ERROR(Write(root, "path", "full",
                        "\\\\web-*\\Known (set)(a/b[#]1#2)\\% Time?"));
  RETURN_IF_ERROR(
      Write(root, "path", "ids", Registration().guid.ToString() + "\\id:7"));
  RETURN_IF_ERROR(Write(root, "config", "keys",
                        "name: a\ncount: 3\non: true\nsize: 64MiB\n"
                        "interval: 1h30m\nlist: [a, b]\nmap: {a: b}\n"
                        "path: x\nsection:\n  name: b\n"
                        "queries:\n  - name: c\n"));
  RETURN_IF_ERROR(Write(root, "collection", "content",
                        "\1" + Content().SerializeAsString()));
  v1::CollectRequest request;
  *request.mutable_dictionary()->mutable_definitions() =
      Content().definitions();
  return Write(root, "collection", "dictionary",
               std::string(1, '\0') + request.SerializeAsString());
}

}  // namespace
}  // namespace fleetperf

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: seeds DIRECTORY\n");
    return 2;
  }
  const absl::Status status = fleetperf::WriteSeeds(argv[1]);
  if (!status.ok()) {
    std::fprintf(stderr, "seeds: %s\n", std::string(status.message()).c_str());
  }
  return status.ok() ? 0 : 1;
}
