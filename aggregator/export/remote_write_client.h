// Sends requests of remote write to an engine, over HTTP.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_REMOTE_WRITE_CLIENT_H_
#define FLEETPERF_AGGREGATOR_EXPORT_REMOTE_WRITE_CLIENT_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/engine/engine_target.h"
#include "aggregator/engine/http_client.h"

namespace fleetperf::aggregator {

// Keeps one connection open. Cancel may be called by any thread, everything
// else by one thread at a time.
class RemoteWriteClient {
 public:
  explicit RemoteWriteClient(EngineTarget target);

  // Sends a body of WriteRequestBuilder::Encode, and waits for the answer for
  // at most the target's timeout. Files of the target are read again, so that
  // replaced ones hold: secrets by each call, those of TLS by each connection.
  // Messages name the engine and the next step, and quote the engine.
  //
  // OK: the engine has the samples.
  // InvalidArgument: the engine refuses these samples, and would again.
  // Unauthenticated, PermissionDenied: it refuses the credentials. The samples
  //     can be sent again once the credentials are mended.
  // Internal: the engine fails (500), perhaps because of these samples. They
  //     can be sent again.
  // Unavailable: there is no connection or no answer, the engine is overloaded
  //     or out of order, or the URL is not that of an engine. The samples can
  //     be sent again; the engine may have them already.
  // Cancelled: after Cancel.
  // FailedPrecondition: a file of the target cannot be read. As
  //     Unauthenticated.
  absl::Status Send(absl::string_view body);

  // How long the engine, in its answer to the last request, asks to wait before
  // the next one, at most an hour; std::nullopt if it does not.
  std::optional<absl::Duration> retry_after() const { return retry_after_; }

  // Makes a Send in progress return soon, and all later ones at once.
  void Cancel() { client_.Cancel(); }

 private:
  HttpClient client_;
  std::optional<absl::Duration> retry_after_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_REMOTE_WRITE_CLIENT_H_
