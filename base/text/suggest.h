// Finds names by a wrong name or by everyday words, and suggests the nearest.

#ifndef FLEETPERF_BASE_TEXT_SUGGEST_H_
#define FLEETPERF_BASE_TEXT_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf {

// Returns at most three of `names`, nearest first, ignoring case. Empty if none
// is near. Those with a few wrong letters come first, then those that contain
// `wrong`, then those that FindByWords finds. The work is bounded: of very many
// names, only the first ones are compared letter by letter.
std::vector<std::string> NearestNames(absl::string_view wrong,
                                      absl::Span<const std::string> names);

// Returns "; did you mean \"a\" or \"b\"?", or "" if no name is near.
std::string DidYouMean(absl::string_view wrong,
                       absl::Span<const std::string> names);

// Same, followed by the command that lists the names.
std::string DidYouMeanOrSee(absl::string_view wrong,
                            absl::Span<const std::string> names,
                            absl::string_view command);

// A name to find, such as "\Memory\Used Bytes" or "nginx:312".
struct NamedThing {
  std::string name;
  std::string help;           // words in it count less than words in the name
  bool is_preferred = false;  // comes before others that fit as well
};

// Returns the positions in `things` of those in which all words occur, best
// first: as they are, or in other words of base/text/everyday_words.h. Words
// may be parts of words of the name: "disk" occurs in "PhysicalDisk". Things
// with all words in the name come first, and of these the preferred ones.
std::vector<size_t> FindByWords(absl::string_view words,
                                absl::Span<const NamedThing> things);

// Returns `words` with the nearest word of a name instead of each word that
// occurs nowhere.
std::string CorrectedWords(absl::string_view words,
                           absl::Span<const NamedThing> things);

// Returns the text in single quotes, as one argument for a shell.
std::string ShellQuoted(absl::string_view text);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TEXT_SUGGEST_H_
