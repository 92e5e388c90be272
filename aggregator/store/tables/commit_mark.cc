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

// The fingerprint distinguishes a record from a part of one.
std::string RecordOf(const CommitMark& mark) {
  const std::string encoded = EncodeCommitMark(mark);
  return absl::StrCat(encoded, BigEndian(Fingerprint(encoded)));
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
  // The record is smaller than a sector, so it is replaced atomically.
  const std::string record = RecordOf(mark);
  const ssize_t written = ::pwrite(file_, record.data(), record.size(), 0);
  if (written == static_cast<ssize_t>(record.size())) return;
  log_.Warn("write",
            absl::StrCat("cannot write ", path_, ": ",
                         written < 0 ? std::system_category().message(errno)
                                     : "incomplete write"));
}

CommitMark SyncedMark::Read(const std::string& directory) {
  const auto record = ReadFile(PathIn(directory));
  CommitMark mark;
  const size_t size = EncodeCommitMark(mark).size();
  const bool is_mark =
      record.ok() &&
      ParseCommitMark(absl::string_view(*record).substr(0, size), &mark) &&
      *record == RecordOf(mark);
  return is_mark ? mark : CommitMark{};
}

}  // namespace fleetperf::aggregator
