// Ends connections that flood the aggregator with HTTP/2 frames.
//
// gRPC decrypts with OpenSSL's SSL_read. A program that links this file has a
// function SSL_read of its own in front of OpenSSL's: it passes the decrypted
// bytes of servers' connections to Http2Frames. At a broken limit it returns an
// error, and gRPC closes the connection. For ten seconds, it also ends all
// connections with the same certificate that begin. docs/design/decisions.md
// has the reasons.

#ifndef FLEETPERF_AGGREGATOR_RPC_HTTP2_GUARD_H_
#define FLEETPERF_AGGREGATOR_RPC_HTTP2_GUARD_H_

#include <cstdint>

namespace fleetperf::aggregator {

// Returns the number of connections that were ended. Thread-safe.
uint64_t CountFloods();

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_HTTP2_GUARD_H_
