#include "tests/support/stepped_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

namespace fleetperf::testing {

SteppedClock::SteppedClock(const std::string& path) : path_(path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const bool has_size = ftruncate(file, sizeof(int64_t)) == 0;
  void* const memory = mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE,
                            MAP_SHARED, file, 0);
  close(file);
  if (!has_size || memory == MAP_FAILED) {
    throw std::runtime_error("cannot map " + path);
  }
  nanoseconds_ = static_cast<int64_t*>(memory);
}

SteppedClock::~SteppedClock() {
  munmap(const_cast<int64_t*>(nanoseconds_), sizeof(int64_t));
}

std::map<std::string, std::string> SteppedClock::environment() const {
  return {{"LD_PRELOAD", FLEETPERF_PRELOAD}, {"FLEETPERF_CLOCK_OFFSET", path_}};
}

void SteppedClock::Set(absl::Duration offset) {
  *nanoseconds_ = absl::ToInt64Nanoseconds(offset);
}

void SteppedClock::Step(absl::Duration step) {
  *nanoseconds_ = *nanoseconds_ + absl::ToInt64Nanoseconds(step);
}

}  // namespace fleetperf::testing
