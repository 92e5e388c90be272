// Reads YAML configuration files strictly. An unknown key, a duplicate key, a
// value of the wrong kind or out of range, and a key or value that is not text
// (CheckText) are errors that name the file and the line.
//
//   ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Load(path));
//   ConfigSection root = file.root();
//   root.Require("listen", &config.listen);
//   root.Read("retention", &config.retention, absl::Hours(1),
//             absl::Hours(1e5));
//   RETURN_IF_ERROR(file.Finish());
//
// The Read functions leave a value unchanged if the key is absent, so that
// variables keep their initial values as defaults. They note the first error,
// which Finish returns.

#ifndef FLEETPERF_BASE_CONFIG_CONFIG_H_
#define FLEETPERF_BASE_CONFIG_CONFIG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf {

// A key as the code that reads it declares it, and its value in the file.
struct ConfigSetting {
  absl::string_view type;  // "duration"
  bool is_required = false;
  std::string default_value;  // as a file writes it; "" if there is none
  std::string least;          // bounds, as a file writes them; "" for none
  std::string most;
  std::string text;  // the file's YAML; "" if the key is absent
};

// By the name of the key: "store.max_size", "queries[].interval".
using ConfigSettings = std::map<std::string, ConfigSetting>;

namespace internal {
struct ConfigState;  // the document, the known keys, the first error
struct ConfigNode;   // a node of the YAML library
}  // namespace internal

// A mapping of the file. An absent mapping behaves like an empty one.
class ConfigSection {
 public:
  bool Has(absl::string_view key);

  void Read(absl::string_view key, std::string* value);
  void Read(absl::string_view key, bool* value);
  void Read(absl::string_view key, int64_t* value, int64_t least, int64_t most);
  // "10s"; see units.h.
  void Read(absl::string_view key, absl::Duration* value, absl::Duration least,
            absl::Duration most);
  // "64MiB"; see units.h.
  void ReadByteSize(absl::string_view key, uint64_t* value, uint64_t least,
                    uint64_t most);
  // Reads a list of strings; a single string is a list of one.
  void Read(absl::string_view key, std::vector<std::string>* value);
  void Read(absl::string_view key, std::map<std::string, std::string>* value);
  // Reads lists of strings by name; see above.
  void Read(absl::string_view key,
            std::map<std::string, std::vector<std::string>>* value);
  // Reads a path. Relative paths are relative to the file's directory.
  void ReadPath(absl::string_view key, std::string* value);

  // Same as Read and ReadPath, but an absent or empty value is an error.
  void Require(absl::string_view key, std::string* value);
  void RequirePath(absl::string_view key, std::string* value);

  ConfigSection Section(absl::string_view key);
  // Returns the elements of a list of mappings.
  std::vector<ConfigSection> Sections(absl::string_view key);

  // Notes an error at the line of `key`, or of the section if the key is
  // absent.
  void Error(absl::string_view key, absl::string_view message);

 private:
  friend class ConfigFile;
  ConfigSection(std::shared_ptr<internal::ConfigState> state, std::string name,
                std::shared_ptr<internal::ConfigNode> node);

  // Notes the declaration of a key and its value.
  void Declare(absl::string_view key, ConfigSetting setting);

  // Returns the scalar's text; null if the key is absent or an error was noted.
  const std::string* Scalar(absl::string_view key, std::string* storage);
  std::string NameOf(absl::string_view key) const;

  std::shared_ptr<internal::ConfigState> state_;
  std::string name_;  // "delivery", "queries[0]"; empty for the root
  std::shared_ptr<internal::ConfigNode> node_;
};

class ConfigFile {
 public:
  static absl::StatusOr<ConfigFile> Load(const std::string& path);

  // `path` is used in messages and to resolve relative paths.
  static absl::StatusOr<ConfigFile> Parse(const std::string& text,
                                          const std::string& path);

  ConfigSection root();

  // Returns the first noted error, or the first key that is unknown or
  // duplicate.
  absl::Status Finish();

  // Returns the keys that were read. Those in lists of mappings appear once,
  // and without their values, which belong to the list.
  const ConfigSettings& settings() const;

 private:
  explicit ConfigFile(std::shared_ptr<internal::ConfigState> state)
      : state_(std::move(state)) {}

  std::shared_ptr<internal::ConfigState> state_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CONFIG_CONFIG_H_
