// The embedded store: batches as they came, in the order in which they count,
// with the definitions that give them meaning.

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/write_batch.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/store/keys.h"
#include "aggregator/store/log_index.h"
#include "aggregator/store/store.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

using Kind = DefinitionReader::Kind;

constexpr size_t kStoreIdSize = 16;
constexpr size_t kHashSize = 32;
// Dictionaries that were read for queries and are kept for the next.
constexpr size_t kMaxReadDictionaries = 4096;
// One that has become larger, as instances come and go, is read anew.
constexpr size_t kMaxReadInstances = 200'000;
// Segments of the log in which a machine's newest sample is looked for.
constexpr size_t kMaxSegmentsSearched = 12;
// Queries that need not be entered in the directory again.
constexpr size_t kMaxKnownQueries = 1'000'000;

rocksdb::Slice ToSlice(absl::string_view text) {
  return rocksdb::Slice(text.data(), text.size());
}

absl::string_view ToView(const rocksdb::Slice& slice) {
  return absl::string_view(slice.data(), slice.size());
}

absl::Status FromRocksDb(const rocksdb::Status& status,
                         absl::string_view action) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsNotFound()) return absl::NotFoundError("not in the store");
  const std::string message =
      absl::StrCat("the store cannot ", action, ": ", status.ToString());
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(message);
  if (status.IsCorruption()) return absl::DataLossError(message);
  return absl::UnavailableError(message);
}

std::string EncodeTime(absl::Time time) {
  return BigEndian(static_cast<uint64_t>(absl::ToUnixNanos(time)));
}

absl::Time DecodeTime(absl::string_view bytes) {
  return absl::FromUnixNanos(
      static_cast<int64_t>(FromBigEndian<uint64_t>(bytes)));
}

constexpr size_t kTimesSize = 4 * sizeof(uint64_t);

std::string EncodeTimes(const BatchTimes& times, uint64_t fingerprint) {
  return absl::StrCat(EncodeTime(times.oldest), EncodeTime(times.newest),
                      EncodeTime(times.received), BigEndian(fingerprint));
}

std::string EncodeDurable(uint64_t sequence, uint64_t fingerprint) {
  return absl::StrCat(BigEndian(sequence), BigEndian(fingerprint));
}

BatchTimes DecodeTimes(absl::string_view bytes) {
  return {.oldest = DecodeTime(bytes),
          .newest = DecodeTime(bytes.substr(sizeof(uint64_t))),
          .received = DecodeTime(bytes.substr(2 * sizeof(uint64_t)))};
}

BatchTimes TimesOf(const BatchToCommit& batch) {
  BatchTimes times{.received = batch.received};
  const auto extend = [&](absl::Time time) {
    times.oldest = std::min(times.oldest, time);
    times.newest = std::max(times.newest, time);
  };
  for (const Frame& frame : batch.decoded->frames) {
    for (const perflib::Clocks& clocks : *frame.clocks) {
      extend(perflib::TimeFromPerfTime100NSec(clocks.perf_time_100nsec));
    }
  }
  for (const Loss& loss : batch.decoded->losses) {
    extend(loss.start);
    extend(loss.end);
  }
  if (times.oldest > times.newest) times.oldest = times.newest = batch.received;
  return times;
}

// Stands in the log for a batch of which only the losses are kept.
v1::Batch WithoutSamples(const BatchToCommit& rejected) {
  v1::BatchContent content;
  for (const Loss& lost : rejected.decoded->losses) {
    v1::Loss* loss = content.add_losses();
    loss->set_machine(lost.machine);
    *loss->mutable_start() = ToProto(lost.start);
    *loss->mutable_end() = ToProto(lost.end);
    loss->set_ticks(lost.ticks);
    loss->set_cause(static_cast<v1::LossCause>(lost.cause));
  }
  v1::Batch batch;
  batch.set_sequence(rejected.sequence);
  batch.set_compression(v1::COMPRESSION_NONE);
  batch.set_payload(content.SerializeAsString());
  batch.set_content_size(static_cast<uint32_t>(batch.payload().size()));
  return batch;
}

// The column families.
enum Family { kDefault, kLog, kTimes };

