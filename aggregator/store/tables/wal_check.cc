#include "aggregator/store/tables/wal_check.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "aggregator/store/tables/copy_file.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/log_index.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/coding.h"
#include "base/os/files.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

constexpr char kUnlogged[] = "unlogged";

// A batch, or with the sequence 0 the creation of its epoch.
struct LoggedTimes {
  uint32_t epoch_number = 0;
  uint64_t sequence = 0;
  BatchTimes times;
};

// What the check needs of a write.
struct WriteContents : public rocksdb::WriteBatch::Handler {
  explicit WriteContents(absl::string_view write)
      : first_change(LittleEndian(write.substr(0, 8))),
        next_change(first_change + LittleEndian(write.substr(8, 4))) {
    rocksdb::WriteBatch(std::string(write))
        .Iterate(this)
        .PermitUncheckedError();  // a write of something other than the store
    first_change -= unlogged;
  }

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key_slice,
                        const rocksdb::Slice& value_slice) override {
    const absl::string_view key = ToView(key_slice);
    absl::string_view value = ToView(value_slice);
    LoggedTimes batch;
    uint64_t number = 0;
    CommitMark read;
    if (family == static_cast<uint32_t>(Family::kTimes)) {
      if (ParseLogKey(key, &batch.epoch_number, &batch.sequence) &&
          DecodeTimes(value, &batch.times, /*fingerprint=*/&number)) {
        batches.push_back(batch);
      }
    } else if (family != static_cast<uint32_t>(Family::kDefault)) {
      return rocksdb::Status::OK();
    } else if (key == CommitMarkKey()) {
      if (ParseCommitMark(value, &read)) mark = read;
    } else if (IsDurableKey(key) && ParseDurableKey(key, &batch.epoch_number) &&
               GetBigEndian(&value, /*sequence=*/&number) && number == 0) {
      batches.push_back(batch);
    }
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteRangeCF(uint32_t, const rocksdb::Slice&,
                                const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }
  // A write that was tried again has the data of each attempt.
  void LogData(const rocksdb::Slice& data) override {
    absl::string_view text = ToView(data);
    if (absl::ConsumePrefix(&text, kUnlogged)) GetBigEndian(&text, &unlogged);
  }

  // RocksDB numbers each changed key. The first number belongs to the write, or
  // to unlogged changes before it; the next write continues the numbering.
  uint64_t first_change;
  const uint64_t next_change;
  uint32_t unlogged = 0;
  std::optional<CommitMark> mark;
  std::vector<LoggedTimes> batches;
};

// A place where data is missing, for any reason.
struct Hole {
  WalDamage damage;
  uint64_t file = 0;  // its number
  bool is_blank = false;
  std::optional<CommitMark> before;  // the last commit before the hole
};

// Scans the writes of all logs as one sequence.
class Checker {
 public:
  explicit Checker(WalCheck* check) : check_(*check) {}

  absl::Status Read() {
    for (const auto& [number, path] : check_.files) {
      file_ = number;
      RETURN_IF_ERROR(ReadWalFile(
          path,
          [this](uint64_t offset, absl::string_view write) {
            // RocksDB refuses shorter ones, which it has not written.
            constexpr size_t kMinWriteSize = 12;
            if (write.size() >= kMinWriteSize) {
              Take(offset, WriteContents(write));
            }
            return absl::OkStatus();
          },
          [this](const WalRange& gap, bool blank) { AddHole(gap, blank); }));
    }
    return absl::OkStatus();
  }

