// Makes HTTP/1.1 answers. All of them have the headers that keep browsers from
// doing more than the page needs.

#ifndef FLEETPERF_AGGREGATOR_WEB_HTTP_RESPONSE_H_
#define FLEETPERF_AGGREGATOR_WEB_HTTP_RESPONSE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator::web {

inline constexpr absl::string_view kJson = "application/json";
inline constexpr absl::string_view kNdjson = "application/x-ndjson";
inline constexpr absl::string_view kPlainText = "text/plain; charset=utf-8";

struct ResponseHead {
  int status = 200;
  absl::string_view content_type = kPlainText;
  bool keeps_alive = true;
  absl::string_view cache_control = "no-store";
  // Further headers, each "Name: value\r\n".
  std::string more;
};

// Returns an answer with a body.
std::string FullResponse(const ResponseHead& head, absl::string_view body);
// The same without the body, to a HEAD request.
std::string ResponseWithoutBody(const ResponseHead& head, size_t body_size);

// The same to a client that has the body: 304 Not Modified.
std::string ResponseWithoutLength(const ResponseHead& head);

// Returns the start of an answer that consists of chunks.
std::string ChunkedHead(const ResponseHead& head);
// Frames a chunk, which must not be empty: an empty one ends the answer.
std::string Chunk(absl::string_view bytes);
inline constexpr absl::string_view kLastChunk = "0\r\n\r\n";

inline constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// Returns the HTTP status for an error.
int HttpStatusOf(const absl::Status& status);
// Returns an answer with the error in JSON.
std::string ErrorResponse(int http_status, const absl::Status& error,
                          bool keeps_alive);

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_HTTP_RESPONSE_H_
