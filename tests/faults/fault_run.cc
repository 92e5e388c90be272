#include "tests/faults/fault_run.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace fleetperf::testing {
namespace {

constexpr unsigned kPatienceSeconds = 120;

class ReportedLog : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit ReportedLog(Reporter* reporter) : reporter_(*reporter) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (message.level < spdlog::level::warn) return;
    reporter_.Tell("log", absl::string_view(message.payload.data(),
                                            message.payload.size()));
  }
  void flush_() override {}

 private:
  Reporter& reporter_;
};

[[noreturn]] void RunChild(int pipe,
                           const std::function<void(Reporter&)>& body) {
  alarm(kPatienceSeconds);
  // Detached threads may report until the process ends.
  auto* const reporter = new Reporter(pipe);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "child", std::make_shared<ReportedLog>(reporter)));
  body(*reporter);
  EndByKill();
}

std::string ReadAll(int pipe) {
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t size = read(pipe, bytes, sizeof bytes);
    if (size <= 0) return text;
    text.append(bytes, static_cast<size_t>(size));
  }
}

std::vector<Fault> ChooseFaults(const std::map<std::string, uint32_t>& calls) {
  const bool every = std::getenv("FLEETPERF_EVERY_FAULT") != nullptr;
  std::mt19937 random(22);
  std::vector<Fault> faults;
  for (const auto& [call, count] : calls) {
    for (const FaultKind kind : KindsOf(call)) {
      const uint32_t chosen = 1 + static_cast<uint32_t>(random() % count);
      for (uint32_t number = 1; number <= count; ++number) {
        if (!every && number != chosen) continue;
        faults.push_back({.call = call, .number = number, .kind = kind});
      }
    }
  }
  return faults;
}

}  // namespace

void Reporter::Tell(absl::string_view key, absl::string_view text) {
  const std::string line =
      absl::StrCat(key, " ", absl::StrReplaceAll(text, {{"\n", " "}}), "\n");
  const std::lock_guard lock(mutex_);
  if (write(pipe_, line.data(), line.size()) < 0) std::abort();
}

std::vector<std::string> Told::Of(absl::string_view key) const {
  std::vector<std::string> texts;
  for (const auto& [of_line, text] : lines_) {
    if (of_line == key) texts.push_back(text);
  }
  return texts;
}

Told RunProcess(const std::function<void(Reporter&)>& body) {
  int pipes[2];
  if (pipe(pipes) != 0) std::abort();
  const pid_t child = fork();
  if (child < 0) std::abort();
  if (child == 0) RunChild(pipes[1], body);
  close(pipes[1]);
  const std::string text = ReadAll(pipes[0]);
  close(pipes[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Told told;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    told.Add(parts.first, parts.second);
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    told.Add("wrong", signal == SIGALRM ? "a process does not end"
                                        : absl::StrCat("signal ", signal,
                                                       " ended a process"));
  } else if (WEXITSTATUS(status) != 0) {
    told.Add("wrong", "a process failed");
  }
  return told;
}

void TryFaults(
    const std::string& directory,
    const std::function<std::vector<std::string>(const Fault* fault)>& run) {
  const auto try_one = [&](const Fault* fault) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
    WatchFiles(directory,
               fault != nullptr ? std::optional(*fault) : std::nullopt);
    const std::vector<std::string> wrong = run(fault);
    StopWatchingFiles();
    EXPECT_TRUE(wrong.empty())
        << (fault != nullptr ? NameOf(*fault) : "no fault") << ":\n  "
        << absl::StrJoin(wrong, "\n  ");
  };
  try_one(nullptr);
  if (::testing::Test::HasFailure()) return;
  std::vector<Fault> faults = ChooseFaults(Calls());
  if (const char* only = std::getenv("FLEETPERF_FAULT")) {
    std::erase_if(faults, [&](const Fault& fault) {
      return !absl::StrContains(NameOf(fault), only);
    });
  }
  size_t occurred = 0;
  for (const Fault& fault : faults) {
    try_one(&fault);
    if (FaultHasOccurred()) ++occurred;
  }
  // Threads may make fewer calls than in the first run.
  EXPECT_GE(occurred, faults.size() * 9 / 10) << "of " << faults.size();
  std::printf("%zu faults, of which %zu occurred\n", faults.size(), occurred);
}

}  // namespace fleetperf::testing
