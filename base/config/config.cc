#include "base/config/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/os/input_file.h"
#include "base/os/native_path.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "base/text/suggest.h"
#include "base/text/units.h"

namespace fleetperf {
namespace internal {

struct ConfigNode {
  YAML::Node yaml;  // undefined for an absent section
  std::vector<std::string> known_keys;
};

struct ConfigState {
  std::string path;
  YAML::Node root;
  absl::Status error;
  ConfigSettings settings;
  // All sections that were opened, for the search for unknown keys.
  std::vector<std::pair<std::string, std::shared_ptr<ConfigNode>>> sections;

  void Note(const YAML::Mark& mark, absl::string_view message) {
    if (!error.ok()) return;
    error = mark.is_null()
                ? absl::InvalidArgumentError(absl::StrCat(path, ": ", message))
                : absl::InvalidArgumentError(
                      absl::StrCat(path, ":", mark.line + 1, ": ", message));
  }
};

}  // namespace internal

namespace {

using internal::ConfigNode;
using internal::ConfigState;

// Returns the value of `key`, if the section exists and has it. A key without a
// value counts as absent.
std::optional<YAML::Node> Find(ConfigNode& node, absl::string_view key) {
  const std::string name(key);
  node.known_keys.push_back(name);
  if (!node.yaml.IsDefined() || !node.yaml.IsMap()) return std::nullopt;
  const YAML::Node value = std::as_const(node.yaml)[name];
  if (!value.IsDefined() || value.IsNull()) return std::nullopt;
  return value;
}

// Fails if the parser would take a byte for the end of the text and ignore the
// rest: yaml-cpp reads 0x04 so, without an error.
absl::Status CheckEnd(absl::string_view text, const std::string& path) {
  const size_t end = text.find('\x04');
  if (end == absl::string_view::npos) return absl::OkStatus();
  const auto line = std::count(text.begin(), text.begin() + end, '\n') + 1;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ":", line,
      ": the file has the byte 0x04, a control character; remove it, or "
      "encode the file in UTF-8"));
}

// Returns the text of a scalar, the only way to read one. Notes an error if it
// is not text. `name` names it: "plans[0].name".
std::string TextOf(const YAML::Node& scalar, const std::string& name,
                   ConfigState* state) {
  const absl::Status status = CheckText(scalar.Scalar());
  if (!status.ok()) {
    state->Note(scalar.Mark(), absl::StrCat(name, ": ", status.message()));
  }
  return scalar.Scalar();
}

// Returns a list of scalars; a single scalar is a list of one. std::nullopt if
// the node is something else.
std::optional<std::vector<std::string>> ListIn(const YAML::Node& node,
                                               const std::string& name,
                                               ConfigState* state) {
  if (node.IsScalar()) {
    return std::vector<std::string>{TextOf(node, name, state)};
  }
  if (!node.IsSequence()) return std::nullopt;
  std::vector<std::string> list;
  for (const YAML::Node& element : node) {
    if (!element.IsScalar()) return std::nullopt;
    list.push_back(
        TextOf(element, absl::StrCat(name, "[", list.size(), "]"), state));
  }
  return list;
}

// Returns "queries[].interval" for "queries[3].interval".
std::string WithoutIndices(const std::string& name) {
  std::string result;
  bool in_index = false;
  for (const char c : name) {
    if (c == ']') in_index = false;
    if (!in_index) result += c;
    if (c == '[') in_index = true;
  }
  return result;
}

// Returns the suggestion of a key with the same name in another section.
std::string InOtherSection(const std::string& key,
                           const ConfigSettings& settings) {
  for (const auto& [name, setting] : settings) {
    if (name == key || absl::EndsWith(name, "." + key)) {
      return absl::StrCat("; did you mean \"", name, "\"?");
    }
  }
  return "";
}

// Bounds that bound nothing are not shown.
std::string Bound(int64_t bound) {
  return bound == 0 || bound == std::numeric_limits<int64_t>::max()
             ? ""
             : absl::StrCat(bound);
}

std::string Bound(absl::Duration bound) {
  return bound == absl::ZeroDuration() || bound == absl::InfiniteDuration()
             ? ""
             : FormatInOneUnit(bound);
}

std::string SizeBound(uint64_t bound) {
  return bound == 0 ? "" : FormatByteSize(bound);
}

}  // namespace

ConfigSection::ConfigSection(std::shared_ptr<ConfigState> state,
                             std::string name, std::shared_ptr<ConfigNode> node)
    : state_(std::move(state)), name_(std::move(name)), node_(std::move(node)) {
  state_->sections.emplace_back(name_, node_);
  if (node_->yaml.IsDefined() && !node_->yaml.IsNull() &&
      !node_->yaml.IsMap()) {
    state_->Note(node_->yaml.Mark(),
                 absl::StrCat(name_.empty() ? "the file" : name_,
                              " must consist of \"key: value\" lines"));
  }
}

