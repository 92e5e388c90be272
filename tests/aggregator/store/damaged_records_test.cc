// Records that the store did not write are reported by key and skipped. All
// other data stays readable, and new samples are accepted.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/keys.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/support/countersets.h"
#include "tests/support/log_capture.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using testing::LogCapture;
using testing::OneDiskAgent;
using testing::StatusIs;
using testing::TestStore;

struct Record {
  Family family;
  std::string key;
  std::string value;
};

// Writes a record. Closes the store; the caller reopens it.
void Put(TestStore& store, const Record& record) {
  store.Close();
  ASSERT_OK_AND_ASSIGN(const auto database, Database::Open(store.path()));
  Changes changes(database.get());
  changes.Put(record.family, record.key, record.value);
  ASSERT_OK(database->Write(&changes, Database::Durability::kPowerCut));
}

std::vector<std::string> KeysOf(TestStore& store, Family family) {
  store.Close();
  std::vector<std::string> keys;
  const auto database = Database::Open(store.path());
  EXPECT_OK(database);
  if (!database.ok()) return keys;
  EXPECT_OK((*database)->ForEach(family, "",
                                 [&](absl::string_view key, absl::string_view) {
                                   keys.emplace_back(key);
                                 }));
  return keys;
}

bool Reports(const LogCapture& log, const std::string& key) {
  const std::string name = absl::StrCat("\"", absl::CHexEscape(key), "\"");
  const std::vector<std::string> lines = log.Lines();
  return std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
    return absl::StrContains(line, name);
  });
}

// Returns the key of a chunk of machine 1 in the hour of kStart, of an unknown
// epoch.
std::string ChunkKeyBytes(uint64_t order = 0) {
  return absl::StrCat(BigEndian(uint32_t{1}), BigEndian(uint8_t{0}),
                      BigEndian(HourOf(kStart)), BigEndian(uint32_t{77}),
                      BigEndian(order));
}

std::string HeadOf(uint64_t body_size) {
  return absl::StrCat(BigEndian(body_size), EncodeTime(kStart), "head");
}

// Before and after the batch is removed from the log.
TEST(DamagedRecords, ADamagedBatchIsALoss) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  for (int i = 1; i <= 3; ++i) {
    web.Tick(i, 10 * i);
    ASSERT_OK(web.Send());
  }
  Put(store, {Family::kLog, LogKey(/*epoch_number=*/1, /*sequence=*/2), "abc"});
  const LogCapture log;
  store.Open();
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "3 C: 30"));
  EXPECT_THAT(store.ReadLosses("web-1"), ElementsAre("store_damaged 2..2"));
  ASSERT_OK(store.Compact());
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "3 C: 30"));
  EXPECT_THAT(store.ReadLosses("web-1"), ElementsAre("store_damaged 2..2"));
}

