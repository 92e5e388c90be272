// Makes one file operation fail, once, and undoes what was not synced, as a
// power cut does.
//
// An executable that contains this file uses its definitions of write, fsync
// and so on in place of those of the C library; so do the libraries that it
// loads. Counts are shared with child processes.

#ifndef FLEETPERF_TESTS_FAULTS_FAIL_ONCE_H_
#define FLEETPERF_TESTS_FAULTS_FAIL_ONCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fleetperf::testing {

enum class FaultKind {
  kIoError,  // EIO, and nothing was done
  kNoSpace,  // ENOSPC, and nothing was done
  kPartial,  // EIO, after half of the bytes were written
  kShort,    // half of the bytes are written or read, which is no error
  kTorn,     // the second half of the bytes is written as zeros, silently
};

struct Fault {
  std::string call;     // an operation and a file, as in the result of Calls
  uint32_t number = 1;  // of the call, from 1
  FaultKind kind = FaultKind::kIoError;
};

// "EIO at call 3 of fsync store/#.log".
std::string NameOf(const Fault& fault);

// The kinds of faults that a call may have.
std::vector<FaultKind> KindsOf(const std::string& call);

// Counts the operations on files below `directory`, from 0, and lets one of
// them fail. A failed sync loses the bytes that it should have synced, also if
// a later sync of the file succeeds, as on Linux.
void WatchFiles(const std::string& directory,
                const std::optional<Fault>& fault);
// Ends counting and faults.
void StopWatchingFiles();

// Whether the fault has occurred since WatchFiles, in any process.
bool FaultHasOccurred();
// The calls since WatchFiles in all processes: "fsync store/#.log", with each
// number in a name replaced by #, and how many there were.
std::map<std::string, uint32_t> Calls();

// These end the process at a moment when none of its threads is in an operation
// on a file. EndByPowerCut also removes the bytes that the process has written
// since WatchFiles and not synced; bytes that were overwritten are not
// restored.
[[noreturn]] void EndByKill();
[[noreturn]] void EndByPowerCut();

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_FAULTS_FAIL_ONCE_H_
