// HTTP requests to a server on this machine.

#ifndef FLEETPERF_TESTS_BENCH_HTTP_CLIENT_H_
#define FLEETPERF_TESTS_BENCH_HTTP_CLIENT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf::bench {

// Keeps one connection open. Calls return the body of the response.
// Unavailable if there is no response, Internal if its status is not 2xx.
// Thread-compatible.
class HttpClient {
 public:
  using Parameters = std::vector<std::pair<std::string, std::string>>;

  explicit HttpClient(int port);
  ~HttpClient();

  absl::StatusOr<std::string> Get(const std::string& path,
                                  const Parameters& parameters = {});
  absl::StatusOr<std::string> Post(const std::string& path,
                                   const std::vector<std::string>& headers,
                                   absl::string_view body);

 private:
  class Connection;
  const std::unique_ptr<Connection> connection_;
};

// Returns a free TCP port.
int FreePort();

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_HTTP_CLIENT_H_
