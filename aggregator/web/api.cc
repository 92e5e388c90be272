#include "aggregator/web/api.h"

#include <google/protobuf/util/json_util.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "aggregator/web/http_response.h"
#include "aggregator/web/json.h"
#include "aggregator/web/message_json.h"
#include "aggregator/web/request_key.h"
#include "base/os/clock.h"
#include "base/status_macros.h"
#include "fleetperf/v1/administration.pb.h"

namespace fleetperf::aggregator::web {
namespace {

// Parts of an answer are sent together up to this size or time.
constexpr size_t kBytesAtOnce = 32 << 10;
constexpr absl::Duration kTimeAtOnce = absl::Milliseconds(100);

// A request on its way through a thread.
struct Call {
  HttpRequest request;
  Caller caller;
  std::string subject;  // of the caller's certificate
  std::shared_ptr<Reply> reply;
};

absl::Status ParseJson(const std::string& json,
                       google::protobuf::Message* message) {
  const auto status = google::protobuf::util::JsonStringToMessage(
      json.empty() ? "{}" : json, message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the request is not a ", message->GetDescriptor()->name(),
                   ": ", std::string(status.message())));
}

void Fail(const Call& call, const absl::Status& status) {
  call.reply->Fail(status, call.request.keeps_alive);
}

void SendJson(const Call& call, Reply::Bytes json) {
  const bool keeps_alive = call.request.keeps_alive;
  call.reply->Send(ResponseWithoutBody(
      {.content_type = kJson, .keeps_alive = keeps_alive}, json->size()));
  call.reply->SendShared(std::move(json), 0);
  call.reply->Finish(keeps_alive);
}

// Answers with one message.
template <typename Object, typename Request, typename Response>
void AnswerOnce(const Object& object,
                absl::Status (Object::*method)(const Request&, const Caller&,
                                               Response*) const,
                const Call& call) {
  Request request;
  Response response;
  absl::Status status = ParseJson(call.request.body, &request);
  if (status.ok()) status = (object.*method)(request, call.caller, &response);
  if (!status.ok()) return Fail(call, status);
  SendJson(call, std::make_shared<const std::string>(ToJson(response)));
}

// All users get the same list, and every page of the fleet asks for it again
// and again.
void AnswerMachines(const FleetLists& lists, SharedAnswers& shared,
                    const Call& call) {
  v1::ListMachinesRequest request;
  absl::Status status = ParseJson(call.request.body, &request);
  if (!status.ok()) return Fail(call, status);
  const std::string key = KeyOf(request);
  const absl::Duration begin = Clock::Real().Monotonic();
  Reply::Bytes known = shared.Find(key, begin);
  if (known != nullptr) return SendJson(call, std::move(known));
  v1::ListMachinesResponse response;
  status = lists.ListMachines(request, call.caller, &response);
  if (!status.ok()) return Fail(call, status);
  const auto bytes = std::make_shared<const std::string>(ToJson(response));
  const absl::Duration end = Clock::Real().Monotonic();
  shared.Add(key, bytes, end - begin, end);
  SendJson(call, bytes);
}

void AppendLine(const v1::QueryRangeResponse& part, std::string* lines) {
  switch (part.part_case()) {
    case v1::QueryRangeResponse::kPoints:
      lines->append("{\"points\":");
      AppendPoints(part.points(), lines);
      lines->append("}\n");
      break;
    default:
      // {"series":{...}}, {"missing":{...}}: the JSON of the part itself.
      AppendJson(part, lines);
      lines->push_back('\n');
  }
}

// The lines of an answer. The head is sent with the first of them.
class Lines {
 public:
  explicit Lines(const Call& call) : call_(call) {}

  absl::Status Add(const v1::QueryRangeResponse& part) {
    AppendLine(part, &lines_);
    // If no path has samples, the answer is an error.
    if (!has_begun_ && part.has_missing()) return absl::OkStatus();
    const absl::Duration now = Clock::Real().Monotonic();
    if (lines_.size() < kBytesAtOnce && now - sent_ < kTimeAtOnce) {
      return absl::OkStatus();
    }
    sent_ = now;
    return call_.reply->SendAndWait(TakeBytes());
  }

  void End(const absl::Status& status) {
    if (!has_begun_ && !status.ok()) return Fail(call_, status);
    absl::StrAppend(&lines_, status.ok() ? "{\"end\":true}" : ErrorJson(status),
                    "\n");
    call_.reply->Send(absl::StrCat(TakeBytes(), kLastChunk));
    call_.reply->Finish(call_.request.keeps_alive);
  }

