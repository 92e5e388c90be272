#include "base/daemon/command_parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/text/printable.h"
#include "base/text/suggest.h"
#include "base/version.h"

namespace fleetperf {
namespace {

std::vector<CLI::App*> CommandsOf(const CLI::App& app) {
  return const_cast<CLI::App&>(app).get_subcommands(
      [](CLI::App*) { return true; });
}

std::string OrList(const std::vector<std::string>& names) {
  if (names.size() < 2) return absl::StrJoin(names, "");
  return absl::StrCat(absl::StrJoin(names.begin(), names.end() - 1, ", "),
                      " or ", names.back());
}

bool TakesValue(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

// Returns the option of the app or of any of its commands; nullptr if none has
// this name.
const CLI::Option* FindOption(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->check_name(name)) return option;
  }
  for (const CLI::App* command : CommandsOf(app)) {
    if (const CLI::Option* option = FindOption(*command, name)) return option;
  }
  return nullptr;
}

// Moves the command in front of the flags that precede it.
std::vector<std::string> CommandFirst(const CLI::App& app,
                                      std::vector<std::string> arguments) {
  const std::vector<CLI::App*> commands = CommandsOf(app);
  for (auto next = arguments.begin(); next != arguments.end(); ++next) {
    if (*next == "--") break;
    if (absl::StartsWith(*next, "-")) {
      const CLI::Option* option = FindOption(app, *next);
      const bool skips = option != nullptr && TakesValue(*option);
      if (skips && next + 1 != arguments.end()) ++next;
      continue;
    }
    if (std::any_of(commands.begin(), commands.end(),
                    [&](const CLI::App* command) {
                      return command->check_name(*next);
                    })) {
      std::rotate(arguments.begin(), next, next + 1);
    }
    break;
  }
  return arguments;
}

// Returns the given commands, from the outermost: "fleetperf", "pki", "issue".
std::vector<const CLI::App*> GivenCommands(const CLI::App& app) {
  std::vector<const CLI::App*> given = {&app};
  while (!given.back()->get_subcommands().empty()) {
    given.push_back(given.back()->get_subcommands().front());
  }
  return given;
}

// Explains the first argument that no command knows.
std::string ExplainUnknown(const std::vector<const CLI::App*>& given,
                           const std::string& argument) {
  std::vector<std::string> names;
  for (const CLI::App* command : given) {
    for (const CLI::Option* option : command->get_options()) {
      names.push_back(option->get_name(false, true));
    }
  }
  for (const CLI::App* command : CommandsOf(*given.back())) {
    names.push_back(command->get_name());
  }
  const bool is_flag = absl::StartsWith(argument, "-");
  const bool needs_command = !CommandsOf(*given.back()).empty();
  const std::string name = argument.substr(0, argument.find('='));
  return absl::StrCat(
      "unknown ",
      is_flag         ? "flag"
      : needs_command ? "command"
                      : "argument",
      " ", QuoteText(argument), DidYouMean(name, names),
      is_flag || needs_command ? "" : "; quote a name that contains spaces");
}

// Explains an option that has too many values, or too few.
std::string ExplainOption(const CLI::Option& option) {
  const std::string name = option.get_name();
  if (!TakesValue(option)) return absl::StrCat(name, " takes no value");
  const size_t values = option.results().size();
  if (values > 1) {
    return absl::StrCat(name, " is given ", values, " times (",
                        absl::StrJoin(option.results(), ", "),
                        "); give it once");
  }
  return absl::StrCat(name, " needs a value: ", name, " ",
                      option.get_type_name());
}

// Returns the option whose name starts one of the parser's messages.
const CLI::Option* OptionOf(const std::vector<const CLI::App*>& given,
                            const std::string& message) {
  const std::string name = message.substr(0, message.find(": "));
  for (const CLI::App* command : given) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_name() == name) return option;
    }
  }
  return nullptr;
}

std::string Explain(const std::vector<const CLI::App*>& given,
                    const CLI::ParseError& error) {
  const CLI::App& app = *given.front();
  const CLI::App& command = *given.back();
  const std::string message = error.what();
  std::vector<std::string> unknown = app.remaining(true);
  std::erase(unknown, "--");  // stays, although it is known
  if (!unknown.empty()) return ExplainUnknown(given, unknown.front());
  if (command.get_require_subcommand_min() > 0) {
    std::vector<std::string> names;
    for (const CLI::App* possible : CommandsOf(command)) {
      names.push_back(possible->get_name());
    }
    return absl::StrCat("a command is missing: ", OrList(names));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_required() && option->count() == 0) {
        return absl::StrCat(option->get_name(), " is missing");
      }
    }
  }
  const CLI::Option* const option = OptionOf(given, message);
  if (option != nullptr &&
      dynamic_cast<const CLI::ValidationError*>(&error) == nullptr) {
    return ExplainOption(*option);
  }
  return message;
}

constexpr char kTextCheck[] = "text";

// Makes an argument that is not text (CheckText) an error.
CLI::Option* RequireText(CLI::Option* option) {
  return option->check(
      [](const std::string& text) {
        return std::string(CheckText(text).message());
      },
      "", kTextCheck);
}

