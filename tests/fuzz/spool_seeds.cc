#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/deliver/spool.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "fleetperf/v1/spool.pb.h"
#include "tests/fuzz/seed_files.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

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

absl::Status WriteSpools(const v1::BatchContent& content,
                         const std::string& root) {
  ASSIGN_OR_RETURN(const std::string log, SpoolLog(content));
  RETURN_IF_ERROR(Write(root, "spool", "log", std::string(1, '\0') + log));
  // Every step on a spool. A place is an epoch and an offset.
  const std::vector<int> steps = {0, 0, 1, 2, 7, 0,  0,  4, 0, 1, 0,
                                  6, 0, 0, 0, 9, 10, 11, 3, 0, 0};
  return Write(
      root, "spool", "records",
      "\1" + SpoolRecords(content) + std::string(steps.begin(), steps.end()));
}

}  // namespace fleetperf
