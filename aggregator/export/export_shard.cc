#include "aggregator/export/export_shard.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/export/request_sender.h"
#include "aggregator/query/resolver.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"
#include "base/text/printable.h"

namespace fleetperf::aggregator {
namespace {

constexpr absl::Duration kFirstWait = absl::Seconds(1);
constexpr absl::Duration kLongestWait = absl::Seconds(30);
// The bytes of a request before compression. The engines take several MiB.
constexpr size_t kMaxRequest = 1 << 20;
// The samples of a request, which an engine checks one by one.
constexpr size_t kMaxSamples = 20'000;
constexpr size_t kMaxProgress = 1000;
// A read of one machine ends after this, so that others get their turns, and so
// that it needs no definitions that the store has retired.
constexpr absl::Duration kLongestTurn = absl::Minutes(1);
constexpr int64_t kNone = INT64_MAX;
// In milliseconds: less than the five minutes after which Prometheus takes a
// series without samples for ended.
constexpr int64_t kInfoInterval = 60'000;

std::vector<absl::Duration> IntervalsOf(const Directory& directory,
                                        const std::string& machine) {
  std::set<absl::Duration> intervals;
  for (const auto& counterset : directory.Countersets(machine)) {
    for (const auto& [id, interval] : counterset->counters) {
      intervals.insert(interval);
    }
  }
  return {intervals.begin(), intervals.end()};
}

absl::Status Stopping() { return absl::CancelledError("stopping"); }

}  // namespace

// The samples of one machine that are being exported.
class ExportShard::Machine : public UnexportedSink {
 public:
  Machine(ExportShard* shard, const std::string& name, Labels labels,
          std::string info, const PathSet* paths)
      : shard_(*shard),
        name_(name),
        labels_(std::move(labels)),
        info_(std::move(info)),
        intervals_(IntervalsOf(shard->store_.directory(), name)),
        end_(shard->clock_.Monotonic() + kLongestTurn),
        encoder_(name, labels_, paths, &shard->schemas_, shard->raw()) {}

  MachineEncoder& encoder() { return encoder_; }
  const std::vector<absl::Duration>& intervals() const { return intervals_; }
  // Adds the series fleetperf_machine_info: a sample for each minute in which
  // there were some of the machine, and one at the newest.
  absl::Status AddInfo() {
    if (activity_ == nullptr) return absl::OkStatus();
    const int64_t newest = absl::ToUnixMillis(activity_->newest);
    if (newest > activity_->info_time) {
      activity_->info_time = newest;
      infos_.push_back({newest, 1});
    }
    return shard_.Add(info_, infos_);
  }
  // Whether the sink ends the read, which is to go on later.
  bool is_over() const { return is_over_; }

  void Begin(absl::Time received, uint64_t lost) override {
    shard_.received_ = absl::ToUnixNanos(received);
    shard_.oldest_ = std::min<int64_t>(shard_.oldest_, shard_.received_);
    lost_ = lost;
  }
  absl::Status BeginFrame(const Frame& frame, uint32_t first_new) override {
    RETURN_IF_ERROR(CheckTurn());
    NoteActivity(frame);
    frame_ = &frame;
    encoder_.BeginFrame(frame, first_new);
    return absl::OkStatus();
  }
  absl::Status AddTicks(uint32_t begin, uint32_t end) override {
    RETURN_IF_ERROR(CheckTurn());
    for (uint32_t tick = begin; tick < end; ++tick) NoteInfo(tick);
    return encoder_.AddTicks(begin, end,
                             [this](absl::string_view labels,
                                    absl::Span<const ExportSample> samples) {
                               samples_ += samples.size();
                               return shard_.Add(labels, samples);
                             });
  }
  void Advance(ExportProgress progress) override {
    std::vector<ExportProgress>& all = shard_.progress_;
    if (!all.empty() && all.back().cursor_key == progress.cursor_key) {
      all.back().cursor = std::move(progress.cursor);
      std::move(progress.taken_chunks.begin(), progress.taken_chunks.end(),
                std::back_inserter(all.back().taken_chunks));
    } else {
      all.push_back(std::move(progress));
    }
    is_over_ = samples_ >= shard_.options_.samples_of_turn ||
               shard_.clock_.Monotonic() >= end_;
    if (lost_ > 0) {
      shard_.found_lost_ += lost_;
      shard_.log_.Warn(
          "lost",
          absl::StrCat("about ", lost_, " values of ", name_,
                       " were not exported: they were removed or thinned "
                       "before; see store.full_resolution"),
          name_);
      lost_ = 0;
    }
  }

