#include "aggregator/web/live_streams.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/web/http_response.h"
#include "aggregator/web/live_stream.h"
#include "aggregator/web/request_key.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "base/wakeup.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator::web {
namespace {

// The shortest time between two lines of a stream: one line has the values of
// many machines. It is a tenth of the interval that the viewers want, up to the
// limit; while series join the stream, it is the shortest.
constexpr absl::Duration kShortestPeriod = absl::Milliseconds(100);
constexpr absl::Duration kLongestPeriod = absl::Seconds(1);
// The interval of looks for heartbeats that are due.
constexpr absl::Duration kLookInterval = absl::Seconds(2);
// The messages of a stream before other streams get their turn.
constexpr int kMaxMessagesAtOnce = 16;

absl::Duration Now() { return Clock::Real().Monotonic(); }

absl::Duration PeriodOf(const v1::SubscribeRequest& request) {
  return std::clamp(FromProto(request.interval()) / 10, kShortestPeriod,
                    kLongestPeriod);
}

uint64_t CountValues(const v1::SubscribeResponse& message) {
  uint64_t values = 0;
  for (const v1::Points& points : message.points()) {
    values += static_cast<uint64_t>(points.values_size());
  }
  return values;
}

}  // namespace

class LiveStreams::Core : public std::enable_shared_from_this<Core> {
 public:
  explicit Core(Subscriptions* subscriptions)
      : subscriptions_(*subscriptions) {}

  void Join(const v1::SubscribeRequest& request, const std::string& caller,
            bool keeps_alive, const std::shared_ptr<Reply>& reply);
  // Encodes until Stop.
  void Run();
  void Stop();
  // After the end of Run.
  void EndAll();

 private:
  struct Stream {
    std::string caller;        // that began it
    CallerQuota::Share share;  // of its streams
    v1::SubscribeRequest request;
    std::string key;
    // Whether its last viewer has left: it takes no more, and is replaced. Set
    // with `mutex` held.
    std::atomic<bool> is_cancelled = false;
    absl::Mutex mutex;
    // The callers in whose turns it may start.
    absl::flat_hash_set<std::string> callers ABSL_GUARDED_BY(mutex);
    bool has_started ABSL_GUARDED_BY(mutex) = false;
    std::optional<LiveViewers> viewers ABSL_GUARDED_BY(mutex);
    LiveState state ABSL_GUARDED_BY(mutex);
    // Why it has not started, or ends.
    absl::Status status ABSL_GUARDED_BY(mutex);
    // nullptr: has not started.
    std::shared_ptr<Subscription> subscription ABSL_GUARDED_BY(mutex);
    bool has_begun ABSL_GUARDED_BY(mutex) = false;
    // For Run: Clock::Monotonic() of its last turn, and the time between turns.
    absl::Duration turn;
    absl::Duration period = kShortestPeriod;
  };
  using StreamPtr = std::shared_ptr<Stream>;