  void Judge() {
    const uint64_t last = check_.last.has_value() ? check_.last->commits : 0;
    // The last commit may not have been synced.
    const uint64_t known =
        std::max(check_.synced.commits, last > 0 ? last - 1 : 0);
    const size_t before_end = resolved_;
    if (check_.synced.commits > last) {
      Resolve(check_.synced, /*present=*/0, /*present_batches=*/0);
    }
    for (size_t i = 0; i < holes_.size(); ++i) {
      Hole& hole = holes_[i];
      const bool is_damage = hole.before.has_value()
                                 ? known > hole.before->commits
                                 : i < followed_;
      if (!is_damage) return AddTornEnd(hole);
      if (i >= before_end && hole.before.has_value()) {
        check_.last = check_.synced;
      }
      WalDamage& damage = hole.damage;
      if (damage.commits == 0) damage.epochs.clear();
      if (damage.range.size > 0) check_.to_repair[damage.path] = UINT64_MAX;
      check_.damage.push_back(std::move(damage));
    }
  }

 private:
  // The newest batch of an epoch, or the creation of the epoch.
  struct Newest {
    uint64_t sequence = 0;
    absl::Time time = absl::InfinitePast();
    size_t holes = 0;  // number of holes before it
  };

  // All files after that of `begin` belong to the torn end, too.
  void AddTornEnd(const Hole& begin) {
    for (auto file = check_.files.find(begin.file); file != check_.files.end();
         ++file) {
      check_.to_repair[file->second] =
          file->first == begin.file ? begin.damage.range.offset : 0;
    }
  }

  void AddHole(const WalRange& range, bool is_blank) {
    holes_.push_back({.damage = {.path = check_.files[file_], .range = range},
                      .file = file_,
                      .is_blank = is_blank,
                      .before = check_.last});
    if (check_.last.has_value()) {
      holes_.back().damage.after = check_.last->received;
    }
  }

  void Take(uint64_t offset, const WriteContents& write) {
    const std::optional<CommitMark>& last = check_.last;
    if (write.first_change == next_change_) DropFailedWrites();
    if (write.mark.has_value() && last.has_value() &&
        resolved_ == holes_.size() && write.mark->commits > last->commits + 1) {
      AddHole({.offset = offset}, /*is_blank=*/false);
    }
    followed_ = holes_.size();
    if (!next_change_.has_value() && holes_.empty()) {
      check_.first_change = write.first_change;
    }
    next_change_ = write.next_change;
    for (const LoggedTimes& batch : write.batches) TakeBatch(batch);
    if (!write.mark.has_value()) return;
    Resolve(*write.mark, /*present=*/1, write.batches.size());
    check_.last = write.mark;
  }

  // No write is missing before the next one. So the holes are what a failed
  // write has left, for example on a full disk, after which RocksDB began
  // another file.
  void DropFailedWrites() {
    const auto is_failed = [this](const Hole& hole) {
      return hole.is_blank || hole.file != file_;
    };
    const auto first = holes_.begin() + static_cast<ptrdiff_t>(followed_);
    holes_.erase(std::remove_if(first, holes_.end(), is_failed), holes_.end());
  }

  // Calculates the cost of the holes since the last commit, of which the first
  // has all of it. `mark` is the next commit, which is present with its batches
  // or not.
  void Resolve(const CommitMark& mark, uint64_t present,
               uint64_t present_batches) {
    const std::optional<CommitMark>& last = check_.last;
    bool is_first = true;
    for (; resolved_ < holes_.size(); ++resolved_) {
      WalDamage& damage = holes_[resolved_].damage;
      damage.before = mark.received;
      if (!last.has_value()) continue;
      damage.commits = 0;
      if (is_first && mark.commits > last->commits + present) {
        damage.commits = mark.commits - last->commits - present;
        damage.batches = mark.batches - last->batches - present_batches;
      }
      is_first = false;
    }
  }

  // The first batch of an epoch here need not have sequence 1: the agent may
  // have begun the epoch with another aggregator. If the epoch was created
  // after the hole, none of its batches is missing.
  void TakeBatch(const LoggedTimes& batch) {
    const auto [entry, is_new] = newest_.try_emplace(batch.epoch_number);
    Newest& newest = entry->second;
    if (newest.holes < holes_.size() && batch.sequence > newest.sequence + 1) {
      Hole& hole = is_new ? holes_.back() : holes_[newest.holes];
      hole.damage.epochs.push_back({.epoch_number = batch.epoch_number,
                                    .last_sequence = batch.sequence - 1,
                                    .start = newest.time,
                                    .end = batch.times.oldest,
                                    .received = batch.times.received});
    }
    newest = {.sequence = batch.sequence,
              .time = batch.times.newest,
              .holes = holes_.size()};
  }

