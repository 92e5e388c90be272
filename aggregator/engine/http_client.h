// Posts requests to an engine, over HTTP.

#ifndef FLEETPERF_AGGREGATOR_ENGINE_HTTP_CLIENT_H_
#define FLEETPERF_AGGREGATOR_ENGINE_HTTP_CLIENT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/engine/engine_target.h"

namespace fleetperf::aggregator {

struct HttpAnswer {
  long status = 0;
  std::string body;         // its first HttpClient::Options::max_body bytes
  bool is_cut_off = false;  // the engine's body is longer
  // How long the engine asks to wait before the next request, at most an hour.
  std::optional<absl::Duration> retry_after;

  bool is_success() const { return status / 100 == 2; }
};

// Keeps one connection open. Cancel may be called by any thread, everything
// else by one thread at a time.
class HttpClient {
 public:
  struct Options {
    std::string action;                // "cannot send samples to", for errors
    std::vector<std::string> headers;  // "Content-Type: text/plain"
    size_t max_body = size_t{64} << 10;
  };
  HttpClient(EngineTarget target, Options options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Posts a body and returns the answer, whatever its status. Waits for at most
  // the target's timeout; calls `on_wait`, if it is set, about ten times a
  // second, and returns the first error of it. Each call reads the target's
  // files again. If one of those of TLS has changed, the call opens a new
  // connection. Messages name the engine and the next step.
  //
  // Unavailable: there is no connection or no answer.
  // Cancelled: after Cancel.
  // FailedPrecondition: a file of the target cannot be read.
  absl::StatusOr<HttpAnswer> Post(
      absl::string_view body,
      const std::function<absl::Status()>& on_wait = nullptr);

  // Returns "URL answers with status 500: " and the start of the body.
  std::string Describe(const HttpAnswer& answer) const;

  // Makes a Post in progress return soon, and all later ones at once.
  void Cancel();

 private:
  class Connection;
  const std::unique_ptr<Connection> connection_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_ENGINE_HTTP_CLIENT_H_