bool ConfigSection::Has(absl::string_view key) {
  return Find(*node_, key).has_value();
}

void ConfigSection::Error(absl::string_view key, absl::string_view message) {
  const std::optional<YAML::Node> value = Find(*node_, key);
  const YAML::Mark mark = value.has_value()         ? value->Mark()
                          : node_->yaml.IsDefined() ? node_->yaml.Mark()
                                                    : YAML::Mark::null_mark();
  state_->Note(mark, absl::StrCat(NameOf(key), ": ", message));
}

std::string ConfigSection::NameOf(absl::string_view key) const {
  return name_.empty() ? std::string(key) : absl::StrCat(name_, ".", key);
}

void ConfigSection::Declare(absl::string_view key, ConfigSetting setting) {
  const std::string name = WithoutIndices(NameOf(key));
  const std::optional<YAML::Node> value = Find(*node_, key);
  if (value.has_value() && !absl::StrContains(name, '[')) {
    setting.text = YAML::Dump(*value);
  }
  state_->settings.insert_or_assign(name, std::move(setting));
}

const std::string* ConfigSection::Scalar(absl::string_view key,
                                         std::string* storage) {
  const std::optional<YAML::Node> value = Find(*node_, key);
  if (!value.has_value()) return nullptr;
  if (!value->IsScalar()) {
    Error(key, "expected a single value");
    return nullptr;
  }
  *storage = TextOf(*value, NameOf(key), state_.get());
  return storage;
}

void ConfigSection::Read(absl::string_view key, std::string* value) {
  Declare(key, {.type = "text", .default_value = *value});
  std::string text;
  if (Scalar(key, &text) != nullptr) *value = std::move(text);
}

void ConfigSection::Read(absl::string_view key, bool* value) {
  Declare(key, {.type = "true or false",
                .default_value = *value ? "true" : "false"});
  std::string text;
  if (Scalar(key, &text) == nullptr) return;
  if (text == "true") {
    *value = true;
  } else if (text == "false") {
    *value = false;
  } else {
    Error(key, "expected true or false");
  }
}

void ConfigSection::Read(absl::string_view key, int64_t* value, int64_t least,
                         int64_t most) {
  Declare(key, {.type = "number",
                .default_value = absl::StrCat(*value),
                .least = Bound(least),
                .most = Bound(most)});
  std::string text;
  if (Scalar(key, &text) == nullptr) return;
  int64_t number;
  if (!absl::SimpleAtoi(text, &number) || number < least || number > most) {
    Error(key, absl::StrCat("\"", text, "\" is not a whole number from ", least,
                            " to ", most));
    return;
  }
  *value = number;
}

void ConfigSection::Read(absl::string_view key, absl::Duration* value,
                         absl::Duration least, absl::Duration most) {
  Declare(key, {.type = "duration",
                .default_value = FormatInOneUnit(*value),
                .least = Bound(least),
                .most = Bound(most)});
  std::string text;
  if (Scalar(key, &text) == nullptr) return;
  const auto duration = ParseDuration(text);
  if (!duration.ok()) {
    Error(key, duration.status().message());
  } else if (*duration < least || *duration > most) {
    Error(key, absl::StrCat(text, " is not between ", FormatInOneUnit(least),
                            " and ", FormatInOneUnit(most)));
  } else {
    *value = *duration;
  }
}

void ConfigSection::ReadByteSize(absl::string_view key, uint64_t* value,
                                 uint64_t least, uint64_t most) {
  Declare(key, {.type = "size",
                .default_value = FormatByteSize(*value),
                .least = SizeBound(least),
                .most = SizeBound(most)});
  std::string text;
  if (Scalar(key, &text) == nullptr) return;
  const auto size = ParseByteSize(text);
  if (!size.ok()) {
    Error(key, size.status().message());
  } else if (*size < least || *size > most) {
    Error(key, absl::StrCat(text, " is not between ", FormatByteSize(least),
                            " and ", FormatByteSize(most)));
  } else {
    *value = *size;
  }
}

void ConfigSection::Read(absl::string_view key,
                         std::vector<std::string>* value) {
  Declare(key, {.type = "list"});
  const std::optional<YAML::Node> node = Find(*node_, key);
  if (!node.has_value()) return;
  auto list = ListIn(*node, NameOf(key), state_.get());
  if (!list.has_value()) return Error(key, "expected a list of values");
  *value = *std::move(list);
}

void ConfigSection::Read(absl::string_view key,
                         std::map<std::string, std::string>* value) {
  Declare(key, {.type = "names and values"});
  const std::optional<YAML::Node> node = Find(*node_, key);
  if (!node.has_value()) return;
  if (!node->IsMap()) return Error(key, "expected \"name: value\" lines");
  std::map<std::string, std::string> map;
  for (const auto& entry : *node) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar()) {
      return Error(key, "expected \"name: value\" lines");
    }
    const std::string name = TextOf(entry.first, NameOf(key), state_.get());
    map[name] = TextOf(entry.second, absl::StrCat(NameOf(key), ".", name),
                       state_.get());
  }
  *value = std::move(map);
}