  // Returns the stream for a request, perhaps a new one.
  absl::StatusOr<StreamPtr> Enter(const v1::SubscribeRequest& request,
                                  const std::string& caller);
  // Returns false if the stream takes no more viewers.
  bool JoinStream(const StreamPtr& stream, const std::string& caller,
                  bool keeps_alive, const std::shared_ptr<Reply>& reply,
                  CallerQuota::Share* share);
  // Returns a function that marks the stream as ready.
  std::function<void()> WakerOf(const StreamPtr& stream);
  void Start(const StreamPtr& stream);
  // Gives the stream a turn: after kShortestPeriod if it is urgent.
  void MarkReady(const StreamPtr& stream, bool is_urgent);
  // Returns the streams whose turn it is; none if Stop was called.
  std::vector<StreamPtr> WaitForTurn();
  std::vector<StreamPtr> All();
  void Work(const StreamPtr& stream);
  void TakeMessages(const StreamPtr& stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(stream->mutex);
  void RemoveIfEmpty(const StreamPtr& stream);

  Subscriptions& subscriptions_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, StreamPtr> streams_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;

  absl::Mutex ready_mutex_;
  Wakeup changed_;
  absl::flat_hash_map<StreamPtr, bool> ready_
      ABSL_GUARDED_BY(ready_mutex_);  // to whether it is urgent
  bool has_changed_ ABSL_GUARDED_BY(ready_mutex_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(ready_mutex_) = false;
  absl::Duration look_;  // for Run: the next look at all streams
};

void LiveStreams::Core::Join(const v1::SubscribeRequest& request,
                             const std::string& caller, bool keeps_alive,
                             const std::shared_ptr<Reply>& reply) {
  absl::Status refusal;
  if (request.raw()) {
    refusal =
        absl::InvalidArgumentError("the page does not stream raw samples");
  }
  auto share = subscriptions_.Enter(caller);
  refusal.Update(share.status());
  if (!refusal.ok()) return reply->Fail(refusal, keeps_alive);
  bool has_joined = false;
  while (!has_joined) {
    const auto stream = Enter(request, caller);
    if (!stream.ok()) return reply->Fail(stream.status(), keeps_alive);
    has_joined = JoinStream(*stream, caller, keeps_alive, reply, &*share);
  }
}

bool LiveStreams::Core::JoinStream(const StreamPtr& stream,
                                   const std::string& caller, bool keeps_alive,
                                   const std::shared_ptr<Reply>& reply,
                                   CallerQuota::Share* share) {
  auto memory = subscriptions_.quota().TryTake(Pool::kUnreadBytes, caller,
                                               /*amount=*/0);
  bool must_start = false;
  {
    absl::MutexLock lock(&stream->mutex);
    if (stream->is_cancelled) return false;
    stream->viewers->Add(reply, keeps_alive, std::move(*share),
                         *std::move(memory));
    // A caller's starts take turns: a stream starts in the first turn of any of
    // its callers.
    must_start = stream->subscription == nullptr && stream->status.ok() &&
                 stream->callers.insert(caller).second;
  }
  if (must_start) {
    subscriptions_.Post(
        caller, [core = shared_from_this(), stream] { core->Start(stream); });
  } else {
    MarkReady(stream, /*is_urgent=*/true);
  }
  return true;
}

absl::StatusOr<LiveStreams::Core::StreamPtr> LiveStreams::Core::Enter(
    const v1::SubscribeRequest& request, const std::string& caller) {
  absl::MutexLock lock(&mutex_);
  std::string key = KeyOf(request);
  // A snapshot does not have the stored values that the request asks for.
  if (request.has_start()) absl::StrAppend(&key, " ", ++last_number_);
  const auto found = streams_.find(key);
  if (found != streams_.end() && !found->second->is_cancelled) {
    return found->second;
  }
  ASSIGN_OR_RETURN(CallerQuota::Share share,
                   subscriptions_.quota().TryTake(Pool::kPageStreams, caller));
  const auto stream = std::make_shared<Stream>();
  stream->caller = caller;
  stream->share = std::move(share);
  stream->request = request;
  stream->key = key;
  {
    absl::MutexLock stream_lock(&stream->mutex);
    stream->viewers.emplace(WakerOf(stream));
  }
  streams_[key] = stream;
  return stream;
}

std::function<void()> LiveStreams::Core::WakerOf(const StreamPtr& stream) {
  return [core = weak_from_this(), weak = std::weak_ptr<Stream>(stream)] {
    const auto locked = core.lock();
    const auto waiting = weak.lock();
    if (locked != nullptr && waiting != nullptr) {
      locked->MarkReady(waiting, /*is_urgent=*/false);
    }
  };
}

// Runs on a thread of the hub.
void LiveStreams::Core::Start(const StreamPtr& stream) {
  {
    absl::MutexLock lock(&stream->mutex);
    if (std::exchange(stream->has_started, true)) return;
  }
  auto subscription =
      subscriptions_.Begin(stream->request, stream->caller, WakerOf(stream),
                           [stream] { return stream->is_cancelled.load(); });
  {
    absl::MutexLock lock(&stream->mutex);
    stream->status = subscription.status();
    if (subscription.ok()) stream->subscription = *std::move(subscription);
  }
  MarkReady(stream, /*is_urgent=*/true);
}

void LiveStreams::Core::MarkReady(const StreamPtr& stream, bool is_urgent) {
  absl::MutexLock lock(&ready_mutex_);
  const auto [entry, is_new] = ready_.try_emplace(stream, is_urgent);
  if (!is_new && entry->second >= is_urgent) return;  // it is known
  entry->second = is_urgent;
  has_changed_ = true;
  changed_.Notify();
}

void LiveStreams::Core::Stop() {
  absl::MutexLock lock(&ready_mutex_);
  is_stopping_ = true;
  has_changed_ = true;
  changed_.Notify();
}

void LiveStreams::Core::Run() {
  for (;;) {
    std::vector<StreamPtr> turn = WaitForTurn();
    {
      absl::MutexLock lock(&ready_mutex_);
      if (is_stopping_) return;
    }
    if (Now() >= look_) {
      look_ = Now() + kLookInterval;
      // Besides the ready streams, some of which All() no longer has.
      for (StreamPtr& stream : All()) turn.push_back(std::move(stream));
    }
    for (const StreamPtr& stream : turn) {
      stream->turn = Now();
      Work(stream);
      RemoveIfEmpty(stream);
    }
  }
}

std::vector<LiveStreams::Core::StreamPtr> LiveStreams::Core::WaitForTurn() {
  std::vector<StreamPtr> turn;
  absl::MutexLock lock(&ready_mutex_);
  while (turn.empty() && !is_stopping_ && Now() < look_) {
    absl::Duration next = look_;
    for (const auto& [stream, is_urgent] : ready_) {
      const absl::Duration due =
          stream->turn + (is_urgent ? kShortestPeriod : stream->period);
      if (due <= Now()) {
        turn.push_back(stream);
      } else {
        next = std::min(next, due);
      }
    }
    for (const StreamPtr& stream : turn) ready_.erase(stream);
    if (!turn.empty()) break;
    has_changed_ = false;
    changed_.AwaitUntil(&ready_mutex_, next,
                        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(ready_mutex_) {
                          return has_changed_;
                        });
  }
  return turn;
}

std::vector<LiveStreams::Core::StreamPtr> LiveStreams::Core::All() {
  std::vector<StreamPtr> all;
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, stream] : streams_) all.push_back(stream);
  return all;
}

