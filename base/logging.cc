#include "base/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log_sink.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace fleetperf {
namespace {

constexpr size_t kMaxFileSize = 10 << 20;
constexpr size_t kMaxFiles = 5;
constexpr size_t kMaxCauses = 1000;
constexpr char kOtherCauses[] = "(other causes)";
// The length limit of a cause; longer causes with the same prefix are one.
// Causes contain text from peers.
constexpr size_t kMaxCauseBytes = 1000;

void LogLine(spdlog::level::level_enum level,
             std::optional<uint64_t> suppressed, absl::string_view message) {
  if (!suppressed.has_value()) return;
  if (*suppressed == 0) {
    spdlog::log(level, "{}", Printable(message));
  } else {
    spdlog::log(level, "{} (and {} times more since the last such line)",
                Printable(message), *suppressed);
  }
}

// Writes "<4>", the level as systemd's journal reads it at the start of a line;
// see sd-daemon(3).
class JournalLevel : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    const absl::string_view level = LevelOf(message.level);
    line.append(level.data(), level.data() + level.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JournalLevel>();
  }

 private:
  static absl::string_view LevelOf(spdlog::level::level_enum level) {
    if (level >= spdlog::level::err) return "<3>";
    if (level == spdlog::level::warn) return "<4>";
    return level == spdlog::level::info ? "<6>" : "<7>";
  }
};

void SetPattern(bool for_journal, spdlog::logger* logger) {
  if (!for_journal) {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %n: %v",
                        spdlog::pattern_time_type::utc);
    return;
  }
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<JournalLevel>('*').set_pattern("%*%l %v");
  logger->set_formatter(std::move(formatter));
}

}  // namespace

LogConfig ReadLogConfig(ConfigSection root) {
  LogConfig config;
  ConfigSection log = root.Section("log");
  log.Read("level", &config.level);
  log.ReadPath("file", &config.file);
  const std::vector<std::string> levels = {"debug", "info", "warning", "error"};
  if (std::count(levels.begin(), levels.end(), config.level) == 0) {
    log.Error("level", absl::StrCat("\"", config.level,
                                    "\" is not debug, info, warning or error",
                                    DidYouMean(config.level, levels)));
  }
  return config;
}

absl::Status StartLogging(absl::string_view program, const LogConfig& config) {
  spdlog::sink_ptr sink;
  try {
    if (config.file.empty()) {
      sink = MakeDefaultLogSink(std::string(program));
    } else {
      ASSIGN_OR_RETURN(const spdlog::filename_t file, LogFileName(config.file));
      sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
          file, kMaxFileSize, kMaxFiles);
    }
  } catch (const spdlog::spdlog_ex& exception) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot open the log file ", config.file, ": ", exception.what()));
  }
  auto logger = std::make_shared<spdlog::logger>(std::string(program), sink);
  SetPattern(config.file.empty() && StderrIsJournal(), logger.get());
  logger->set_level(spdlog::level::from_str(config.level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

void SetLogLevel(const LogConfig& config) {
  spdlog::default_logger()->set_level(spdlog::level::from_str(config.level));
}

void LogOncePerCause::Warn(absl::string_view cause, absl::string_view message) {
  LogLine(spdlog::level::warn, Admit(cause), message);
}

void LogOncePerCause::Info(absl::string_view cause, absl::string_view message) {
  LogLine(spdlog::level::info, Admit(cause), message);
}

void LogOncePerCause::Debug(absl::string_view cause,
                            absl::string_view message) {
  if (!spdlog::should_log(spdlog::level::debug)) return;
  LogLine(spdlog::level::debug, Admit(cause), message);
}

std::optional<uint64_t> LogOncePerCause::Admit(absl::string_view cause) {
  absl::MutexLock lock(&mutex_);
  std::string key(cause.substr(0, kMaxCauseBytes));
  const absl::Duration now = clock_.Monotonic();
  if (causes_.size() >= kMaxCauses) ForgetExpired(now);
  if (causes_.size() >= kMaxCauses && !causes_.contains(key)) {
    key = kOtherCauses;
  }
  const auto [entry, is_new] = causes_.try_emplace(key);
  State& state = entry->second;
  if (!is_new && now < state.next) {
    ++state.suppressed;
    return std::nullopt;
  }
  state.next = now + interval_;
  return std::exchange(state.suppressed, 0);
}

void LogOncePerCause::ForgetExpired(absl::Duration now) {
  if (now < next_look_) return;
  // Scanning all causes for each new one would cost the time that the bound
  // saves.
  next_look_ = now + interval_ / 10;
  uint64_t suppressed = 0;
  std::erase_if(causes_, [&](const auto& named) {
    if (now < named.second.next || named.first == kOtherCauses) return false;
    suppressed += named.second.suppressed;
    return true;
  });
  if (suppressed > 0) causes_[kOtherCauses].suppressed += suppressed;
}

}  // namespace fleetperf
