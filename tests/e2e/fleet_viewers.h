// Viewers of live values of a fleet, each machine of which has one series.

#ifndef FLEETPERF_TESTS_E2E_FLEET_VIEWERS_H_
#define FLEETPERF_TESTS_E2E_FLEET_VIEWERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/credentials.h"
#include "tests/e2e/https_client.h"
#include "tests/e2e/subscriber.h"

namespace fleetperf::testing {

// Thread-compatible.
class FleetViewer {
 public:
  virtual ~FleetViewer() = default;

  // Waits for a part of the stream. Returns false if the stream has ended.
  virtual bool Read() = 0;

  // Reads until so many machines have got `last`. Checks that each has got all
  // values from `first` on, once and in order.
  void ExpectContinuous(size_t machines, int first, int last);
  // Reads until the viewer is told that these aggregators are unreachable.
  void AwaitUnreachable(const std::set<std::string>& addresses);

 protected:
  void AddSeries(uint32_t id, const std::string& machine) {
    machines_[id] = machine;
  }
  void AddValue(uint32_t id, double value) {
    values_[machines_[id]].push_back(value);
  }
  void SetUnreachable(std::set<std::string> addresses) {
    unreachable_ = std::move(addresses);
  }

 private:
  bool HaveAll(size_t machines, double last) const;

  std::map<uint32_t, std::string> machines_;           // by series
  std::map<std::string, std::vector<double>> values_;  // by machine, in order
  std::set<std::string> unreachable_;
};

// A client of the subscription service.
class GrpcViewer : public FleetViewer {
 public:
  GrpcViewer(const std::string& address, const TlsFiles& tls,
             const std::string& path);

  bool Read() override;

 private:
  Subscriber subscriber_;
};

// A tab of a browser with the page.
class PageViewer : public FleetViewer {
 public:
  PageViewer(int port, const TlsFiles& tls, const std::string& path);

  bool Read() override;

 private:
  HttpsClient page_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_FLEET_VIEWERS_H_