 private:
  absl::Status CheckTurn() const {
    if (shard_.IsStopping()) return Stopping();
    return is_over_ ? absl::AbortedError("the machine's turn is over")
                    : absl::OkStatus();
  }

  void NoteInfo(uint32_t tick) {
    const int64_t time =
        absl::ToUnixMillis(perflib::TimeOf((*frame_->clocks)[tick]));
    if (time < activity_->info_time + kInfoInterval) return;
    activity_->info_time = time;
    infos_.push_back({time, 1});
  }

  void NoteActivity(const Frame& frame) {
    if (activity_ == nullptr) {
      activity_ = &shard_.active_[name_];
      activity_->labels = labels_;
      activity_->info = info_;
      activity_->intervals = intervals_;
      activity_->shortest = frame.query->interval;
    }
    activity_->at = shard_.clock_.Monotonic();
    activity_->newest =
        std::max(activity_->newest, perflib::TimeOf(frame.clocks->back()));
    activity_->shortest = std::min(activity_->shortest, frame.query->interval);
  }

  ExportShard& shard_;
  const std::string name_;
  const Labels labels_;
  const std::string info_;
  const std::vector<absl::Duration> intervals_;
  const absl::Duration end_;  // of the turn
  MachineEncoder encoder_;
  ActiveMachine* activity_ = nullptr;
  const Frame* frame_ = nullptr;
  std::vector<ExportSample> infos_;  // of fleetperf_machine_info
  uint64_t lost_ = 0;
  uint64_t samples_ = 0;
  bool is_over_ = false;
};

ExportShard::ExportShard(const Options& options, Store* store,
                         const Clock* clock)
    : options_(options),
      store_(*store),
      clock_(*clock),
      client_(options.target),
      log_(absl::Minutes(5), *clock),
      epochs_(store),
      received_(kNone),
      backoff_(kFirstWait, kLongestWait),
      oldest_(kNone),
      stopped_(clock),
      thread_([this] { Run(); }) {}

ExportShard::~ExportShard() {
  Stop();
  thread_.join();
}

void ExportShard::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    stopped_.Notify();
  }
  client_.Cancel();
}

ExportCounts ExportShard::counts() const {
  ExportCounts counts{.samples = samples_,
                      .requests = requests_,
                      .failures = failures_,
                      .refused = refused_,
                      .lost = lost_};
  const int64_t oldest = oldest_;
  if (oldest != kNone) {
    counts.lag = std::max(absl::ZeroDuration(),
                          clock_.Now() - absl::FromUnixNanos(oldest));
  }
  return counts;
}

bool ExportShard::IsStopping() {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

void ExportShard::Run() {
  const auto is_stopping = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_;
  };
  for (;;) {
    absl::Duration wait = options_.interval;
    const absl::Status status = ExportAll();
    if (IsStopping()) return;
    if (status.ok() && is_any_left_) continue;
    if (!status.ok()) {
      NoteFailure(status);
      // The samples of one machine may be the cause.
      is_each_alone_ = is_each_alone_ || absl::IsInternal(status);
      wait = std::max(
          backoff_.Next(),
          std::min(client_.retry_after().value_or(absl::ZeroDuration()),
                   kLongestWait));
    }
    absl::MutexLock lock(&mutex_);
    if (stopped_.Await(&mutex_, wait, is_stopping)) return;
  }
}

absl::Status ExportShard::ExportAll() {
  // The engine may have samples whose progress could not be stored.
  if (is_sent_) RETURN_IF_ERROR(StoreProgress());
  // After an error, the samples of its request are read again.
  Forget();
  passed_over_ = absl::OkStatus();
  is_any_left_ = false;
  left_ = kNone;
  const absl::Duration start = clock_.Monotonic();
  schemas_.Trim();
  const Directory& directory = store_.directory();
  std::optional<PathSet> paths;
  if (!options_.paths.empty()) {
    ASSIGN_OR_RETURN(paths, PathSet::Parse(options_.paths, directory));
  }
  std::vector<std::string> machines;
  for (std::string& machine : directory.Machines()) {
    if (IsOwn(machine)) machines.push_back(std::move(machine));
  }
  // Continues where an error ended the last time, so that each machine has its
  // turn.
  std::rotate(machines.begin(),
              std::lower_bound(machines.begin(), machines.end(), next_),
              machines.end());
  RETURN_IF_ERROR(
      ExportMachines(machines, paths.has_value() ? &*paths : nullptr));
  RETURN_IF_ERROR(ExportExpected(paths.has_value() ? &*paths : nullptr));
  RETURN_IF_ERROR(EndSilent(start, paths.has_value() ? &*paths : nullptr));
  if (!passed_over_.ok()) {
    NoteFailure(passed_over_);
  } else if (std::exchange(is_each_alone_, false)) {
    NoteSuccess();
  }
  return absl::OkStatus();
}

