#include "aggregator/store/tables/commit_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/keys.h"
#include "base/os/files.h"
#include "base/sha256.h"

namespace fleetperf::aggregator {
namespace {

std::string PathIn(const std::string& directory) {
  return absl::StrCat(directory, "/fleetperf-synced");
}

}  // namespace

std::string EncodeCommitMark(const CommitMark& mark) {
  return absl::StrCat(BigEndian(mark.commits), BigEndian(mark.batches),
                      EncodeTime(mark.received));
}

bool ParseCommitMark(absl::string_view bytes, CommitMark* mark) {
  return GetBigEndian(&bytes, &mark->commits) &&
         GetBigEndian(&bytes, &mark->batches) &&
         GetTime(&bytes, &mark->received) && bytes.empty();
}

SyncedMark::SyncedMark(const std::string& directory)
    : path_(PathIn(directory)),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) {
  if (file_ >= 0) return;
  log_.Warn("open", absl::StrCat("cannot open ", path_, ": ",
                                 std::system_category().message(errno)));
}

SyncedMark::~SyncedMark() {
  if (file_ < 0) return;
  ::fdatasync(file_);
  ::close(file_);
}

void SyncedMark::Set(const CommitMark& mark) {
  if (file_ < 0) return;
  const std::string encoded = EncodeCommitMark(mark);
  // The record is smaller than a sector, so it is replaced atomically.
  const std::string record =
      absl::StrCat(encoded, BigEndian(Fingerprint(encoded)));
  const ssize_t written = ::pwrite(file_, record.data(), record.size(), 0);
  if (written == static_cast<ssize_t>(record.size())) return;
  // Read() rejects a partial record, because its fingerprint does not match.
  log_.Warn("write",
            absl::StrCat("cannot write ", path_, ": ",
                         written < 0 ? std::system_category().message(errno)
                                     : "incomplete write"));
}

CommitMark SyncedMark::Read(const std::string& directory) {
  const auto record = ReadFile(PathIn(directory));
  if (!record.ok()) return {};
  CommitMark mark;
  const std::string encoded = EncodeCommitMark(mark);
  absl::string_view rest = *record;
  const absl::string_view bytes = rest.substr(0, encoded.size());
  rest.remove_prefix(bytes.size());
  uint64_t fingerprint = 0;
  const bool is_mark = ParseCommitMark(bytes, &mark) &&
                       GetBigEndian(&rest, &fingerprint) &&
                       fingerprint == Fingerprint(bytes);
  return is_mark ? mark : CommitMark{};
}

}  // namespace fleetperf::aggregator
