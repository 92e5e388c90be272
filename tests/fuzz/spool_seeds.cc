#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "agent/deliver/spool.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "fleetperf/v1/spool.pb.h"
#include "tests/fuzz/seed_files.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

// Returns the rows that spool_fuzzer writes into the tables of a database, in
// the format of its column types.
std::string SpoolRows(const v1::BatchContent& batch_content) {
  const std::string content = Part(batch_content.SerializeAsString());
  const v1::Definitions& definitions = batch_content.definitions();
  const std::string none = Part("");
  const std::string null = "\xFF";
  const auto row = [](char table, const std::vector<int>& numbers) {
    return table + std::string(numbers.begin(), numbers.end());
  };
  const std::vector<std::string> rows = {
      row(0, {2, 22, 0, 1, 3}),
      row(1, {2, 2, 0, 3, 1, 2}) + none + null + row(1, {9, 9}) + content,
      row(1, {2, 3, 0, 3, 3, 4}) + none + row(1, {1, 0, 0}) + none,
      row(2, {1, 1, 5, 5}) + content,
      row(3, {2, 1, 1}) + Part(definitions.machines(0).SerializeAsString()),
      row(3, {2, 4, 4}) + Part(definitions.instances(0).SerializeAsString()),
      row(4, {1, 0, 5, 0}) + Part("boot") + content};
  return static_cast<char>(rows.size()) + absl::StrJoin(rows, "");
}

// Returns a segment of a spool's log with a batch, definitions and an open
// tick.
absl::StatusOr<std::string> SpoolLog(const v1::BatchContent& content) {
  const testing::TempDirectory directory;
  ASSIGN_OR_RETURN(
      auto spool,
      agent::Spool::Open(
          {.epoch = 1, .directory = directory.path(), .boot_id = "boot"}));
  spool->dictionary().DefineMachine("box");
  const agent::TickRange tick = {.ticks = 1,
                                 .start = absl::FromUnixSeconds(1),
                                 .end = absl::FromUnixSeconds(1)};
  spool->Append(content, tick);
  RETURN_IF_ERROR(spool->AwaitSaved());
  spool->AddTick(content, tick);
  spool.reset();
  return ReadFile(directory.File("spool.000001.log"));
}

// Returns the records that spool_fuzzer makes a log from, each followed by its
// payloads.
std::string SpoolRecords(const v1::BatchContent& content) {
  v1::SpoolRecord whole;
  whole.set_version(1);
  whole.set_process(2);
  whole.set_boot_id("boot");
  v1::SpoolEpoch* epoch = whole.add_epochs();
  epoch->set_number(2);
  epoch->set_epoch(22);
  epoch->set_last_sequence(2);
  *whole.mutable_definitions() = content.definitions();
  whole.set_complete(true);
  v1::SpoolRecord change;
  change.set_process(2);
  v1::SpoolBatch* batch = change.add_batches();
  batch->mutable_place()->set_epoch(2);
  batch->mutable_place()->set_sequence(1);
  batch->mutable_ticks()->set_ticks(1);
  batch->set_compression(v1::COMPRESSION_NONE);
  batch->set_size(8);
  v1::SpoolOpenBatch* open = change.add_open();
  open->set_sequence(3);
  v1::SpoolTick* tick = open->add_ticks();
  tick->set_number(1);
  tick->mutable_range()->set_ticks(1);
  tick->set_content(content.SerializeAsString());
  return "\2" + Part(whole.SerializeAsString()) + Part("") +
         Part(change.SerializeAsString()) + Part("contents");
}

}  // namespace

// The corpus also has the databases "file" and "endless", which were written by
// version 0.1 and are not generated here. Versions up to 0.1 used databases.
absl::Status WriteSpools(const v1::BatchContent& content,
                         const std::string& root) {
  const auto bytes = [](const std::vector<int>& numbers) {
    return std::string(numbers.begin(), numbers.end());
  };
  // Every step on a spool. A place is an epoch and an offset.
  RETURN_IF_ERROR(
      Write(root, "spool", "rows",
            "\1" + SpoolRows(content) +
                bytes({0, 0, 1, 2, 7, 0, 0,  3, 1,  0,  4, 0, 1, 0, 5, 0,
                       0, 6, 0, 0, 0, 8, 30, 9, 10, 11, 6, 9, 0, 1, 1})));
  ASSIGN_OR_RETURN(const std::string log, SpoolLog(content));
  RETURN_IF_ERROR(Write(root, "spool", "log", "\2" + log));
  RETURN_IF_ERROR(Write(
      root, "spool", "records",
      "\3" + SpoolRecords(content) + bytes({0, 0, 1, 2, 7, 0,  0,  4, 0, 1, 0,
                                            6, 0, 0, 0, 9, 10, 11, 3, 0, 0})));
  // An epoch number whose successor does not fit into a key, and a batch with
  // the epoch of the next process.
  RETURN_IF_ERROR(Write(root, "spool", "wrong_epoch",
                        "\1" + bytes({1, 0, 0xE9, 1, 0, 0, 0, 0})));
  return Write(
      root, "spool", "wrong_batch",
      "\1" + bytes({1, 1, 2, 5, 0, 1, 1, 1, 0, 0, 0xFF, 1, 0, 0, 0, 0, 0}));
}

}  // namespace fleetperf
