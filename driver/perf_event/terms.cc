#include "driver/perf_event/terms.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace fleetperf::perf_event {
namespace {

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '-' || c == '.';
}

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

bool IsHexDigit(char c) {
  return absl::ascii_isxdigit(static_cast<unsigned char>(c));
}

absl::StatusOr<Term> ParseTerm(absl::string_view text) {
  const size_t equals = text.find('=');
  Term term;
  const absl::string_view name =
      absl::StripAsciiWhitespace(text.substr(0, equals));
  if (!IsName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the term ", Quoted(text), " has no valid name"));
  }
  term.name = std::string(name);
  if (equals == absl::string_view::npos) return term;
  const absl::string_view value =
      absl::StripAsciiWhitespace(text.substr(equals + 1));
  term.is_parameter = value == "?";
  if (term.is_parameter) return term;
  term.value = ParseNumber(value);
  if (!term.value) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the term ", Quoted(text),
        " has no value of 64 bits; write a decimal number, or 0x and "
        "hexadecimal digits"));
  }
  return term;
}

}  // namespace

bool IsName(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), IsNameCharacter);
}

absl::StatusOr<std::vector<Term>> ParseTerms(absl::string_view text) {
  if (text.size() > kMaxEventText) {
    return absl::InvalidArgumentError(absl::StrCat(
        "terms of ", text.size(), " bytes; at most ", kMaxEventText));
  }
  std::vector<Term> terms;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    if (absl::StripAsciiWhitespace(part).empty()) continue;
    ASSIGN_OR_RETURN(Term term, ParseTerm(part));
    const auto same = [&](const Term& other) {
      return other.name == term.name;
    };
    if (std::any_of(terms.begin(), terms.end(), same)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the term \"", term.name, "\" is given twice"));
    }
    terms.push_back(std::move(term));
  }
  return terms;
}

std::string TermsText(absl::Span<const Term> terms) {
  return absl::StrJoin(terms, ",", [](std::string* out, const Term& term) {
    absl::StrAppend(out, term.name);
    if (term.is_parameter) absl::StrAppend(out, "=?");
    if (term.value) absl::StrAppend(out, "=0x", absl::Hex(*term.value));
  });
}

std::optional<uint64_t> ParseNumber(absl::string_view text) {
  uint64_t number = 0;
  if (absl::ConsumePrefix(&text, "0x") || absl::ConsumePrefix(&text, "0X")) {
    if (!std::all_of(text.begin(), text.end(), IsHexDigit) ||
        !absl::SimpleHexAtoi(text, &number)) {
      return std::nullopt;
    }
    return number;
  }
  if (!std::all_of(text.begin(), text.end(), IsDigit) ||
      !absl::SimpleAtoi(text, &number)) {
    return std::nullopt;
  }
  return number;
}

std::string Quoted(absl::string_view text) {
  constexpr size_t kMaxQuoted = 256;
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kMaxQuoted)),
                      text.size() > kMaxQuoted ? "..." : "", "\"");
}

}  // namespace fleetperf::perf_event
