// A gRPC service with streaming calls.

#ifndef FLEETPERF_BASE_SERVER_STREAM_SERVICE_H_
#define FLEETPERF_BASE_SERVER_STREAM_SERVICE_H_

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf {

class EventLoop;

// The server calls service() and AcceptOn on one thread, while it starts. The
// calls themselves run on the threads of their loops, concurrently with each
// other, so implementations must synchronize state that their calls share.
// Thread-compatible.
class StreamService {
 public:
  virtual ~StreamService() = default;

  // Returns the service to register with the server.
  virtual grpc::Service& service() = 0;
  // Accepts calls on `loop` until the server is shut down. Called once for each
  // of the server's loops, after the server has started. The service and the
  // loop must outlive the server's shutdown.
  virtual void AcceptOn(EventLoop* loop) = 0;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_STREAM_SERVICE_H_
