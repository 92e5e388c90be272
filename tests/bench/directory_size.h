// The size of files on disk.

#ifndef FLEETPERF_TESTS_BENCH_DIRECTORY_SIZE_H_
#define FLEETPERF_TESTS_BENCH_DIRECTORY_SIZE_H_

#include <cstdint>
#include <filesystem>
#include <system_error>

namespace fleetperf::bench {

// Returns the bytes of a file, or of the files in a directory and below, which
// may vanish meanwhile.
inline uint64_t SizeOf(const std::filesystem::path& path) {
  std::error_code error;
  const uint64_t file = std::filesystem::file_size(path, error);
  if (!error) return file;
  uint64_t size = 0;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    size += SizeOf(entry->path());
  }
  return size;
}

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_DIRECTORY_SIZE_H_
