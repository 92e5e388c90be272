// Counter paths, in PDH's syntax:
//
//   \\machine\counterset(instance#index)\counter
//
//   \\machine   optional; without it the path means every machine
//   (instance)  optional; a counterset with several instances needs it
//   #index      optional, where names are not unique: which of the instances
//               of that name, from 0
//
// `*` stands for any characters and `?` for any one, in every part. Written
// [*], [?] and [#] they stand for themselves; # needs that only before digits
// at the end of an instance. The instance reaches from the first "(" to the
// last ")\", so it may contain both characters; a counterset whose own name
// contains parentheses is recognised if it is known and what stands before them
// is not the name of another.
// "{GUID}" may stand for a counterset's name, "id:N" for a counter's. Names
// match without regard to the case of ASCII letters.

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
  // Every text is a pattern.
  explicit Pattern(absl::string_view text);

  bool Matches(absl::string_view name) const;

  // Without wildcards, a pattern stands for one name.
  bool has_wildcards() const { return has_wildcards_; }
  // The name that a pattern without wildcards stands for, in the case it was
  // written.
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

// `name` written so that a Pattern made of it matches that name alone.
std::string EscapeName(absl::string_view name);
// The same for an instance, where digits behind a # at the end would be an
// index.
std::string EscapeInstanceName(absl::string_view name);

struct Path {
  Pattern machine;
  Pattern counterset;
  std::optional<Guid> counterset_guid;  // if it was written as {GUID}
  std::optional<Pattern> instance;      // nothing: there are no parentheses
  std::optional<uint32_t> instance_index;
  Pattern counter;
  std::optional<uint32_t> counter_id;  // if the counter was written as id:N

  // Whether the parts match these names. Does not look at instance_index.
  bool MatchesCounterset(absl::string_view name, const Guid& guid) const;
  bool MatchesCounter(absl::string_view name, uint32_t id) const;
};

// An error says at which character the path is wrong and what was expected
// there. Where what stands before the first "(" or "\" is none of
// `known_countersets`, the longest of them that the path starts with is taken
// for the counterset.
absl::StatusOr<Path> ParsePath(
    absl::string_view text,
    absl::Span<const std::string> known_countersets = {});

// The path of one counter, with names escaped where needed. No machine if
// `machine` is empty; no instance if `instance` is nothing; the index only if
// it is not 0.
std::string FormatPath(absl::string_view machine, absl::string_view counterset,
                       std::optional<absl::string_view> instance,
                       uint32_t instance_index, absl::string_view counter);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_PATH_H_
