#include "aggregator/web/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "aggregator/web/http_response.h"
#include "base/server/connection_table.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator::web {
namespace {

// The reads or writes, each of up to 16 KiB, before other connections get their
// turn.
constexpr int kMaxStepsAtOnce = 32;
constexpr absl::Duration kLeaveTime = absl::Seconds(2);

}  // namespace

Connection::Connection(OwnedFd fd, const Peer& peer, SSL* ssl, Router* router,
                       ClientCertificates* clients, CallerQuota* quota,
                       std::function<void()> wake, absl::Duration now)
    : fd_(std::move(fd)),
      peer_(peer),
      router_(*router),
      clients_(*clients),
      quota_(*quota),
      wake_(std::move(wake)),
      end_of_strangers_(now + kHandshakeTime),
      tls_(ssl),
      deadline_(end_of_strangers_) {}

Connection::~Connection() {
  if (current_.reply != nullptr) current_.reply->Close();
  if (number_.has_value()) clients_.Remove(*number_);
  if (has_handshake_ && !is_leaving_) tls_.Shutdown();
}

// ConnectionTable takes connections that are older than kHandshakeTime for
// those of clients that have shown who they are.
void Connection::SetDeadline(absl::Duration deadline) {
  deadline_ = is_identified_ ? deadline : std::min(deadline, end_of_strangers_);
}

Connection::Step Connection::Handle(TlsConnection::Result result) {
  switch (result) {
    case TlsConnection::Result::kOk:
      return Step::kGoOn;
    case TlsConnection::Result::kWantsRead:
      interest_.read = true;
      return Step::kWait;
    case TlsConnection::Result::kWantsWrite:
      interest_.write = true;
      return Step::kWait;
    case TlsConnection::Result::kEnded:
      return Step::kEnd;
  }
  return Step::kEnd;
}

bool Connection::Advance(absl::Duration now) {
  interest_ = {};
  Step step = Step::kGoOn;
  for (int i = 0; step == Step::kGoOn; ++i) {
    if (i == kMaxStepsAtOnce) {
      wake_();
      break;
    }
    if (is_leaving_) {
      step = Leave();
    } else if (!has_handshake_) {
      step = Handshake();
      if (has_handshake_) SetDeadline(now + kRequestTime);
    } else if (current_.reply == nullptr) {
      step = Read(now);
    } else {
      step = Write(now);
    }
  }
  return step != Step::kEnd;
}

bool Connection::OnHangUp(absl::Duration now) {
  // The client does not read the rest of an answer.
  if (current_.reply != nullptr || is_leaving_) return false;
  return Advance(now);
}

bool Connection::MayGoOn(absl::Duration now) const {
  const auto is_refused = [this](const std::optional<Identity>& identity) {
    return identity.has_value() &&
           clients_.Refuses(identity->fingerprint, identity->not_after);
  };
  return now < deadline_ && !is_refused(certificate_) &&
         !is_refused(current_.holder);
}

Connection::Step Connection::Handshake() {
  const Step step = Handle(tls_.Handshake());
  if (step == Step::kEnd) {
    clients_.ReportFailedHandshake(peer_, "", tls_.reason());
  }
  if (step != Step::kGoOn) return step;
  has_handshake_ = true;
  const auto certificate = tls_.ClientCertificate();
  if (!certificate.has_value()) return step;
  number_ = clients_.Add(peer_, *certificate, ClientCertificates::Port::kPage);
  if (!number_.has_value()) return Step::kEnd;
  is_identified_ = true;
  certificate_ = IdentityOf(*certificate);
  return step;
}

Connection::Step Connection::Read(absl::Duration now) {
  if (reader_.state() == RequestReader::State::kHead ||
      reader_.state() == RequestReader::State::kBody) {
    const bool had_begun = reader_.has_begun();
    std::string bytes;
    const Step step = Handle(tls_.Read(&bytes));
    if (step != Step::kGoOn) return step;
    reader_.Add(bytes);
    if (!had_begun) request_end_ = now + kRequestTime;
    SetDeadline(request_end_);
  }
  if (reader_.state() == RequestReader::State::kHead) return Step::kGoOn;
  auto reply = std::make_shared<Reply>(wake_);
  if (Begin(reply)) {
    current_.reply = std::move(reply);
    // Nothing waits for the client until Write finds bytes.
    SetDeadline(absl::InfiniteDuration());
    return Step::kGoOn;
  }
  SetDeadline(request_end_);  // of a client that has shown who it is
  return Continue();
}