absl::Status ExportShard::ExportMachines(
    const std::vector<std::string>& machines, const PathSet* paths) {
  uint64_t requests = requests_;
  for (const std::string& machine : machines) {
    if (IsStopping()) return Stopping();
    next_ = machine;
    absl::Status status = Export(machine, paths);
    if (status.ok() && (is_each_alone_ || progress_.size() >= kMaxProgress)) {
      status = Flush();
    }
    if (status.ok()) continue;
    if (!absl::IsInternal(status) || !is_each_alone_) return status;
    // Perhaps the engine takes the samples of other machines.
    next_.push_back('\0');  // the name that follows
    if (!passed_over_.ok() && requests_ == requests) return status;
    Forget();
    left_ = std::min<int64_t>(left_, oldest_);
    passed_over_ = status;
    requests = requests_;
  }
  next_.clear();
  return absl::OkStatus();
}

bool ExportShard::IsOwn(const std::string& machine) const {
  return std::hash<std::string>()(machine) % options_.count == options_.number;
}

absl::Status ExportShard::ExportExpected(const PathSet* paths) {
  std::map<std::string, std::string> expected;
  for (const std::string& machine : SelectExpected(options_.machines, paths)) {
    if (!IsOwn(machine)) continue;
    expected[machine] = ExpectedSeries(options_.machines, machine,
                                       store_.directory().LabelsOf(machine));
  }
  ExportSample sample{.unix_millis = absl::ToUnixMillis(clock_.Now()),
                      .value = 1};
  for (const auto& [machine, labels] : expected) {
    request_.BeginMachine();
    RETURN_IF_ERROR(Add(labels, {&sample, 1}));
  }
  sample.value = StaleMarker();
  for (const auto& [machine, labels] : expected_) {
    const auto still = expected.find(machine);
    if (still != expected.end() && still->second == labels) continue;
    request_.BeginMachine();
    RETURN_IF_ERROR(Add(labels, {&sample, 1}));
  }
  RETURN_IF_ERROR(Flush());
  expected_ = std::move(expected);
  return absl::OkStatus();
}

void ExportShard::Forget() {
  if (request_.series() > 0 || !progress_.empty()) {
    for (auto& [name, activity] : active_) activity.info_time = INT64_MIN;
  }
  request_.Clear();
  progress_.clear();
  found_lost_ = 0;
  is_sent_ = false;
  not_sent_ = absl::OkStatus();
}

absl::Status ExportShard::Export(const std::string& name,
                                 const PathSet* paths) {
  const Labels own = store_.directory().LabelsOf(name);
  const Labels labels = LabelsOfValues(options_.machines, name, own);
  const std::string info = InfoSeries(options_.machines, name, own);
  RETURN_IF_ERROR(EndRelabelled(name, labels, info, paths));
  Machine machine(this, name, labels, info, paths);
  request_.BeginMachine();
  const absl::Status read = store_.ReadUnexported(
      {.machine = name,
       .filter =
           [&](const CollectedQuery& query) {
             return machine.encoder().Selects(query);
           },
       .columns =
           [&](const CollectedQuery& query) {
             return machine.encoder().WantedColumns(query);
           },
       .intervals = machine.intervals()},
      &machine);
  const int64_t received = std::exchange(received_, kNone);
  if (read.ok()) return machine.AddInfo();
  if (!not_sent_.ok() || absl::IsCancelled(read)) {
    return not_sent_.ok() ? read : not_sent_;
  }
  left_ = std::min(left_, received);
  RETURN_IF_ERROR(machine.AddInfo());
  if (machine.is_over() && absl::IsAborted(read)) {
    is_any_left_ = true;
    return absl::OkStatus();
  }
  // Other machines do not wait for one that cannot be read.
  ++failures_;
  log_.Warn("unreadable",
            absl::StrCat("cannot read samples of ", name,
                         " to export them: ", Printable(read.message())),
            name);
  return absl::OkStatus();
}

