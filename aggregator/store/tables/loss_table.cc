#include "aggregator/store/tables/loss_table.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "aggregator/samples/batch_contents.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/rocksdb_conversions.h"

namespace fleetperf::aggregator {
namespace {

std::string KeyOf(uint32_t machine, uint32_t hour, uint32_t epoch_number = 0,
                  uint64_t sequence = 0) {
  return absl::StrCat("L", BigEndian(machine), BigEndian(hour),
                      BigEndian(epoch_number), BigEndian(sequence));
}

}  // namespace

void PutLosses(uint32_t machine, uint32_t epoch_number, uint64_t sequence,
               absl::Time received, const std::vector<Loss>& losses,
               Changes* changes) {
  absl::Time end = absl::InfinitePast();
  for (const Loss& loss : losses) end = std::max(end, loss.end);
  const std::string key = KeyOf(machine, HourOf(end), epoch_number, sequence);
  changes->Put(Family::kChunks, key, EncodeLosses(losses));
  changes->Put(Family::kChunks,
               ReceivedKey(Resolution::kHour, HourOf(received), key), "");
}

bool ParseLossesKey(absl::string_view key, uint32_t* machine,
                    uint32_t* epoch_number) {
  uint32_t hour = 0;
  uint64_t sequence = 0;
  return absl::ConsumePrefix(&key, "L") && GetBigEndian(&key, machine) &&
         GetBigEndian(&key, &hour) && GetBigEndian(&key, epoch_number) &&
         GetBigEndian(&key, &sequence) && key.empty();
}

absl::Status ForEachLoss(
    rocksdb::Iterator* entry, uint32_t machine, absl::Time from, absl::Time to,
    absl::FunctionRef<void(const Loss&)> use,
    absl::FunctionRef<void(const absl::Status&)> on_damage) {
  const std::string prefix = KeyOf(machine, 0).substr(0, 1 + sizeof machine);
  // Losses are ordered by their end. Their length is not known, so the scan has
  // no upper bound.
  entry->Seek(KeyOf(machine, HourOf(from)));
  for (; entry->Valid() && absl::StartsWith(ToView(entry->key()), prefix);
       entry->Next()) {
    const auto contents = ParseContents(ToView(entry->value()));
    if (!contents.ok()) {
      on_damage(absl::DataLossError("a loss record is damaged"));
      continue;
    }
    for (const Loss& loss : contents->losses) {
      if (loss.end >= from && loss.start <= to) use(loss);
    }
  }
  const absl::Status status = FromRocksDb(entry->status(), "read losses");
  if (!absl::IsDataLoss(status)) return status;
  on_damage(status);
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
