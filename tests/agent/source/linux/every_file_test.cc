// No counter shows a number for a file without values.
//
// A counter depends on a file if other numbers in it change the counter's
// value, or if the counter has no value without the file. Then it has none
// either if the file is masked, so that it is empty, or if its numbers are what
// the kernel, drivers and firmware print for "unknown".

#include <functional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "agent/source/linux/linux_countersets.h"
#include "tests/agent/source/linux/linux_fixture.h"
#include "tests/agent/source/linux/whole_machine.h"

namespace fleetperf::agent {
namespace {

using testing::CgroupVersion;
using testing::MachineTexts;

// Values by "\Counterset(instance)\counter".
using AllValues = std::map<std::string, uint64_t>;
using Names = std::set<std::string>;

// Files that only need to exist.
constexpr absl::string_view kOnlyExist[] = {"sys/fs/cgroup/cgroup.controllers",
                                            "sys/block/sda/size",
                                            "sys/class/drm/card0/dev"};

// Counters of another file, of which this one only tells that it is of use.
constexpr std::pair<absl::string_view, absl::string_view> kOfOtherFiles[] = {
    {"temp1_input", "Temperature Maximum"},
    {"temp1_input", "Temperature Critical"},
    {"8:1/uevent", "Device Errors"}};

// Counters without a file: of directories, perf_event, adjtimex, netlink
// sockets, and of the agent.
bool HasNoFile(absl::string_view counterset, absl::string_view counter) {
  return (counterset == "System" && counter == "Processes") ||
         counterset == "Linux TCP Connection" ||
         counterset == "fleetperf Collection" ||
         counter == "% Processor Performance" ||
         counter == "% Processor Utility" ||
         counter == "% Privileged Utility" ||
         absl::StartsWith(counter, "Clock ");
}

bool IsHexadecimal(const std::string& path) {
  return absl::EndsWith(path, "softnet_stat") ||
         absl::EndsWith(path, "stat/nf_conntrack");
}

// Replaces the numbers of a file's text, but not those in names.
std::string WithNumbers(
    const std::string& path, const std::string& text,
    const std::function<std::string(const std::string&)>& replace) {
  const bool is_hexadecimal = IsHexadecimal(path);
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && (absl::ascii_isalnum(text[end]) ||
                                 text[end] == '_' || text[end] == '(')) {
      ++end;
    }
    const std::string word = text.substr(i, end - i);
    const bool is_number =
        !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
          return is_hexadecimal ? absl::ascii_isxdigit(c)
                                : absl::ascii_isdigit(c);
        });
    if (is_number) {
      result += replace(word);
      i = end;
    } else {
      result += text.substr(i, std::max(end - i, size_t{1}));
      i = std::max(end, i + 1);
    }
  }
  return result;
}

class EveryFileTest : public testing::LinuxFixture {
 protected:
  EveryFileTest() {
    clock_discipline_ = {.is_synchronized = true};
    ask_for_space_ = [](const std::string&) {
      return FilesystemSpace{.bytes = 1 << 30,
                             .free_bytes = 1 << 29,
                             .available_bytes = 1 << 28,
                             .inodes = 1000,
                             .free_inodes = 100};
    };
  }

  void WriteMachine(CgroupVersion cgroups) {
    files_ = testing::WholeMachine(cgroups);
    for (const auto& [path, text] : files_) Write(path, text);
    std::filesystem::create_directories(PathOf("proc/1/fd"));
    std::filesystem::create_symlink("/dev/dri/renderD128",
                                    PathOf("proc/1/fd/5"));
  }

  // The values that an agent has that starts now, of these countersets or of
  // all.
  AllValues TakeAll(const Names& countersets = {}) {
    Restart();
    // Counters that only a plan which names them collects.
    std::vector<PlannedQuery> queries;
    for (const char* name : {"Process V2", "Process", "Linux Cgroup Process"}) {
      PlannedQuery query = {.counterset = name};
      for (const auto& counter : Registration(name).counters) {
        if (!counter.name.empty()) query.counters.push_back(counter.name);
      }
      queries.push_back(query);
    }
    source().DefineCounters(&queries);
    AllValues all;
    for (const auto& registration : registrations()) {
      if (registration.name == "fleetperf Collection" ||
          (!countersets.empty() && !countersets.contains(registration.name))) {
        continue;
      }
      const testing::Reading reading = Sample(registration.name);
      for (const auto& [instance, values] : reading.rows) {
        for (const auto& [counter, value] : values) {
          all[absl::StrCat("\\", registration.name, "(", instance, ")\\",
                           counter)] = value;
        }
      }
    }
    return all;
  }

