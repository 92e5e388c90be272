#include "aggregator/web/live_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/web/http_response.h"
#include "aggregator/web/json.h"
#include "aggregator/web/message_json.h"

namespace fleetperf::aggregator::web {
namespace {

// Writes the fields of a line.
class Line {
 public:
  Line() { text_.push_back('{'); }

  // Begins a field.
  std::string* Field(absl::string_view name) {
    absl::StrAppend(&text_, text_.size() > 1 ? ",\"" : "\"", name, "\":");
    return &text_;
  }
  // Writes a list of elements, unless there are none.
  template <typename Elements, typename Append>
  void List(absl::string_view name, const Elements& elements, Append append) {
    if (elements.empty()) return;
    Field(name)->push_back('[');
    bool is_first = true;
    for (const auto& element : elements) {
      if (!std::exchange(is_first, false)) text_.push_back(',');
      append(element, &text_);
    }
    text_.push_back(']');
  }
  std::string Take() {
    text_.push_back('}');
    return std::move(text_);
  }

 private:
  std::string text_;
};

// Copies the last point of `points`.
void KeepLast(const v1::Points& points, v1::Points* newest) {
  int64_t time = 0;
  for (const int64_t step : points.time_unix_nanos()) time += step;
  newest->Clear();
  newest->set_series(points.series());
  newest->add_time_unix_nanos(time);
  const int last = points.values_size() - 1;
  newest->add_values(points.values(last));
  if (!points.statuses().empty()) newest->add_statuses(points.statuses(last));
  if (!points.causes().empty()) newest->add_causes(points.causes(last));
  if (!points.breaks().empty()) newest->add_breaks(points.breaks(last));
  if (!points.coverage().empty()) newest->add_coverage(points.coverage(last));
  if (!points.presence().empty()) newest->add_presence(points.presence(last));
}

Reply::Bytes ChunkOf(absl::string_view line) {
  return std::make_shared<const std::string>(Chunk(absl::StrCat(line, "\n")));
}

}  // namespace

std::string LiveState::Add(const v1::SubscribeResponse& message) {
  Line line;
  line.List("series", message.series(),
            [this](const v1::Series& series, std::string* out) {
              Series& known = series_[series.id()];
              known.json = ToJson(series);
              known.newest.Clear();
              out->append(known.json);
            });
  line.List("points", message.points(),
            [this](const v1::Points& points, std::string* out) {
              AppendPoints(points, out);
              const auto known = series_.find(points.series());
              if (known == series_.end() || points.values().empty()) return;
              KeepLast(points, &known->second.newest);
            });
  line.List("ended", message.ended(), [this](uint32_t id, std::string* out) {
    absl::StrAppend(out, id);
    series_.erase(id);
  });
  if (message.lagged() > 0) {
    absl::StrAppend(line.Field("lagged"), message.lagged());
  }
  if (message.has_live_machines()) {
    machines_ = ToJson(message.live_machines());
    line.Field("machines")->append(machines_);
  }
  line.List("missing", message.missing(),
            [this](const v1::Missing& missing, std::string* out) {
              const std::string json = ToJson(missing);
              absl::StrAppend(&missing_, missing_.empty() ? "" : ",", json);
              out->append(json);
            });
  return line.Take();
}

std::string LiveState::Snapshot(uint64_t lagged) const {
  Line line;
  line.List("series", series_, [](const auto& series, std::string* out) {
    out->append(series.second.json);
  });
  std::vector<const v1::Points*> newest;
  for (const auto& [id, series] : series_) {
    if (!series.newest.values().empty()) newest.push_back(&series.newest);
  }
  line.List("points", newest, [](const v1::Points* points, std::string* out) {
    AppendPoints(*points, out);
  });
  if (lagged > 0) absl::StrAppend(line.Field("lagged"), lagged);
  if (!machines_.empty()) line.Field("machines")->append(machines_);
  if (!missing_.empty()) {
    absl::StrAppend(line.Field("missing"), "[", missing_, "]");
  }
  return line.Take();
}

void LiveViewers::Add(std::shared_ptr<Reply> reply, bool keeps_alive,
                      CallerQuota::Share share, CallerQuota::Share memory) {
  reply->NotifyClosed(wake_);
  viewers_.push_back({.reply = std::move(reply),
                      .keeps_alive = keeps_alive,
                      .share = std::move(share),
                      .memory = std::move(memory)});
}

void LiveViewers::SendHead(Viewer* viewer) {
  if (std::exchange(viewer->has_head, true)) return;
  viewer->reply->Send(ChunkedHead(
      {.content_type = kNdjson, .keeps_alive = viewer->keeps_alive}));
}

void LiveViewers::Begin() {
  for (Viewer& viewer : viewers_) {
    SendHead(&viewer);
    viewer.is_current = true;
  }
}

void LiveViewers::RemoveGone() {
  std::erase_if(viewers_,
                [](const Viewer& viewer) { return viewer.reply->is_closed(); });
}

bool LiveViewers::AllAreBusy() const {
  const auto is_busy = [](const Viewer& viewer) {
    return viewer.is_current && viewer.reply->waiting_bytes() > kBusyBytes;
  };
  if (!std::all_of(viewers_.begin(), viewers_.end(), is_busy)) return false;
  for (const Viewer& viewer : viewers_) {
    viewer.reply->NotifyBelow(kBusyBytes, wake_);
  }
  return true;
}

bool LiveViewers::HasRoom(size_t bytes, Viewer* viewer) {
  const size_t waiting = viewer->reply->waiting_bytes();
  const auto with_these = static_cast<int64_t>(waiting + bytes);
  if (waiting == 0) {  // it reads, and shares the bytes with others
    viewer->memory.Force(with_these);
    return true;
  }
  // Not the bytes that are being written, which may be a long snapshot.
  return viewer->reply->untaken_bytes() <= kMaxWaitingBytes &&
         viewer->memory.Resize(with_these);
}

uint64_t LiveViewers::Drop(Viewer* viewer) {
  viewer->is_current = false;
  const Reply::Dropped dropped = viewer->reply->Drop();
  viewer->memory.Force(static_cast<int64_t>(viewer->reply->waiting_bytes()));
  viewer->lagged += dropped.values + dropped.lagged;
  viewer->reply->NotifyBelow(0, wake_);
  return dropped.values;
}

uint64_t LiveViewers::Send(const std::string& line, uint64_t values,
                           absl::Duration now) {
  const Reply::Bytes chunk = ChunkOf(line);
  uint64_t lost = 0;
  for (Viewer& viewer : viewers_) {
    if (viewer.is_current && !HasRoom(chunk->size(), &viewer)) {
      lost += Drop(&viewer);
    }
    if (viewer.is_current) {
      viewer.reply->SendShared(chunk, values);
      viewer.sent = now;
    } else if (viewer.has_head) {
      viewer.lagged += values;
      lost += values;
    }
  }
  return lost;
}

void LiveViewers::Update(
    absl::FunctionRef<std::string(uint64_t lagged)> snapshot,
    absl::Duration now) {
  Reply::Bytes shared;  // without lost values
  Reply::Bytes heartbeat;
  for (Viewer& viewer : viewers_) {
    if (viewer.reply->waiting_bytes() == 0) viewer.memory.Force(0);
    if (!viewer.is_current && viewer.reply->waiting_bytes() == 0 &&
        viewer.memory.others() < viewer.memory.limit()) {
      SendHead(&viewer);
      const uint64_t lagged = std::exchange(viewer.lagged, 0);
      if (lagged > 0) {
        viewer.reply->SendShared(ChunkOf(snapshot(lagged)), 0, lagged);
      } else {
        if (shared == nullptr) shared = ChunkOf(snapshot(0));
        viewer.reply->SendShared(shared, 0);
      }
      viewer.memory.Force(static_cast<int64_t>(viewer.reply->waiting_bytes()));
      viewer.is_current = true;
      viewer.sent = now;
    } else if (now - viewer.sent >= kHeartbeat &&
               (viewer.is_current ||
                (viewer.has_head && viewer.reply->waiting_bytes() == 0))) {
      if (heartbeat == nullptr) heartbeat = ChunkOf("{}");
      viewer.reply->SendShared(heartbeat, 0);
      viewer.sent = now;
    }
  }
}

void LiveViewers::End(const absl::Status& error) {
  const Reply::Bytes last = std::make_shared<const std::string>(
      absl::StrCat(*ChunkOf(ErrorJson(error)), kLastChunk));
  for (Viewer& viewer : viewers_) {
    if (!viewer.has_head) {
      viewer.reply->Fail(error, viewer.keeps_alive);
      continue;
    }
    viewer.reply->SendShared(last, 0);
    viewer.reply->Finish(viewer.keeps_alive);
  }
  viewers_.clear();
}

}  // namespace fleetperf::aggregator::web
