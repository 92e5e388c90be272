#include "agent/source/linux/sys_values.h"

#include <algorithm>

#include "absl/strings/strip.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/text.h"

namespace fleetperf::agent {

std::optional<uint64_t> ReadNumberFile(const std::string& path) {
  std::string buffer;
  auto text = ProcFile(path, ProcFile::Kind::kSmall).Read(&buffer);
  if (!text.ok()) return std::nullopt;
  return NextNumber(&*text);
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
