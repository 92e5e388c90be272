#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/os/child_process.h"
#include "base/os/clock.h"
#include "base/os/os_error.h"
#include "base/status_macros.h"

extern char** environ;

namespace fleetperf {
namespace {

constexpr absl::Duration kLongestPoll = absl::Hours(1);

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return StatusFromErrno(errno, "pipe");
  return Pipe{Descriptor(fds[0]), Descriptor(fds[1])};
}

// Unlike writing to a pipe, sending to a socket can do without SIGPIPE.
absl::StatusOr<Pipe> MakeSocketPipe() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return StatusFromErrno(errno, "socketpair");
  }
  return Pipe{Descriptor(fds[0]), Descriptor(fds[1])};
}

std::string EndText(int status) {
  if (WIFSIGNALED(status)) {
    return absl::StrCat("was ended by signal ", WTERMSIG(status));
  }
  return absl::StrCat("exited with status ", WEXITSTATUS(status));
}

class LinuxChild : public ChildProcess {
 public:
  LinuxChild(pid_t pid, Descriptor input, Descriptor output)
      : pid_(pid), input_(std::move(input)), output_(std::move(output)) {}

  ~LinuxChild() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Reap();
    }
  }

  absl::Status Write(absl::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t sent =
          send(input_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return Ended();
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return absl::OkStatus();
  }

  absl::Status Read(char* bytes, size_t size, absl::Duration timeout) override {
    const Clock& clock = Clock::Real();
    const absl::Duration end = clock.Monotonic() + timeout;
    while (size > 0) {
      pollfd ready = {.fd = output_.get(), .events = POLLIN, .revents = 0};
      const absl::Duration left =
          std::min(end - clock.Monotonic(), kLongestPoll);
      if (left <= absl::ZeroDuration()) return TimedOut(timeout);
      const int events = poll(
          &ready, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
      if (events < 0 && errno == EINTR) continue;
      if (events < 0) return StatusFromErrno(errno, "poll");
      if (events == 0) continue;
      const ssize_t count = read(output_.get(), bytes, size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return StatusFromErrno(errno, "read from a pipe");
      if (count == 0) return Ended();
      bytes += count;
      size -= static_cast<size_t>(count);
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status TimedOut(absl::Duration timeout) {
    return absl::DeadlineExceededError(
        absl::StrCat("no answer within ", absl::FormatDuration(timeout)));
  }

  absl::Status Ended() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);  // in case that it only closed its output
      end_ = EndText(Reap());
    }
    return absl::UnavailableError(absl::StrCat("the process ", end_));
  }

  int Reap() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  pid_t pid_;  // -1 after its end
  Descriptor input_;
  Descriptor output_;
  std::string end_;
};

class LinuxParentPipe : public ParentPipe {
 public:
  explicit LinuxParentPipe(Descriptor output) : output_(std::move(output)) {}

  absl::Status Read(char* bytes, size_t size) override {
    while (size > 0) {
      const ssize_t count = read(STDIN_FILENO, bytes, size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return StatusFromErrno(errno, "standard input");
      if (count == 0) return absl::UnavailableError("the parent has ended");
      bytes += count;
      size -= static_cast<size_t>(count);
    }
    return absl::OkStatus();
  }

  absl::Status Write(absl::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = write(output_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return StatusFromErrno(errno, "standard output");
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return absl::OkStatus();
  }

 private:
  const Descriptor output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& command) {
  ASSIGN_OR_RETURN(Pipe input, MakeSocketPipe());
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write.get(), STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, arguments[0], &actions, nullptr,
                                arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return StatusFromErrno(error, command[0]);
  return std::make_unique<LinuxChild>(pid, std::move(input.write),
                                      std::move(output.read));
}

absl::StatusOr<std::unique_ptr<ParentPipe>> ParentPipe::Open() {
  Descriptor output(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (output.get() < 0) return StatusFromErrno(errno, "standard output");
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return StatusFromErrno(errno, "standard error");
  }
  return std::make_unique<LinuxParentPipe>(std::move(output));
}

absl::StatusOr<std::string> ExecutablePath() {
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return StatusFromErrorCode(error, "/proc/self/exe");
  return path.string();
}

}  // namespace fleetperf
