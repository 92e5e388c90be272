// Reads HTTP/1.1 requests, strictly: what two readers could understand in
// different ways is an error, so that no request hides in another one behind a
// reverse proxy.

#ifndef FLEETPERF_AGGREGATOR_WEB_HTTP_REQUEST_H_
#define FLEETPERF_AGGREGATOR_WEB_HTTP_REQUEST_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator::web {

// Limits of a request in bytes: everything before the body; the body.
inline constexpr size_t kMaxHeadBytes = 16 << 10;
inline constexpr size_t kMaxBodyBytes = 256 << 10;
inline constexpr size_t kMaxHeaders = 100;

struct HttpRequest {
  std::string method;
  std::string path;   // as sent: begins with "/"
  std::string query;  // as sent, without "?"
  // Names are in lower case.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  size_t content_length = 0;
  bool keeps_alive = true;        // whether the client may send another request
  bool expects_continue = false;  // whether the client waits to send the body

  // Returns the value of the first such header; "" if there is none.
  absl::string_view Header(absl::string_view name) const;
  bool HasHeader(absl::string_view name) const;
  // Returns the value of a parameter of the query, as sent; "" if there is
  // none.
  absl::string_view Parameter(absl::string_view name) const;
  // Returns the value of a cookie, as sent; "" if there is none.
  absl::string_view Cookie(absl::string_view name) const;
};

// Returns the parameters of a query, in order, with names and values decoded:
// "+" is a space, and %41 an A. Returns InvalidArgument if a percent sign
// begins no byte.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> DecodeQuery(
    absl::string_view query);

// Reads the requests of a connection. Thread-compatible.
class RequestReader {
 public:
  enum class State {
    kHead,    // needs more bytes
    kBody,    // the request has its head, and needs more bytes
    kDone,    // the request is complete
    kFailed,  // the bytes are not a request: see failure()
  };

  // Adds bytes and returns the new state. Keeps bytes after the request.
  State Add(absl::string_view bytes);
  State state() const { return state_; }

  // The request, as far as the state says.
  const HttpRequest& request() const { return request_; }
  // The HTTP status of the answer to bytes that are not a request.
  int failure() const { return failure_; }
  // Whether bytes of a request have arrived.
  bool has_begun() const { return state_ != State::kHead || !bytes_.empty(); }

  // Returns the complete request, and goes on with the bytes after it.
  HttpRequest Take();

 private:
  State Step();
  State Fail(int failure);
  // Returns 0, or the HTTP status of the failure.
  int ParseHead(absl::string_view head);
  int CheckFields();

  State state_ = State::kHead;
  int failure_ = 0;
  std::string bytes_;
  size_t searched_ = 0;  // bytes that do not end a head
  HttpRequest request_;
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_HTTP_REQUEST_H_
