#include "perflib/path.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/guids.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perflib {
namespace {

using ::testing::Eq;
using testing::kGuid;
using ::testing::Optional;
using ::testing::StartsWith;
using testing::StatusIs;

TEST(Pattern, MatchesNames) {
  const struct {
    const char* pattern;
    const char* name;
    bool matches;
  } kCases[] = {
      // Without wildcards: the whole name, ignoring ASCII case.
      {"", "", true},
      {"", "a", false},
      {"% Processor Time", "% PROCESSOR time", true},
      {"System", "Systems", false},
      {"System", "ystem", false},
      {"\u00C9", "\u00E9", false},
      // *
      {"*", "", true},
      {"*", "anything (at) \\all", true},
      {"a*", "a", true},
      {"A*", "abc", true},
      {"a*", "ba", false},
      {"*_Total", "0,_TOTAL", true},
      {"*_Total", "_Total1", false},
      {"a*c", "ac", true},
      {"a*c", "abcbc", true},
      {"a*c", "abcb", false},
      {"*a*b*", "xxaxxbxx", true},
      {"*a*b*", "xxbxxaxx", false},
      {"**", "", true},
      {"a*bc*d", "abcbcbcd", true},
      // ? matches one character of any number of bytes.
      {"?", "", false},
      {"?", "a", true},
      {"?", "ab", false},
      {"?", "\u00E9", true},
      {"?", "\u20AC", true},
      {"?", "\U0001D11E", true},
      {"??", "\u00E9", false},
      {"??", "\u00E9\u20AC", true},
      {"a?c", "a\u20ACc", true},
      {"*?c", "\u20ACc", true},
      {"*??c", "\u20ACc", false},
      {"?*", "", false},
      {"cpu?*", "cpu10", true},
      // Escapes.
      {"[*]", "*", true},
      {"[*]", "a", false},
      {"[?]*", "?x", true},
      {"[?]*", "xx", false},
      {"a[#]1", "a#1", true},
      {"a[#]1", "a[#]1", false},
      // Other brackets match themselves.
      {"[]", "[]", true},
      {"[a]", "[A]", true},
      {"[*", "[anything", true},
      {"[*a]", "[xa]", true},
      {"[[*]]", "[*]", true},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Pattern(test.pattern).Matches(test.name), test.matches)
        << test.pattern << " and " << test.name;
  }
}

TEST(Pattern, KnowsWhetherItHasWildcards) {
  const Pattern escaped("A[*]b[?][#]1");
  EXPECT_FALSE(escaped.has_wildcards());
  EXPECT_EQ(escaped.literal(), "A*b?#1");
  EXPECT_EQ(escaped.text(), "A[*]b[?][#]1");
  EXPECT_TRUE(Pattern("a*").has_wildcards());
  EXPECT_TRUE(Pattern("a?").has_wildcards());
  EXPECT_TRUE(Pattern().Matches("anything"));
  EXPECT_TRUE(Pattern().Matches(""));
}

