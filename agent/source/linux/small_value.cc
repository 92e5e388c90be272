#include "agent/source/linux/small_value.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/string_view.h"
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

}  // namespace fleetperf::agent
