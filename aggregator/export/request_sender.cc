#include "aggregator/export/request_sender.h"

#include <algorithm>
#include <cstddef>

#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Enough to find some series among thousands, and few if all are refused.
constexpr int kMaxDivisionsOfMachine = 60;

class Sending {
 public:
  Sending(const WriteRequestBuilder& request, RemoteWriteClient* client,
          SentRequest* sent)
      : request_(request), client_(*client), sent_(*sent) {}

  // The parts are sent in their order: the samples of a series may be in
  // several of them.
  absl::Status Send(size_t begin, size_t end) {
    const absl::Status status = client_.Send(request_.Encode(begin, end));
    if (status.ok()) {
      sent_.samples += request_.SamplesIn(begin, end);
      ++sent_.requests;
      return status;
    }
    if (!absl::IsInvalidArgument(status)) return status;
    sent_.refusal = status;
    if (!request_.IsSameMachine(begin, end - 1)) {
      return SendParts(begin, BetweenMachines(begin, end), end);
    }
    if (!request_.IsSameMachine(begin, of_divided_)) divisions_ = 0;
    of_divided_ = begin;
    if (end - begin > 1 && divisions_ < kMaxDivisionsOfMachine) {
      ++divisions_;
      return SendParts(begin, begin + (end - begin) / 2, end);
    }
    sent_.refused += request_.SamplesIn(begin, end);
    return absl::OkStatus();
  }

 private:
  absl::Status SendParts(size_t begin, size_t middle, size_t end) {
    RETURN_IF_ERROR(Send(begin, middle));
    return Send(middle, end);
  }

  // Returns the first series of a machine, near the middle.
  size_t BetweenMachines(size_t begin, size_t end) const {
    const size_t middle = begin + (end - begin) / 2;
    size_t after = middle;
    while (after < end && request_.IsSameMachine(after - 1, after)) ++after;
    if (after < end) return after;
    size_t before = middle;
    while (request_.IsSameMachine(before - 1, before)) --before;
    return before;
  }

  const WriteRequestBuilder& request_;
  RemoteWriteClient& client_;
  SentRequest& sent_;
  size_t of_divided_ = 0;  // a series of the machine that was divided last
  int divisions_ = 0;      // of this machine
};

}  // namespace

absl::Status SendRequest(const WriteRequestBuilder& request,
                         RemoteWriteClient* client, SentRequest* sent) {
  if (request.series() == 0) return absl::OkStatus();
  return Sending(request, client, sent).Send(0, request.series());
}

}  // namespace fleetperf::aggregator
