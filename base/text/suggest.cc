#include "base/text/suggest.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/text/everyday_words.h"

namespace fleetperf {
namespace {

constexpr size_t kMaxSuggestions = 3;
constexpr size_t kMaxLength = 256;  // longer names are compared by their prefix
// The limit of pairs of letters that are compared, some 30 ms of work. It is
// enough for 25,000 names of 20 letters.
constexpr size_t kMaxSteps = 10'000'000;

// Returns the number of insertions, deletions, replacements and swaps of
// neighbors.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1),
      row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

using Words = std::vector<std::string>;

constexpr size_t kMaxWords = 16;
constexpr size_t kMaxReadings = 32;
// Costs of finding a name, in the order of preference. A name that is the
// words, as they are, costs 0.
constexpr size_t kCostOfChange = 1;   // of words for other words
constexpr size_t kCostOfText = 10;    // the name contains the words in order
constexpr size_t kCostOfParts = 20;   // the words occur in the name
constexpr size_t kCostOfHelp = 1000;  // for each word that only the help has

// Returns the words in lower case, without those that names do not share.
Words WordsOf(absl::string_view text) {
  static const auto* const ignored = new std::set<absl::string_view>{
      "a",   "an",   "by",   "do", "does", "for",   "how", "i",
      "in",  "is",   "many", "me", "much", "my",    "of",  "on",
      "per", "show", "the",  "to", "what", "which", "who"};
  Words all;
  Words words;
  for (const absl::string_view word :
       absl::StrSplit(text.substr(0, kMaxLength), absl::ByAnyChar(" \t\\(),?"),
                      absl::SkipEmpty())) {
    if (all.size() == kMaxWords) break;
    all.push_back(absl::AsciiStrToLower(word));
    if (!ignored->contains(all.back())) words.push_back(all.back());
  }
  return words.empty() ? all : words;
}

// Returns `words` without those of `phrase`; std::nullopt if one is not there.
std::optional<Words> Without(const Words& phrase, Words words) {
  for (const std::string& word : phrase) {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) return std::nullopt;
    words.erase(found);
  }
  return words;
}

// How well a word occurs in a text: as a word, at the start of one, or inside
// one. A plural may occur as a singular. std::nullopt: not at all.
std::optional<size_t> CostOfWord(absl::string_view word,
                                 absl::string_view text) {
  std::optional<size_t> least;
  for (size_t at = text.find(word); at != text.npos;
       at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || !absl::ascii_isalnum(text[at - 1]);
    const bool ends = end == text.size() || !absl::ascii_isalnum(text[end]);
    const size_t cost = starts ? (ends ? 0 : 1) : 2;
    // One or two letters inside a word mean nothing.
    if (word.size() <= 2 && cost > 0) continue;
    if (!least.has_value() || cost < *least) least = cost;
    if (cost == 0) break;
  }
  if (!least.has_value() && word.size() > 3 &&
      absl::ConsumeSuffix(&word, "s")) {
    return CostOfWord(word, text);
  }
  return least;
}

// Whether people use the word for something that names call otherwise.
bool IsEveryday(const std::string& word) {
  const auto has = [&](const auto& everyday) {
    const Words words = WordsOf(everyday.words);
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  return std::any_of(EverydayWords().begin(), EverydayWords().end(), has) ||
         std::any_of(EverydayCounters().begin(), EverydayCounters().end(), has);
}

// What words may mean.
class WordSearch {
 public:
  explicit WordSearch(absl::string_view text)
      : text_(absl::AsciiStrToLower(text)) {
    AddReading({.words = WordsOf(text)});
    for (size_t i = 0; i < readings_.size(); ++i) {
      for (const EverydayWord& everyday : EverydayWords()) {
        auto rest = Without(WordsOf(everyday.words), readings_[i].words);
        if (!rest.has_value()) continue;
        for (std::string& word : WordsOf(everyday.instead)) {
          rest->push_back(std::move(word));
        }
        AddReading({*std::move(rest), readings_[i].changes + 1});
      }
    }
    for (const Reading& reading : readings_) AddCounters(reading);
  }

  // Returns the cost of finding a thing, whose texts are in lower case;
  // std::nullopt if it lacks a word.
  std::optional<size_t> CostOf(absl::string_view name,
                               absl::string_view help) const {
    if (name == text_) return 0;
    std::optional<size_t> least;
    const auto note = [&](const Words& words, size_t cost) {
      const auto of_words = CostOfWords(words, name, help);
      if (!of_words.has_value()) return;
      if (!least.has_value() || cost + *of_words < *least) {
        least = cost + *of_words;
      }
    };
    for (const Counter& counter : counters_) {
      if (counter.Is(name)) note(counter.rest, 1 + counter.cost);
    }
    for (const Reading& reading : readings_) {
      const bool has_text = absl::StrContains(name, reading.text);
      note(reading.words, (has_text ? kCostOfText : kCostOfParts) +
                              kCostOfChange * reading.changes);
    }
    return least;
  }

 private:
  struct Reading {
    Words words;
    size_t changes = 0;
    std::string text = absl::StrJoin(words, " ");
  };
  // A counter that some words of a reading mean.
  struct Counter {
    std::string counterset;
    std::string name;
    std::string path;
    Words rest;  // the reading's other words
    size_t cost = 0;

    bool Is(absl::string_view other) const {
      return other == path || other == counterset || other == name;
    }
  };

  void AddReading(Reading reading) {
    const bool is_known = std::any_of(
        readings_.begin(), readings_.end(),
        [&](const Reading& one) { return one.words == reading.words; });
    if (is_known || reading.words.empty() || readings_.size() == kMaxReadings) {
      return;
    }
    readings_.push_back(std::move(reading));
  }

  void AddCounters(const Reading& reading) {
    size_t earlier = 0;  // entries with the same words
    absl::string_view last;
    for (const EverydayCounter& everyday : EverydayCounters()) {
      earlier = everyday.words == last ? earlier + 1 : 0;
      last = everyday.words;
      auto rest = Without(WordsOf(everyday.words), reading.words);
      if (!rest.has_value()) continue;
      const std::string counterset = absl::AsciiStrToLower(everyday.counterset);
      const std::string name = absl::AsciiStrToLower(everyday.counter);
      counters_.push_back({.counterset = counterset,
                           .name = name,
                           .path = absl::StrCat("\\", counterset, "\\", name),
                           .rest = *std::move(rest),
                           .cost = kCostOfChange * reading.changes + earlier});
    }
  }

  static std::optional<size_t> CostOfWords(const Words& words,
                                           absl::string_view name,
                                           absl::string_view help) {
    size_t cost = 0;
    for (const std::string& word : words) {
      if (const auto in_name = CostOfWord(word, name)) {
        cost += *in_name;
      } else if (CostOfWord(word, help).has_value()) {
        cost += kCostOfHelp;
      } else {
        return std::nullopt;
      }
    }
    return cost;
  }

  const std::string text_;
  std::vector<Reading> readings_;
  std::vector<Counter> counters_;
};

}  // namespace

std::vector<std::string> NearestNames(absl::string_view wrong,
                                      absl::Span<const std::string> names) {
  const std::string lower = absl::AsciiStrToLower(wrong.substr(0, kMaxLength));
  // A third of the letters may be wrong. A substring of a name is near, too.
  const size_t tolerance = 1 + lower.size() / 3;
  const WordSearch search(wrong);
  std::vector<std::pair<size_t, std::string>> near;
  size_t steps = 0;
  for (const std::string& name : names) {
    const std::string candidate =
        absl::AsciiStrToLower(absl::string_view(name).substr(0, kMaxLength));
    const size_t longer = std::max(lower.size(), candidate.size()) -
                          std::min(lower.size(), candidate.size());
    // The difference in length is a lower bound of the distance.
    size_t distance = longer;
    if (longer <= tolerance) {
      steps += lower.size() * candidate.size();
      distance =
          steps <= kMaxSteps ? EditDistance(lower, candidate) : tolerance + 1;
    }
    if (distance <= tolerance) {
      near.emplace_back(distance, name);
    } else if (lower.size() >= 3 && absl::StrContains(candidate, lower)) {
      near.emplace_back(tolerance + candidate.size() - lower.size(), name);
    } else if (const auto cost = search.CostOf(candidate, /*help=*/"")) {
      near.emplace_back(tolerance + kMaxLength + *cost, name);
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min(near.size(), kMaxSuggestions); ++i) {
    nearest.push_back(std::move(near[i].second));
  }
  return nearest;
}

std::string DidYouMean(absl::string_view wrong,
                       absl::Span<const std::string> names) {
  const std::vector<std::string> nearest = NearestNames(wrong, names);
  if (nearest.empty()) return "";
  return absl::StrCat("; did you mean \"", absl::StrJoin(nearest, "\" or \""),
                      "\"?");
}

std::string DidYouMeanOrSee(absl::string_view wrong,
                            absl::Span<const std::string> names,
                            absl::string_view command) {
  const std::string nearest = DidYouMean(wrong, names);
  return absl::StrCat(nearest, nearest.empty() ? "; see: " : " See: ", command);
}

std::vector<size_t> FindByWords(absl::string_view words,
                                absl::Span<const NamedThing> things) {
  const WordSearch search(words);
  // The number of words in the help; whether it is not preferred; the cost; the
  // size, because a short name is more general.
  using Rank = std::tuple<size_t, bool, size_t, size_t, std::string>;
  std::vector<std::pair<Rank, size_t>> found;
  for (size_t i = 0; i < things.size(); ++i) {
    const NamedThing& thing = things[i];
    const auto cost = search.CostOf(absl::AsciiStrToLower(thing.name),
                                    absl::AsciiStrToLower(thing.help));
    if (!cost.has_value()) continue;
    found.push_back({{*cost / kCostOfHelp, !thing.is_preferred, *cost,
                      thing.name.size(), thing.name},
                     i});
  }
  std::sort(found.begin(), found.end());
  std::vector<size_t> positions;
  for (const auto& [rank, position] : found) positions.push_back(position);
  return positions;
}

std::string CorrectedWords(absl::string_view words,
                           absl::Span<const NamedThing> things) {
  std::set<std::string> vocabulary;
  Words corrected = WordsOf(words);
  for (std::string& word : corrected) {
    const bool occurs =
        std::any_of(things.begin(), things.end(), [&](const NamedThing& thing) {
          return CostOfWord(word, absl::AsciiStrToLower(thing.name)) ||
                 CostOfWord(word, absl::AsciiStrToLower(thing.help));
        });
    if (occurs || IsEveryday(word)) continue;
    if (vocabulary.empty()) {
      for (const NamedThing& thing : things) {
        std::string letters = absl::AsciiStrToLower(thing.name);
        for (char& c : letters) c = absl::ascii_isalnum(c) ? c : ' ';
        for (std::string& known : WordsOf(letters)) {
          vocabulary.insert(std::move(known));
        }
      }
    }
    const std::vector<std::string> nearest = NearestNames(
        word, std::vector<std::string>(vocabulary.begin(), vocabulary.end()));
    if (!nearest.empty()) word = nearest.front();
  }
  return absl::StrJoin(corrected, " ");
}

std::string ShellQuoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace fleetperf