class RocksDbStore : public Store {
 public:
  static absl::StatusOr<std::unique_ptr<Store>> Open(
      const std::string& directory) {
    RETURN_IF_ERROR(MakeDirectories(directory));
    std::unique_ptr<RocksDbStore> store(new RocksDbStore);
    RETURN_IF_ERROR(store->OpenDatabase(directory));
    RETURN_IF_ERROR(store->LoadId());
    RETURN_IF_ERROR(store->LoadIndex());
    RETURN_IF_ERROR(store->LoadQueries());
    RETURN_IF_ERROR(store->LoadMachines());
    RETURN_IF_ERROR(store->LoadLostTicks());
    store->LoadNewestSamples();
    return store;
  }

  ~RocksDbStore() override {
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      database_->DestroyColumnFamilyHandle(family);
    }
  }

  const std::string& id() const override { return id_; }
  const Directory& directory() const override { return directory_; }

  absl::StatusOr<StoredEpoch> OpenEpoch(
      const std::string& agent, uint64_t epoch,
      const Dictionary::Limits& limits) override {
    absl::MutexLock lock(&epoch_mutex_);
    const std::string key = EpochKey(agent, epoch);
    StoredEpoch stored;
    const auto number = Get(kDefault, key);
    if (number.ok()) {
      stored.number = FromBigEndian<uint32_t>(*number);
      ASSIGN_OR_RETURN(const std::string durable,
                       Get(kDefault, DurableKey(stored.number)));
      stored.durable_sequence = FromBigEndian<uint64_t>(durable);
      stored.durable_fingerprint =
          FromBigEndian<uint64_t>(durable.substr(sizeof(uint64_t)));
    } else if (!absl::IsNotFound(number.status())) {
      return number.status();  // taken for new, it would be stored twice
    } else {
      stored.number = next_epoch_number_++;
      rocksdb::WriteBatch writes;
      writes.Put(key, BigEndian(stored.number));
      writes.Put(DurableKey(stored.number), EncodeDurable(0, 0));
      RETURN_IF_ERROR(WriteDurably(&writes));
    }
    stored.dictionary = MakeDictionary(stored.number, limits);
    return stored;
  }

  absl::Status Commit(absl::Span<const BatchToCommit> batches) override {
    rocksdb::WriteBatch writes;
    std::vector<BatchTimes> times;
    std::string record;
    LostTicksMap lost;
    for (const BatchToCommit& batch : batches) {
      const std::string key = LogKey(batch.epoch_number, batch.sequence);
      record = EncodeTime(batch.received);
      if (batch.batch != nullptr) {
        batch.batch->AppendToString(&record);
      } else {
        WithoutSamples(batch).AppendToString(&record);
      }
      writes.Put(families_[kLog], key, record);
      times.push_back(TimesOf(batch));
      writes.Put(families_[kTimes], key,
                 EncodeTimes(times.back(), batch.fingerprint));
      // Later batches of an epoch overwrite this.
      writes.Put(DurableKey(batch.epoch_number),
                 EncodeDurable(batch.sequence, batch.fingerprint));
      AddLostTicks(batch, &lost);
      if (batch.definitions != nullptr) {
        PutDefinitions(batch.epoch_number, *batch.definitions, &writes);
      }
    }
    PutLostTicks(lost, &writes);
    RETURN_IF_ERROR(WriteDurably(&writes));
    for (size_t i = 0; i < batches.size(); ++i) Learn(batches[i], times[i]);
    absl::MutexLock lock(&machine_mutex_);
    for (auto& [key, ticks] : lost) lost_ticks_[key] = std::move(ticks);
    return absl::OkStatus();
  }

  bool HasBatch(uint32_t epoch_number, uint64_t sequence,
                uint64_t fingerprint) const override {
    const auto times = Get(kTimes, LogKey(epoch_number, sequence));
    return times.ok() && times->size() == kTimesSize &&
           FromBigEndian<uint64_t>(absl::string_view(*times).substr(
               kTimesSize - sizeof fingerprint)) == fingerprint;
  }

  std::map<LossCause, uint64_t> LostTicks(
      const std::string& agent, const std::string& machine) const override {
    std::map<LossCause, uint64_t> sum;
    absl::MutexLock lock(&machine_mutex_);
    for (const std::string& of : {std::string(), machine}) {
      const auto lost = lost_ticks_.find({agent, of});
      if (lost == lost_ticks_.end()) continue;
      for (const auto& [cause, ticks] : lost->second) sum[cause] += ticks;
    }
    return sum;
  }

  absl::Status KeepDefinitions(uint32_t epoch_number,
                               const v1::Definitions& definitions) override {
    rocksdb::WriteBatch writes;
    PutDefinitions(epoch_number, definitions, &writes);
    return WriteDurably(&writes);
  }

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    const QueryFilter filter = [&](const CollectedQuery& query) {
      return query.machine == request.machine &&
             (!request.filter || request.filter(query));
    };
    for (const LogSegment& segment :
         index_.Find(request.machine, request.from, request.to)) {
      RETURN_IF_ERROR(ReadSegment(segment, request, filter, on_frame, on_loss));
    }
    return absl::OkStatus();
  }

  bool HasCatalogue(absl::string_view hash) const override {
    return Get(kDefault, CatalogueKey(hash)).ok();
  }

  absl::Status PutCatalogue(absl::string_view hash,
                            absl::string_view content) override {
    rocksdb::WriteBatch writes;
    writes.Put(CatalogueKey(hash), ToSlice(content));
    return WriteDurably(&writes);
  }

  absl::StatusOr<std::string> GetCatalogue(
      absl::string_view hash) const override {
    auto content = Get(kDefault, CatalogueKey(hash));
    if (absl::IsNotFound(content.status())) {
      return absl::NotFoundError("no such catalogue");
    }
    return content;
  }

  absl::Status PutMachine(const v1::Machine& machine,
                          absl::string_view catalogue_hash) override {
    std::string hash(catalogue_hash);
    hash.resize(kHashSize);
    std::string record = absl::StrCat(hash, machine.SerializeAsString());
    directory_.AddMachine(machine.name());
    absl::MutexLock lock(&machine_mutex_);
    std::string& known = machines_[machine.name()];
    if (known == record) return absl::OkStatus();
    rocksdb::WriteBatch writes;
    writes.Put(MachineKey(machine.name()), record);
    RETURN_IF_ERROR(WriteDurably(&writes));
    known = std::move(record);
    return absl::OkStatus();
  }

  std::vector<StoredMachine> GetMachines() const override {
    std::vector<StoredMachine> machines;
    absl::MutexLock lock(&machine_mutex_);
    for (const auto& [name, record] : machines_) {
      StoredMachine& stored = machines.emplace_back();
      stored.catalogue_hash = record.substr(0, kHashSize);
      stored.machine.ParseFromString(
          record.substr(std::min(kHashSize, record.size())));
      stored.machine.set_name(name);
    }
    return machines;
  }

  absl::Status DropBefore(absl::Time time) override {
    for (const LogSegment& segment : index_.TakeBefore(time)) {
      const std::string begin =
          LogKey(segment.epoch_number, segment.first_sequence);
      const std::string end =
          LogKey(segment.epoch_number, segment.last_sequence + 1);
      rocksdb::WriteBatch writes;
      writes.DeleteRange(families_[kLog], begin, end);
      writes.DeleteRange(families_[kTimes], begin, end);
      RETURN_IF_ERROR(WriteDurably(&writes));
    }
    return absl::OkStatus();
  }

 private:
  // By agent and machine; an empty machine stands for all of the agent's.
  using LostTicksMap = std::map<std::pair<std::string, std::string>,
                                std::map<LossCause, uint64_t>>;

  // Reads definitions that are not in memory.
  class Definitions : public DefinitionReader {
   public:
    Definitions(const RocksDbStore* store, uint32_t epoch_number)
        : store_(*store), epoch_number_(epoch_number) {}

    absl::StatusOr<std::string> ReadDefinition(Kind kind,
                                               uint32_t id) const override {
      auto value = store_.Get(
          kDefault,
          DefinitionKey(static_cast<uint8_t>(kind), epoch_number_, id));
      if (kind != Kind::kCounterset || !value.ok()) return value;
      // Countersets are kept once for all epochs; here is the hash.
      ASSIGN_OR_RETURN(const std::string registration,
                       store_.Get(kDefault, SchemaKey(*value)));
      v1::CountersetDefinition definition;
      definition.set_id(id);
      if (!definition.mutable_registration()->ParseFromString(registration)) {
        return absl::DataLossError("a registration in the store is damaged");
      }
      return definition.SerializeAsString();
    }

   private:
    const RocksDbStore& store_;
    const uint32_t epoch_number_;
  };

  absl::Status OpenDatabase(const std::string& directory) {
    rocksdb::DBOptions options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.keep_log_file_num = 4;
    options.info_log_level = rocksdb::WARN_LEVEL;
    options.max_total_wal_size = uint64_t{256} << 20;
    rocksdb::ColumnFamilyOptions small;
    small.compression = rocksdb::kLZ4Compression;
    rocksdb::ColumnFamilyOptions log;
    log.compression = rocksdb::kNoCompression;  // payloads are compressed
    log.write_buffer_size = size_t{64} << 20;
    const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
        {rocksdb::kDefaultColumnFamilyName, small},
        {"log", log},
        {"times", small}};
    rocksdb::DB* database = nullptr;
    const rocksdb::Status status =
        rocksdb::DB::Open(options, directory, families, &families_, &database);
    if (!status.ok()) {
      const bool locked = absl::StrContains(status.ToString(), "LOCK");
      return absl::FailedPreconditionError(
          absl::StrCat("cannot open the store in ", directory, ": ",
                       locked ? "another process has it open (" : "",
                       status.ToString(), locked ? ")" : ""));
    }
    database_.reset(database);
    return absl::OkStatus();
  }

  absl::Status LoadId() {
    auto id = Get(kDefault, StoreIdKey());
    if (id.ok()) id_ = *std::move(id);
    if (id.ok() || !absl::IsNotFound(id.status())) return id.status();
    absl::BitGen random;
    for (size_t i = 0; i < kStoreIdSize; ++i) {
      id_.push_back(static_cast<char>(absl::Uniform(random, 0, 256)));
    }
    rocksdb::WriteBatch writes;
    writes.Put(StoreIdKey(), id_);
    return WriteDurably(&writes);
  }

  absl::Status LoadIndex() {
    {
      absl::MutexLock lock(&epoch_mutex_);
      RETURN_IF_ERROR(ForEach(kDefault, DurableKey(0).substr(0, 1),
                              [this](absl::string_view key, absl::string_view) {
                                next_epoch_number_ =
                                    FromBigEndian<uint32_t>(key.substr(1)) + 1;
                              }));
    }
    bool damaged = false;
    RETURN_IF_ERROR(ForEach(
        kTimes, "", [&](absl::string_view key, absl::string_view value) {
          damaged = damaged || key.size() != kLogKeySize ||
                    value.size() != kTimesSize;
          if (damaged) return;
          index_.Add(FromBigEndian<uint32_t>(key),
                     FromBigEndian<uint64_t>(key.substr(sizeof(uint32_t))),
                     DecodeTimes(value));
        }));
    return damaged ? absl::DataLossError("the store's index is damaged")
                   : absl::OkStatus();
  }

  absl::Status LoadQueries() {
    const std::string prefix =
        DefinitionPrefix(static_cast<uint8_t>(Kind::kQuery));
    std::map<uint32_t, std::vector<uint32_t>> ids_of_epoch;
    RETURN_IF_ERROR(ForEach(
        kDefault, prefix, [&](absl::string_view key, absl::string_view) {
          key.remove_prefix(prefix.size());
          ids_of_epoch[FromBigEndian<uint32_t>(key)].push_back(
              FromBigEndian<uint32_t>(key.substr(sizeof(uint32_t))));
        }));
    for (const auto& [epoch_number, ids] : ids_of_epoch) {
      const auto dictionary = MakeDictionary(epoch_number, {});
      for (const uint32_t id : ids) {
        const auto query = dictionary->FindQuery(id);
        // A storage error ends it; any other one is of a definition whose
        // batch was rejected for it.
        if (absl::IsUnavailable(query.status()) ||
            absl::IsDataLoss(query.status())) {
          return query.status();
        }
        if (!query.ok()) continue;
        directory_.AddQuery(**query);
        index_.AddMachine((*query)->machine, epoch_number);
      }
    }
    return absl::OkStatus();
  }

  absl::Status LoadMachines() {
    absl::MutexLock lock(&machine_mutex_);
    return ForEach(kDefault, MachineKey(""),
                   [this](absl::string_view key, absl::string_view value) {
                     const std::string name(key.substr(MachineKey("").size()));
                     machine_mutex_.AssertHeld();
                     machines_[name] = std::string(value);
                     directory_.AddMachine(name);
                   });
  }

  absl::Status LoadLostTicks() {
    constexpr char kPrefix[] = "l";
    absl::MutexLock lock(&machine_mutex_);
    return ForEach(
        kDefault, kPrefix,
        [this](absl::string_view key, absl::string_view value) {
          machine_mutex_.AssertHeld();
          key.remove_prefix(1);
          const size_t end = key.find('\0');
          v1::Machine machine;
          if (end == key.npos ||
              !machine.ParseFromArray(value.data(),
                                      static_cast<int>(value.size()))) {
            return;
          }
          auto& lost = lost_ticks_[{std::string(key.substr(0, end)),
                                    std::string(key.substr(end + 1))}];
          for (uint8_t cause = 0;
               cause <= static_cast<uint8_t>(LossCause::kPowerCut); ++cause) {
            const auto ticks = machine.lost_ticks().find(
                std::string(LossCauseName(static_cast<LossCause>(cause))));
            if (ticks == machine.lost_ticks().end()) continue;
            lost[static_cast<LossCause>(cause)] = ticks->second;
          }
        });
  }

  // Adds what the batch tells to what is known.
  void AddLostTicks(const BatchToCommit& batch, LostTicksMap* lost) const {
    if (batch.decoded->losses.empty()) return;
    absl::MutexLock lock(&machine_mutex_);
    for (const Loss& loss : batch.decoded->losses) {
      const std::pair<std::string, std::string> key = {std::string(batch.agent),
                                                       loss.machine};
      const auto [entry, is_new] = lost->try_emplace(key);
      if (is_new) {
        const auto known = lost_ticks_.find(key);
        if (known != lost_ticks_.end()) entry->second = known->second;
      }
      entry->second[loss.cause] += loss.ticks;
    }
  }

  static void PutLostTicks(const LostTicksMap& lost,
                           rocksdb::WriteBatch* writes) {
    for (const auto& [key, by_cause] : lost) {
      v1::Machine machine;
      for (const auto& [cause, ticks] : by_cause) {
        (*machine.mutable_lost_ticks())[std::string(LossCauseName(cause))] =
            ticks;
      }
      writes->Put(LostTicksKey(key.first, key.second),
                  machine.SerializeAsString());
    }
  }

  void LoadNewestSamples() {
    for (const std::string& machine : directory_.Machines()) {
      if (const auto newest = FindNewestSample(machine)) {
        directory_.SetNewestSample(machine, *newest);
      }
    }
  }

  std::optional<absl::Time> FindNewestSample(const std::string& machine) {
    // The newest segment of the newest epoch first: samples count in that
    // order.
    auto segments =
        index_.Find(machine, absl::InfinitePast(), absl::InfiniteFuture());
    std::reverse(segments.begin(), segments.end());
    if (segments.size() > kMaxSegmentsSearched) {
      segments.resize(kMaxSegmentsSearched);
    }
    for (const LogSegment& segment : segments) {
      // Mostly the newest batch has it, unless that has only losses or samples
      // of other machines.
      for (const absl::Time from :
           {segment.times.newest, segment.times.oldest}) {
        std::optional<absl::Time> newest;
        const absl::Status status = ReadSegment(
            segment,
            {.machine = machine, .from = from, .to = absl::InfiniteFuture()},
            [&](const CollectedQuery& query) {
              return query.machine == machine;
            },
            [&](const Frame& frame) {
              if (!frame.clocks->empty()) {
                const absl::Time time = TimeOf(frame.clocks->back());
                newest = std::max(newest.value_or(time), time);
              }
              return absl::OkStatus();
            },
            [](const Loss&) {});
        if (!status.ok()) {
          spdlog::warn("the newest samples of {} cannot be read: {}", machine,
                       std::string(status.message()));
        }
        if (newest.has_value()) return newest;
      }
    }
    return std::nullopt;
  }

  static absl::Time TimeOf(const perflib::Clocks& clocks) {
    return perflib::TimeFromPerfTime100NSec(clocks.perf_time_100nsec);
  }

  std::unique_ptr<Dictionary> MakeDictionary(uint32_t epoch_number,
                                             const Dictionary::Limits& limits) {
    return std::make_unique<Dictionary>(
        epoch_number, &schemas_,
        std::make_unique<Definitions>(this, epoch_number), limits);
  }

  // The dictionary by which queries read an epoch.
  std::shared_ptr<Dictionary> ReadDictionary(uint32_t epoch_number) {
    absl::MutexLock lock(&read_mutex_);
    if (read_dictionaries_.size() >= kMaxReadDictionaries) {
      read_dictionaries_.clear();
    }
    std::shared_ptr<Dictionary>& dictionary = read_dictionaries_[epoch_number];
    if (dictionary == nullptr || dictionary->instances() > kMaxReadInstances) {
      dictionary = MakeDictionary(
          epoch_number, {.max_instances = std::numeric_limits<size_t>::max()});
    }
    return dictionary;
  }

  absl::Status ReadSegment(
      const LogSegment& segment, const ReadRequest& request,
      const QueryFilter& filter,
      absl::FunctionRef<absl::Status(const Frame&)> on_frame,
      absl::FunctionRef<void(const Loss&)> on_loss) {
    const auto dictionary = ReadDictionary(segment.epoch_number);
    const std::string last =
        LogKey(segment.epoch_number, segment.last_sequence);
    const std::unique_ptr<rocksdb::Iterator> entry(
        database_->NewIterator({}, families_[kTimes]));
    entry->Seek(LogKey(segment.epoch_number, segment.first_sequence));
    for (; entry->Valid() && ToView(entry->key()) <= last; entry->Next()) {
      const BatchTimes times = DecodeTimes(ToView(entry->value()));
      if (times.oldest > request.to || times.newest < request.from) continue;
      const auto record = Get(kLog, ToView(entry->key()));
      if (absl::IsNotFound(record.status())) continue;  // just removed
      RETURN_IF_ERROR(record.status());
      ASSIGN_OR_RETURN(const DecodedBatch batch,
                       DecodeRecord(*record, filter, dictionary.get()));
      for (const Frame& frame : batch.frames) {
        RETURN_IF_ERROR(on_frame(frame));
      }
      for (const Loss& loss : batch.losses) {
        if (loss.machine.empty() || loss.machine == request.machine) {
          on_loss(loss);
        }
      }
    }
    return FromRocksDb(entry->status(), "read its log");
  }

  static absl::StatusOr<DecodedBatch> DecodeRecord(absl::string_view record,
                                                   const QueryFilter& filter,
                                                   Dictionary* dictionary) {
    // What is in the log was within the limits when it came.
    constexpr BatchLimits kNoLimits = {
        .max_payload_bytes = std::numeric_limits<uint32_t>::max(),
        .max_content_bytes = std::numeric_limits<uint32_t>::max(),
        .max_values = std::numeric_limits<uint64_t>::max()};
    v1::Batch batch;
    if (record.size() < sizeof(uint64_t) ||
        !batch.ParseFromArray(
            record.data() + sizeof(uint64_t),
            static_cast<int>(record.size() - sizeof(uint64_t)))) {
      return absl::DataLossError("a record of the store's log is damaged");
    }
    ASSIGN_OR_RETURN(const auto content, ParseBatch(batch, kNoLimits));
    return DecodeBatch(*content, kNoLimits, filter, dictionary);
  }

  static void PutDefinitions(uint32_t epoch_number,
                             const v1::Definitions& definitions,
                             rocksdb::WriteBatch* writes) {
    const auto put = [&](Kind kind, uint32_t id, const std::string& value) {
      writes->Put(DefinitionKey(static_cast<uint8_t>(kind), epoch_number, id),
                  value);
    };
    for (const auto& machine : definitions.machines()) {
      put(Kind::kMachine, machine.id(), machine.SerializeAsString());
    }
    for (const auto& counterset : definitions.countersets()) {
      const auto registration = FromProto(counterset.registration());
      if (!registration.ok()) continue;  // of a batch that was rejected for it
      const std::string hash = Sha256(registration->CanonicalBytes());
      writes->Put(SchemaKey(hash),
                  counterset.registration().SerializeAsString());
      put(Kind::kCounterset, counterset.id(), hash);
    }
    for (const auto& query : definitions.queries()) {
      put(Kind::kQuery, query.id(), query.SerializeAsString());
    }
    for (const auto& instance : definitions.instances()) {
      put(Kind::kInstance, instance.id(), instance.SerializeAsString());
    }
  }

  // Takes up what a batch that is durable says.
  void Learn(const BatchToCommit& batch, const BatchTimes& times) {
    // By machine; its queries have different intervals.
    std::map<std::string, absl::Time> newest;
    for (const Frame& frame : batch.decoded->frames) {
      if (known_queries_.size() > kMaxKnownQueries) known_queries_.clear();
      if (known_queries_.insert(frame.query).second) {
        directory_.AddQuery(*frame.query);
        index_.AddMachine(frame.query->machine, batch.epoch_number);
      }
      if (!frame.clocks->empty()) {
        const absl::Time time = TimeOf(frame.clocks->back());
        const auto [entry, is_new] =
            newest.try_emplace(frame.query->machine, time);
        if (!is_new) entry->second = std::max(entry->second, time);
      }
    }
    for (const auto& [machine, time] : newest) {
      directory_.SetNewestSample(machine, time);
    }
    index_.Add(batch.epoch_number, batch.sequence, times);
  }

  absl::Status WriteDurably(rocksdb::WriteBatch* writes) {
    rocksdb::WriteOptions options;
    options.sync = true;
    return FromRocksDb(database_->Write(options, writes), "write");
  }

  // NotFound if there is no such key.
  absl::StatusOr<std::string> Get(Family family, absl::string_view key) const {
    std::string value;
    RETURN_IF_ERROR(FromRocksDb(
        database_->Get({}, families_[family], ToSlice(key), &value), "read"));
    return value;
  }

  // Calls `use` with each key that starts with `prefix` and its value.
  absl::Status ForEach(
      Family family, absl::string_view prefix,
      absl::FunctionRef<void(absl::string_view, absl::string_view)> use) const {
    const std::unique_ptr<rocksdb::Iterator> entry(
        database_->NewIterator({}, families_[family]));
    for (entry->Seek(ToSlice(prefix));
         entry->Valid() && absl::StartsWith(ToView(entry->key()), prefix);
         entry->Next()) {
      use(ToView(entry->key()), ToView(entry->value()));
    }
    return FromRocksDb(entry->status(), "read");
  }

  std::unique_ptr<rocksdb::DB> database_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::string id_;
  SchemaTable schemas_;
  Directory directory_;
  LogIndex index_;
  // Used by Commit alone.
  absl::flat_hash_set<std::shared_ptr<const CollectedQuery>> known_queries_;

  absl::Mutex epoch_mutex_;
  uint32_t next_epoch_number_ ABSL_GUARDED_BY(epoch_mutex_) = 1;
  mutable absl::Mutex machine_mutex_;
  // As they are stored, by name.
  std::map<std::string, std::string> machines_ ABSL_GUARDED_BY(machine_mutex_);
  LostTicksMap lost_ticks_ ABSL_GUARDED_BY(machine_mutex_);
  absl::Mutex read_mutex_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Dictionary>> read_dictionaries_
      ABSL_GUARDED_BY(read_mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenRocksDbStore(
    const std::string& directory) {
  return RocksDbStore::Open(directory);
}

}  // namespace fleetperf::aggregator
