// Browsers that show the fleet: they send the requests of web/src/fleet_page.ts
// over TLS, and check what they get.

#ifndef FLEETPERF_TESTS_BENCH_WEB_VIEWERS_H_
#define FLEETPERF_TESTS_BENCH_WEB_VIEWERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/tls/credentials.h"
#include "tests/bench/web_fleet.h"
#include "tests/e2e/https_client.h"

namespace fleetperf::bench {

// The page of an aggregator, and the certificate of its readers.
struct PageOfFleet {
  int port = 0;
  TlsFiles tls;  // a reader's
  size_t machines = 0;
  const WebFleet* fleet = nullptr;
};

// Returns the body of an answer with status 200.
absl::StatusOr<std::string> PostToPage(testing::HttpsClient* browser,
                                       const std::string& method,
                                       const std::string& json);

// Read the page's files, and the list of all machines in parts of a thousand,
// one after the other. Return the bytes of the answers. DataLoss if machines
// are missing.
absl::StatusOr<uint64_t> ReadFiles(testing::HttpsClient* browser);
absl::StatusOr<uint64_t> ReadMachines(const PageOfFleet& page,
                                      testing::HttpsClient* browser);

// A viewer of the live values of all machines, on a thread of its own.
class LiveViewer {
 public:
  // A viewer that checks values takes more time. `page` must outlive it.
  LiveViewer(const PageOfFleet& page, bool checks);
  // Waits for a last line.
  ~LiveViewer();

  // Waits until there are values of all machines, or, of a viewer that does not
  // check, until it has the first line. Returns the first error so far.
  absl::Status AwaitValues();

  // The bytes, and the lines with values, so far.
  uint64_t bytes() const { return bytes_; }
  uint64_t lines() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes the thread end after the next line.
  void StopSoon() { is_stopping_ = true; }
  // Ends the stream. Returns the first error.
  absl::Status Stop();
  // Waits until this viewer has the lines of `other`, which has been stopped
  // and had begun after this one, byte by byte. Returns DataLoss after a
  // minute.
  absl::Status AwaitLinesOf(const LiveViewer& other) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // After Stop, which waits a minute for machines that are behind. Returns
  // DataLoss unless there are current values of all machines.
  absl::Status CheckWhole() const;

 private:
  struct Machine {
    size_t number = 0;
    int64_t last_millis = 0;  // the time of its newest value; 0: none
  };

  void Run();
  // Returns whether the thread has more to read.
  bool GoesOn();
  // The machines without a current value.
  size_t CountLate() const;
  void Use(const std::string& line);
  absl::Status Check(const std::string& line);
  absl::Status CheckValue(Machine* machine, double millis, double value);
  void Fail(absl::Status status);

  const PageOfFleet& page_;
  const bool checks_;
  testing::HttpsClient browser_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<uint64_t> bytes_ = 0;
  absl::Notification has_values_;
  mutable absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> hashes_ ABSL_GUARDED_BY(mutex_);  // of lines with values
  // Used only by the thread while it runs.
  absl::flat_hash_map<uint32_t, Machine> machines_;  // by id of the series
  size_t seen_ = 0;                          // machines that have a value
  absl::Time end_ = absl::InfiniteFuture();  // of the wait for machines
  std::thread thread_;
};

// Reads the list of machines again and again, as a number of viewers do.
class ListReader {
 public:
  // The time between two reads of one viewer.
  static constexpr absl::Duration kPeriod = absl::Seconds(30);

  // `page` must outlive it. Without viewers, does nothing.
  ListReader(const PageOfFleet& page, size_t viewers);
  ~ListReader();

  uint64_t lists() const { return lists_; }
  uint64_t bytes() const { return bytes_; }
  // Returns the first error.
  absl::Status Stop();

 private:
  void Run();

  const PageOfFleet& page_;
  const size_t viewers_;
  std::atomic<uint64_t> lists_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  absl::Notification is_over_;
  absl::Status status_;  // used only by the thread while it runs
  std::thread thread_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_WEB_VIEWERS_H_