  AllValues TakeWith(const std::string& path, const std::string& text,
                     const Names& countersets = {}) {
    Write(path, text);
    AllValues all = TakeAll(countersets);
    Write(path, files_[path]);
    return all;
  }

  AllValues TakeWithout(const std::string& path) {
    Remove(path);
    AllValues all = TakeAll();
    Write(path, files_[path]);
    return all;
  }

  // `without` are the values without the file.
  Names DependentOn(const std::string& path, const AllValues& normal,
                    const AllValues& without) {
    const auto other = [&](const std::string& number) -> std::string {
      if (IsHexadecimal(path)) return number.substr(1) + "0";
      return absl::StrCat(2 * std::stoull(number.substr(0, 18)) + 1);
    };
    const AllValues changed =
        TakeWith(path, WithNumbers(path, files_[path], other));
    Names names;
    for (const auto& [name, value] : normal) {
      const auto found = changed.find(name);
      const bool is_of_other =
          std::any_of(std::begin(kOfOtherFiles), std::end(kOfOtherFiles),
                      [&, &name = name](const auto& pair) {
                        return absl::EndsWith(path, pair.first) &&
                               absl::EndsWith(name, pair.second);
                      });
      if (!is_of_other && (!without.contains(name) || found == changed.end() ||
                           found->second != value)) {
        names.insert(name);
      }
    }
    return names;
  }

  // Returns all counters that depend on a file.
  Names ExpectNoNumberWithoutValues() {
    const AllValues normal = TakeAll();
    Names all;
    for (const auto& [path, text] : MachineTexts(files_)) {
      if (std::count(std::begin(kOnlyExist), std::end(kOnlyExist), path) > 0) {
        continue;
      }
      const AllValues without = TakeWithout(path);
      const Names dependent = DependentOn(path, normal, without);
      Names countersets;
      for (const std::string& name : dependent) {
        countersets.insert(name.substr(1, name.find('(') - 1));
      }
      all.insert(dependent.begin(), dependent.end());
      if (dependent.empty()) continue;
      const auto expect_none = [&, &path = path](const AllValues& values,
                                                 const std::string& how) {
        for (const std::string& name : dependent) {
          EXPECT_FALSE(values.contains(name))
              << name << " is " << values.at(name) << " with " << path << " "
              << how;
        }
      };
      expect_none(without, "absent");
      expect_none(TakeWith(path, "", countersets), "empty");
      for (const char* unknown : {"18446744073709551615", "4294967295", "-1"}) {
        const std::string number = IsHexadecimal(path) ? "ffffffff" : unknown;
        const std::string masked =
            WithNumbers(path, text, [&](const std::string&) { return number; });
        if (masked != text) {
          expect_none(TakeWith(path, masked, countersets), number);
        }
      }
    }
    return all;
  }

  MachineTexts files_;
};

TEST_F(EveryFileTest, NoCounterHasANumberForAFileWithoutValues) {
  WriteMachine(CgroupVersion::kTwo);
  const Names dependent = ExpectNoNumberWithoutValues();
  // The machine has every counter that has a file.
  for (const LinuxCounterset* counterset : LinuxCountersets()) {
    for (const LinuxCounter& counter : counterset->counters) {
      if (counter.spec.name.empty() ||
          HasNoFile(counterset->name, counter.spec.name)) {
        continue;
      }
      const std::string begin = absl::StrCat("\\", counterset->name, "(");
      const std::string end = absl::StrCat(")\\", counter.spec.name);
      const bool is_covered = std::any_of(
          dependent.begin(), dependent.end(), [&](const std::string& name) {
            return absl::StartsWith(name, begin) && absl::EndsWith(name, end);
          });
      EXPECT_TRUE(is_covered) << counterset->name << " " << counter.spec.name;
    }
  }
}

TEST_F(EveryFileTest, NoCounterHasANumberForAFileOfCgroupsOfVersion1) {
  WriteMachine(CgroupVersion::kOne);
  for (const auto& [path, text] : MachineTexts(files_)) {
    if (absl::StrContains(path, "cgroup")) continue;
    Remove(path);
    files_.erase(path);
  }
  const Names dependent = ExpectNoNumberWithoutValues();
  EXPECT_TRUE(
      dependent.contains("\\Linux Cgroup(/a.slice)\\IO Read Bytes/sec"));
  EXPECT_TRUE(dependent.contains("\\Job Object(/a.slice)\\Pages/Sec"));
}

}  // namespace
}  // namespace fleetperf::agent