bool Connection::Begin(const std::shared_ptr<Reply>& reply) {
  if (reader_.state() == RequestReader::State::kFailed) {
    router_.Refuse(reader_.failure(), reply.get());
    return true;
  }
  const bool is_complete = reader_.state() == RequestReader::State::kDone;
  // The body of a request that is refused is not read.
  if (!std::exchange(current_.is_admitted, true) && !Admit(reply.get())) {
    if (is_complete) reader_.Take();
    return true;
  }
  if (!is_complete) return false;
  router_.Answer(reader_.Take(), current_.holder, reply);
  return true;
}

bool Connection::Admit(Reply* reply) {
  current_.holder = router_.Admit(reader_.request(), certificate_, reply);
  if (reply->waiting_bytes() > 0) return false;
  if (!current_.holder.has_value()) return true;
  is_identified_ = true;
  current_.is_stream = Router::IsStream(reader_.request());
  const absl::Status taken = TakeShares();
  if (!taken.ok()) router_.RefuseForQuota(taken, reply);
  return taken.ok();
}

absl::Status Connection::TakeShares() {
  const std::string& key = current_.holder->key;
  if (!certificate_.has_value() && !share_) {
    ASSIGN_OR_RETURN(share_, quota_.TryTake(Pool::kPageConnections, key));
  }
  const Pool pool =
      current_.is_stream ? Pool::kPageViewers : Pool::kPageRequests;
  ASSIGN_OR_RETURN(current_.share, quota_.TryTake(pool, key));
  return absl::OkStatus();
}

Connection::Step Connection::Continue() {
  if (!reader_.request().expects_continue || current_.has_continued) {
    return Step::kGoOn;
  }
  current_.has_continued = true;
  absl::string_view text = kContinue;
  const Step step = Handle(tls_.Write(&text));
  // A connection without room for these few bytes is no loss.
  return step == Step::kGoOn && text.empty() ? step : Step::kEnd;
}

Connection::Step Connection::Write(absl::Duration now) {
  while (rest_.empty()) {
    bytes_ = current_.reply->Take();
    if (bytes_ == nullptr) break;
    rest_ = *bytes_;
    SetDeadline(now + kStallTime);
  }
  if (!rest_.empty()) return WriteRest(now);
  SetDeadline(absl::InfiniteDuration());
  const std::optional<bool> goes_on = current_.reply->finished();
  if (!goes_on.has_value()) return Step::kWait;
  current_ = {};
  if (!*goes_on) {
    tls_.Shutdown();
    shutdown(fd_.get(), SHUT_WR);
    is_leaving_ = true;
    SetDeadline(now + kLeaveTime);
    return Step::kGoOn;
  }
  request_end_ = now + kRequestTime;
  SetDeadline(reader_.has_begun() ? request_end_ : now + kIdleTime);
  return Step::kGoOn;
}

Connection::Step Connection::WriteRest(absl::Duration now) {
  std::optional<absl::Duration>& since = current_.waits_since;
  if (since.has_value()) current_.waited += now - *since;
  since.reset();
  const Step step = Handle(tls_.Write(&rest_));
  if (step == Step::kGoOn) SetDeadline(now + kStallTime);
  if (step == Step::kWait) {
    since = now;
    if (!current_.is_stream) {
      const absl::Duration left = Reply::kMaxWaits - current_.waited;
      SetDeadline(std::min(deadline_, now + left));
    }
  }
  return step;
}

// Reads what the client has sent of a request whose answer it already has: the
// system would reset the connection otherwise, and the client could lose the
// answer.
Connection::Step Connection::Leave() {
  char ignored[16 << 10];
  for (int i = 0; i < kMaxStepsAtOnce; ++i) {
    const ssize_t size = recv(fd_.get(), ignored, sizeof ignored, 0);
    if (size == 0 || (size < 0 && errno != EAGAIN)) return Step::kEnd;
    if (size < 0) break;
  }
  interest_.read = true;
  return Step::kWait;
}

}  // namespace fleetperf::aggregator::web