TEST(Pattern, FinishesForEveryPattern) {
  std::string stars;
  for (int i = 0; i < 50; ++i) stars += "*a";
  const std::string many_as(10'000, 'a');
  EXPECT_FALSE(Pattern("*a*a*a*a*b").Matches(many_as));
  EXPECT_FALSE(Pattern(stars + "b").Matches(many_as));
  EXPECT_TRUE(Pattern(stars + "b").Matches(many_as + "b"));
  EXPECT_TRUE(Pattern(std::string(1000, '*')).Matches(many_as));
}

// "machine | counterset | (instance) | #index | counter", without absent parts.
std::string Parts(const Path& path) {
  std::string text =
      absl::StrCat(path.machine.text(), " | ", path.counterset.text());
  if (path.instance.has_value())
    absl::StrAppend(&text, " | (", path.instance->text(), ")");
  if (path.instance_index.has_value())
    absl::StrAppend(&text, " | #", *path.instance_index);
  return absl::StrCat(text, " | ", path.counter.text());
}

TEST(ParsePath, SplitsAPathIntoItsParts) {
  const struct {
    const char* path;
    const char* parts;
  } kCases[] = {
      {R"(\System\Processes)", "* | System | Processes"},
      {R"(\\web-1\System\Processes)", "web-1 | System | Processes"},
      {R"(\\*\*(*)\*)", "* | * | (*) | *"},
      {R"(\\web-?\Proc*(w3wp*)\%*Time)", "web-? | Proc* | (w3wp*) | %*Time"},
      {R"(\Processor Information(0,_Total)\% Processor Time)",
       "* | Processor Information | (0,_Total) | % Processor Time"},
      {R"(\GPU Engine(pid_12220_luid_0x00000000_0x0000C85A_phys_0_eng_5_)"
       R"(engtype_Copy)\Running Time)",
       "* | GPU Engine | (pid_12220_luid_0x00000000_0x0000C85A_phys_0_eng_5_"
       "engtype_Copy) | Running Time"},
      // Names with the path's special characters.
      {R"(\Thermal Zone Information(\_TZ.TZ01)\Temperature)",
       R"(* | Thermal Zone Information | (\_TZ.TZ01) | Temperature)"},
      {R"(\Net(Intel(R) 82599 (2))\Bytes/sec)",
       "* | Net | (Intel(R) 82599 (2)) | Bytes/sec"},
      {R"(\Disk(parent/child)\Writes (bytes))",
       "* | Disk | (parent/child) | Writes (bytes)"},
      {R"(\A(b)\c)\d)", R"(* | A | (b)\c) | d)"},
      {R"(\A(b\c)\d\e)", R"(* | A | (b\c) | d\e)"},
      {R"(\\host(1)\A(b)\c)", "host(1) | A | (b) | c"},
      {R"(\A\b(c)", "* | A | b(c"},
      // Indexes.
      {R"(\P(chrome#2)\IO)", "* | P | (chrome) | #2 | IO"},
      {R"(\P(chrome#0)\IO)", "* | P | (chrome) | #0 | IO"},
      {R"(\P(chrome#4294967295)\IO)", "* | P | (chrome) | #4294967295 | IO"},
      {R"(\P(*#1)\IO)", "* | P | (*) | #1 | IO"},
      {R"(\P(a#1#2)\IO)", "* | P | (a#1) | #2 | IO"},
      // An instance without a name.
      {R"(\P()\IO)", "* | P | () | IO"},
      {R"(\P(#1)\IO)", "* | P | () | #1 | IO"},
      // A ")\" in a counter.
      {R"(\P(a)\b[)]\c)", R"(* | P | (a) | b[)]\c)"},
      // Suffixes that are no indexes.
      {R"(\P(a#b)\IO)", "* | P | (a#b) | IO"},
      {R"(\P(C#)\IO)", "* | P | (C#) | IO"},
      {R"(\P(a#-1)\IO)", "* | P | (a#-1) | IO"},
      {R"(\P(a# 1)\IO)", "* | P | (a# 1) | IO"},
      {R"(\P(a[#]1)\IO)", "* | P | (a[#]1) | IO"},
      {R"(\P(a#4294967296)\IO)", "* | P | (a#4294967296) | IO"},
      {R"(\A\b#1)", "* | A | b#1"},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.path);
    ASSERT_OK_AND_ASSIGN(const Path path, ParsePath(test.path));
    EXPECT_EQ(Parts(path), test.parts);
    EXPECT_EQ(path.counterset_guid, std::nullopt);
    EXPECT_EQ(path.counter_id, std::nullopt);
  }
}

TEST(ParsePath, ReportsPositionAndExpectation) {
  const struct {
    const char* path;
    int character;
    const char* expected;
  } kCases[] = {
      {"", 1, R"("\" and a counterset name, as in \System\Processes)"},
      {R"(System\Processes)", 1, R"("\" and a counterset name)"},
      {R"(\\)", 3, R"(a machine name after "\\")"},
      {R"(\\\System\Processes)", 3, R"(a machine name after "\\")"},
      {R"(\\web-1)", 8, R"("\" and a counterset name after the machine name)"},
      {R"(\)", 2, "a counterset name"},
      {R"(\\web-1\)", 9, "a counterset name"},
      {R"(\\web-1\\Processes)", 9, "a counterset name"},
      {R"(\(0)\Processes)", 2, "a counterset name"},
      {R"(\System)", 8,
       R"("\" and a counter name, or "(" and an instance name)"},
      {R"(\System\)", 9, "a counter name, or * for all"},
      {R"(\Process(a)\)", 13, "a counter name, or * for all"},
      {R"(\Process()", 10,
       R"(")\" and a counter name after the instance name)"},
      {R"(\Process(a\IO)", 14, R"(")\" and a counter name)"},
      {R"(\Process(a))", 12, R"(")\" and a counter name)"},
      {R"(\Process(a)IO)", 14, R"(")\" and a counter name)"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(
        ParsePath(test.path),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 StartsWith("at character " + std::to_string(test.character) +
                            " of the path: expected " + test.expected)))
        << test.path;
  }
}

