// Holds the tables against the lists of Linux. event_lists.tsv is an extract,
// written by extract_lists.

#include <cstdint>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "driver/events/events.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetperf::events {
namespace {

using ::testing::Contains;
using ::testing::Ge;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

struct Row {
  std::string list;
  std::string unit;
  std::string name;
  uint32_t code;
  uint32_t unit_mask;
};

struct Lists {
  std::vector<std::pair<std::regex, std::string>> maps;
  std::vector<Row> rows;
};

uint32_t Hexadecimal(const std::string& text) {
  uint32_t number = 0;
  EXPECT_TRUE(absl::SimpleHexAtoi(text, &number)) << text;
  return number;
}

const Lists& TheLists() {
  static const Lists& lists = *[] {
    auto* const read = new Lists;
    std::ifstream file(EVENT_LISTS);
    for (std::string line; std::getline(file, line);) {
      const std::vector<std::string> fields = absl::StrSplit(line, '\t');
      if (fields[0] == "map") {
        read->maps.emplace_back(fields[1], fields[2]);
      } else if (fields[0] == "event") {
        read->rows.push_back({fields[1], fields[2], fields[3],
                              Hexadecimal(fields[4]), Hexadecimal(fields[5])});
      }
    }
    return read;
  }();
  return lists;
}

// The list that Linux chooses: that of the first pattern that matches, with the
// stepping or without.
std::string ListOf(const ModelEvents& row, uint32_t model, uint32_t stepping) {
  const std::string id =
      row.vendor == pmu::Vendor::kIntel
          ? absl::StrFormat("GenuineIntel-%u-%02X", row.family, model)
          : absl::StrFormat("AuthenticAMD-%u-%X", row.family, model);
  const std::string full_id = absl::StrFormat("%s-%X", id, stepping);
  for (const auto& [pattern, list] : TheLists().maps) {
    if (std::regex_match(id, pattern) || std::regex_match(full_id, pattern)) {
      return list;
    }
  }
  return "";
}

std::string UnitOf(const ModelEvents& row) {
  if (row.core_type == kBigCore) return "cpu_core";
  return row.core_type == kAtomCore ? "cpu_atom" : "";
}

std::tuple<std::string, uint32_t, uint32_t> Listed(const Event& event) {
  return {event.name, event.code.event, event.code.unit_mask};
}

std::set<std::tuple<std::string, uint32_t, uint32_t>> EventsIn(
    const std::string& list, const std::string& unit) {
  std::set<std::tuple<std::string, uint32_t, uint32_t>> events;
  for (const Row& row : TheLists().rows) {
    if (row.list == list && row.unit == unit) {
      events.emplace(row.name, row.code, row.unit_mask);
    }
  }
  return events;
}

TEST(EventLists, AreRead) {
  EXPECT_THAT(TheLists().maps, SizeIs(Ge(40u)));
  EXPECT_THAT(TheLists().rows, SizeIs(Ge(700u)));
}

TEST(EventLists, AreThoseOfTheModels) {
  for (const ModelEvents& row : AllModelEvents()) {
    for (uint32_t model = row.first_model; model <= row.last_model; ++model) {
      for (const uint32_t stepping : {row.first_stepping, row.last_stepping}) {
        EXPECT_EQ(ListOf(row, model, stepping), row.list)
            << absl::StrFormat("%u-%x-%x", row.family, model, stepping);
      }
    }
  }
}

TEST(EventLists, HaveAllEventsOfTheModels) {
  for (const ModelEvents& row : AllModelEvents()) {
    const auto listed = EventsIn(row.list, UnitOf(row));
    for (const Event& event : row.events) {
      EXPECT_THAT(listed, Contains(Listed(event)))
          << row.list << " " << UnitOf(row);
    }
    const auto l3_listed = EventsIn(row.list, "L3PMC");
    for (const Event& event : row.l3_events) {
      EXPECT_THAT(l3_listed, Contains(Listed(event))) << row.list;
    }
  }
}

// Later lists than the tables would be missed silently.
TEST(EventLists, HaveNoOtherModelsThanTheTablesAndSomeAtoms) {
  std::set<std::string> lists;
  for (const auto& [pattern, list] : TheLists().maps) lists.insert(list);
  for (const ModelEvents& row : AllModelEvents()) lists.erase(row.list);
  EXPECT_EQ(lists,
            (std::set<std::string>{"bonnell", "knightslanding", "silvermont"}));
}

TEST(EventLists, GiveArchitecturalEventsTheirCodesInAllListsButTheOldest) {
  const std::set<std::string> oldest = {"bonnell",       "nehalemep",
                                        "nehalemex",     "westmereep-dp",
                                        "westmereep-sp", "westmereex"};
  for (const ArchitecturalEvent& one : ArchitecturalEvents()) {
    int lists = 0;
    for (const Row& row : TheLists().rows) {
      if (row.name != one.event.name || oldest.contains(row.list)) continue;
      EXPECT_EQ(row.code, one.event.code.event) << row.list << " " << row.name;
      EXPECT_EQ(row.unit_mask, one.event.code.unit_mask)
          << row.list << " " << row.name;
      ++lists;
    }
    EXPECT_GE(lists, 10) << one.event.name;
  }
}

// The labels of a published driver for these codes are wrong: see
// docs/driver.md.
TEST(EventLists, NameTheCodesThatAreOftenMistaken) {
  for (const auto& [list, prefix, in_flight] :
       {std::tuple("haswellx", "MEM_LOAD_UOPS_RETIRED.", "HIT_LFB"),
        std::tuple("skylakex", "MEM_LOAD_RETIRED.", "FB_HIT")}) {
    const std::string family = prefix;
    EXPECT_THAT(
        EventsIn(list, ""),
        IsSupersetOf({std::tuple(family + "L3_HIT", 0xD1u, 0x04u),
                      std::tuple(family + "L3_MISS", 0xD1u, 0x20u),
                      std::tuple(family + in_flight, 0xD1u, 0x40u),
                      std::tuple(std::string("L2_RQSTS.DEMAND_DATA_RD_HIT"),
                                 0x24u, 0xC1u)}));
  }
}

}  // namespace
}  // namespace fleetperf::events
