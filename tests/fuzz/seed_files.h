// Functions that write seed inputs of the fuzzers.

#ifndef FLEETPERF_TESTS_FUZZ_SEED_FILES_H_
#define FLEETPERF_TESTS_FUZZ_SEED_FILES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf {

// Returns a part of an input: `bytes` preceded by their size in 2 bytes.
inline std::string Part(const std::string& bytes) {
  const auto size = static_cast<uint16_t>(bytes.size());
  return std::string{static_cast<char>(size), static_cast<char>(size >> 8)} +
         bytes;
}

inline absl::Status Write(const std::string& root, const std::string& fuzzer,
                          const std::string& name, const std::string& bytes) {
  const std::string directory = absl::StrCat(root, "/", fuzzer);
  RETURN_IF_ERROR(MakeDirectories(directory));
  return WriteFile(absl::StrCat(directory, "/", name), bytes);
}

// Writes the inputs of spool_fuzzer. `content` is a batch's contents with
// definitions of a machine and an instance.
absl::Status WriteSpools(const v1::BatchContent& content,
                         const std::string& root);

// Writes the inputs of v1_data_fuzzer.
absl::Status WriteV1Data(const std::string& root);

// Writes the inputs of engine_samples_fuzzer.
absl::Status WriteEngineAnswers(const std::string& root);

// Writes the inputs of pmu_fuzzer.
absl::Status WritePmuSessions(const std::string& root);

}  // namespace fleetperf

#endif  // FLEETPERF_TESTS_FUZZ_SEED_FILES_H_
