// The arguments of a program: commands, flags, --help and --version.
//
//   std::string format = "table";
//   Command program("fleetperf", "Performance counters of a fleet.");
//   Command list = program.AddCommand("machines", "List the machines",
//                                     [&] { run = ListMachines; });
//   list.AddText("--format", &format, "The output").AcceptOnly("table|csv");
//   if (const auto status = program.Parse(argc, argv)) return *status;
//   return run(format);
//
// This header hides CLI11, whose headers take seconds to compile.

#ifndef FLEETPERF_BASE_DAEMON_COMMAND_PARSER_H_
#define FLEETPERF_BASE_DAEMON_COMMAND_PARSER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fleetperf {

// An option, a flag or a positional argument of a command. Copies refer to the
// same one. Must not be used after the command is destroyed. The functions
// return the option itself, so that calls can be chained.
class Option {
 public:
  // Names the value in --help: "FILE". The default is "TEXT"; "" shows nothing.
  Option SetType(const std::string& type);

  // Makes it an error to omit the option.
  Option Require();

  // Accepts only these values, and shows them as the type: "table|csv|json".
  Option AcceptOnly(const std::string& choices);

  // Splits each value of a list: "a,b" gives two.
  Option SplitAt(char separator);

  // Accepts values that are not text (CheckText): the arguments of a program
  // that the program runs. Must be called for an option with a text or a list.
  Option AcceptAnyBytes();

  // Shows the variable's current value in --help.
  Option ShowDefault();

  // Makes it an error to give both options.
  Option Exclude(Option other);

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}

  CLI::Option* option_;
};

// A program, or one of its commands. Copies refer to the same one. Commands may
// have commands: `fleetperf pki issue`. Thread-compatible.
//
// The functions Add* of options store the value in a variable, which must
// outlive Parse and keeps its value if the option is omitted. The name is
// "--event", "-e,--event", or that of a positional argument: "PATH". Names must
// be unique in a command. A value that is not text (CheckText) is an error.
class Command {
 public:
  // The program, with --help and --version. Parse calls `run` if no command is
  // given. Without `run`, a program that has commands requires one.
  Command(const std::string& name, const std::string& purpose,
          std::function<void()> run = nullptr);

  // Adds a command. Parse calls `run` if the command is given without one of
  // its own commands. Without `run`, it requires one of them.
  Command AddCommand(const std::string& name, const std::string& purpose,
                     std::function<void()> run = nullptr);

  // Adds an option with a value, which is an error to repeat.
  Option AddText(const std::string& name, std::string* value,
                 const std::string& help);

  // Adds an option that may be repeated, or a positional argument that takes
  // all remaining values.
  Option AddList(const std::string& name, std::vector<std::string>* values,
                 const std::string& help);

  // Adds an option without a value.
  Option AddFlag(const std::string& name, bool* given, const std::string& help);

  // Adds an option whose value must be a whole number from `least` to `most`.
  Option AddNumber(const std::string& name, uint32_t* value,
                   const std::string& help, uint32_t least = 1,
                   uint32_t most = UINT32_MAX);
  Option AddNumber(const std::string& name, uint64_t* value,
                   const std::string& help, uint64_t least, uint64_t most);
  Option AddNumber(const std::string& name, int* value, const std::string& help,
                   int least, int most);

  // Sets the text that ends --help. Commands that are added later have the same
  // text unless they set their own.
  void SetFooter(const std::string& text);

  // Makes this command, and commands that are added to it later, accept the
  // options of the commands above them: `fleetperf query --aggregator a:7443`.
  void AcceptParentOptions();

  // Parses the arguments of main and calls `run` of the given command, once all
  // arguments are known to be valid. Options of a command may precede it. Must
  // be called for the program, once.
  //
  // Returns nullopt if the program should go on, or the exit status: 0 after
  // printing the help or the version to standard output; for invalid arguments,
  // the result of `report`, which gets the error and the next step: `--top: "x"
  // is not a whole number from 1 to 9; see fleetperf query --help`.
  std::optional<int> Parse(
      int argc, char** argv,
      absl::FunctionRef<int(const std::string& error)> report);

  // Same; prints errors to standard error, after the program's name, and
  // returns 2 for them.
  std::optional<int> Parse(int argc, char** argv);

  // Returns whether Parse found this command among the arguments, even if they
  // were invalid.
  bool given() const;

 private:
  explicit Command(std::shared_ptr<CLI::App> app);

  std::shared_ptr<CLI::App> app_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_DAEMON_COMMAND_PARSER_H_
