#include "driver/perf_event/user_reader.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fleetperf::perf_event {
namespace {

constexpr int kMaxAttempts = 100;

}  // namespace

absl::StatusOr<UserReader> UserReader::Create(const Counter& counter) {
  System& system = counter.system();
  void* address = nullptr;
  const size_t size = system.page_size();
  const int result = system.Map(counter.descriptor(), size, 0,
                                /*writable=*/false, &address);
  if (result < 0) {
    return absl::ErrnoToStatus(
        -result, absl::StrCat(counter.name(), ": cannot map its page"));
  }
  return UserReader(system, static_cast<volatile MmapPage*>(address), size);
}

UserReader::~UserReader() {
  if (page_ != nullptr) system_->Unmap(const_cast<MmapPage*>(page_), size_);
}

absl::StatusOr<UserValue> UserReader::ReadAgain() const {
  UserValue value;
  for (int attempt = 1; attempt < kMaxAttempts; ++attempt) {
    if (TryRead(&value)) return value;
  }
  return absl::UnavailableError(
      "the event's page changed at each of 100 attempts; read the event on the "
      "thread that it observes, or with Counter::Read");
}

}  // namespace fleetperf::perf_event
