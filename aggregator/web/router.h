// Decides what a request gets.

#ifndef FLEETPERF_AGGREGATOR_WEB_ROUTER_H_
#define FLEETPERF_AGGREGATOR_WEB_ROUTER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "aggregator/web/assets.h"
#include "aggregator/web/http_request.h"
#include "aggregator/web/logins.h"
#include "aggregator/web/reply.h"

namespace fleetperf::aggregator::web {

// The method of GET /metrics, which ApiHandler::Has does not know.
inline constexpr absl::string_view kScrapeMethod = "metrics";

// Answers the requests of the interface for programs. Thread-safe.
class ApiHandler {
 public:
  virtual ~ApiHandler() = default;
  // Whether there is such a method: "query".
  virtual bool Has(absl::string_view method) const = 0;
  // Answers a request, whose body is JSON except of kScrapeMethod, on any
  // thread. Does not wait.
  virtual void Answer(HttpRequest request, absl::string_view method,
                      const Identity& identity,
                      std::shared_ptr<Reply> reply) = 0;
};

// Paths:
//   GET /healthz          200, for anyone
//   GET /login?token=T    begins a session, and opens the page
//   GET /, /assets/...    the page, for readers and operators
//   POST /api/v1/METHOD   for readers and operators
//   GET /metrics          the newest values for scrapers, for the same
// Thread-compatible; `requests` and `denied` are thread-safe.
class Router {
 public:
  // The arguments must outlive the object.
  Router(const Assets* assets, Logins* logins, ApiHandler* api)
      : assets_(*assets), logins_(*logins), api_(*api) {}

  // Ends the answer to bytes that are not a request.
  void Refuse(int http_status, Reply* reply) const;

  // Ends the answer to a request of a caller that has too many.
  void RefuseForQuota(const absl::Status& error, Reply* reply) const;

  // Whether the answer goes on for ever.
  static bool IsStream(const HttpRequest& request);

  // Checks a request whose body may be missing. `certificate` is the identity
  // that the connection has shown. Returns the identity that the request has;
  // nullopt if it has none and needs none. Answers a request that is refused.
  std::optional<Identity> Admit(const HttpRequest& request,
                                const std::optional<Identity>& certificate,
                                Reply* reply) const;

  // Answers a request that Admit has admitted with this identity. Without one,
  // the connection ends.
  void Answer(HttpRequest request, const std::optional<Identity>& identity,
              const std::shared_ptr<Reply>& reply) const;

  // The requests so far, and those of them that were refused because of their
  // identity, their link, or the site that they come from.
  uint64_t requests() const { return requests_; }
  uint64_t denied() const { return denied_; }

 private:
  // Ends the answer to a request of the interface that is denied.
  void Deny(int http_status, const absl::Status& error, Reply* reply) const;
  void Login(const HttpRequest& request, Reply* reply) const;
  void SendAsset(const HttpRequest& request, Reply* reply) const;

  const Assets& assets_;
  Logins& logins_;
  ApiHandler& api_;
  mutable std::atomic<uint64_t> requests_ = 0;
  mutable std::atomic<uint64_t> denied_ = 0;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_ROUTER_H_
