#include "tests/support/allocation_meter.h"

#include <cstdlib>
#include <new>

namespace {

thread_local size_t allocated_bytes = 0;

}  // namespace

void* operator new(size_t size) {
  allocated_bytes += size;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  allocated_bytes += size;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace fleetperf::testing {

size_t AllocatedBytes() { return allocated_bytes; }

}  // namespace fleetperf::testing
