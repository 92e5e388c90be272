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
#include "base/os/files.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

namespace fs = std::filesystem;

constexpr char kUnlogged[] = "unlogged";

absl::string_view BytesOf(const rocksdb::Slice& slice) {
  return absl::string_view(slice.data(), slice.size());
}

// A write has at least its number and its count of changed keys.
constexpr size_t kMinWriteSize = 12;

// Extracts commits and batches from a write.
class WriteContents : public rocksdb::WriteBatch::Handler {
 public:
  struct Batch {
    uint32_t epoch_number = 0;
    uint64_t sequence = 0;
    BatchTimes times;
  };

  explicit WriteContents(absl::string_view write)
      : first_key_(LittleEndian(write.substr(0, 8))),
        keys_(LittleEndian(write.substr(8, 4))) {
    rocksdb::WriteBatch(std::string(write))
        .Iterate(this)
        .PermitUncheckedError();  // a write of something other than the store
  }

  // RocksDB numbers each changed key. The first number belongs to the write, or
  // to unlogged changes before it; the next write continues the numbering.
  uint64_t first_key() const { return first_key_ - unlogged_; }
  uint64_t next_key() const { return first_key_ + keys_; }

  const std::optional<CommitMark>& mark() const { return mark_; }
  const std::vector<Batch>& batches() const { return batches_; }
  // Epochs that the write creates. They have no batches yet.
  const std::vector<uint32_t>& new_epochs() const { return new_epochs_; }

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    if (family == static_cast<uint32_t>(Family::kDefault)) {
      TakeDefault(BytesOf(key), BytesOf(value));
    } else if (family == static_cast<uint32_t>(Family::kTimes)) {
      Batch batch;
      uint64_t fingerprint = 0;
      if (ParseLogKey(BytesOf(key), &batch.epoch_number, &batch.sequence) &&
          DecodeTimes(BytesOf(value), &batch.times, &fingerprint)) {
        batches_.push_back(batch);
      }
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
    absl::string_view text = BytesOf(data);
    if (!absl::ConsumePrefix(&text, kUnlogged) ||
        !GetBigEndian(&text, &unlogged_)) {
      unlogged_ = 0;
    }
  }

 private:
  void TakeDefault(absl::string_view key, absl::string_view value) {
    CommitMark mark;
    uint32_t epoch_number = 0;
    uint64_t sequence = 0;
    if (key == CommitMarkKey()) {
      if (ParseCommitMark(value, &mark)) mark_ = mark;
    } else if (IsDurableKey(key) && ParseDurableKey(key, &epoch_number) &&
               GetBigEndian(&value, &sequence) && sequence == 0) {
      new_epochs_.push_back(epoch_number);
    }
  }

  const uint64_t first_key_;
  const uint64_t keys_;
  uint32_t unlogged_ = 0;
  std::optional<CommitMark> mark_;
  std::vector<Batch> batches_;
  std::vector<uint32_t> new_epochs_;
};

// A place where data is missing, for any reason.
struct Hole {
  WalDamage damage;
  size_t file = 0;
  bool blank = false;
  bool is_at_end = true;             // at the end of its file
  bool is_followed = false;          // by a write, perhaps in another file
  bool is_whole = false;             // followed, and no write is missing
  bool is_resolved = false;          // followed by a commit
  std::optional<CommitMark> before;  // the last commit before the hole
};

// Scans the writes of all logs as one sequence.
class Checker {
 public:
  absl::Status Read(const std::vector<WalFile>& files) {
    for (; file_ < files.size(); ++file_) {
      path_ = files[file_].path;
      RETURN_IF_ERROR(ReadWalFile(
          path_,
          [this](uint64_t offset, absl::string_view write) {
            if (write.size() < kMinWriteSize) {
              AddHole({.offset = offset, .size = write.size()},
                      /*blank=*/false);
            } else {
              Take(offset, WriteContents(write));
            }
            return absl::OkStatus();
          },
          [this](const WalRange& gap, bool blank) { AddHole(gap, blank); }));
    }
    return absl::OkStatus();
  }