TEST(ParsePath, RecognizesKnownCountersetsWithParentheses) {
  const std::vector<std::string> known = {"NUMA",        "NUMA (Node)(Old)",
                                          "NUMA (Node)", "Disk",
                                          "Disk(C:)",    "Disk\\Reads"};
  const struct {
    const char* path;
    const char* parts;
  } kCases[] = {
      {R"(\NUMA (Node)\c)", "* | NUMA (Node) | c"},
      {R"(\numa (NODE)(0)\c)", "* | numa (NODE) | (0) | c"},
      {R"(\\m\NUMA (Node)(0)\c)", "m | NUMA (Node) | (0) | c"},
      {R"(\NUMA (Node)(Old)\c)", "* | NUMA (Node)(Old) | c"},  // the longest
      {R"(\NUMA(0)\c)", "* | NUMA | (0) | c"},
      // Parentheses split an unknown name.
      {R"(\NUMA (Node)s (a)\c)", "* | NUMA  | (Node)s (a) | c"},
      {R"(\NUMA (Other)\c)", "* | NUMA  | (Other) | c"},
      // A longer name does not take over the paths of a shorter one.
      {R"(\Disk(C:)\c)", "* | Disk | (C:) | c"},
      {R"(\disk\Reads\c)", R"(* | disk | Reads\c)"},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.path);
    ASSERT_OK_AND_ASSIGN(const Path path, ParsePath(test.path, known));
    EXPECT_EQ(Parts(path), test.parts);
  }
}

TEST(ParsePath, RecognizesKnownCountersetsWithEscapes) {
  const std::string name = "Set (*) of [?]";
  const std::string text = FormatPath("", name, "a", 0, "c");
  ASSERT_OK_AND_ASSIGN(const Path path, ParsePath(text, {name}));
  EXPECT_TRUE(path.MatchesCounterset(name, {}));
  EXPECT_TRUE(path.SelectsInstance("a", 0));
}

TEST(ParsePath, AcceptsAGuidAsCounterset) {
  ASSERT_OK_AND_ASSIGN(
      const Path path,
      ParsePath(R"(\{B4FC721A-0378-476F-89BA-A5A79F810B36}(*)\c)"));
  EXPECT_THAT(path.counterset_guid, Optional(kGuid));
  EXPECT_TRUE(path.MatchesCounterset("whatever its name", kGuid));
  EXPECT_FALSE(path.MatchesCounterset(path.counterset.text(), Guid()));

  ASSERT_OK_AND_ASSIGN(const Path name, ParsePath(R"(\{B4FC721A}\c)"));
  EXPECT_THAT(name.counterset_guid, Eq(std::nullopt));
  EXPECT_TRUE(name.MatchesCounterset("{b4fc721a}", kGuid));
  EXPECT_FALSE(name.MatchesCounterset("Processor Information", kGuid));
}

TEST(ParsePath, AcceptsAnIdAsCounter) {
  ASSERT_OK_AND_ASSIGN(const Path path, ParsePath(R"(\A(*)\id:26)"));
  EXPECT_THAT(path.counter_id, Optional(26));
  EXPECT_TRUE(path.MatchesCounter("whatever its name", 26));
  EXPECT_FALSE(path.MatchesCounter("id:26", 27));

  for (const std::string text :
       {"id:", "id:x", "id:-1", "id:4294967296", "id:1x", "xid:1"}) {
    SCOPED_TRACE(text);
    ASSERT_OK_AND_ASSIGN(const Path name, ParsePath(R"(\A\)" + text));
    EXPECT_THAT(name.counter_id, Eq(std::nullopt));
    EXPECT_TRUE(name.MatchesCounter(text, 1));
    EXPECT_FALSE(name.MatchesCounter("another", 1));
  }
}

TEST(FormatPath, WritesPdhSyntax) {
  EXPECT_EQ(FormatPath("", "System", std::nullopt, 0, "Processes"),
            R"(\System\Processes)");
  EXPECT_EQ(FormatPath("web-1", "Processor Information", "0,_Total", 0,
                       "% Processor Time"),
            R"(\\web-1\Processor Information(0,_Total)\% Processor Time)");
  EXPECT_EQ(FormatPath("", "Process", "chrome", 2, "IO"),
            R"(\Process(chrome#2)\IO)");
  EXPECT_EQ(FormatPath("", "Process", "chrome#2", 0, "IO"),
            R"(\Process(chrome[#]2)\IO)");
  EXPECT_EQ(FormatPath("", "a*", "b?#c", 0, "d#1*"), R"(\a[*](b[?]#c)\d#1[*])");
  EXPECT_EQ(FormatPath("", "Process", "", 0, "IO"), R"(\Process()\IO)");
  EXPECT_EQ(FormatPath("", "Process", "", 1, "IO"), R"(\Process(#1)\IO)");
  EXPECT_EQ(FormatPath("", "Set", "a", 0, "Reads (4k)\\sec"),
            R"(\Set(a)\Reads (4k[)]\sec)");
}

