#include <windows.h>
#include <process.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/os/detached_thread.h"
#include "base/os/os_error.h"

namespace fleetperf {
namespace {

using Work = std::function<void()>;

unsigned __stdcall Run(void* argument) {
  const std::unique_ptr<Work> work(static_cast<Work*>(argument));
  (*work)();
  return 0;
}

}  // namespace

absl::Status RunDetached(std::function<void()> work) {
  auto owned = std::make_unique<Work>(std::move(work));
  const uintptr_t thread =
      _beginthreadex(nullptr, 0, Run, owned.get(), 0, nullptr);
  if (thread == 0) return StatusFromErrno(errno, "cannot start a thread");
  owned.release();
  CloseHandle(reinterpret_cast<HANDLE>(thread));
  return absl::OkStatus();
}

}  // namespace fleetperf
