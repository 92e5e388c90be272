#include "base/progress.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/os/clock.h"
#include "base/os/os.h"

namespace fleetperf {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr absl::Duration kRedrawInterval = absl::Milliseconds(200);
constexpr int kBarLength = 20;

}  // namespace

bool TerminalIsDumb() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && absl::string_view(terminal) == "dumb";
}

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (StandardErrorIsTerminal() && !TerminalIsDumb()) {
    thread_ = std::thread([this] { Run(); });
  }
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(&mutex_);
    is_over_ = true;
    ended_.Notify();
  }
  thread_.join();
  absl::MutexLock lock(&mutex_);
  Clear();
}

void Progress::Update(std::string done) {
  absl::MutexLock lock(&mutex_);
  done_ = std::move(done);
}

void Progress::Print(absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  Clear();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void Progress::Run() {
  const absl::Duration start = Clock::Real().Monotonic();
  absl::Duration wait = kPatience;
  const auto is_over = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_over_;
  };
  absl::MutexLock lock(&mutex_);
  while (!ended_.Await(&mutex_, wait, is_over)) {
    Draw(Clock::Real().Monotonic() - start);
    wait = kRedrawInterval;
  }
}

// Overwrites the remains of a longer line with spaces. Not every console
// supports escape sequences.
void Progress::Draw(absl::Duration elapsed) {
  const std::string text = ProgressText(what_, elapsed, done_);
  const std::string rest(drawn_ - std::min(drawn_, text.size()), ' ');
  std::fprintf(stderr, "\r%s%s", text.c_str(), rest.c_str());
  std::fflush(stderr);
  drawn_ = text.size();
}

void Progress::Clear() {
  if (drawn_ == 0) return;
  std::fprintf(stderr, "\r%s\r", std::string(drawn_, ' ').c_str());
  std::fflush(stderr);
  drawn_ = 0;
}

std::string ProgressBar(double part) {
  const double bounded = std::clamp(part, 0.0, 1.0);
  const int full = static_cast<int>(bounded * kBarLength);
  return absl::StrCat("[", std::string(full, '#'),
                      std::string(kBarLength - full, '.'), "]",
                      absl::StrFormat("%4.0f %%", 100 * bounded));
}

std::string ProgressText(absl::string_view what, absl::Duration elapsed,
                         absl::string_view done) {
  return absl::StrCat(what, ", ", absl::ToInt64Seconds(elapsed), " s",
                      done.empty() ? "" : ": ", done);
}

}  // namespace fleetperf