TEST(EscapeName, MatchesOnlyThatName) {
  EXPECT_EQ(EscapeName("% Processor Time #1"), "% Processor Time #1");
  EXPECT_EQ(EscapeName("a*b?"), "a[*]b[?]");
  EXPECT_EQ(EscapeInstanceName("a*#1"), "a[*][#]1");
  EXPECT_EQ(EscapeInstanceName("C#"), "C#");
  EXPECT_EQ(EscapeInstanceName("a#b1"), "a#b1");
}

TEST(Path, SelectsTheInstanceWithExactlyThatName) {
  const auto selects = [](const char* text, const char* name, uint32_t index) {
    const auto path = ParsePath(text);
    return path.ok() && path->SelectsInstance(name, index);
  };
  constexpr char kAdapter[] = R"(\Net(Adapter #2)\Bytes)";
  EXPECT_TRUE(selects(kAdapter, "Adapter #2", 0));
  EXPECT_TRUE(selects(kAdapter, "adapter #2", 1));
  EXPECT_TRUE(selects(kAdapter, "Adapter ", 2));
  EXPECT_FALSE(selects(kAdapter, "Adapter ", 0));
  EXPECT_FALSE(selects(kAdapter, "Adapter", 2));
  EXPECT_TRUE(selects(R"(\Net(Adapter #2#1)\Bytes)", "Adapter #2", 1));
  EXPECT_FALSE(selects(R"(\Net(Adapter #2#1)\Bytes)", "Adapter #2", 0));
  // In brackets, it is only a name; with wildcards, only an index.
  EXPECT_FALSE(selects(R"(\Net(Adapter [#]2)\Bytes)", "Adapter ", 2));
  EXPECT_FALSE(selects(R"(\Net(*#2)\Bytes)", "Adapter #2", 0));
  EXPECT_TRUE(selects(R"(\Net()\Bytes)", "", 0));
  EXPECT_FALSE(selects(R"(\Net()\Bytes)", "a", 0));
  EXPECT_TRUE(selects(R"(\Net(#1)\Bytes)", "", 1));
  EXPECT_TRUE(selects(R"(\System\Processes)", "", 0));
}

// Returns `length` characters, most of them special in paths. A counterset has
// none of the last three.
std::string RandomName(std::mt19937* random, bool is_counterset,
                       size_t shortest = 1) {
  static const std::vector<std::string> kCharacters = {
      "a", "B", "1", "#", "#",      "[", "]", "*",
      "?", "/", ",", " ", "\u00E9", "(", ")", "\\"};
  std::string name;
  for (size_t length = shortest + (*random)() % 8; length > 0; --length)
    name += kCharacters[(*random)() %
                        (kCharacters.size() - (is_counterset ? 3 : 0))];
  return name;
}

TEST(FormatPath, RoundTripsThroughParsePath) {
  std::mt19937 random(20261120);
  for (int round = 0; round < 20'000; ++round) {
    const std::string counterset = RandomName(&random, true);
    const std::string instance = RandomName(&random, false, 0);
    const std::string counter = RandomName(&random, false);
    const uint32_t index = random() % 2 == 0 ? 0 : random();
    const std::string text =
        FormatPath("web-1", counterset, instance, index, counter);
    SCOPED_TRACE(text);
    ASSERT_OK_AND_ASSIGN(const Path path, ParsePath(text));
    ASSERT_EQ(path.machine.literal(), "web-1");
    for (const Pattern* part :
         {&path.counterset, &*path.instance, &path.counter}) {
      ASSERT_FALSE(part->has_wildcards());
    }
    ASSERT_EQ(path.counterset.literal(), counterset);
    ASSERT_EQ(path.instance->literal(), instance);
    ASSERT_EQ(path.instance_index.value_or(0), index);
    ASSERT_TRUE(path.SelectsInstance(instance, index));
    ASSERT_EQ(path.counter.literal(), counter);
  }
}

}  // namespace
}  // namespace fleetperf::perflib
