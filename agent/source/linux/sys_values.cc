#include "agent/source/linux/sys_values.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/text.h"

namespace fleetperf::agent {

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
    if (absl::ConsumePrefix(&*text, "-")) last = NumberOrZero(&*text);
    for (next = std::max(next, *first); next <= last && next < limit; ++next) {
      use(static_cast<uint32_t>(next));
    }
    absl::ConsumePrefix(&*text, ",");
  }
  return true;
}

std::optional<uint64_t> CountListFile(const std::string& path, uint64_t limit) {
  uint64_t count = 0;
  if (!ReadListFile(path, limit, [&](uint32_t) { ++count; })) {
    return std::nullopt;
  }
  return count;
}

}  // namespace fleetperf::agent
