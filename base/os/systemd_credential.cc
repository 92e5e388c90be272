#include "base/os/systemd_credential.h"

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/os/files.h"

namespace fleetperf {
namespace {

// Returns the directory with a slash at its end, "" if there is none.
std::string CredentialsDirectory() {
  const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
  if (directory == nullptr || *directory == '\0') return "";
  return absl::StrCat(directory, "/");
}

}  // namespace

std::string FindCredential(const std::string& path) {
  const std::string directory = CredentialsDirectory();
  if (directory.empty()) return path;
  const std::string credential =
      absl::StrCat(directory, path.substr(path.rfind('/') + 1));
  return FileExists(credential) ? credential : path;
}

bool IsCredential(const std::string& path) {
  const std::string directory = CredentialsDirectory();
  return !directory.empty() && absl::StartsWith(path, directory);
}

}  // namespace fleetperf
