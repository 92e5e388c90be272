#include "aggregator/subscribe/shared_feed.h"

#include <algorithm>
#include <utility>

#include "aggregator/ingest/epoch.h"

namespace fleetperf::aggregator {
namespace {

// The limit of batches held while a feed is primed.
constexpr size_t kMaxHeld = 1024;

void EncodeValues(FeedUpdate* update) {
  v1::SubscribeResponse response;
  for (const SeriesValues& values : update->values) {
    if (values.points.values_size() > 0) {
      *response.add_points() = values.points;
    } else {
      *response.add_raw_samples() = values.raw;
    }
  }
  update->encoded_values =
      std::make_shared<const std::string>(response.SerializeAsString());
}

}  // namespace

uint64_t CountValues(const ReceivedBatch& batch, const std::string& machine) {
  uint64_t values = 0;
  for (const Frame& frame : batch.decoded.frames) {
    if (frame.query->machine != machine) continue;
    for (const Frame::Run& run : frame.runs) {
      values += uint64_t{run.tick_count} * frame.columns.size();
    }
  }
  return values;
}

SharedFeed::SharedFeed(std::string machine, SelectedCounterset selected,
                       const FeedForm& form, HubContext* context)
    : machine_(std::move(machine)),
      selected_(std::move(selected)),
      form_(form),
      context_(*context),
      names_(std::make_shared<SeriesNames>(machine_, selected_.schema,
                                           &context->next_series_id)),
      feed_(selected_, form_, names_.get()) {}

bool SharedFeed::IsOf(const SelectedCounterset& selected,
                      const FeedForm& form) const {
  const auto is_same = [](const Selection& x, const Selection& y) {
    return x.instance == y.instance && x.instance_index == y.instance_index &&
           x.literal_instance == y.literal_instance &&
           x.counter_ids == y.counter_ids;
  };
  return form_ == form && selected_.schema == selected.schema &&
         std::equal(selected_.selections.begin(), selected_.selections.end(),
                    selected.selections.begin(), selected.selections.end(),
                    is_same);
}

std::shared_ptr<FeedListener> SharedFeed::Listen(
    const Subscription& subscription, bool reads_history) {
  auto listener =
      std::make_shared<FeedListener>(subscription.outbox(), reads_history);
  listeners_.push_back({&subscription, subscription.outbox(), listener});
  return listener;
}

void SharedFeed::JoinNew(const Subscription& subscription) {
  Listen(subscription, /*reads_history=*/false);
}

void SharedFeed::Join(Joining joining) {
  Beginning beginning = {
      .listener = Listen(*joining.subscription, joining.history != nullptr)};
  beginning.joining = std::move(joining);
  if (is_priming_) {
    beginning_.push_back(std::move(beginning));
  } else {
    Begin(std::move(beginning));
  }
}

void SharedFeed::Begin(Beginning beginning) {
  Joining& joining = beginning.joining;
  if (joining.history == nullptr) {
    return beginning.listener->Deliver(
        std::make_shared<const FeedUpdate>(feed_.Newest()));
  }
  HistoryReader::Part part = {.machine = machine_,
                              .selected = selected_,
                              .form = form_,
                              .names = names_,
                              .listener = std::move(beginning.listener),
                              .claim = std::move(joining.claim),
                              .joining = std::move(joining.joining)};
  if (joining.all_is_stored) return joining.history->Add(std::move(part));
  context_.after_commits([history = std::move(joining.history),
                          part = std::move(part)] { history->Add(part); });
}

void SharedFeed::Leave(const Subscription* subscription) {
  std::erase_if(listeners_, [&](const Listening& listening) {
    if (listening.subscription != subscription) return false;
    // While the feed is primed, the listener has no values.
    const bool has_values = !is_priming_ && !listening.outbox->has_end();
    listening.listener->Leave(has_values ? feed_.Ends() : FeedUpdate());
    return true;
  });
  std::erase_if(beginning_, [&](const Beginning& beginning) {
    return beginning.joining.subscription.get() == subscription;
  });
}

void SharedFeed::Add(std::shared_ptr<const ReceivedBatch> batch) {
  if (!is_priming_) return Evaluate(*batch);
  held_.push_back(std::move(batch));
  if (held_.size() <= kMaxHeld) return;
  lagged_ += CountValues(*held_.front(), machine_);
  held_.pop_front();
}

void SharedFeed::EndPriming() {
  is_priming_ = false;
  for (Beginning& beginning : std::exchange(beginning_, {})) {
    Begin(std::move(beginning));
  }
  if (lagged_ > 0) ReportLagged();
  for (const auto& batch : std::exchange(held_, {})) Evaluate(*batch);
}

void SharedFeed::ReportLagged() {
  const auto shared = std::make_shared<const FeedUpdate>(
      FeedUpdate{.lagged = std::exchange(lagged_, 0)});
  for (const Listening& listening : listeners_) listening.outbox->Add(shared);
}

void SharedFeed::Evaluate(const ReceivedBatch& batch) {
  const SamplePosition position = {batch.epoch->number(), batch.sequence};
  if (seen_.Has(position)) return;
  seen_.Add(position);
  for (const Frame& frame : batch.decoded.frames) {
    if (frame.query->machine == machine_) feed_.Add(frame);
  }
  FeedUpdate update = feed_.TakeUpdate();
  if (update.empty()) return;
  update.position = position;
  if (listeners_.size() > 1) EncodeValues(&update);
  const auto shared = std::make_shared<const FeedUpdate>(std::move(update));
  for (const Listening& listening : listeners_) {
    listening.listener->Deliver(shared);
  }
}

}  // namespace fleetperf::aggregator
