// The list "machine_labels" of the aggregator's configuration file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator/config.h"
#include "base/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::StatusIs;

// Loads a file that ends with `labels`, which begins in line 4.
absl::StatusOr<Config> Load(const std::string& labels) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("aggregator.yaml");
  const absl::Status status =
      WriteFile(path, absl::StrCat("listen: 127.0.0.1:0\n"
                                   "store: {directory: store}\n"
                                   "tls: {authority: a, certificate: c, "
                                   "key: k}\n",
                                   labels));
  if (!status.ok()) return status;
  return LoadConfig(path);
}

TEST(MachineLabels, AreReadInTheirOrder) {
  ASSERT_OK_AND_ASSIGN(const Config config, Load(R"(machine_labels:
  - machines: web-*
    labels: {role: web, rack: a1}
  - machines: [web-7, db-1]
    labels: {role: canary, owner: ""}
)"));
  const LabelRules& rules = config.machine_labels;
  EXPECT_THAT(rules.For("web-1"),
              ElementsAre(Pair("rack", "a1"), Pair("role", "web")));
  EXPECT_THAT(rules.For("web-7"),
              ElementsAre(Pair("owner", ""), Pair("rack", "a1"),
                          Pair("role", "canary")));
  EXPECT_THAT(rules.For("db-1"),
              ElementsAre(Pair("owner", ""), Pair("role", "canary")));
  ASSERT_OK_AND_ASSIGN(const Config without, Load(""));
  EXPECT_THAT(without.machine_labels.For("web-1"), IsEmpty());
}

TEST(MachineLabels, MayHaveAnEntryForEachOfThousandsOfMachines) {
  std::string entries = "machine_labels:\n";
  for (int i = 0; i < 10'000; ++i) {
    absl::StrAppend(&entries, "- {machines: web-", i, ", labels: {rack: r",
                    i / 40, "}}\n");
  }
  ASSERT_OK_AND_ASSIGN(const Config config, Load(entries));
  EXPECT_THAT(config.machine_labels.For("web-9999"),
              ElementsAre(Pair("rack", "r249")));
}

TEST(MachineLabels, ErrorsNameTheLineAndTheKey) {
  std::string many = "machine_labels:\n";
  for (int i = 0; i < 65; ++i) {
    absl::StrAppend(&many, "- {machines: '*', labels: {name", i, ": x}}\n");
  }
  const struct {
    std::string labels;
    std::string error;
  } kCases[] = {
      {"machine_labels: {web-1: {role: web}}\n",
       ":4: machine_labels: expected a list"},
      {"machine_labels:\n- labels: {role: web}\n",
       ":5: machine_labels[0].machines: is missing; write \"*\" for all"},
      {"machine_labels:\n- machines: []\n  labels: {role: web}\n",
       ":5: machine_labels[0].machines: is missing"},
      {"machine_labels:\n- machines: ['']\n  labels: {role: web}\n",
       ":5: machine_labels[0].machines: \"\" is not the name of a machine"},
      {"machine_labels:\n- machines: '*'\n",
       ":5: machine_labels[0].labels: is missing"},
      {"machine_labels:\n- machines: '*'\n  labels: {role: [web]}\n",
       ":6: machine_labels[0].labels: expected \"name: value\" lines"},
      {"machine_labels:\n- machines: '*'\n  label: {role: web}\n"
       "  labels: {role: web}\n",
       ":6: unknown key \"label\" in machine_labels[0]; did you mean "
       "\"labels\"?"},
      {"machine_labels:\n- machines: '*'\n  labels: {role: " +
           std::string(1025, 'x') + "}\n",
       ":6: machine_labels[0].labels: labels[\"role\"] has 1025 bytes, more "
       "than 1024"},
      {many,
       ":5: machine_labels: the entries have 65 different labels, more than "
       "64"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(Load(test.labels).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("aggregator.yaml" + test.error)))
        << test.labels;
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