// Calls `run` unless one of the command's own commands is given.
void SetRun(CLI::App* command, std::function<void()> run) {
  command->final_callback([command, run = std::move(run)] {
    if (command->get_subcommands().empty()) run();
  });
}

template <typename Number>
CLI::Option* AddNumberTo(CLI::App& command, const std::string& name,
                         Number* value, const std::string& help, Number least,
                         Number most) {
  CLI::Option* const option = command.add_option(name, *value, help);
  option->type_name("N")->check(
      [least, most](const std::string& text) -> std::string {
        Number number = 0;
        if (absl::SimpleAtoi(text, &number) && number >= least &&
            number <= most) {
          return "";
        }
        return absl::StrCat("\"", text, "\" is not a whole number from ", least,
                            " to ", most);
      },
      "");
  return option;
}

}  // namespace

Option Option::SetType(const std::string& type) {
  option_->type_name(type);
  return *this;
}

Option Option::Require() {
  option_->required();
  return *this;
}

Option Option::AcceptOnly(const std::string& choices) {
  const std::vector<std::string> names = absl::StrSplit(choices, '|');
  option_->type_name(choices)->check(
      [names](const std::string& text) -> std::string {
        if (std::count(names.begin(), names.end(), text) > 0) return "";
        return absl::StrCat("\"", text, "\" is not ", OrList(names),
                            DidYouMean(text, names));
      },
      "");
  return *this;
}

Option Option::SplitAt(char separator) {
  option_->delimiter(separator);
  return *this;
}

Option Option::AcceptAnyBytes() {
  option_->get_validator(kTextCheck)->active(false);
  return *this;
}

Option Option::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Option Option::Exclude(Option other) {
  option_->excludes(other.option_);
  return *this;
}

// A maximum of no commands stands for a command without `run`: CLI11 reads it
// as no limit.
Command::Command(const std::string& name, const std::string& purpose,
                 std::function<void()> run)
    : app_(std::make_shared<CLI::App>(purpose, name)) {
  app_->set_version_flag("--version", absl::StrCat(name, " ", kVersion));
  if (run == nullptr) return;
  app_->require_subcommand(0, 1);
  SetRun(app_.get(), std::move(run));
}

Command::Command(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}

Command Command::AddCommand(const std::string& name, const std::string& purpose,
                            std::function<void()> run) {
  if (app_->get_require_subcommand_max() == 0) app_->require_subcommand(1);
  CLI::App* const command = app_->add_subcommand(name, purpose);
  if (run == nullptr) {
    command->require_subcommand(0);
  } else {
    command->require_subcommand(0, 1);
    SetRun(command, std::move(run));
  }
  return Command(app_->get_subcommand_ptr(command));
}

Option Command::AddText(const std::string& name, std::string* value,
                        const std::string& help) {
  return Option(RequireText(app_->add_option(name, *value, help)));
}

Option Command::AddList(const std::string& name,
                        std::vector<std::string>* values,
                        const std::string& help) {
  CLI::Option* const option =
      RequireText(app_->add_option(name, *values, help));
  // "--by machine PATH" has one value.
  if (!option->get_positional()) option->allow_extra_args(false);
  return Option(option);
}

Option Command::AddFlag(const std::string& name, bool* given,
                        const std::string& help) {
  return Option(app_->add_flag(name, *given, help));
}

Option Command::AddNumber(const std::string& name, uint32_t* value,
                          const std::string& help, uint32_t least,
                          uint32_t most) {
  return Option(AddNumberTo(*app_, name, value, help, least, most));
}

Option Command::AddNumber(const std::string& name, uint64_t* value,
                          const std::string& help, uint64_t least,
                          uint64_t most) {
  return Option(AddNumberTo(*app_, name, value, help, least, most));
}

Option Command::AddNumber(const std::string& name, int* value,
                          const std::string& help, int least, int most) {
  return Option(AddNumberTo(*app_, name, value, help, least, most));
}

void Command::SetFooter(const std::string& text) { app_->footer(text); }

void Command::AcceptParentOptions() { app_->fallthrough(); }

std::optional<int> Command::Parse(
    int argc, char** argv,
    absl::FunctionRef<int(const std::string& error)> report) {
  std::vector<std::string> arguments =
      CommandFirst(*app_, {argv + 1, argv + argc});
  std::reverse(arguments.begin(), arguments.end());  // as the parser takes them
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::Success& request) {  // --help and --version
    return app_->exit(request);
  } catch (const CLI::ParseError& error) {
    const std::vector<const CLI::App*> given = GivenCommands(*app_);
    const auto name = [](std::string* out, const CLI::App* command) {
      absl::StrAppend(out, command->get_name());
    };
    const std::string explained = Explain(given, error);
    return report(absl::StrCat(
        explained, absl::EndsWith(explained, "?") ? " See " : "; see ",
        absl::StrJoin(given, " ", name), " --help"));
  }
  return std::nullopt;
}

std::optional<int> Command::Parse(int argc, char** argv) {
  return Parse(argc, argv, [this](const std::string& error) {
    std::fprintf(stderr, "%s: %s\n", app_->get_name().c_str(),
                 Printable(error).c_str());
    return 2;
  });
}

bool Command::given() const { return app_->parsed(); }

}  // namespace fleetperf
