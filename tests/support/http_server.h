// An HTTP server that records requests and gives the answers that a test sets.

#ifndef FLEETPERF_TESTS_SUPPORT_HTTP_SERVER_H_
#define FLEETPERF_TESTS_SUPPORT_HTTP_SERVER_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

struct ssl_ctx_st;

namespace fleetperf::testing {

struct HttpRequest {
  std::string line;                            // "POST /write HTTP/1.1"
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  int connection = 0;  // the number of its connection, from 1
};

struct HttpAnswer {
  int status = 204;
  std::vector<std::string> headers = {};  // "Retry-After: 7"
  std::string body = {};
  enum Kind {
    kWhole,
    kNone,    // the connection stays open
    kPartial  // the connection closes before the last byte of the body
  } kind = kWhole;
};

// At a free port of 127.0.0.1. Answers further requests with 204. Thread-safe.
class HttpServer {
 public:
  HttpServer() : HttpServer("", "", "") {}
  // With TLS; PEM texts. Clients must have a certificate of the authority.
  HttpServer(const std::string& certificate, const std::string& key,
             const std::string& client_authority);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  // "http://127.0.0.1:PORT/write"
  std::string url() const;

  // Sets the answer to one of the next requests, in the order of the calls.
  void Answer(HttpAnswer answer);

  // Returns the requests so far.
  std::vector<HttpRequest> requests() const;
  // Blocks until there are `count` requests. Returns false after kPatience.
  bool AwaitRequests(size_t count) const;

 private:
  class Stream;

  void Accept();
  void Serve(int fd, int connection);
  // Returns false once the connection is to be closed.
  bool ServeOne(Stream* stream, int connection);
  HttpAnswer Take(HttpRequest request);

  ssl_ctx_st* tls_ = nullptr;
  int listener_ = -1;
  int port_ = 0;
  mutable absl::Mutex mutex_;
  std::deque<HttpAnswer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<HttpRequest> requests_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> connections_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread accept_thread_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_HTTP_SERVER_H_
