#include "base/server/call_observer.h"

#include <grpc/grpc.h>
#include <grpcpp/server.h>
#include <grpcpp/server_context.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/server/access.h"
#include "base/server/call_table.h"
#include "base/server/peer.h"

namespace fleetperf {
namespace {

constexpr absl::Duration kStallCheckInterval = absl::Seconds(1);

// ServerContext::TryCancel would end the call with CANCELLED and no reason. The
// client gets this status even if the handler returns another one later.
void Cancel(grpc::ServerContext* context, const std::string& message) {
  grpc_call_cancel_with_status(context->c_call(),
                               GRPC_STATUS_RESOURCE_EXHAUSTED, message.c_str(),
                               /*reserved=*/nullptr);
}

// Lowers the priority of a thread that works for calls, once, so that a burst
// of calls does not delay the threads that receive batches.
void LowerPriority() {
  constexpr int kNice = 5;
  thread_local const bool is_lower =
      setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice) == 0;
  static_cast<void>(is_lower);
}

// gRPC has one such object per process, for all servers. Thread-safe.
class ProcessCalls : public grpc::Server::GlobalCallbacks {
 public:
  static ProcessCalls& Get() {
    static ProcessCalls* const calls = [] {
      auto* const created = new ProcessCalls;
      grpc::Server::SetGlobalCallbacks(created);
      return created;
    }();
    return *calls;
  }

  void Add(ConnectionTable* table) {
    absl::MutexLock lock(&mutex_);
    tables_.push_back(table);
  }
  void Remove(ConnectionTable* table) {
    absl::MutexLock lock(&mutex_);
    tables_.erase(std::remove(tables_.begin(), tables_.end(), table),
                  tables_.end());
  }

  void PreSynchronousRequest(grpc::ServerContext* context) override {
    LowerPriority();
    CallTable::OfProcess().Begin(
        context, CallerOf(*context),
        [context](const std::string& message) { Cancel(context, message); });
    const auto peer = ParsePeer(context->peer());
    if (!peer.has_value()) return;
    absl::MutexLock lock(&mutex_);
    for (ConnectionTable* const table : tables_) {
      table->MarkAuthenticated(*peer);
    }
  }
  void PostSynchronousRequest(grpc::ServerContext* context) override {
    CallTable::OfProcess().End(context);
  }

 private:
  absl::Mutex mutex_;
  std::vector<ConnectionTable*> tables_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

CallObserver::CallObserver(ConnectionTable* table)
    : table_(table), watcher_([this] { Watch(); }) {
  ProcessCalls::Get().Add(table_);
}

CallObserver::~CallObserver() {
  ProcessCalls::Get().Remove(table_);
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    stopping_.Notify();
  }
  watcher_.join();
}

void CallObserver::Watch() {
  absl::MutexLock lock(&mutex_);
  const auto is_stopping = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_stopping_;
  };
  while (!stopping_.Await(&mutex_, kStallCheckInterval, is_stopping)) {
    CallTable::OfProcess().CancelStalled();
  }
}

}  // namespace fleetperf