void ConfigSection::Read(
    absl::string_view key,
    std::map<std::string, std::vector<std::string>>* value) {
  constexpr absl::string_view kExpected = "expected \"name: [values]\" lines";
  Declare(key, {.type = "names and lists"});
  const std::optional<YAML::Node> node = Find(*node_, key);
  if (!node.has_value()) return;
  if (!node->IsMap()) return Error(key, kExpected);
  std::map<std::string, std::vector<std::string>> map;
  for (const auto& entry : *node) {
    if (!entry.first.IsScalar()) return Error(key, kExpected);
    const std::string name = TextOf(entry.first, NameOf(key), state_.get());
    auto list = ListIn(entry.second, absl::StrCat(NameOf(key), ".", name),
                       state_.get());
    if (!list.has_value()) return Error(key, kExpected);
    map[name] = *std::move(list);
  }
  *value = std::move(map);
}

void ConfigSection::ReadPath(absl::string_view key, std::string* value) {
  Declare(key, {.type = "path", .default_value = *value});
  std::string text;
  if (Scalar(key, &text) == nullptr) return;
  const std::string directory =
      Utf8FromPath(NativePath(state_->path).parent_path());
  // Windows has no path for other text.
  *value = CheckText(text).ok() ? ResolvePath(directory, text) : text;
}

void ConfigSection::Require(absl::string_view key, std::string* value) {
  Read(key, value);
  Declare(key, {.type = "text", .is_required = true});
  if (value->empty()) Error(key, "is missing");
}

void ConfigSection::RequirePath(absl::string_view key, std::string* value) {
  ReadPath(key, value);
  Declare(key, {.type = "path", .is_required = true});
  if (value->empty()) Error(key, "is missing");
}

ConfigSection ConfigSection::Section(absl::string_view key) {
  auto node = std::make_shared<ConfigNode>();
  const std::optional<YAML::Node> value = Find(*node_, key);
  // A default YAML::Node would count as defined.
  node->yaml.reset(value.has_value() ? *value
                                     : YAML::Node(YAML::NodeType::Undefined));
  return ConfigSection(state_, NameOf(key), std::move(node));
}

std::vector<ConfigSection> ConfigSection::Sections(absl::string_view key) {
  Declare(key, {.type = "list of sections"});
  std::vector<ConfigSection> sections;
  const std::optional<YAML::Node> value = Find(*node_, key);
  if (!value.has_value()) return sections;
  if (!value->IsSequence()) {
    Error(key, "expected a list");
    return sections;
  }
  for (size_t i = 0; i < value->size(); ++i) {
    auto node = std::make_shared<ConfigNode>();
    node->yaml.reset((*value)[i]);
    sections.push_back(ConfigSection(
        state_, absl::StrCat(NameOf(key), "[", i, "]"), std::move(node)));
  }
  return sections;
}

absl::StatusOr<ConfigFile> ConfigFile::Load(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path));
  return Parse(text, path);
}

absl::StatusOr<ConfigFile> ConfigFile::Parse(const std::string& text,
                                             const std::string& path) {
  RETURN_IF_ERROR(CheckEnd(text, path));
  auto state = std::make_shared<ConfigState>();
  state->path = path;
  try {
    state->root = YAML::Load(text);
  } catch (const YAML::Exception& exception) {
    state->Note(exception.mark, exception.msg);
    return state->error;
  }
  return ConfigFile(std::move(state));
}

ConfigSection ConfigFile::root() {
  auto node = std::make_shared<ConfigNode>();
  node->yaml.reset(state_->root);
  return ConfigSection(state_, "", std::move(node));
}

absl::Status ConfigFile::Finish() {
  for (const auto& [name, node] : state_->sections) {
    if (!node->yaml.IsDefined() || !node->yaml.IsMap()) continue;
    std::set<std::string> seen;
    for (const auto& entry : node->yaml) {
      const std::string key =
          entry.first.IsScalar()
              ? TextOf(entry.first, name.empty() ? "a key" : name, state_.get())
              : "(not a name)";
      if (!seen.insert(key).second) {
        state_->Note(entry.first.Mark(),
                     absl::StrCat("\"", key, "\" is set twice",
                                  name.empty() ? "" : " in " + name));
      }
      const auto& known = node->known_keys;
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const std::string nearest = DidYouMean(key, known);
      state_->Note(
          entry.first.Mark(),
          absl::StrCat("unknown key \"", key, "\"",
                       name.empty() ? "" : " in " + name,
                       nearest.empty() ? InOtherSection(key, state_->settings)
                                       : nearest));
    }
  }
  return state_->error;
}

const ConfigSettings& ConfigFile::settings() const { return state_->settings; }

}  // namespace fleetperf