void LiveStreams::Core::Work(const StreamPtr& stream) {
  absl::MutexLock lock(&stream->mutex);
  LiveViewers& viewers = *stream->viewers;
  viewers.RemoveGone();
  if (!stream->status.ok()) return viewers.End(stream->status);
  if (stream->subscription == nullptr) {
    // The first viewer may be about to join.
    if (viewers.empty() && !stream->callers.empty()) {
      stream->is_cancelled = true;
    }
    return;
  }
  TakeMessages(stream);
  if (!stream->status.ok()) return viewers.End(stream->status);
  if (stream->has_begun) {
    const LiveState& state = stream->state;
    viewers.Update([&](uint64_t lagged) { return state.Snapshot(lagged); },
                   Now());
  }
  const auto ended = stream->subscription->outbox()->ended();
  if (!ended.has_value()) return;
  viewers.End(ended->ok() ? absl::UnavailableError("the aggregator stops")
                          : *ended);
}

void LiveStreams::Core::TakeMessages(const StreamPtr& stream) {
  LiveViewers& viewers = *stream->viewers;
  Outbox& outbox = *stream->subscription->outbox();
  Outbox::Message message;
  for (int i = 1; !viewers.AllAreBusy() && outbox.Take(&message); ++i) {
    v1::SubscribeResponse& response = message.response;
    for (const auto& part : message.encoded_values) {
      response.MergeFromString(*part);
    }
    if (!std::exchange(stream->has_begun, true)) viewers.Begin();
    const std::string line = stream->state.Add(response);
    if (stream->state.series() > kMaxStreamSeries) {
      stream->status = absl::ResourceExhaustedError(
          absl::StrCat("live values on the page are limited to ",
                       kMaxStreamSeries, " series; ask for fewer"));
      return;
    }
    const uint64_t lost = viewers.Send(line, CountValues(response), Now());
    subscriptions_.CountLagged(lost + response.lagged());
    stream->period =
        response.series().empty() ? PeriodOf(stream->request) : kShortestPeriod;
    if (i == kMaxMessagesAtOnce) return MarkReady(stream, /*is_urgent=*/true);
  }
}

void LiveStreams::Core::RemoveIfEmpty(const StreamPtr& stream) {
  std::shared_ptr<Subscription> subscription;
  {
    absl::MutexLock lock(&mutex_);
    absl::MutexLock stream_lock(&stream->mutex);
    // A stream that is starting ends when it has started.
    const bool is_starting =
        stream->subscription == nullptr && stream->status.ok();
    if (!stream->viewers->empty() || is_starting) return;
    stream->is_cancelled = true;
    const auto found = streams_.find(stream->key);
    if (found != streams_.end() && found->second == stream) {
      streams_.erase(found);
    }
    subscription = std::move(stream->subscription);
  }
  if (subscription != nullptr) subscriptions_.End(std::move(subscription));
}

void LiveStreams::Core::EndAll() {
  for (const StreamPtr& stream : All()) {
    absl::MutexLock lock(&stream->mutex);
    stream->is_cancelled = true;
    stream->viewers->End(absl::UnavailableError("the aggregator stops"));
    if (stream->subscription != nullptr) {
      subscriptions_.End(std::move(stream->subscription));
    }
  }
}

LiveStreams::LiveStreams(Subscriptions* subscriptions)
    : core_(std::make_shared<Core>(subscriptions)),
      thread_([core = core_] { core->Run(); }) {}

LiveStreams::~LiveStreams() {
  core_->Stop();
  thread_.join();
  core_->EndAll();
}

void LiveStreams::Join(const v1::SubscribeRequest& request,
                       const std::string& caller, bool keeps_alive,
                       const std::shared_ptr<Reply>& reply) {
  core_->Join(request, caller, keeps_alive, reply);
}

}  // namespace fleetperf::aggregator::web