 private:
  std::string TakeBytes() {
    const std::string chunk = Chunk(std::exchange(lines_, ""));
    if (std::exchange(has_begun_, true)) return chunk;
    return absl::StrCat(ChunkedHead({.content_type = kNdjson,
                                     .keeps_alive = call_.request.keeps_alive}),
                        chunk);
  }

  const Call& call_;
  std::string lines_;
  bool has_begun_ = false;
  absl::Duration sent_ = -absl::InfiniteDuration();  // Clock::Monotonic()
};

void AnswerQuery(const QueryAnswers& queries, const Call& call) {
  v1::QueryRangeRequest request;
  const absl::Status parsed = ParseJson(call.request.body, &request);
  if (!parsed.ok()) return Fail(call, parsed);
  Lines lines(call);
  lines.End(queries.Range(
      request, call.caller,
      [&](const v1::QueryRangeResponse& part) { return lines.Add(part); }));
}

struct Parts {
  const FleetLists& lists;
  const QueryAnswers& queries;
  LiveStreams& streams;
  Metrics& metrics;
  SharedAnswers& machines;
  const Reply::Bytes& others;
};

void Subscribe(LiveStreams& streams, const Call& call) {
  v1::SubscribeRequest request;
  const absl::Status parsed = ParseJson(call.request.body, &request);
  if (!parsed.ok()) return Fail(call, parsed);
  streams.Join(request, call.caller.key, call.request.keeps_alive, call.reply);
}

std::string OthersJson(const std::vector<OtherAggregator>& others) {
  v1::GetStatusResponse response;
  SetOthers(others, &response);
  return ToJson(response);
}

using Method = void (*)(const Parts& parts, const Call& call);

const absl::flat_hash_map<absl::string_view, Method>& Methods() {
  static const auto* const methods =
      new absl::flat_hash_map<absl::string_view, Method>{
          {"machines",
           [](const Parts& parts, const Call& call) {
             AnswerMachines(parts.lists, parts.machines, call);
           }},
          {"countersets",
           [](const Parts& parts, const Call& call) {
             AnswerOnce(parts.lists, &FleetLists::ListCountersets, call);
           }},
          {"counters",
           [](const Parts& parts, const Call& call) {
             AnswerOnce(parts.lists, &FleetLists::ListCounters, call);
           }},
          {"instances",
           [](const Parts& parts, const Call& call) {
             AnswerOnce(parts.lists, &FleetLists::ListInstances, call);
           }},
          {"find",
           [](const Parts& parts, const Call& call) {
             AnswerOnce(parts.lists, &FleetLists::Find, call);
           }},
          {"others", [](const Parts& parts,
                        const Call& call) { SendJson(call, parts.others); }},
          {"explain",
           [](const Parts& parts, const Call& call) {
             AnswerOnce(parts.queries, &QueryAnswers::Explain, call);
           }},
          {"subscribe",
           [](const Parts& parts, const Call& call) {
             Subscribe(parts.streams, call);
           }},
          {kScrapeMethod,
           [](const Parts& parts, const Call& call) {
             parts.metrics.Answer(call.request, call.caller, call.subject,
                                  call.reply.get());
           }},
          {"query", [](const Parts& parts, const Call& call) {
             AnswerQuery(parts.queries, call);
           }}};
  return *methods;
}

}  // namespace

Api::Api(const FleetLists& lists, const QueryAnswers& queries,
         Subscriptions* subscriptions, const MetricsParts& metrics,
         const std::vector<OtherAggregator>& others)
    : lists_(lists),
      queries_(queries),
      streams_(subscriptions),
      metrics_(metrics),
      others_(std::make_shared<const std::string>(OthersJson(others))) {}

bool Api::Has(absl::string_view method) const {
  return method != kScrapeMethod && Methods().contains(method);
}

void Api::Answer(HttpRequest request, absl::string_view method,
                 const Identity& identity, std::shared_ptr<Reply> reply) {
  const auto call = std::make_shared<Call>(
      Call{.request = std::move(request),
           .caller = {.key = identity.key,
                      .is_cancelled = [reply] { return reply->is_closed(); }},
           .subject = identity.subject,
           .reply = reply});
  const bool is_posted =
      work_.Post(identity.key, [this, call, method = Methods().at(method)] {
        if (call->reply->is_closed()) return;
        method({.lists = lists_,
                .queries = queries_,
                .streams = streams_,
                .metrics = metrics_,
                .machines = machines_,
                .others = others_},
               *call);
      });
  if (!is_posted) {
    Fail(*call, absl::ResourceExhaustedError(
                    "too many requests with this certificate wait; try again "
                    "later"));
  }
}

}  // namespace fleetperf::aggregator::web
