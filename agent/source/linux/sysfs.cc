#include "agent/source/linux/sysfs.h"

#include <dirent.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/text.h"

namespace fleetperf::agent {
namespace {

std::vector<std::string> List(const std::string& path, bool only_directories) {
  std::vector<std::string> names;
  DIR* const directory = opendir(path.c_str());
  if (directory == nullptr) return names;
  const absl::Cleanup close = [directory] { closedir(directory); };
  while (const dirent* entry = readdir(directory)) {
    if (only_directories && entry->d_type != DT_DIR) continue;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string ReadFirstLine(const std::string& path) {
  ProcFile file(path, ProcFile::Kind::kSmall);
  std::string buffer;
  auto text = file.Read(&buffer);
  absl::string_view line;
  return text.ok() && NextLine(&*text, &line) ? std::string(line) : "";
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  const std::string line = ReadFirstLine(path);
  absl::string_view text = line;
  return NextNumber(&text);
}

std::string LinkTargetName(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target =
      std::filesystem::read_symlink(path, error);
  return error ? "" : target.filename().string();
}

bool ReadListFile(const std::string& path, uint64_t limit,
                  absl::FunctionRef<void(uint32_t number)> use) {
  std::string buffer;
  auto text = ProcFile(path).Read(&buffer);
  if (!text.ok()) return false;
  uint64_t next = 0;
  while (const auto first = NextNumber(&*text)) {
    uint64_t last = *first;
    if (absl::ConsumePrefix(&*text, "-")) {
      last = NextNumber(&*text).value_or(limit);
    }
    for (next = std::max(next, *first); next <= last && next < limit; ++next) {
      use(static_cast<uint32_t>(next));
    }
    absl::ConsumePrefix(&*text, ",");
  }
  return true;
}

std::optional<uint64_t> CountListFile(const std::string& path, uint64_t limit) {
  uint64_t count = 0;
  ReadListFile(path, limit, [&](uint32_t) { ++count; });
  return count > 0 ? std::optional(count) : std::nullopt;
}

std::vector<std::string> ListNames(const std::string& path) {
  return List(path, /*only_directories=*/false);
}

std::vector<std::string> ListSubdirectories(const std::string& path) {
  return List(path, /*only_directories=*/true);
}

}  // namespace fleetperf::agent
