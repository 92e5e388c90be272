// The outputs of `fleetperf watch`.

#ifndef FLEETPERF_CLI_VIEWERS_H_
#define FLEETPERF_CLI_VIEWERS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "cli/output.h"
#include "fleetperf/v1/subscription.pb.h"

namespace fleetperf::cli {

// Displays the responses of a subscription. Thread-compatible.
class Viewer {
 public:
  virtual ~Viewer() = default;
  virtual void Add(const v1::SubscribeResponse& response) = 0;
  // With a limit of samples: every series has one sample more.
  virtual void OnRound() {}
  // Whether the reader has closed the output.
  virtual bool IsClosed() = 0;
};

struct ViewerOptions {
  Format format = Format::kTable;
  bool pivot = false;
  uint32_t limit = 0;  // of samples of a series, or of rows; 0: none
  // Ends the subscription, because the user wants it or the output has failed.
  // Called on any thread.
  std::function<void()> quit;
};

// Returns the viewer for the responses to `request`.
std::unique_ptr<Viewer> MakeViewer(const v1::SubscribeRequest& request,
                                   ViewerOptions options);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_VIEWERS_H_
