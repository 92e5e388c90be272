// Explanations of paths that select no collected counters.

#include "aggregator/query/explain_miss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"
#include "proto/conversions.h"
#include "tests/support/countersets.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskRegistration;
using ::testing::HasSubstr;
using testing::MemoryRegistration;
using testing::StatusIs;

// web-1 and web-2 could collect Disk and Memory (64-bit), db-1 nothing. Only
// the queue length of web-1's disk is collected.
class ExplainMissTest : public ::testing::Test {
 protected:
  ExplainMissTest() {
    memory_.name = "Memory (64-bit)";
    v1::CatalogueContent catalogue;
    *catalogue.add_countersets() = fleetperf::ToProto(DiskRegistration());
    *catalogue.add_countersets() = fleetperf::ToProto(memory_);
    const std::string content = catalogue.SerializeAsString();
    EXPECT_OK(store_->PutCatalogue(Sha256(content), content));
    AddMachine("web-1", Sha256(content));
    AddMachine("web-2", Sha256(content));
    AddMachine("db-1", "");
    directory_.AddQuery(
        {.machine = "web-1",
         .schema = std::make_shared<const Schema>(
             Schema{.hash = "disk", .registration = DiskRegistration()}),
         .interval = absl::Seconds(1),
         .columns = {{.counter_id = testing::kQueueLength}}});
  }

  void AddMachine(const std::string& name, const std::string& catalogue_hash) {
    v1::Machine machine;
    machine.set_name(name);
    EXPECT_OK(store_->PutMachine({machine, catalogue_hash}));
    directory_.AddMachine(name);
  }

  absl::Status Explain(const std::string& path) {
    const auto paths = PathSet::Parse({path}, directory_);
    if (!paths.ok()) return paths.status();
    return ExplainMiss(paths->Select(directory_).status(), &fleet_);
  }

  perflib::CountersetRegistration memory_ = MemoryRegistration();
  testing::TestStore store_;
  Fleet fleet_{&*store_};
  Directory directory_;
};

TEST_F(ExplainMissTest, ReportsHowManyMachinesCouldCollectIt) {
  const struct {
    const char* path;
    const char* machines;
  } kCases[] = {
      {"\\Disk(*)\\Transfers/sec", "2 machines could"},
      {"\\\\web-2\\Disk(C:)\\Transfers/sec", "1 machine could"},
      // A name with parentheses, known only from a catalogue.
      {"\\Memory (64-bit)\\Available Bytes", "2 machines could"},
      {"\\mem*\\*", "2 machines could"},
      {"\\\\web-2\\Disk(*)\\Queue Length", "1 machine could"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(
        Explain(test.path),
        StatusIs(absl::StatusCode::kNotFound,
                 HasSubstr(absl::StrCat(test.path, ": this is not collected; ",
                                        test.machines))));
  }
}

TEST_F(ExplainMissTest, SuggestsNamesInCatalogues) {
  const struct {
    const char* path;
    const char* message;
  } kCases[] = {
      {"\\Memory 64-bit\\Available Bytes",
       "there is no counterset \"Memory 64-bit\"; did you mean \"Memory "
       "(64-bit)\"?"},
      {"\\Disk(*)\\Transfer/sec",
       "there is no counter \"Transfer/sec\"; did you mean \"Transfers/sec\"? "
       "See: fleetperf counters 'Disk'"},
      {"\\Mem*\\Page Fault/sec",
       "did you mean \"Page Faults/sec\"? See: fleetperf counters 'Memory "
       "(64-bit)'"},
      {"\\Disk\\Transfers/sec",
       "counterset \"Disk\" has instances; for all of them write "
       "'\\Disk(*)\\Transfers/sec'"},
      {"\\Mem*(*)\\Available Bytes",
       "counterset \"Memory (64-bit)\" has no instances"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(Explain(test.path),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr(test.message)));
  }
}

TEST_F(ExplainMissTest, LeavesOtherErrorsUnchanged) {
  EXPECT_OK(Explain("\\Disk(*)\\Queue Length"));
  EXPECT_THAT(Explain("\\\\web-3\\Disk(*)\\*"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("there is no machine \"web-3\"")));
  EXPECT_THAT(Explain("\\\\db-1\\Disk(*)\\*"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("no counterset \"Disk\" is collected")));
  const absl::Status other = absl::NotFoundError("\\Disk(*)\\*: no samples");
  EXPECT_EQ(ExplainMiss(other, &fleet_), other);
}

// Bases have no series.
TEST_F(ExplainMissTest, RejectsCountersThatOnlyServeOthers) {
  EXPECT_THAT(Explain("\\Disk(*)\\id:4"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("there is no counter \"id:4\"")));
}

TEST_F(ExplainMissTest, NotInCataloguesNamesTheNearest) {
  EXPECT_THAT(NotInCatalogues("\\Dsk(*)\\*", &fleet_),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("did you mean \"Disk\"?")));
  EXPECT_THAT(NotInCatalogues("\\\\db-1\\Disk(*)\\*", &fleet_),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("no machine that matches could collect it")));
}

}  // namespace
}  // namespace fleetperf::aggregator