  void Judge(const CommitMark& synced, WalCheck* check) {
    check->last = last_;
    check->first_change = first_change_;
    // The last commit may not have been synced.
    const uint64_t last = last_.has_value() ? last_->commits : 0;
    const uint64_t known = std::max(synced.commits, last > 0 ? last - 1 : 0);
    for (Hole& hole : holes_) {
      // The hole is a failed write, for example on a full disk, after which
      // RocksDB began another file.
      if (hole.is_whole && (hole.is_at_end || hole.blank)) continue;
      const bool is_damage = hole.before.has_value()
                                 ? known > hole.before->commits
                                 : hole.is_followed;
      if (!is_damage) {
        if (hole.is_followed || !hole.blank) {
          check->torn = {.file = hole.file, .offset = hole.damage.range.offset};
        }
        return;
      }
      if (!hole.is_resolved && hole.before.has_value()) {
        SetCost(&hole.damage, *hole.before, synced, /*in_last=*/0);
        check->end_is_damaged = true;
      }
      const bool costs_nothing = hole.damage.commits == 0;
      if (costs_nothing && hole.blank) continue;
      if (costs_nothing) hole.damage.epochs.clear();
      check->damage.push_back(std::move(hole.damage));
    }
  }

 private:
  // The newest batch of an epoch, or the creation of the epoch.
  struct Newest {
    uint64_t sequence = 0;
    absl::Time time = absl::InfinitePast();
    size_t holes = 0;  // number of holes before it
  };

  void AddHole(const WalRange& range, bool blank) {
    Hole& hole = holes_.emplace_back();
    hole.damage.path = path_;
    hole.damage.range = range;
    hole.file = file_;
    hole.blank = blank;
    hole.before = last_;
    if (last_.has_value()) hole.damage.after = last_->received;
  }

  void Take(uint64_t offset, const WriteContents& write) {
    const std::optional<CommitMark>& mark = write.mark();
    const bool all_resolved = holes_.empty() || holes_.back().is_resolved;
    if (mark.has_value() && last_.has_value() && all_resolved &&
        mark->commits > last_->commits + 1) {
      AddHole({.offset = offset}, /*blank=*/false);
    }
    for (Hole& hole : holes_) {
      if (!hole.is_followed) hole.is_whole = write.first_key() == next_key_;
      hole.is_followed = true;
      if (hole.file == file_) hole.is_at_end = false;
    }
    next_key_ = write.next_key();
    if (holes_.empty() && !first_change_.has_value()) {
      first_change_ = write.first_key();
    }
    for (const uint32_t epoch_number : write.new_epochs()) {
      newest_.try_emplace(epoch_number, Newest{.holes = holes_.size()});
    }
    for (const WriteContents::Batch& batch : write.batches()) TakeBatch(batch);
    if (!mark.has_value()) return;
    Resolve(*mark, write.batches().size());
    last_ = mark;
  }

  // If one commit follows several holes, all losses are attributed to the
  // first.
  void Resolve(const CommitMark& mark, uint64_t batches) {
    bool is_first = true;
    for (Hole& hole : holes_) {
      if (hole.is_resolved) continue;
      hole.is_resolved = true;
      hole.damage.before = mark.received;
      if (!hole.before.has_value()) continue;
      if (is_first && mark.commits > hole.before->commits + 1) {
        SetCost(&hole.damage, *hole.before, mark, batches);
        --*hole.damage.commits;  // the commit of `mark` itself is not lost
      } else {
        hole.damage.commits = hole.damage.batches = 0;
      }
      is_first = false;
    }
  }

  static void SetCost(WalDamage* damage, const CommitMark& before,
                      const CommitMark& last, uint64_t in_last) {
    damage->commits = last.commits - before.commits;
    damage->batches = last.batches - before.batches - in_last;
    damage->after = before.received;
    damage->before = last.received;
  }

