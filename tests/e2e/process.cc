#include "tests/e2e/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace fleetperf::testing {
namespace {

struct Pipe {
  Pipe() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
      throw std::runtime_error("cannot create a pipe");
    read_end = fds[0];
    write_end = fds[1];
  }
  int read_end;
  int write_end;
};

// Returns the path of an executable as execvp would find it.
std::string FindExecutable(const std::string& name) {
  const char* path = std::getenv("PATH");
  if (absl::StrContains(name, '/') || path == nullptr) return name;
  for (const absl::string_view directory : absl::StrSplit(path, ':')) {
    const std::string found = absl::StrCat(directory, "/", name);
    if (access(found.c_str(), X_OK) == 0) return found;
  }
  return name;
}

// The arguments of execve. Made before the fork, because the child must not
// allocate memory: another thread may hold the allocator's lock.
class Execution {
 public:
  Execution(const std::vector<std::string>& command,
            const std::map<std::string, std::string>& variables)
      : path_(FindExecutable(command.front())), command_(command) {
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const absl::string_view text = *variable;
      if (!variables.contains(std::string(text.substr(0, text.find('='))))) {
        variables_.emplace_back(text);
      }
    }
    for (const auto& [name, value] : variables) {
      variables_.push_back(absl::StrCat(name, "=", value));
    }
    arguments_ = PointersTo(&command_);
    environment_ = PointersTo(&variables_);
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Async-signal-safe.
  [[noreturn]] void Run() const {
    execve(path_.c_str(), arguments_.data(), environment_.data());
    constexpr absl::string_view kError = "the command cannot be executed\n";
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, kError.data(), kError.size());
    _exit(127);
  }

 private:
  static std::vector<char*> PointersTo(std::vector<std::string>* texts) {
    std::vector<char*> pointers;
    for (std::string& text : *texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  }

  const std::string path_;
  std::vector<std::string> command_;
  std::vector<std::string> variables_;
  std::vector<char*> arguments_;
  std::vector<char*> environment_;
};

}  // namespace

Process::Stream::Stream(int fd)
    : reader_([this, fd] {
        char buffer[4096];
        ssize_t size;
        while ((size = read(fd, buffer, sizeof buffer)) != 0) {
          if (size < 0 && errno == EINTR) continue;
          if (size < 0) break;
          absl::MutexLock lock(&mutex_);
          text_.append(buffer, static_cast<size_t>(size));
        }
        close(fd);
        absl::MutexLock lock(&mutex_);
        ended_ = true;
      }) {}

Process::Stream::~Stream() { reader_.join(); }

bool Process::Stream::HasLines(const std::string& text, int lines) const {
  int found = 0;
  for (const absl::string_view line : absl::StrSplit(text_, '\n')) {
    found += absl::StrContains(line, text);
  }
  return found >= lines;
}

bool Process::Stream::WaitFor(const std::string& text, int lines) {
  absl::MutexLock lock(&mutex_);
  const auto done = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ended_ || HasLines(text, lines);
  };
  mutex_.AwaitWithTimeout(absl::Condition(&done), kPatience);
  return HasLines(text, lines);
}

std::string Process::Stream::text() const {
  absl::MutexLock lock(&mutex_);
  return text_;
}

Process::Process(const std::vector<std::string>& command,
                 const std::map<std::string, std::string>& environment) {
  const Execution execution(command, environment);
  Start([&] { execution.Run(); });
}

Process::Process(const std::string& name, const std::function<void()>& body) {
  Start([&] {
    prctl(PR_SET_NAME, name.c_str());
    body();
  });
}

void Process::Start(const std::function<void()>& in_child) {
  const Pipe out, err;
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    // Only async-signal-safe calls. The child dies with the test.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(out.write_end, STDOUT_FILENO);
    dup2(err.write_end, STDERR_FILENO);
    in_child();
    _exit(0);
  }
  close(out.write_end);
  close(err.write_end);
  output_ = std::make_unique<Stream>(out.read_end);
  error_ = std::make_unique<Stream>(err.read_end);
}

Process::~Process() {
  if (!reaped_) {
    Signal(SIGKILL);
    Wait();
  }
}

bool Process::WaitForOutput(const std::string& text, int lines) {
  return output_->WaitFor(text, lines);
}

bool Process::WaitForError(const std::string& text, int lines) {
  return error_->WaitFor(text, lines);
}

std::string Process::output() const { return output_->text(); }
std::string Process::error() const { return error_->text(); }

void Process::Signal(int signal) {
  if (!reaped_) kill(pid_, signal);
}

int Process::Wait() {
  if (!reaped_) {
    int status;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    status_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  return status_;
}

Result RunCommand(const std::vector<std::string>& command,
                  const std::map<std::string, std::string>& environment) {
  Process process(command, environment);
  const int status = process.Wait();
  // No output has so many lines: waits until both pipes are closed.
  process.WaitForOutput("\n", 1 << 30);
  process.WaitForError("\n", 1 << 30);
  return {status, process.output(), process.error()};
}

}  // namespace fleetperf::testing
