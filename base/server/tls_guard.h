// Looks into the TLS connections of the process's servers, which gRPC does not
// offer.
//
// - It ends connections that flood the process with HTTP/2 frames, and for ten
//   seconds also those with the same certificate that begin. Clients without a
//   certificate count by their address (NetworkOf).
// - It restricts the key exchange to kTlsGroups.
// - It refuses revoked certificates (client_certificates.h).
// - It reports handshakes that fail.
//
// gRPC calls OpenSSL's SSL_set_accept_state for a new connection, and SSL_read
// to decrypt. A program that links this file has functions of its own of these
// names in front of OpenSSL's. The first attaches the state of this file to the
// connection. The second passes the decrypted bytes to Http2Frames; to end the
// connection, it returns an error, and gRPC closes the connection.
// docs/design/decisions.md has the reasons.

#ifndef FLEETPERF_BASE_SERVER_TLS_GUARD_H_
#define FLEETPERF_BASE_SERVER_TLS_GUARD_H_

#include <cstdint>
#include <memory>

#include "base/server/client_certificates.h"
#include "base/server/peer.h"

namespace fleetperf {

// The groups of the key exchange at all ports. A server's part of a handshake
// takes below a millisecond with them. OpenSSL's defaults have finite fields of
// up to 8,192 bits, which take 200 ms.
inline constexpr char kTlsGroups[] = "X25519:P-256";

// While it exists, connections that gRPC takes over on this thread are those of
// `peer`, and subject to `clients`. At most one exists on a thread.
class AcceptScope {
 public:
  AcceptScope(std::shared_ptr<ClientCertificates> clients, const Peer& peer);
  ~AcceptScope();
  AcceptScope(const AcceptScope&) = delete;
  AcceptScope& operator=(const AcceptScope&) = delete;
};

// Returns the number of connections that were ended for their frames.
// Thread-safe.
uint64_t CountFloods();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_TLS_GUARD_H_
