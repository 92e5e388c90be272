// A System whose events have rings that a test fills, and whose poll(2) does
// what a test says.

#ifndef FLEETPERF_TESTS_DRIVER_PERF_EVENT_RING_SYSTEM_H_
#define FLEETPERF_TESTS_DRIVER_PERF_EVENT_RING_SYSTEM_H_

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "driver/perf_event/mmap_page.h"
#include "driver/perf_event/system.h"

namespace fleetperf::perf_event {

class RingSystem final : public System {
 public:
  // Called by Poll with the descriptor, the timeout and the events to set.
  std::function<int(int, int, short*)> on_poll = [](int, int, short*) {
    return 0;
  };
  int map_error = 0;
  int64_t read_result = -EINVAL;
  bool page_is_damaged = false;
  std::map<std::string, std::string> files;

  // Requests and arguments of ioctl(2), except those that ask for the id.
  std::vector<std::pair<unsigned long, unsigned long>> ioctls;
  std::vector<size_t> mapped_sizes;

  // Writes a record to the ring of an event.
  void Write(int descriptor, absl::string_view record) {
    MmapPage* const page = pages_.at(descriptor);
    char* const data = reinterpret_cast<char*>(page) + page->data_offset;
    for (const char byte : record) {
      data[page->data_head++ % page->data_size] = byte;
    }
  }
  MmapPage* page(int descriptor) { return pages_.at(descriptor); }

  // Ids are descriptors + 100.
  int Open(Attributes*, int, int, int, unsigned long) override {
    return next_descriptor_++;
  }
  int Close(int) override { return 0; }
  int Ioctl(int descriptor, unsigned long request,
            unsigned long argument) override {
    if (request == PERF_EVENT_IOC_ID) {
      const auto id = static_cast<uint64_t>(descriptor) + 100;
      std::memcpy(reinterpret_cast<void*>(argument), &id, sizeof(id));
    } else {
      ioctls.emplace_back(request, argument);
    }
    return 0;
  }
  int64_t Read(int, void*, size_t) override { return read_result; }
  int Map(int descriptor, size_t size, uint64_t offset, bool,
          void** address) override {
    mapped_sizes.push_back(size);
    if (map_error != 0) return -map_error;
    *address = std::aligned_alloc(page_size(), size);
    std::memset(*address, 0, size);
    if (offset != 0) return 0;  // the AUX area
    auto* const page = static_cast<MmapPage*>(*address);
    page->data_offset = page_size();
    page->data_size = size - page_size() + (page_is_damaged ? 8 : 0);
    pages_[descriptor] = page;
    return 0;
  }
  void Unmap(void* address, size_t) override { std::free(address); }
  int Poll(int descriptor, short, int timeout_milliseconds,
           short* occurred) override {
    *occurred = 0;
    return on_poll(descriptor, timeout_milliseconds, occurred);
  }
  bool has_rdpmc() const override { return false; }
  uint64_t ReadPmc(uint32_t) override { return 0; }
  uint64_t ReadTimestampCounter() override { return 0; }
  absl::StatusOr<std::string> ReadFile(const std::string& path) override {
    const auto file = files.find(path);
    if (file == files.end()) return absl::NotFoundError(path);
    return file->second;
  }
  absl::StatusOr<std::vector<std::string>> ListDirectory(
      const std::string& path) override {
    return absl::NotFoundError(path);
  }
  size_t page_size() const override { return 4096; }

 private:
  int next_descriptor_ = 3;
  std::map<int, MmapPage*> pages_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_TESTS_DRIVER_PERF_EVENT_RING_SYSTEM_H_
