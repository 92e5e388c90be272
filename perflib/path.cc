#include "perflib/path.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace fleetperf::perflib {
namespace {

constexpr absl::string_view kInstanceEnd = ")\\";
constexpr absl::string_view kCounterIdPrefix = "id:";

bool IsEscape(absl::string_view text) {
  return text.size() >= 3 && text[0] == '[' && text[2] == ']' &&
         (text[1] == '*' || text[1] == '?' || text[1] == '#' || text[1] == ')');
}

// Returns the position after the UTF-8 character that starts at `i`.
size_t NextCharacter(absl::string_view text, size_t i) {
  do {
    ++i;
  } while (i < text.size() && (static_cast<uint8_t>(text[i]) & 0xC0) == 0x80);
  return i;
}

// `before` is the text before the error.
absl::Status Expected(absl::string_view before, absl::string_view what) {
  const auto characters = std::count_if(
      before.begin(), before.end(),
      [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
  return absl::InvalidArgumentError(absl::StrCat(
      "at character ", characters + 1, " of the path: expected ", what));
}

// Returns the end, at "(" or "\", of the counterset name that starts `rest`.
// The plain reading comes first, so that a counterset with a longer name cannot
// take over the paths of another.
size_t CountersetEnd(absl::string_view rest,
                     absl::Span<const std::string> known_countersets) {
  const size_t plain_end = rest.find_first_of("(\\");
  size_t known_end = 0;
  for (const std::string& known : known_countersets) {
    for (const std::string& name : {known, EscapeName(known)}) {
      const size_t end = name.size();
      if (!absl::StartsWithIgnoreCase(rest, name)) continue;
      if (end == plain_end) return end;
      if (end > known_end && end < rest.size() &&
          (rest[end] == '(' || rest[end] == '\\')) {
        known_end = end;
      }
    }
  }
  return known_end != 0 ? known_end : plain_end;
}

// Splits "name#12" into the name and 12. "[#]12" is part of the name.
std::optional<uint32_t> ConsumeIndex(absl::string_view* instance) {
  const size_t hash = instance->rfind('#');
  if (hash == absl::string_view::npos) return std::nullopt;
  const absl::string_view digits = instance->substr(hash + 1);
  uint32_t index;
  if (digits.empty() ||
      !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(digits, &index)) {
    return std::nullopt;
  }
  *instance = instance->substr(0, hash);
  return index;
}

}  // namespace

Pattern::Pattern(absl::string_view text) : text_(text) {
  const auto add_byte = [this](char c) {
    literal_.push_back(c);
    tokens_.push_back({Token::Kind::kByte, absl::ascii_tolower(c)});
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsEscape(text.substr(i))) {
      add_byte(text[i + 1]);
      i += 2;
    } else if (text[i] == '*') {
      tokens_.push_back({Token::Kind::kAny, 0});
      has_wildcards_ = true;
    } else if (text[i] == '?') {
      tokens_.push_back({Token::Kind::kAnyOne, 0});
      has_wildcards_ = true;
    } else {
      add_byte(text[i]);
    }
  }
}

bool Pattern::Matches(absl::string_view name) const {
  if (!has_wildcards_) return absl::EqualsIgnoreCase(name, literal_);
  // On a mismatch, the last `*` consumes one more character, and matching
  // continues after it.
  constexpr size_t kNone = static_cast<size_t>(-1);
  size_t token = 0;
  size_t position = 0;
  size_t star_token = kNone;
  size_t star_position = 0;
  while (position < name.size()) {
    if (token < tokens_.size() && tokens_[token].kind == Token::Kind::kAny) {
      star_token = token++;
      star_position = position;
    } else if (token < tokens_.size() &&
               tokens_[token].kind == Token::Kind::kAnyOne) {
      ++token;
      position = NextCharacter(name, position);
    } else if (token < tokens_.size() &&
               tokens_[token].byte == absl::ascii_tolower(name[position])) {
      ++token;
      ++position;
    } else if (star_token != kNone) {
      token = star_token + 1;
      position = ++star_position;
    } else {
      return false;
    }
  }
  while (token < tokens_.size() && tokens_[token].kind == Token::Kind::kAny)
    ++token;
  return token == tokens_.size();
}

std::string EscapeName(absl::string_view name) {
  std::string escaped;
  for (size_t i = 0; i < name.size(); ++i) {
    // A "#" or ")" in brackets would be read as an escape.
    const bool in_brackets = i > 0 && IsEscape(name.substr(i - 1));
    if (name[i] == '*' || name[i] == '?' || in_brackets) {
      absl::StrAppend(&escaped, "[", name.substr(i, 1), "]");
    } else {
      escaped.push_back(name[i]);
    }
  }
  return escaped;
}

std::string EscapeInstanceName(absl::string_view name) {
  absl::string_view without_index = name;
  if (!ConsumeIndex(&without_index).has_value()) return EscapeName(name);
  return absl::StrCat(EscapeName(without_index), "[#]",
                      name.substr(without_index.size() + 1));
}

bool Path::SelectsInstance(absl::string_view name, uint32_t index) const {
  if (!instance.has_value()) return true;
  return (instance->Matches(name) && instance_index.value_or(index) == index) ||
         (literal_instance.has_value() && literal_instance->Matches(name));
}

bool Path::MatchesInstance(absl::string_view name) const {
  return SelectsInstance(name, instance_index.value_or(0));
}

bool Path::MatchesCounterset(absl::string_view name, const Guid& guid) const {
  return counterset_guid.has_value() ? *counterset_guid == guid
                                     : counterset.Matches(name);
}

bool Path::MatchesCounter(absl::string_view name, uint32_t id) const {
  return counter_id.has_value() ? *counter_id == id : counter.Matches(name);
}

absl::StatusOr<Path> ParsePath(
    absl::string_view text, absl::Span<const std::string> known_countersets) {
  Path path;
  absl::string_view rest = text;
  const auto before = [&] {
    return text.substr(0, static_cast<size_t>(rest.data() - text.data()));
  };

  if (absl::ConsumePrefix(&rest, "\\\\")) {
    const size_t end = rest.find('\\');
    if (end == 0 || rest.empty())
      return Expected(before(), "a machine name after \"\\\\\"");
    if (end == absl::string_view::npos) {
      rest.remove_prefix(rest.size());
      return Expected(before(),
                      "\"\\\" and a counterset name after the machine name");
    }
    path.machine = Pattern(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  if (!absl::ConsumePrefix(&rest, "\\")) {
    return Expected(before(),
                    "\"\\\" and a counterset name, as in \\System\\Processes");
  }

  const size_t counterset_end = CountersetEnd(rest, known_countersets);
  if (counterset_end == 0 || rest.empty())
    return Expected(before(), "a counterset name");
  if (counterset_end == absl::string_view::npos) {
    rest.remove_prefix(rest.size());
    return Expected(before(),
                    "\"\\\" and a counter name, or \"(\" and an instance name");
  }
  const absl::string_view counterset = rest.substr(0, counterset_end);
  path.counterset = Pattern(counterset);
  if (counterset.front() == '{') path.counterset_guid = ParseGuid(counterset);
  rest.remove_prefix(counterset_end);

  if (absl::ConsumePrefix(&rest, "(")) {
    const size_t end = rest.rfind(kInstanceEnd);
    if (end == absl::string_view::npos) {
      rest.remove_prefix(rest.size());
      return Expected(before(),
                      "\")\\\" and a counter name after the instance name");
    }
    absl::string_view instance = rest.substr(0, end);
    const Pattern literal(instance);
    path.instance_index = ConsumeIndex(&instance);
    path.instance = Pattern(instance);
    if (path.instance_index.has_value() && !literal.has_wildcards()) {
      path.literal_instance = literal;
    }
    rest.remove_prefix(end + 1);
  }
  rest.remove_prefix(1);  // the "\" that ended the counterset or the instance
  if (rest.empty()) return Expected(before(), "a counter name, or * for all");
  path.counter = Pattern(rest);
  absl::string_view id = rest;
  uint32_t counter_id;
  if (absl::ConsumePrefix(&id, kCounterIdPrefix) &&
      absl::SimpleAtoi(id, &counter_id)) {
    path.counter_id = counter_id;
  }
  return path;
}

std::string FormatPath(absl::string_view machine, absl::string_view counterset,
                       std::optional<absl::string_view> instance,
                       uint32_t instance_index, absl::string_view counter) {
  std::string path;
  if (!machine.empty()) absl::StrAppend(&path, "\\\\", EscapeName(machine));
  absl::StrAppend(&path, "\\", EscapeName(counterset));
  if (instance.has_value()) {
    absl::StrAppend(&path, "(", EscapeInstanceName(*instance));
    if (instance_index != 0) absl::StrAppend(&path, "#", instance_index);
    absl::StrAppend(&path, ")");
  }
  // Otherwise the instance would end in the counter.
  absl::StrAppend(
      &path, "\\",
      absl::StrReplaceAll(EscapeName(counter), {{kInstanceEnd, "[)]\\"}}));
  return path;
}

}  // namespace fleetperf::perflib