TEST(DamagedRecords, AreSkippedAndReported) {
  const std::string now = EncodeTime(kStart);
  const std::string hour = BigEndian(HourOf(kStart));
  const std::string full = BigEndian(uint8_t{0});  // as in Resolution
  constexpr auto kQuery = static_cast<uint8_t>(DefinitionReader::Kind::kQuery);
  const Record kRecords[] = {
      {Family::kDefault, "h\1\2", EncodeTime(kStart)},
      {Family::kDefault, "lweb-9", ""},
      {Family::kDefault, LostTicksKey("web-9", ""), "\xFF"},
      {Family::kDefault, "nweb-2", "abc"},
      {Family::kDefault, "nweb-2", BigEndian(uint32_t{0})},
      {Family::kDefault, "nweb-2", BigEndian(uint32_t{1})},  // web-1's
      {Family::kDefault, "nweb-2", absl::StrCat(BigEndian(uint32_t{9}), "x")},
      {Family::kDefault, "g\1", "abc"},
      {Family::kDefault, ShapeKey(0), "abc"},
      {Family::kDefault, ShapeKey(9), "abc"},
      {Family::kDefault, ShapeKey(9), std::string(32, 'h')},
      {Family::kDefault, ShapeKey(0xFFFF'FF00), "abc"},
      {Family::kDefault, "q", ""},
      {Family::kDefault, CollectedKey(1, 1) + "x", ""},
      {Family::kDefault, "t\1", now},
      {Family::kDefault, NewestKey(9), "abc"},
      {Family::kDefault, DefinitionPrefix(kQuery) + "abc", "def"},
      {Family::kTimes, "abc", now},
      {Family::kTimes, LogKey(1, 9), now},
      {Family::kChunks, absl::StrCat("R", full, hour), ""},
      {Family::kChunks, absl::StrCat("R", full, hour, "H"), ""},
      {Family::kChunks, absl::StrCat("H", BigEndian(uint32_t{1}), full, hour),
       "abc"},
      {Family::kChunks, absl::StrCat("H", ChunkKeyBytes()), "abc"},
      {Family::kChunks, absl::StrCat("H", ChunkKeyBytes()), HeadOf(1ull << 32)},
      {Family::kChunks, absl::StrCat("H", ChunkKeyBytes()), HeadOf(~0ull)},
  };
  for (const Record& record : kRecords) {
    SCOPED_TRACE(absl::CHexEscape(record.key));
    TestStore store;
    OneDiskAgent web(&store, "web-1");
    web.Tick(1, 10);
    ASSERT_OK(web.Send());
    ASSERT_OK(store.Compact());
    web.Tick(2, 20);
    ASSERT_OK(web.Send());
    Put(store, record);

    LogCapture log;
    store.Open();
    EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "2 C: 20"));
    OneDiskAgent added(&store, "web-2");
    added.Tick(3, 30);
    ASSERT_OK(added.Send());
    ASSERT_OK(store.Compact());
    EXPECT_TRUE(Reports(log, record.key));
    EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "2 C: 20"));
    EXPECT_THAT(store.Read("web-2"), ElementsAre("3 C: 30"));
    EXPECT_OK(store->DropBefore(kStart + absl::Hours(10)));
    EXPECT_THAT(store.Read("web-1"), IsEmpty());
  }
}

TEST(DamagedRecords, IgnoresDefinitionWithAnotherId) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  v1::QueryDefinition another;
  another.set_id(web.query + 1);
  another.set_machine(web.machine_id);
  another.set_counterset(web.disk);
  another.mutable_interval()->set_seconds(1);
  another.add_columns()->set_counter_id(testing::kTransfers);
  another.mutable_columns(0)->set_value_size(8);
  Put(store,
      {Family::kDefault,
       DefinitionKey(static_cast<uint8_t>(DefinitionReader::Kind::kQuery), 1,
                     web.query),
       another.SerializeAsString()});
  const LogCapture log;
  store.Open();
  EXPECT_THAT(store.Read("web-1"), IsEmpty());
  EXPECT_THAT(log.Lines(), ::testing::Contains(HasSubstr("query")));
}

// A machine whose number is damaged must not appear as another machine.
TEST(DamagedRecords, DoesNotReassignUsedNumbers) {
  TestStore store;
  for (const char* name : {"web-1", "web-2"}) {
    OneDiskAgent agent(&store, name);
    agent.Tick(1, 10);
    ASSERT_OK(agent.Send());
    ASSERT_OK(store.Compact());
  }
  Put(store, {Family::kDefault, MachineNumberKey("web-2"), "abc"});
  store.Open();
  OneDiskAgent added(&store, "web-3");
  added.Tick(2, 20);
  ASSERT_OK(added.Send());
  ASSERT_OK(store.Compact());
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10"));
  EXPECT_THAT(store.Read("web-2"), IsEmpty());
  EXPECT_THAT(store.Read("web-3"), ElementsAre("2 C: 20"));
}

