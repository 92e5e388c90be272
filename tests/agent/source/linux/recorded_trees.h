// Trees of /proc and /sys that others recorded, as the files of a Linux
// machine. `deploy/install-deps references` unpacks the packages with them.

#ifndef FLEETPERF_TESTS_AGENT_SOURCE_LINUX_RECORDED_TREES_H_
#define FLEETPERF_TESTS_AGENT_SOURCE_LINUX_RECORDED_TREES_H_

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/agent/source/linux/every_counter.h"

namespace fleetperf::testing {

// Returns where a file of a Debian package is, installed or unpacked, or "".
inline std::string FindReference(const std::string& package,
                                 const std::string& path) {
  std::vector<std::string> places = {""};
  const char* home = std::getenv("HOME");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr) {
    places.push_back(absl::StrCat(cache, "/fleetperf/peers/", package));
  } else if (home != nullptr) {
    places.push_back(absl::StrCat(home, "/.cache/fleetperf/peers/", package));
  }
  for (const std::string& place : places) {
    if (std::filesystem::exists(place + path)) return place + path;
  }
  return "";
}

// The trees of pcp-testsuite, and the files that the authors of the Go library
// procfs test it with. Tests are skipped without them.
class RecordedTrees : public EveryCounterFixture {
 protected:
  void SetUp() override {
    if (trees_.empty() || procfs_.empty()) {
      GTEST_SKIP()
          << "no recorded trees; deploy/install-deps references gets them";
    }
  }

  // All of the tree, or the part that tar is told.
  void Unpack(const std::string& tree, const std::string& part = "") {
    // Some trees have files that only their owner may read.
    const std::string command =
        absl::StrCat("tar -xzf ", trees_, "/", tree, ".tgz -C ", PathOf(""),
                     " --no-same-owner --mode=u+rwX ", part);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  // The files of procfs whose paths start so. The archive has for each of them:
  // "Path: NAME", "Lines: N", N lines.
  void UnpackProcfs(const std::string& prefix) {
    std::ifstream archive(procfs_);
    std::string path;
    for (std::string line; std::getline(archive, line);) {
      absl::string_view rest = line;
      int count = 0;
      if (absl::ConsumePrefix(&rest, "Path: fixtures/")) {
        path = std::string(rest);
      } else if (absl::ConsumePrefix(&rest, "Lines: ") &&
                 absl::SimpleAtoi(rest, &count)) {
        std::string text;
        for (; count > 0 && std::getline(archive, line); --count) {
          text += line + "\n";
        }
        if (absl::StartsWith(path, prefix)) Write(path, text);
      }
    }
  }
  void Copy(const std::string& file, const std::string& path) {
    const std::filesystem::path target = PathOf(path);
    std::filesystem::create_directories(target.parent_path());
    std::filesystem::copy_file(
        trees_ + "/" + file, target,
        std::filesystem::copy_options::overwrite_existing);
  }
  // Links the directories below `from` whose names start so into `to`, as the
  // kernel does in /sys/class. Trees have them where the devices are. Returns
  // the names, sorted.
  WordList LinkDirectories(const std::string& from, const std::string& prefix,
                           const std::string& to) {
    WordList names;
    std::filesystem::create_directories(PathOf(to));
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(PathOf(from))) {
      const std::string name = entry.path().filename();
      if (entry.is_symlink() || !entry.is_directory()) continue;
      if (!absl::StartsWith(name, prefix) || name == prefix) continue;
      std::filesystem::create_directory_symlink(entry.path(),
                                                PathOf(to + "/" + name));
      names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // The words of each line.
  std::vector<WordList> Lines(const std::string& path) {
    EXPECT_TRUE(Files().Has(path)) << path;
    return Files().Lines(path);
  }
  // The first line.
  std::string Line(const std::string& path) {
    std::ifstream file(PathOf(path));
    std::string line;
    EXPECT_TRUE(std::getline(file, line)) << path;
    return line;
  }
  static uint64_t Number(const std::string& word) {
    uint64_t number = 0;
    EXPECT_TRUE(absl::SimpleAtoi(word, &number)) << word;
    return number;
  }

 private:
  const std::string trees_ =
      FindReference("pcp-testsuite", "/var/lib/pcp/testsuite/linux");
  const std::string procfs_ =
      FindReference("golang-github-prometheus-procfs-dev",
                    "/usr/share/gocode/src/github.com/prometheus/procfs/"
                    "testdata/fixtures.ttar");
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_SOURCE_LINUX_RECORDED_TREES_H_
