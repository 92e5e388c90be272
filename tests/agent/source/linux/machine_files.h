// The files of a machine's /proc and /sys, read independently of the agent.

#ifndef FLEETPERF_TESTS_AGENT_SOURCE_LINUX_MACHINE_FILES_H_
#define FLEETPERF_TESTS_AGENT_SOURCE_LINUX_MACHINE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace fleetperf::testing {

using WordList = std::vector<std::string>;

// Numbers by the kernel's names for them, or by names that a test gives.
using Fields = std::map<std::string, uint64_t>;

// std::nullopt for other words than numbers that are not negative.
inline std::optional<uint64_t> NumberIn(absl::string_view word) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(word, &number)) return std::nullopt;
  return number;
}

// Files that the machine lacks are empty.
class MachineFiles {
 public:
  // `root` is the directory that holds proc and sys.
  explicit MachineFiles(std::string root) : root_(std::move(root)) {}

  std::string PathOf(const std::string& path) const {
    return root_ + "/" + path;
  }
  bool Has(const std::string& path) const {
    std::error_code ignored;
    return std::filesystem::exists(PathOf(path), ignored);
  }
  // The names in a directory.
  WordList Names(const std::string& path) const {
    WordList names;
    std::error_code ignored;
    for (const auto& entry :
         std::filesystem::directory_iterator(PathOf(path), ignored)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  std::vector<std::string> Text(const std::string& path) const {
    std::ifstream file(PathOf(path));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  // The words of each line.
  std::vector<WordList> Lines(const std::string& path) const {
    std::vector<WordList> lines;
    for (const std::string& line : Text(path)) {
      lines.push_back(
          absl::StrSplit(line, absl::ByAnyChar(" \t:"), absl::SkipEmpty()));
    }
    return lines;
  }
  // The words of the first line.
  WordList Line(const std::string& path) const {
    const std::vector<WordList> lines = Lines(path);
    return lines.empty() ? WordList() : lines[0];
  }
  // The number that the file starts with.
  std::optional<uint64_t> Number(const std::string& path) const {
    const WordList words = Line(path);
    return words.empty() ? std::nullopt : NumberIn(words[0]);
  }

  // Adds, under the name in front of it, the first number of each line such as
  // "MemTotal: 5 kB". `position` is the place of the name in the line.
  void AddNumbers(const std::string& path, Fields* fields,
                  size_t position = 0) const {
    for (const WordList& words : Lines(path)) {
      if (words.size() < position + 2) continue;
      if (const auto number = NumberIn(words[position + 1])) {
        (*fields)[words[position]] = *number;
      }
    }
  }
  // Adds the number of a file, if it has one, under this name.
  void AddNumber(const std::string& path, const std::string& name,
                 Fields* fields) const {
    if (const auto number = Number(path)) (*fields)[name] = *number;
  }

 private:
  const std::string root_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_SOURCE_LINUX_MACHINE_FILES_H_