  // The first batch of an epoch here need not have sequence 1: the agent may
  // have begun the epoch with another aggregator. If the epoch was created
  // after the hole, none of its batches is missing.
  void TakeBatch(const WriteContents::Batch& batch) {
    const auto [entry, is_new] = newest_.try_emplace(batch.epoch_number);
    Newest& newest = entry->second;
    MissingBatches missing{.epoch_number = batch.epoch_number,
                           .last_sequence = batch.sequence - 1,
                           .end = batch.times.oldest,
                           .received = batch.times.received};
    if (is_new && !holes_.empty() && batch.sequence > 1) {
      holes_.back().damage.epochs.push_back(missing);
    } else if (!is_new && newest.holes < holes_.size() &&
               batch.sequence > newest.sequence + 1) {
      missing.first_sequence = newest.sequence + 1;
      missing.start = newest.time;
      holes_[newest.holes].damage.epochs.push_back(missing);
    }
    newest = {.sequence = batch.sequence,
              .time = batch.times.newest,
              .holes = holes_.size()};
  }

  size_t file_ = 0;
  std::string path_;
  std::vector<Hole> holes_;
  std::optional<CommitMark> last_;
  std::optional<uint64_t> first_change_;
  std::optional<uint64_t> next_key_;
  std::map<uint32_t, Newest> newest_;  // by epoch
};

// Formats a time. Always includes milliseconds, so that lines compare easily.
std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%E3S", time, absl::UTCTimeZone());
}

// Returns what the log with this index has without the damage and the torn end;
// std::nullopt if it has neither.
absl::StatusOr<std::optional<std::string>> Repaired(const WalCheck& check,
                                                    size_t index) {
  const std::string& path = check.files[index].path;
  const auto is_here = [&](const WalDamage& damage) {
    return damage.path == path && damage.range.size > 0;
  };
  const bool is_torn = check.torn.has_value() && index >= check.torn->file;
  if (!is_torn &&
      std::none_of(check.damage.begin(), check.damage.end(), is_here)) {
    return std::nullopt;
  }
  uint64_t end = UINT64_MAX;
  if (is_torn) end = index == check.torn->file ? check.torn->offset : 0;
  std::string contents;
  RETURN_IF_ERROR(ReadWalFile(
      path,
      [&](uint64_t offset, absl::string_view write) {
        if (offset < end) AppendWalRecord(write, &contents);
        return absl::OkStatus();
      },
      [](const WalRange&, bool) {}));
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  // The database knows a minimum size for each log.
  if (!error && !is_torn && size > contents.size()) contents.resize(size);
  return contents;
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
  absl::StrAppend(&text, "; lost: ", damage.batches.value_or(0), " batches in ",
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
  WalCheck check;
  ASSIGN_OR_RETURN(check.files, FindWalFiles(directory));
  Checker checker;
  RETURN_IF_ERROR(checker.Read(check.files));
  checker.Judge(synced, &check);
  return check;
}

absl::Status RepairWal(const std::string& directory, const WalCheck& check) {
  for (size_t i = 0; i < check.files.size(); ++i) {
    ASSIGN_OR_RETURN(const auto repaired, Repaired(check, i));
    if (!repaired.has_value()) continue;
    const std::string& path = check.files[i].path;
    if (!check.damage.empty()) {
      RETURN_IF_ERROR(KeepFile(path, DamagedFilesIn(directory)));
    }
    RETURN_IF_ERROR(WriteFile(path, *repaired));
  }
  return check.damage.empty() ? absl::OkStatus() : SyncDirectory(directory);
}

absl::Status CopyRepairedWal(const WalCheck& check, const std::string& to) {
  for (size_t i = 0; i < check.files.size(); ++i) {
    const fs::path path = check.files[i].path;
    const fs::path copy = fs::path(to) / path.filename();
    ASSIGN_OR_RETURN(const auto repaired, Repaired(check, i));
    std::error_code error;
    if (repaired.has_value()) {
      RETURN_IF_ERROR(WriteFile(copy.string(), *repaired));
    } else if (fs::create_symlink(fs::absolute(path, error), copy, error);
               error) {
      return StatusFromErrorCode(error,
                                 absl::StrCat("cannot make ", copy.string()));
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
