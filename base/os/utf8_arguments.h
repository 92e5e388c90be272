// A process's arguments in UTF-8.

#ifndef FLEETPERF_BASE_OS_UTF8_ARGUMENTS_H_
#define FLEETPERF_BASE_OS_UTF8_ARGUMENTS_H_

#include <string>
#include <utility>
#include <vector>

namespace fleetperf {

// Returns the process's arguments, its name first. Takes those of main(),
// which on Windows are in the ANSI code page before Windows 10 1903 and lack
// other characters: there, the command line is read in UTF-16 instead.
std::vector<std::string> Utf8Arguments(int argc, char** argv);

// The same in the form of main()'s parameters. Must outlive their use.
class ArgumentVector {
 public:
  explicit ArgumentVector(std::vector<std::string> arguments)
      : arguments_(std::move(arguments)) {
    for (std::string& argument : arguments_) {
      pointers_.push_back(argument.data());
    }
    pointers_.push_back(nullptr);
  }
  ArgumentVector(const ArgumentVector&) = delete;
  ArgumentVector& operator=(const ArgumentVector&) = delete;

  int argc() const { return static_cast<int>(arguments_.size()); }
  char** argv() { return pointers_.data(); }

 private:
  std::vector<std::string> arguments_;
  std::vector<char*> pointers_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_UTF8_ARGUMENTS_H_
