// Fuzzes the records of a store's database. A store with altered records is
// opened or rejected. An opened store can be read completely, and new samples
// can be added and read back.

#include <google/protobuf/stubs/logging.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/database.h"
#include "fleetperf/v1/fleet.pb.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/raw_samples.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

namespace fs = std::filesystem;

using testing::kStart;
using testing::OneDiskAgent;
using testing::TestStore;

constexpr int kMaxChanges = 16;
constexpr Family kFamilies[] = {Family::kDefault, Family::kLog, Family::kTimes,
                                Family::kChunks};

struct Record {
  Family family;
  std::string key;
  std::string value;
};

// The store that inputs alter. It holds samples and losses of two machines, in
// chunks and in the log.
class Template {
 public:
  Template() {
    for (const char* name : {"web-1", "web-2"}) {
      v1::Machine machine;
      machine.set_name(name);
      machine.set_agent(name);
      FUZZ_CHECK(store_->PutMachine({machine, std::string(32, 'h')}).ok());
      OneDiskAgent agent(&store_, name);
      for (int tick = 0; tick < 3; ++tick) {
        agent.Tick(3600 * tick, 10);
        agent.Lose(tick % 2 == 0 ? "" : name, kStart, kStart, 1,
                   v1::LOSS_CAUSE_OVERRUN);
        FUZZ_CHECK(agent.Send().ok());
        if (tick < 2) FUZZ_CHECK(store_.Compact().ok());
      }
    }
    FUZZ_CHECK(store_->PutCatalogue(std::string(32, 'h'), "content").ok());
    store_.Reopen();
    store_.Close();
    const auto database = Database::Open(store_.path());
    FUZZ_CHECK(database.ok());
    for (const Family family : kFamilies) {
      FUZZ_CHECK(
          (*database)
              ->ForEach(family, "",
                        [&](absl::string_view key, absl::string_view value) {
                          records_.push_back(
                              {family, std::string(key), std::string(value)});
                        })
              .ok());
    }
  }

  const std::vector<Record>& records() const { return records_; }

  void CopyTo(const std::string& directory) const {
    fs::remove_all(directory);
    fs::copy(store_.path(), directory);
  }

 private:
  TestStore store_;
  std::vector<Record> records_;
};

const Template& Original() {
  static const Template& original = *new Template;
  return original;
}

// Returns a changed copy of an existing record, or an arbitrary record. Sets
// `*is_new` if the key differs from that of the existing record.
Record Change(Input* input, bool* is_new) {
  const std::vector<Record>& records = Original().records();
  const uint8_t kind = input->Byte() % 6;
  Record record = records[input->Byte() % records.size()];
  switch (kind) {
    case 0:
      record.value = std::string(input->Bytes());
      break;
    case 1:
      record.value.resize(
          std::min<uint64_t>(input->Number(), record.value.size()));
      break;
    case 2:
      absl::StrAppend(&record.value, input->Bytes());
      break;
    case 3:
      if (!record.value.empty()) {
        const size_t place = input->Number() % record.value.size();
        record.value[place] = static_cast<char>(input->Byte());
      }
      break;
    case 4: {
      const size_t place = input->Number() % (record.key.size() + 1);
      record.key.resize(place);
      absl::StrAppend(&record.key, input->Bytes());
      break;
    }
    default:
      record = {record.family, std::string(input->Bytes()),
                std::string(input->Bytes())};
  }
  *is_new = *is_new || kind >= 4;
  return record;
}

// Applies the changes of `input` to a copy of the template and opens it as
// `store`. Returns whether it could be opened. Sets `*is_new` if a change may
// have added a key.
bool Open(TestStore& store, Input input, bool* is_new) {
  store.Close();
  Original().CopyTo(store.path());
  {
    const auto database = Database::Open(store.path());
    FUZZ_CHECK(database.ok());
    Changes changes(database->get());
    for (int i = 0; i < kMaxChanges && !input.empty(); ++i) {
      const Record record = Change(&input, is_new);
      changes.Put(record.family, record.key, record.value);
    }
    FUZZ_CHECK(
        (*database)->Write(&changes, Database::Durability::kProcess).ok());
  }
  FUZZ_CHECK(VerifyStore(store.path(), [](double) {}).ok());
  try {
    store.Open();
  } catch (const std::runtime_error&) {
    return false;
  }
  return true;
}

void ReadAll(TestStore& store) {
  for (const std::string& machine : store->directory().Machines()) {
    store.Read(machine);
    store.ReadLosses(machine);
    store->LostTicks(machine, machine);
    store->directory().Countersets(machine);
  }
  store->GetMachines();
  for (uint32_t epoch = 0; epoch < 4; ++epoch) {
    for (uint64_t sequence = 0; sequence < 5; ++sequence) {
      store->HasBatch(epoch, sequence, 1).status().IgnoreError();
    }
  }
  for (const char* agent : {"web-1", "web-2"}) {
    store->OpenEpoch(agent, 1, {}).status().IgnoreError();
  }
}

// Adds a sample of a new machine. The sample can be read back, unless an added
// record occupies a key that the store uses for it.
void AddNew(TestStore& store, bool is_new) {
  const auto epoch = store->OpenEpoch("new", 1, {});
  if (!epoch.ok()) return;
  OneDiskAgent agent(&store, "new");
  agent.Tick(7, 70);
  if (!agent.Send().ok()) return;
  store.Compact().IgnoreError();
  FUZZ_CHECK(is_new ||
             store.Read("new") == std::vector<std::string>{"7 C: 70"});
}

}  // namespace
}  // namespace fleetperf::aggregator

// An input is a list of changes to the records of a store.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fleetperf::aggregator;  // NOLINT
  spdlog::set_level(spdlog::level::off);
  google::protobuf::SetLogHandler(nullptr);
  static TestStore& store = *new TestStore;
  bool is_new = false;
  if (!Open(store, fleetperf::Input(data, size), &is_new)) return 0;
  ReadAll(store);
  AddNew(store, is_new);
  ReadAll(store);
  store->DropBefore(kStart + absl::Hours(10)).IgnoreError();
  ReadAll(store);
  return 0;
}
