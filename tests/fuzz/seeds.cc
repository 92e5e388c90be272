// Writes the seed inputs of the fuzzers, one directory per fuzzer.

#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/store/codec/chunk_builder.h"
#include "aggregator/store/codec/number_codec.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "fleetperf/v1/capture.pb.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/configuration.pb.h"
#include "perflib/block_writer.h"
#include "perflib/counter_type.h"
#include "perflib/query.h"
#include "perflib/registration.h"
#include "perflib/utf16.h"
#include "proto/conversions.h"
#include "tests/fuzz/seed_files.h"
#include "tests/support/raw_samples.h"

namespace fleetperf {
namespace {

using perflib::HeaderType;

// Returns a block with results of all types.
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

v1::Plan Plan() {
  v1::Plan plan;
  plan.set_version(1);
  v1::PlannedQuery* query = plan.add_queries();
  query->set_counterset("D*");
  query->add_counters("Reads (all)/sec");
  query->add_counters("id:1");
  query->add_instances("sd?");
  query->mutable_interval()->set_seconds(1);
  return plan;
}

v1::Capture Capture() {
  const perflib::CountersetRegistration registration = Registration();
  const std::string guid = ToProto(registration).guid();
  v1::Capture capture;
  capture.set_machine("box");
  capture.mutable_interval()->set_seconds(1);
  v1::CapturedQuery* query = capture.add_queries();
  query->set_counterset(guid);
  for (const uint32_t id : {1, 2}) query->add_counter_ids(id);
  query->add_only_linked(2);
  query->add_filters()->add_instances("a*");
  v1::CapturedIdentifier* identifier = capture.add_identifiers();
  identifier->set_counterset(guid);
  identifier->set_counter_id(perflib::kWildcardCounter);
  identifier->set_instance("*");
  identifier->set_instance_id(perflib::kWildcardInstanceId);
  *capture.add_countersets() = ToProto(registration);
  return capture;
}

// Returns a block of the capture, with the counters of two instances.
std::string CapturedBlock(int64_t second) {
  std::string bytes;
  constexpr int64_t kSecond = 10'000'000;
  perflib::BlockWriter writer(
      {second * kSecond, 133'000'000'000'000'000 + second * kSecond, kSecond},
      &bytes);
  const uint32_t ids[] = {1, 2};
  writer.BeginResult(HeaderType::kCounterset, ids);
  for (const char* name : {"a", "b"}) {
    writer.BeginInstance(perflib::Utf16FromUtf8(name), 1);
    writer.AddValue64(100 + second);
    writer.AddValue32(static_cast<uint32_t>(second));
  }
  writer.EndResult();
  writer.Finish();
  return bytes;
}

absl::Status WriteCaptures(const std::string& root) {
  const std::string blocks = Part(CapturedBlock(0)) + Part(CapturedBlock(1));
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(Capture(), &json).ok()) {
    return absl::InternalError("the capture cannot be JSON");
  }
  RETURN_IF_ERROR(Write(root, "capture", "json",
                        std::string(1, '\0') + Part(json) + blocks));
  return Write(root, "capture", "message",
               "\1" + Part(Capture().SerializeAsString()) + blocks);
}

// Writes the inputs of proc_fuzzer: for each provider, its files in two ticks.
absl::Status WriteProcTexts(const std::string& root) {
  const auto texts = [&](char provider, const std::string& name,
                         const std::vector<std::string>& files) {
    return Write(root, "proc", name, provider + absl::StrJoin(files, "\xFF"));
  };
  const std::string stat =
      "cpu  9 0 4 50 1 0 1 0 0 0\ncpu0 9 0 4 50 1 0 1 0 0 0\n"
      "intr 7 1\nctxt 77\nbtime 1800000000\nprocesses 12\n"
      "procs_running 2\nprocs_blocked 1\n";
  const std::string interrupts =
      "     CPU0 CPU1\n  0:  4294967295 1 IO-APIC timer\nLOC:  5 6  Local\n"
      "ERR:  0\n";
  const std::vector<std::string> cpu = {
      stat,   interrupts, interrupts, "2400000\n", "3200000", "10\n",
      "C1\n", "12345\n",  "678\n",    stat,        interrupts};
  RETURN_IF_ERROR(texts('\0', "processor", cpu));
  RETURN_IF_ERROR(texts(
      '\1', "system",
      {stat, "0.20 0.18 0.12 1/80 11206\n", "350735.47 234388.90\n", stat}));
  RETURN_IF_ERROR(
      texts('\2', "memory",
            {"MemTotal:       16307044 kB\nMemFree:  100 kB\nCached: 5 kB\n",
             "pgfault 7\npgmajfault 1\npswpin 0\n"}));
  const std::string disks =
      "   8       0 sda 7 1 2 3 4 5 6 7 0 8 9 1 2 3 4 5 6\n"
      "   8       1 sda1 7 1 2 3 4 5 6 7 0 8 9\n";
  RETURN_IF_ERROR(texts('\3', "disk", {disks, disks}));
  const std::string interfaces =
      "Inter-|   Receive  |  Transmit\n face |bytes    packets|bytes\n"
      "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
      "  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
  RETURN_IF_ERROR(texts(
      '\4', "network",
      {interfaces, "2\n", "1000\n", "up\n", "full\n", "1\n", interfaces}));
  return texts(
      '\5', "processes",
      {"352.64 50.1\n",
       "7 (a) b) S 1 7 7 0 -1 4194304 9 0 1 0 5 6 0 0 20 0 3 0 99 8192 12 1\n",
       "Name:\ta\nVmPeak:\t  8 kB\nVmHWM:\t 4 kB\nRssAnon:\t 2 kB\n"
       "VmSwap:\t 0 kB\n",
       "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n"
       "write_bytes: 6\n",
       "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0 1 0 1 0 0\n",
       "353.64 51.1\n"});
}

// Writes streams as steps of session_fuzzer and conversation_fuzzer.
absl::Status WriteStreams(const std::string& root) {
  const auto write = [&](const std::string& fuzzer, const std::string& name,
                         const std::vector<int>& numbers,
                         const std::string& rest = "") {
    return Write(root, fuzzer, name,
                 std::string(numbers.begin(), numbers.end()) + rest);
  };
  // Hello, batches of two epochs, a new stream, repeated batches, requests, a
  // restart.
  RETURN_IF_ERROR(
      write("session", "batches",
            {0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 2, 2,  0, 1,  1,  1,
             0, 1, 4, 3, 0, 1, 6, 4, 0, 1, 8, 5, 0, 1, 12, 6, 0,  13, 14,
             8, 0, 0, 7, 6, 2, 1, 0, 2, 2, 6, 0, 1, 4, 7,  0, 15, 0,  0,
             8, 7, 2, 1, 0, 4, 0, 0, 2, 2, 8, 0, 9, 0, 0,  9, 8,  2,  1}));
  RETURN_IF_ERROR(write("session", "dictionary",
                        {1, 0, 32, 5, 4, 1, 0, 0, 5, 0, 0, 2, 2, 5, 0, 0, 32,
                         5, 4, 1,  0, 0, 4, 2, 0, 4, 0, 0, 2, 2, 5, 0, 11}));
  v1::CollectRequest hello;
  hello.mutable_hello()->set_agent("agent");
  hello.mutable_hello()->set_epoch(5);
  hello.mutable_hello()->add_held_epochs()->set_epoch(5);
  v1::CollectRequest batch;
  batch.mutable_batch()->set_epoch(5);
  batch.mutable_batch()->set_sequence(1);
  batch.mutable_batch()->set_compression(v1::COMPRESSION_NONE);
  const std::string between = std::string(1, '\0') + "\7";
  RETURN_IF_ERROR(write("session", "messages", {0, 7},
                        Part(hello.SerializeAsString()) + between +
                            Part(batch.SerializeAsString())));

  // Batches, Welcome, acknowledgments, a rejection, a pause, a new stream.
  const std::vector<int> steps = {2, 3, 4,  8,  0,  6,  1, 5, 0, 2, 6, 0,
                                  4, 7, 2,  2,  0,  12, 9, 1, 8, 2, 9, 0,
                                  0, 1, 13, 14, 11, 4,  1, 3, 1, 1};
  std::vector<int> in_memory = {0};
  in_memory.insert(in_memory.end(), steps.begin(), steps.end());
  RETURN_IF_ERROR(write("conversation", "in_memory", in_memory));
  // The same with a file, followed by a second process. The aggregator claims
  // to have more batches than that process made, so the epoch is forked.
  std::vector<int> in_file = {1};
  in_file.insert(in_file.end(), steps.begin(), steps.end());
  in_file.insert(in_file.end(), {15, 3, 4, 0, 3, 50, 1, 4, 0, 3, 0, 1});
  RETURN_IF_ERROR(write("conversation", "in_file", in_file));
  // An acknowledgment in a former epoch with a sequence that does not fit into
  // a key.
  RETURN_IF_ERROR(write("conversation", "acknowledged_beyond",
                        {1, 3, 14, 15, 5, 1, 0xE6, 15, 4, 0, 0, 0, 0, 1}));
  v1::CollectResponse welcome;
  welcome.mutable_welcome()->add_epochs()->set_epoch(101);
  return write("conversation", "messages", {0, 2, 10},
               Part(welcome.SerializeAsString()) + "\1");
}

// Writes number sequences and a chunk of two queries.
absl::Status WriteChunks(const std::string& root) {
  std::vector<uint64_t> grows = {7};
  while (grows.size() < 40) grows.push_back(grows.back() + grows.size() % 3);
  std::string numbers;
  aggregator::EncodeChanges(grows, &numbers);
  RETURN_IF_ERROR(Write(root, "chunk", "numbers", "\1'" + numbers));
  RETURN_IF_ERROR(Write(root, "chunk", "steps",
                        std::string("\0\x05\x10\x41\x02\x09\x03\xEF", 8)));
  const auto clocks = std::make_shared<const std::vector<perflib::Clocks>>(
      std::vector<perflib::Clocks>{testing::ClocksAt(1), testing::ClocksAt(2),
                                   testing::ClocksAt(3)});
  const auto frame = [&](size_t columns, const std::string& name) {
    auto query = std::make_shared<aggregator::CollectedQuery>();
    query->columns.resize(columns);
    auto made = std::make_shared<aggregator::Frame>();
    made->query = std::move(query);
    made->clocks = clocks;
    for (uint32_t i = 0; i < 2; ++i) {
      made->runs.push_back(
          {std::make_shared<const aggregator::Instance>(aggregator::Instance{
               .name = absl::StrCat(name, i), .life = MakeLife(3, 4 + i)}),
           i, 2, 2 * i});
    }
    for (size_t i = 0; i < columns; ++i) {
      made->columns.push_back({.values = {i, i + 9, i, i * 1000},
                               .missing = {static_cast<uint32_t>(i)}});
    }
    made->columns[0] = {.constant = true, .values = {4, 5}};
    made->failures = {{1, 5}};
    return made;
  };
  aggregator::ChunkBuilder builder;
  builder.Add({frame(3, "disk"), frame(1, "cpu")}, 0, 3);
  const aggregator::EncodedChunk chunk =
      builder.Finish([](const aggregator::CollectedQuery& query) {
        return static_cast<uint32_t>(query.columns.size());
      });
  return Write(root, "chunk", "chunk",
               std::string("\2\0", 2) + Part(chunk.head) + chunk.body);
}

// Writes changes of a store's records: the kind, the record's index and the
// parameters of the kind.
absl::Status WriteRecords(const std::string& root) {
  const auto bytes = [](const std::vector<int>& numbers) {
    return std::string(numbers.begin(), numbers.end());
  };
  std::string shorter;
  std::string longer;
  for (int record = 0; record < 16; ++record) {
    absl::StrAppend(&shorter, bytes({1, 3 * record, 3}));
    absl::StrAppend(&longer, bytes({2, 3 * record}), Part("x"));
  }
  RETURN_IF_ERROR(Write(root, "records", "shorter", shorter));
  RETURN_IF_ERROR(Write(root, "records", "longer", longer));
  RETURN_IF_ERROR(Write(root, "records", "values",
                        bytes({0, 9}) + Part("abc") + bytes({3, 20, 0, 7}) +
                            bytes({3, 30, 1, 0xFF})));
  return Write(root, "records", "keys",
               bytes({4, 40, 1}) + Part("x") + bytes({5, 0}) +
                   Part("n" + std::string("web-3")) + Part("\xFF\xFF\xFF\xFF"));
}

// Configuration files, with what is refused: another encoding and control
// characters.
absl::Status WriteConfigs(const std::string& root) {
  RETURN_IF_ERROR(
      Write(root, "agent_config", "full",
            "name: web-1\n"
            "aggregators: ['agg-1:7443', 'agg-2:7443']\n"
            "aggregators_order: listed\n"
            "tls: {authority: a.pem, certificate: b.pem, key: b.key}\n"
            "labels: {site: \"K\\xF6ln\", role: größe}\n"
            "queries:\n"
            "  - counterset: System\n"
            "  - counterset: Process V2\n"
            "    counters: ['% Processor Time', 'id:2']\n"
            "    instances: [nginx*, \"caf\\u00e9\"]\n"
            "    interval: 10s\n"
            "    wrap32: true\n"
            "    machines: db-1\n"
            "delivery: {batch_period: 5s, spool_size: 1MiB, spool_age: 1h}\n"
            "state_directory: state\n"
            "capture: {directory: capture, max_size: 1MiB}\n"
            "root: /host\n"
            "log: {level: debug, file: log, format: json}\n"));
  RETURN_IF_ERROR(Write(root, "agent_config", "latin1",
                        "aggregators: a:1\n"
                        "tls: {authority: a, certificate: b, key: c}\n"
                        "labels: {site: K\xF6ln}\n"));
  RETURN_IF_ERROR(Write(root, "agent_config", "control",
                        "aggregators: a:1\n"
                        "tls: {authority: a, certificate: b, key: c}\n"
                        "name: \"a\\eb\"\n"));
  RETURN_IF_ERROR(Write(
      root, "aggregator_config", "full",
      "name: agg-1\n"
      "listen: 0.0.0.0:7443\n"
      "address_file: address\n"
      "tls: {authority: a.pem, certificate: b.pem, key: b.key, revoked: "
      "revoked}\n"
      "web: {listen: '0.0.0.0:7445', public_url: 'https://fleet.example'}\n"
      "connections: {max: 100}\n"
      "store: {directory: store, retention: 30d, max_size: 1GiB}\n"
      "expected_machines: [web-1, größe]\n"
      "others: [{aggregator: 'agg-2:7443', page: 'https://agg-2:7445'}]\n"
      "machine_labels:\n"
      "  - machines: ['web-*', \"db\\u002d1\"]\n"
      "    labels: {site: \"K\\xF6ln\"}\n"
      "plans:\n"
      "  - name: größe\n"
      "    machines: ['web-*', db-1]\n"
      "    operating_system: Linux*\n"
      "    labels: {site: K*}\n"
      "    queries:\n"
      "      - counterset: System\n"
      "      - counterset: Disk\n"
      "        counters: ['Reads/sec', 'id:2']\n"
      "        instances: sd*\n"
      "        interval: 10s\n"
      "        machines: db1\n"
      "  - name: all\n"
      "    queries: [{counterset: Memory}]\n"
      "export:\n"
      "  url: https://engine.example/api/v1/write\n"
      "  paths: ['\\System\\*']\n"
      "log: {level: info}\n"));
  RETURN_IF_ERROR(Write(root, "aggregator_config", "latin1",
                        "listen: a:1\n"
                        "tls: {authority: a, certificate: b, key: c}\n"
                        "store: {directory: s}\n"
                        "plans: [{name: K\xF6ln, queries: []}]\n"));
  RETURN_IF_ERROR(Write(root, "aggregator_config", "control",
                        "listen: a:1\n"
                        "tls: {authority: a, certificate: b, key: c}\n"
                        "store: {directory: s}\n"
                        "expected_machines: [\"a\\x9bb\"]\n"));
  return absl::OkStatus();
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
  RETURN_IF_ERROR(Write(root, "expression", "nested",
                        "100 - (\\A(*)\\% B + '\\Known (set)(c)\\D') / 1e-2"));
  RETURN_IF_ERROR(Write(root, "expression", "parentheses",
                        "((2 * \\A(b (c) d)\\E (ms)) + \"\\A\\F - 5\" )"));
  RETURN_IF_ERROR(Write(root, "config", "keys",
                        "name: a\ncount: 3\non: true\nsize: 64MiB\n"
                        "interval: 1h30m\nlist: [a, b]\nmap: {a: b}\n"
                        "path: x\nsection:\n  name: b\n"
                        "queries:\n  - name: c\n"));
  RETURN_IF_ERROR(Write(root, "config", "plans",
                        "plans:\n"
                        "  - name: linux\n"
                        "    machines: ['web-*', db-1]\n"
                        "    operating_system: Linux*\n"
                        "    labels: {role: web}\n"
                        "    queries:\n"
                        "      - counterset: System\n"
                        "      - counterset: Disk\n"
                        "        counters: ['Reads/sec', 'id:2']\n"
                        "        instances: sd*\n"
                        "        interval: 10s\n"
                        "        wrap32: true\n"
                        "        machines: db1\n"
                        "  - {name: none, queries: []}\n"));
  RETURN_IF_ERROR(WriteConfigs(root));
  RETURN_IF_ERROR(Write(root, "collection", "content",
                        "\1" + Content().SerializeAsString()));
  RETURN_IF_ERROR(
      Write(root, "collection", "plan", "\2" + Plan().SerializeAsString()));
  RETURN_IF_ERROR(WriteV1Data(root));
  RETURN_IF_ERROR(WriteCaptures(root));
  RETURN_IF_ERROR(WriteProcTexts(root));
  RETURN_IF_ERROR(WriteSpools(Content(), root));
  RETURN_IF_ERROR(WriteStreams(root));
  RETURN_IF_ERROR(WriteEngineAnswers(root));
  RETURN_IF_ERROR(WritePmuSessions(root));
  RETURN_IF_ERROR(WriteChunks(root));
  RETURN_IF_ERROR(WriteRecords(root));
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