absl::Status ExportShard::Add(absl::string_view labels,
                              absl::Span<const ExportSample> samples) {
  request_.Add(labels, samples);
  if (request_.size() < kMaxRequest && request_.samples() < kMaxSamples) {
    return absl::OkStatus();
  }
  return Flush();
}

absl::Status ExportShard::EndSilent(absl::Duration start,
                                    const PathSet* paths) {
  std::vector<std::string> ended;
  for (const auto& [name, activity] : active_) {
    const bool is_known = store_.directory().NewestSample(name).has_value();
    // An engine that is away, and a long pass, are no silence of the machine.
    if (is_known && !IsSilent(activity, start)) continue;
    RETURN_IF_ERROR(End(name, activity, paths));
    ended.push_back(name);
  }
  RETURN_IF_ERROR(Flush());
  for (const std::string& name : ended) active_.erase(name);
  return absl::OkStatus();
}

absl::Status ExportShard::EndRelabelled(const std::string& machine,
                                        const Labels& labels,
                                        const std::string& info,
                                        const PathSet* paths) {
  const auto active = active_.find(machine);
  if (active == active_.end()) return absl::OkStatus();
  ActiveMachine& activity = active->second;
  if (activity.labels != labels) {
    RETURN_IF_ERROR(End(machine, activity, paths));
  } else if (activity.info != info) {
    RETURN_IF_ERROR(EndInfo(activity));
  } else {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(Flush());
  activity.labels = labels;
  activity.info = info;
  return absl::OkStatus();
}

absl::Status ExportShard::EndInfo(const ActiveMachine& activity) {
  const ExportSample end = {absl::ToUnixMillis(activity.newest) + 1,
                            StaleMarker()};
  request_.BeginMachine();
  return Add(activity.info, {&end, 1});
}

absl::Status ExportShard::End(const std::string& machine,
                              const ActiveMachine& activity,
                              const PathSet* paths) {
  RETURN_IF_ERROR(EndInfo(activity));
  MachineEncoder encoder(machine, activity.labels, paths, &schemas_, raw());
  const absl::Status read = ReadLastTicks(
      machine, activity, &store_, [this] { return IsStopping(); }, &encoder);
  if (absl::IsCancelled(read)) return read;
  if (!read.ok()) {
    log_.Warn("unreadable",
              absl::StrCat("cannot end the series of ", machine, ": ",
                           Printable(read.message())),
              machine);
  }
  return encoder.End([this](absl::string_view encoded,
                            absl::Span<const ExportSample> samples) {
    return Add(encoded, samples);
  });
}

absl::Status ExportShard::Flush() {
  not_sent_ = Send();
  if (not_sent_.ok()) oldest_ = std::min(received_, left_);
  return not_sent_;
}

absl::Status ExportShard::Send() {
  if (request_.samples() > 0) {
    SentRequest sent;
    RETURN_IF_ERROR(SendRequest(request_, &client_, &sent));
    request_.Clear();
    samples_ += sent.samples;
    requests_ += sent.requests;
    refused_ += sent.refused;
    if (sent.refused > 0) {
      log_.Warn("refused", absl::StrCat(sent.refused, " samples were dropped: ",
                                        Printable(sent.refusal.message())));
    }
    is_sent_ = true;
  }
  return StoreProgress();
}

absl::Status ExportShard::StoreProgress() {
  if (!progress_.empty()) RETURN_IF_ERROR(store_.SetExported(progress_));
  progress_.clear();
  lost_ += std::exchange(found_lost_, 0);
  // Machines that others overtake still fail.
  if (std::exchange(is_sent_, false) && !is_each_alone_) NoteSuccess();
  return absl::OkStatus();
}

void ExportShard::NoteFailure(const absl::Status& status) {
  ++failures_;
  if (!is_failing_) {
    LogWarning("shard ", options_.number,
               " of the export waits: ", Excerpt(Printable(status.message())));
  }
  is_failing_ = true;
}

void ExportShard::NoteSuccess() {
  backoff_.Reset();
  if (!is_failing_) return;
  is_failing_ = false;
  LogInfo("shard ", options_.number, " of the export goes on");
}

}  // namespace fleetperf::aggregator
