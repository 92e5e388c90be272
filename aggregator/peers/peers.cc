#include "aggregator/peers/peers.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <cstdint>

#include "base/channel.h"

namespace fleetperf::aggregator {
namespace {

// The limit of calls without end on a connection, below that of the server
// (rpc_server.cc).
constexpr int64_t kMaxStreams = 100;

}  // namespace

bool PeerChannel::IsUsable(const Connection& connection) const {
  if (connection.channel == nullptr ||
      connection.version != identity_->version()) {
    return false;
  }
  // A channel that failed would wait before it connects again.
  const grpc_connectivity_state state = connection.channel->GetState(false);
  return state != GRPC_CHANNEL_TRANSIENT_FAILURE &&
         state != GRPC_CHANNEL_SHUTDOWN;
}

PeerChannel::Connection PeerChannel::Connect() const {
  // A certificate that is renewed meanwhile makes the next call connect again.
  const uint64_t version = identity_->version();
  return {.channel = MakeChannel(address_, identity_->ForClient()),
          .version = version};
}

std::shared_ptr<grpc::Channel> PeerChannel::Get() {
  absl::MutexLock lock(&mutex_);
  if (!IsUsable(connection_)) connection_ = Connect();
  return connection_.channel;
}

std::shared_ptr<const PeerChannel::Connection> PeerChannel::ForStream() {
  absl::MutexLock lock(&mutex_);
  std::erase_if(of_streams_,
                [](const auto& connection) { return connection.expired(); });
  for (const auto& shared : of_streams_) {
    if (shared.use_count() >= kMaxStreams) continue;
    auto connection = shared.lock();
    if (connection != nullptr && IsUsable(*connection)) return connection;
  }
  auto connection = std::make_shared<const Connection>(Connect());
  of_streams_.push_back(connection);
  return connection;
}

void PeerChannel::CancelAtStop(
    const std::shared_ptr<grpc::ClientContext>& call) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(calls_, [](const auto& other) { return other.expired(); });
  calls_.push_back(call);
  if (is_stopped_) call->TryCancel();
}

void PeerChannel::Stop() {
  absl::MutexLock lock(&mutex_);
  is_stopped_ = true;
  for (const auto& weak : calls_) {
    if (const auto call = weak.lock()) call->TryCancel();
  }
}

Peers::Peers(const std::vector<std::string>& addresses,
             std::shared_ptr<const TlsIdentity> identity)
    : identity_(std::move(identity)) {
  Set(addresses);
}

void Peers::Set(const std::vector<std::string>& addresses) {
  absl::MutexLock lock(&mutex_);
  List list;
  for (const std::string& address : addresses) {
    const auto has_address = [&](const auto& peer) {
      return peer->address() == address;
    };
    if (std::any_of(list.begin(), list.end(), has_address)) continue;
    const auto known = std::find_if(list_.begin(), list_.end(), has_address);
    list.push_back(known != list_.end()
                       ? *known
                       : std::make_shared<PeerChannel>(address, identity_));
  }
  list_ = std::move(list);
}

void Peers::Stop() {
  for (const auto& peer : list()) peer->Stop();
}

absl::Status Peers::CheckAny() const {
  if (!list().empty()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "this aggregator has no peers; set them in its aggregator.yaml");
}

Peers::List Peers::list() const {
  absl::MutexLock lock(&mutex_);
  return list_;
}

}  // namespace fleetperf::aggregator
