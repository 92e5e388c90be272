// Fuzzes the reader of HTTP requests, and what it reads out of their texts. The
// result does not depend on how the bytes are cut.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aggregator/web/http_request.h"
#include "aggregator/web/json.h"
#include "tests/fuzz/check.h"

namespace {

using fleetperf::aggregator::web::HttpRequest;
using fleetperf::aggregator::web::RequestReader;

// Takes what is complete, in a text that shows all of it.
void TakeComplete(RequestReader* reader, std::string* seen) {
  while (reader->state() == RequestReader::State::kDone) {
    const HttpRequest request = reader->Take();
    FUZZ_CHECK(request.body.size() == request.content_length);
    FUZZ_CHECK(request.path.front() == '/');
    *seen += request.method + " " + request.path + " " + request.query + "\n";
    for (const auto& [name, value] : request.headers) {
      FUZZ_CHECK(value.find_first_of("\r\n") == value.npos);
      *seen += name + ":" + value + "\n";
    }
    *seen += std::string(request.Cookie("fleetperf_session")) + "\n" +
             std::string(request.Parameter("token")) + "\n" + request.body;
    const auto parameters =
        fleetperf::aggregator::web::DecodeQuery(request.query);
    if (parameters.ok()) {
      for (const auto& [name, value] : *parameters) {
        FUZZ_CHECK(name.size() + value.size() <= request.query.size());
      }
    }
    fleetperf::aggregator::web::AppendJsonString(request.body, seen);
  }
  if (reader->state() == RequestReader::State::kFailed) {
    FUZZ_CHECK(reader->failure() >= 400);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  RequestReader at_once;
  std::string seen;
  at_once.Add(bytes);
  TakeComplete(&at_once, &seen);
  RequestReader by_byte;
  std::string seen_by_byte;
  for (const char byte : bytes) {
    if (by_byte.state() == RequestReader::State::kFailed) break;
    by_byte.Add(absl::string_view(&byte, 1));
    TakeComplete(&by_byte, &seen_by_byte);
  }
  FUZZ_CHECK(seen == seen_by_byte);
  FUZZ_CHECK((at_once.state() == RequestReader::State::kFailed) ==
             (by_byte.state() == RequestReader::State::kFailed));
  return 0;
}
