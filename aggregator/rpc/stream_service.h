// A gRPC service whose calls stream.

#ifndef FLEETPERF_AGGREGATOR_RPC_STREAM_SERVICE_H_
#define FLEETPERF_AGGREGATOR_RPC_STREAM_SERVICE_H_

namespace grpc {
class Service;
}  // namespace grpc

namespace fleetperf::aggregator {

class EventLoop;

class StreamService {
 public:
  virtual ~StreamService() = default;

  // What the server registers.
  virtual grpc::Service& service() = 0;
  // Begins to take calls on `loop`, which its server has. It goes on until the
  // server is shut down; both outlive that.
  virtual void AcceptOn(EventLoop* loop) = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_RPC_STREAM_SERVICE_H_
