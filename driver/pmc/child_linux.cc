#include "driver/pmc/child_linux.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/os_error.h"

namespace fleetperf::pmc {
namespace {

void Close(int* descriptor) {
  if (*descriptor >= 0) close(std::exchange(*descriptor, -1));
}

template <typename Call>
ssize_t Retried(Call call) {
  ssize_t result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WaitingChild>> WaitingChild::Fork(
    const std::vector<std::string>& command) {
  std::unique_ptr<WaitingChild> child(new WaitingChild);
  if (pipe2(child->go_, O_CLOEXEC) != 0 ||
      pipe2(child->failure_, O_CLOEXEC) != 0) {
    return StatusFromErrno(errno, "pipe2");
  }
  child->pid_ = fork();
  if (child->pid_ < 0) return StatusFromErrno(errno, "fork");
  if (child->pid_ == 0) child->RunChild(command);
  Close(&child->go_[0]);
  Close(&child->failure_[1]);
  return child;
}

void WaitingChild::RunChild(const std::vector<std::string>& command) {
  Close(&go_[1]);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  char byte;
  if (Retried([&] { return read(go_[0], &byte, 1); }) != 1) _exit(0);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  Retried([&] { return write(failure_[1], &error, sizeof(error)); });
  _exit(0);
}

WaitingChild::~WaitingChild() {
  for (int* descriptor : {&go_[0], &go_[1], &failure_[0], &failure_[1]}) {
    Close(descriptor);
  }
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

int WaitingChild::Execute() {
  if (Retried([&] { return write(go_[1], "g", 1); }) != 1) return errno;
  int error = 0;
  Retried([&] { return read(failure_[0], &error, sizeof(error)); });
  return error;
}

int WaitingChild::Wait(rusage* usage) {
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const auto quit = std::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  Retried([&] { return wait4(pid_, &status, 0, usage); });
  pid_ = -1;
  std::signal(SIGINT, interrupt);
  std::signal(SIGQUIT, quit);
  return status;
}

}  // namespace fleetperf::pmc
