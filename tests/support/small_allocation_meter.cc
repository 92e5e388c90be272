#include "tests/support/small_allocation_meter.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/support/allocation_meter.h"

namespace {

constexpr size_t kMaxSmallSize = 1024;

thread_local size_t allocated_bytes = 0;
std::atomic<size_t> small_bytes_in_use = 0;

void* Allocate(size_t size) {
  allocated_bytes += size;
  void* const memory = std::malloc(size);
  const size_t usable = malloc_usable_size(memory);
  if (usable <= kMaxSmallSize) {
    small_bytes_in_use.fetch_add(usable, std::memory_order_relaxed);
  }
  return memory;
}

void Free(void* memory) {
  const size_t usable = malloc_usable_size(memory);
  if (usable <= kMaxSmallSize) {
    small_bytes_in_use.fetch_sub(usable, std::memory_order_relaxed);
  }
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) {
  if (void* memory = Allocate(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size);
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  Free(memory);
}

namespace fleetperf::testing {

size_t AllocatedBytes() { return allocated_bytes; }

size_t SmallBytesInUse() { return small_bytes_in_use; }

}  // namespace fleetperf::testing
