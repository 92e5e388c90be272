// Counter paths, in PDH's syntax:
//
//   \\machine\counterset(instance#index)\counter
//
//   \\machine   optional; without it the path matches every machine
//   (instance)  optional; required by a counterset with several instances
//   #index      optional; selects one of several instances with the same
//               name, from 0
//
// In every part, `*` matches any characters and `?` any single one. [*], [?],
// [#] and [)] match the characters themselves; # needs brackets only before
// digits at the end of an instance, and ) only before \ in a counter. The
// instance extends from the first "(" to the last ")\", so it may contain both.
// It is empty for an instance without a name. "name#1" without wildcards also
// selects the instance with exactly that name. A counterset whose own name
// contains parentheses is recognized if it is in the list of known names and
// the text before the parentheses is not another known name. "{GUID}" can
// replace a counterset's name, and "id:N" a counter's name. Names match without
// regard to ASCII case.

#ifndef FLEETPERF_PERFLIB_PATH_H_
#define FLEETPERF_PERFLIB_PATH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/guid.h"

namespace fleetperf::perflib {

// One part of a path: a name with wildcards.
class Pattern {
 public:
  // Matches everything.
  Pattern() : Pattern("*") {}
  // Every text is a valid pattern.
  explicit Pattern(absl::string_view text);

  bool Matches(absl::string_view name) const;

  // A pattern without wildcards matches a single name.
  bool has_wildcards() const { return has_wildcards_; }
  // The name that a pattern without wildcards matches, with its original case.
  const std::string& literal() const { return literal_; }

  const std::string& text() const { return text_; }

  bool operator==(const Pattern& other) const { return text_ == other.text_; }

 private:
  struct Token {
    enum class Kind : uint8_t { kByte, kAnyOne, kAny } kind;
    char byte;  // in lower case
  };

  std::string text_;
  std::string literal_;
  std::vector<Token> tokens_;
  bool has_wildcards_ = false;
};

// Returns `name` escaped, so that its Pattern matches only that name.
std::string EscapeName(absl::string_view name);
// Same for an instance name, in which digits after a final # would be an index.
std::string EscapeInstanceName(absl::string_view name);

struct Path {
  Pattern machine;
  Pattern counterset;
  std::optional<Guid> counterset_guid;  // if it was written as {GUID}
  std::optional<Pattern> instance;      // nullopt: no parentheses
  std::optional<uint32_t> instance_index;
  // The instance with "#N" as a name, if it has no wildcards.
  std::optional<Pattern> literal_instance;
  Pattern counter;
  std::optional<uint32_t> counter_id;  // if the counter was written as id:N

  // Whether the path selects an instance, and with any index. `index` is its
  // number among those with its name. A path without an instance selects all.
  bool SelectsInstance(absl::string_view name, uint32_t index) const;
  bool MatchesInstance(absl::string_view name) const;
  // Whether the parts match these names.
  bool MatchesCounterset(absl::string_view name, const Guid& guid) const;
  bool MatchesCounter(absl::string_view name, uint32_t id) const;
};

// Parses a path. Errors name the position and the expected text. If the text
// before the first "(" or "\" is not in `known_countersets`, the longest known
// name that the path starts with is the counterset.
absl::StatusOr<Path> ParsePath(
    absl::string_view text,
    absl::Span<const std::string> known_countersets = {});

// Returns the path of one counter, with names escaped if necessary, so that it
// selects the counter. Omits the machine if `machine` is empty, the instance if
// `instance` is std::nullopt, and the index if it is 0.
std::string FormatPath(absl::string_view machine, absl::string_view counterset,
                       std::optional<absl::string_view> instance,
                       uint32_t instance_index, absl::string_view counter);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_PATH_H_
