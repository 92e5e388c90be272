#include "driver/pmc/experiments/real_processor.h"

#if defined(__x86_64__) || defined(_M_X64)
#ifdef _MSC_VER
#include <intrin.h>
#else
#include <x86intrin.h>
#endif
#define FLEETPERF_HAS_RDTSC
#endif

#include "absl/synchronization/mutex.h"
#include "base/wakeup.h"
#include "driver/pmc/experiments/processor.h"

namespace fleetperf::pmc {
namespace {

class ThisProcessor : public Processor {
 public:
  void Run(const Loop& loop, uint64_t turns) override { loop.run(turns); }

  uint64_t RunBetweenReads(const ExactCode& code, uint32_t counter) override {
    return code.run(counter);
  }

  void ReadInStrides(absl::Span<const uint8_t> memory, size_t stride) override {
    // volatile, so that each byte is one load.
    const volatile uint8_t* const bytes = memory.data();
    for (size_t first = 0; first < stride; ++first) {
      for (size_t i = first; i < memory.size(); i += stride) {
        static_cast<void>(bytes[i]);
      }
    }
  }

  void Sleep(absl::Duration duration) override {
    absl::Mutex mutex;
    Wakeup never;
    const absl::MutexLock lock(&mutex);
    never.Await(&mutex, duration, [] { return false; });
  }

  uint64_t ReadTimestamp() override {
#ifdef FLEETPERF_HAS_RDTSC
    unsigned int cpu;
    return __rdtscp(&cpu);
#else
    return 0;
#endif
  }

  absl::Duration Now() override { return PreciseTime(); }
  int PinToCpu() override { return PinThisThread(); }
};

}  // namespace

Processor& RealProcessor() {
  static ThisProcessor* const processor = new ThisProcessor;
  return *processor;
}

}  // namespace fleetperf::pmc