TEST(DamagedRecords, DamagedEpochIsNotTakenForNew) {
  const auto key = EpochKey("web-1", 1);
  for (const Record& record : std::vector<Record>{
           {Family::kDefault, key, "abc"},
           {Family::kDefault, key, BigEndian(uint32_t{9})},
           {Family::kDefault, DurableKey(1), "abc"},
           {Family::kDefault, DurableKey(1), std::string(17, 'x')}}) {
    TestStore store;
    ASSERT_OK(store->OpenEpoch("web-1", 1, {}));
    Put(store, record);
    store.Open();
    EXPECT_THAT(store->OpenEpoch("web-1", 1, {}),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("record")));
    EXPECT_OK(store->OpenEpoch("web-1", 2, {}));
  }
}

TEST(DamagedRecords, DamagedBatchRecordIsNotTakenForMissing) {
  for (const Record& record : std::vector<Record>{
           {Family::kTimes, LogKey(1, 5), "abc"},
           {Family::kDefault, FingerprintsKey(1, 5), "abc"},
           {Family::kDefault, FingerprintsKey(1, 4), std::string(15, 'x')},
           {Family::kDefault, FingerprintsKey(1, 5) + "x", ""}}) {
    SCOPED_TRACE(absl::CHexEscape(record.key));
    TestStore store;
    Put(store, record);
    store.Open();
    // The last key sorts after that of batch 5.
    const uint64_t sequence = record.value.empty() ? 6 : 5;
    EXPECT_THAT(store->HasBatch(1, sequence, 1),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr(absl::CHexEscape(record.key))));
    EXPECT_THAT(store->HasBatch(1, 3, 1), testing::IsOkAndHolds(false));
  }
}

TEST(DamagedRecords, NumbersDoNotWrapAround) {
  TestStore store;
  OneDiskAgent web(&store, "web-1");
  web.Tick(1, 10);
  ASSERT_OK(web.Send());
  Put(store, {Family::kDefault, DurableKey(UINT32_MAX), std::string(16, '\0')});
  store.Open();
  EXPECT_THAT(
      store->OpenEpoch("web-2", 1, {}),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("number")));
  Put(store, {Family::kDefault, MachineNumberKey("x"), BigEndian(UINT32_MAX)});
  store.Open();
  EXPECT_THAT(store.Compact(), StatusIs(absl::StatusCode::kResourceExhausted,
                                        HasSubstr("number")));
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10"));
}

// The head of the damaged chunk does not give the number of its pages.
TEST(DamagedRecords, RemovesAllPagesOfDamagedChunk) {
  TestStore store;
  ASSERT_THAT(KeysOf(store, Family::kChunks), IsEmpty());
  const std::string head = absl::StrCat("H", ChunkKeyBytes(5));
  for (const uint32_t page : {0, 1, 70'000}) {
    Put(store, {Family::kChunks,
                absl::StrCat("P", ChunkKeyBytes(5), BigEndian(page)), "page"});
  }
  const std::string other = absl::StrCat("P", ChunkKeyBytes(6), BigEndian(0u));
  Put(store, {Family::kChunks, other, "page"});
  Put(store, {Family::kChunks,
              ReceivedKey(Resolution::kFull, HourOf(kStart), head), ""});
  Put(store, {Family::kChunks, head, HeadOf(~0ull)});
  store.Open();
  ASSERT_OK(store->DropBefore(kStart + absl::Hours(10)));
  EXPECT_THAT(KeysOf(store, Family::kChunks), ElementsAre(other));
}

TEST(DamagedRecords, AreNamedByVerify) {
  TestStore store;
  Put(store, {Family::kDefault, ShapeKey(9), "abc"});
  Put(store, {Family::kTimes, LogKey(1, 9), "abc"});
  ASSERT_OK_AND_ASSIGN(const StoreReport report,
                       VerifyStore(store.path(), [](double) {}));
  EXPECT_THAT(report.damage,
              ElementsAre(HasSubstr(absl::CHexEscape(ShapeKey(9))),
                          HasSubstr(absl::CHexEscape(LogKey(1, 9)))));
}

}  // namespace
}  // namespace fleetperf::aggregator
