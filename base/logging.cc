#include "base/logging.h"

#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/log.h"
#include "base/os/log_sink.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/suggest.h"

namespace fleetperf {
namespace {

constexpr size_t kMaxFileSize = 10 << 20;
constexpr size_t kMaxFiles = 5;
constexpr size_t kMaxCauses = 1000;
constexpr char kOtherCauses[] = "(other causes)";
// The length limit of a cause; longer causes with the same prefix are one.
// Causes contain text from peers.
constexpr size_t kMaxCauseBytes = 1000;

// The members of a line besides its message; "": the line has none.
struct Fields {
  absl::string_view cause;
  absl::string_view machine;
  uint64_t repeated = 0;
};
// The fields of the line that this thread logs; nullptr if it has none.
thread_local const Fields* fields_of_line = nullptr;

std::atomic<uint64_t> logged_warnings = 0;
std::atomic<uint64_t> logged_errors = 0;
std::atomic<uint64_t> suppressed_lines = 0;

void LogLine(spdlog::level::level_enum level, absl::string_view cause,
             absl::string_view message, absl::string_view machine,
             std::optional<uint64_t> suppressed) {
  if (!suppressed.has_value()) return;
  const Fields fields = {cause, machine, *suppressed};
  fields_of_line = &fields;
  if (*suppressed == 0) {
    spdlog::log(level, "{}", Printable(message));
  } else {
    spdlog::log(level, "{} (and {} times more since the last such line)",
                Printable(message), *suppressed);
  }
  fields_of_line = nullptr;
}

// Counts the warnings and errors that a logger accepts.
class LineCounter : public spdlog::sinks::sink {
 public:
  LineCounter() { set_level(spdlog::level::warn); }
  void log(const spdlog::details::log_msg& message) override {
    ++(message.level == spdlog::level::warn ? logged_warnings : logged_errors);
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}
};

// Appends `,"name":"value"`. Printable text needs no other escapes.
void AppendMember(absl::string_view name, absl::string_view value,
                  std::string* line) {
  absl::StrAppend(
      line, ",\"", name, "\":\"",
      absl::StrReplaceAll(Printable(value), {{"\"", "\\\""}, {"\\", "\\\\"}}),
      "\"");
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

  static absl::string_view LevelOf(spdlog::level::level_enum level) {
    if (level >= spdlog::level::err) return "<3>";
    if (level == spdlog::level::warn) return "<4>";
    return level == spdlog::level::info ? "<6>" : "<7>";
  }
};

// Writes a line as a JSON object, on the journal behind the line's level.
class JsonFormatter : public spdlog::formatter {
 public:
  explicit JsonFormatter(bool for_journal) : for_journal_(for_journal) {}

  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& out) override {
    std::string line;
    if (for_journal_) line = std::string(JournalLevel::LevelOf(message.level));
    absl::StrAppend(
        &line, "{\"time\":\"",
        absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(message.time),
                         absl::UTCTimeZone()),
        "\"");
    AppendMember("level", View(spdlog::level::to_string_view(message.level)),
                 &line);
    AppendMember("program", View(message.logger_name), &line);
    AppendMember("message", View(message.payload), &line);
    if (const Fields* const fields = fields_of_line) {
      if (!fields->cause.empty()) AppendMember("cause", fields->cause, &line);
      if (!fields->machine.empty()) {
        AppendMember("machine", fields->machine, &line);
      }
      if (fields->repeated > 0) {
        absl::StrAppend(&line, ",\"repeated\":", fields->repeated);
      }
    }
    absl::StrAppend(&line, "}\n");
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<formatter> clone() const override {
    return std::make_unique<JsonFormatter>(for_journal_);
  }

 private:
  static absl::string_view View(spdlog::string_view_t text) {
    return {text.data(), text.size()};
  }

  const bool for_journal_;
};

void SetFormat(const LogConfig& config, spdlog::logger* logger) {
  const bool for_journal = config.file.empty() && StderrIsJournal();
  if (config.format == "json") {
    logger->set_formatter(std::make_unique<JsonFormatter>(for_journal));
    return;
  }
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
  log.Read("format", &config.format);
  const std::vector<std::string> formats = {"text", "json"};
  if (std::count(formats.begin(), formats.end(), config.format) == 0) {
    log.Error("format",
              absl::StrCat("\"", config.format, "\" is not text or json",
                           DidYouMean(config.format, formats)));
  }
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
  SetFormat(config, logger.get());
  logger->sinks().push_back(std::make_shared<LineCounter>());
  logger->set_level(spdlog::level::from_str(config.level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

void SetLogLevel(const LogConfig& config) {
  spdlog::default_logger()->set_level(spdlog::level::from_str(config.level));
}

LogCounts CountLogLines() {
  return {.warnings = logged_warnings,
          .errors = logged_errors,
          .suppressed = suppressed_lines};
}

void Log(LogLevel level, absl::string_view message) {
  switch (level) {
    case LogLevel::kDebug:
      return LogLine(spdlog::level::debug, "", message, "", 0);
    case LogLevel::kInfo:
      return LogLine(spdlog::level::info, "", message, "", 0);
    case LogLevel::kWarning:
      return LogLine(spdlog::level::warn, "", message, "", 0);
    case LogLevel::kError:
      return LogLine(spdlog::level::err, "", message, "", 0);
  }
}

void LogInfoOf(absl::string_view machine, absl::string_view message) {
  LogLine(spdlog::level::info, "", message, machine, 0);
}

void LogWarningOf(absl::string_view machine, absl::string_view message) {
  LogLine(spdlog::level::warn, "", message, machine, 0);
}

void LogErrorOf(absl::string_view machine, absl::string_view message) {
  LogLine(spdlog::level::err, "", message, machine, 0);
}

void LogOncePerCause::Warn(absl::string_view cause, absl::string_view message,
                           absl::string_view machine) {
  LogLine(spdlog::level::warn, cause, message, machine, Admit(cause, machine));
}

void LogOncePerCause::Info(absl::string_view cause, absl::string_view message,
                           absl::string_view machine) {
  LogLine(spdlog::level::info, cause, message, machine, Admit(cause, machine));
}

void LogOncePerCause::Debug(absl::string_view cause, absl::string_view message,
                            absl::string_view machine) {
  if (!spdlog::should_log(spdlog::level::debug)) return;
  LogLine(spdlog::level::debug, cause, message, machine, Admit(cause, machine));
}

std::optional<uint64_t> LogOncePerCause::Admit(absl::string_view cause,
                                               absl::string_view machine) {
  absl::MutexLock lock(&mutex_);
  std::string key =
      machine.empty() ? std::string(cause) : absl::StrCat(machine, " ", cause);
  if (key.size() > kMaxCauseBytes) key.resize(kMaxCauseBytes);
  const absl::Duration now = clock_.Monotonic();
  if (causes_.size() >= kMaxCauses) ForgetExpired(now);
  if (causes_.size() >= kMaxCauses && !causes_.contains(key)) {
    key = kOtherCauses;
  }
  const auto [entry, is_new] = causes_.try_emplace(key);
  State& state = entry->second;
  if (!is_new && now < state.next) {
    ++state.suppressed;
    ++suppressed_lines;
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