  WalCheck& check_;
  uint64_t file_ = 0;  // the number of the file that is read
  std::vector<Hole> holes_;
  size_t followed_ = 0;  // the number of holes that a write follows
  size_t resolved_ = 0;  // and that a commit follows
  std::optional<uint64_t> next_change_;
  std::map<uint32_t, Newest> newest_;  // by epoch
};

// Formats a time. Always includes milliseconds, so that lines compare easily.
std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%E3S", time, absl::UTCTimeZone());
}

// Writes what a log has before `end` without the damage to the file `to`.
absl::Status WriteRepaired(const std::string& path, uint64_t end,
                           const std::string& to) {
  std::string contents;
  RETURN_IF_ERROR(ReadWalFile(
      path,
      [&](uint64_t offset, absl::string_view write) {
        if (offset < end) AppendWalRecord(write, &contents);
        return absl::OkStatus();
      },
      [](const WalRange&, bool) {}));
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  // The database knows a minimum size for each log.
  if (!error && end == UINT64_MAX && size > contents.size()) {
    contents.resize(size);
  }
  return WriteFile(to, contents);
}

}  // namespace

std::string Describe(const WalDamage& damage) {
  std::string text =
      damage.path.empty() ? "the end of the write-ahead log is missing"
      : damage.range.size > 0
          ? absl::StrCat(damage.path, " is damaged: cannot read ",
                         damage.range.size, " bytes from byte ",
                         damage.range.offset)
          : absl::StrCat(
                "a part of the write-ahead log is missing before byte ",
                damage.range.offset, " of ", damage.path);
  if (!damage.commits.has_value()) {
    return absl::StrCat(text, "; the loss is unknown: at most ",
                        damage.epochs.size(), " epochs are affected");
  }
  if (*damage.commits == 0) return absl::StrCat(text, "; no commit is lost");
  absl::StrAppend(&text, "; lost: ", damage.batches, " batches in ",
                  *damage.commits, " commits");
  if (damage.after != absl::InfinitePast()) {
    absl::StrAppend(&text, ", received between ", TimeText(damage.after),
                    " and ", TimeText(damage.before));
  } else if (damage.before != absl::InfiniteFuture()) {
    absl::StrAppend(&text, ", received until ", TimeText(damage.before));
  }
  return text;
}

std::string UnloggedChanges(uint32_t count) {
  return absl::StrCat(kUnlogged, BigEndian(count));
}

absl::StatusOr<WalCheck> CheckWal(const std::string& directory,
                                  const CommitMark& synced) {
  WalCheck check{.synced = synced};
  ASSIGN_OR_RETURN(check.files, FindWalFiles(directory));
  Checker checker(&check);
  RETURN_IF_ERROR(checker.Read());
  checker.Judge();
  return check;
}

absl::Status RepairWal(const std::string& directory, const WalCheck& check) {
  for (const auto& [path, end] : check.to_repair) {
    if (!check.damage.empty()) {
      RETURN_IF_ERROR(KeepFile(path, DamagedFilesIn(directory)));
    }
    RETURN_IF_ERROR(WriteRepaired(path, end, path));
  }
  return check.damage.empty() ? absl::OkStatus() : SyncDirectory(directory);
}

absl::Status CopyRepairedWal(const WalCheck& check, const std::string& to) {
  for (const auto& [number, path] : check.files) {
    const auto repair = check.to_repair.find(path);
    const uint64_t end =
        repair != check.to_repair.end() ? repair->second : UINT64_MAX;
    const std::string name = std::filesystem::path(path).filename();
    RETURN_IF_ERROR(WriteRepaired(path, end, absl::StrCat(to, "/", name)));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
