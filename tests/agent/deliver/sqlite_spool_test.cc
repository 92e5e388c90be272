// The import of unsound spools of version 0.1. tests/fixtures has a sound one
// that this version recorded.

#include "agent/deliver/spool/sqlite_spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/deliver/spool/sqlite.h"
#include "tests/agent/deliver/spool_fixture.h"
#include "tests/support/log_capture.h"
#include "tests/support/sqlite_spool.h"

namespace fleetperf::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

// Epoch 1 with a batch of tick 7, and tick 8 in no batch. The contents are
// field 3 of v1::BatchContent.
constexpr char kRows[] = R"(
  INSERT INTO epochs VALUES (1, 55, 0, 0, 1);
  INSERT INTO batches VALUES
    ((1 << 40) + 1, 0, 1, 7, 7, x'', NULL, 1, 3, 3, x'1a0107');
  INSERT INTO ticks VALUES (1, 1, 8, 8, x'1a0108');
)";

class SqliteSpoolTest : public SpoolTest {
 protected:
  void SetUp() override { ASSERT_OK(MakeDirectories(directory_)); }
  std::string Path() const { return ResolvePath(directory_, "spool.sqlite"); }
  void Make(const std::string& sql) {
    ASSERT_OK(testing::MakeSqliteSpool(Path(), absl::StrCat(kRows, sql)));
  }
  bool IsAside() const { return FileExists(Path() + ".damaged"); }
};

TEST_F(SqliteSpoolTest, ImportsOnce) {
  Make("");
  Open();
  EXPECT_THAT(Held(), ElementsAre("1: 7", "2: 8"));
  EXPECT_EQ(spool_->HeldEpochs().front().epoch.id, 55);
  AppendSaved(9, 9);
  EXPECT_FALSE(FileExists(Path()));
  EXPECT_FALSE(IsAside());
  Kill();
  EXPECT_THAT(Held(), ElementsAre("1: 7", "2: 8", "1: 9"));
}

// An interrupted import starts again. After a complete one, the next process
// only removes the database.
TEST_F(SqliteSpoolTest, ResumesInterruptedImport) {
  Make("");
  {
    const std::string copy = temp_.File("copy");
    std::filesystem::copy(directory_, copy);
    auto files = SpoolFiles::Open({.directory = copy});
    ASSERT_OK(files);
    ASSERT_OK(ImportSqliteSpool(files->get()));
    directory_ = copy;
  }
  Open();
  EXPECT_THAT(Held(), ElementsAre("1: 7", "2: 8"));
  Append(9, 9);
  Kill([&] { Make(""); });
  EXPECT_THAT(Held(), ElementsAre("1: 7", "2: 8", "1: 9"));
  ASSERT_OK(spool_->AwaitSaved());
  EXPECT_FALSE(FileExists(Path()));
}

TEST_F(SqliteSpoolTest, RefusesDatabaseInUse) {
  Make("");
  const auto database = SqliteDatabase::Open(Path());
  ASSERT_OK(database);
  ASSERT_OK((*database)->Execute("PRAGMA locking_mode = EXCLUSIVE"));
  ASSERT_OK((*database)->Execute("UPDATE process SET age = 1"));
  EXPECT_THAT(Spool::Open(Options()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is in use by another process")));
}

TEST_F(SqliteSpoolTest, RemovesAcknowledgedBatches) {
  Make(R"(
    UPDATE epochs SET acknowledged = 1, last_sequence = 2;
    INSERT INTO batches VALUES
      ((1 << 40) + 2, 0, 1, 9, 9, x'', NULL, 1, 3, 3, x'1a0109');
  )");
  Open();
  EXPECT_THAT(Held(), ElementsAre("2: 9", "3: 8"));
  AppendSaved(10, 10);
  Kill();
  EXPECT_THAT(Held(), ElementsAre("2: 9", "3: 8", "1: 10"));
}

TEST_F(SqliteSpoolTest, ImpossibleAcknowledgmentHoldsNothing) {
  Make("UPDATE epochs SET acknowledged = 1000");
  const testing::LogCapture log;
  Open();
  EXPECT_THAT(log.Lines(), Contains(HasSubstr("the spool is damaged")));
  EXPECT_THAT(Held(), ElementsAre("1: 7", "2: 8"));
  spool_->Acknowledge(PlaceOf(/*epoch=*/55, /*sequence=*/2));
  EXPECT_THAT(Held(), IsEmpty());
}

TEST_F(SqliteSpoolTest, SetsDamagedDatabaseAside) {
  const testing::LogCapture log;
  std::ofstream(Path()) << std::string(10'000, 'x');
  Open();
  EXPECT_THAT(log.Lines(), Contains(HasSubstr("the spool is damaged")));
  EXPECT_TRUE(IsAside());
  Append(1, 1);
  EXPECT_THAT(Held(), ElementsAre("1: 1, lost 0 SPOOL_DAMAGED"));
}

TEST_F(SqliteSpoolTest, SetsLaterVersionAside) {
  Make("PRAGMA user_version = 2");
  Open();
  EXPECT_TRUE(IsAside());
  Append(2, 2);
  EXPECT_THAT(Held(), ElementsAre("1: 2, lost 2 SPOOL_DAMAGED"));
}

// Databases that are sound for SQLite with impossible contents.
TEST_F(SqliteSpoolTest, CountsContentsThatNoAgentWrites) {
  const testing::LogCapture log;
  for (const std::string sql :
       {"INSERT INTO epochs VALUES ((1 << 32) - 1, 5, 0, 0, 1)",
        "UPDATE batches SET key = (9 << 40) + 1", "DROP TABLE ticks",
        "DELETE FROM process",
        "INSERT INTO definitions VALUES (1, 1, 9, x'')"}) {
    directory_ = temp_.File(absl::StrCat("next-", epoch_));
    SetUp();
    Make(sql);
    Open();
    EXPECT_THAT(log.Lines(), Contains(HasSubstr("the spool is damaged")))
        << sql;
    Append(2, 2);
    EXPECT_THAT(Held().back(), HasSubstr("SPOOL_DAMAGED")) << sql;
  }
}

// A trigger could make the first statement run forever.
TEST_F(SqliteSpoolTest, RunsNoTriggers) {
  Make(
      "CREATE TRIGGER t AFTER UPDATE ON process BEGIN "
      "DELETE FROM batches; END");
  Open();
  AppendSaved(9, 9);
  EXPECT_THAT(Held(), ElementsAre("1: 7", "2: 8", "1: 9"));
}

}  // namespace
}  // namespace fleetperf::agent
