// The grammar of expressions.

#include "aggregator/query/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

const std::vector<std::string>& KnownNames() {
  static const auto* const kNames =
      new std::vector<std::string>{"Disk", "Odd (set) name"};
  return *kNames;
}

// Returns "[LEFT / RIGHT]" with brackets around each operation.
std::string TextOf(const Expression& expression, size_t node) {
  const Expression::Node& kind = expression.nodes[node];
  if (const auto* path = std::get_if<PathOperand>(&kind)) {
    return expression.paths[path->path];
  }
  if (const auto* constant = std::get_if<ConstantOperand>(&kind)) {
    return absl::StrCat(expression.constants[constant->constant].value);
  }
  const auto& operation = std::get<Operation>(kind);
  return absl::StrCat("[", TextOf(expression, operation.left), " ",
                      std::string(1, operation.symbol), " ",
                      TextOf(expression, operation.right), "]");
}

// Returns the parts of a text, or the error.
std::string Parse(const std::string& text) {
  const auto expression = ParseExpression(text, KnownNames());
  if (!expression.ok()) return std::string(expression.status().message());
  return TextOf(*expression, expression->nodes.size() - 1);
}

TEST(ParseExpression, FindsTheOperatorBetweenTwoPaths) {
  EXPECT_EQ(Parse(R"(\Memory\A / \Memory\B)"), R"([\Memory\A / \Memory\B])");
  EXPECT_EQ(Parse(R"(\Memory\A * \\web-1\Memory\B)"),
            R"([\Memory\A * \\web-1\Memory\B])");
  EXPECT_EQ(Parse(R"(\Disk(*)\Disk Bytes/sec + \Disk(*)\% Time - Idle)"),
            R"([\Disk(*)\Disk Bytes/sec + \Disk(*)\% Time - Idle])");
  EXPECT_EQ(Parse(R"(\A\B - C - \A\B)"), R"([\A\B - C - \A\B])");
  EXPECT_EQ(Parse(R"(\Odd (set) name\x / \Odd (set) name\y)"),
            R"([\Odd (set) name\x / \Odd (set) name\y])");
  EXPECT_EQ(Parse(R"(\Disk(a - \b)\Reads / \Disk(a - \b)\Writes)"),
            R"([\Disk(a - \b)\Reads / \Disk(a - \b)\Writes])");
}

TEST(ParseExpression, IgnoresOperatorsInNames) {
  for (const char* path :
       {R"(\Disk(*)\Disk Bytes/sec)", R"(\Memory\A - B)", R"(\Memory\A / 5 B)",
        R"(\Memory\A - 50 ms)", R"(\Memory\A/1024)", R"(\Memory\A (B - 5))",
        R"(\Memory\A - (B))", R"(\Disk(a - 5)\Reads)", R"(\Disk(a - \b)\Reads)",
        R"(\Disk(C: / D:)\Reads)", R"(\Disk(a\b)\Reads)", R"(\A\B) + C)",
        R"(\A\'B' - C)", R"(Memory)", "", R"(\Memory\A /\Memory\B)",
        R"(\Memory\A/ \Memory\B)", R"( / \A\B)", R"(\A\B - )"}) {
    EXPECT_EQ(Parse(path), path);
  }
}

TEST(ParseExpression, AcceptsNumbers) {
  EXPECT_EQ(Parse(R"(100 - \A\B)"), R"([100 - \A\B])");
  EXPECT_EQ(Parse(R"(\A\B / 1024)"), R"([\A\B / 1024])");
  EXPECT_EQ(Parse(R"(\A\B * 0.25)"), R"([\A\B * 0.25])");
  EXPECT_EQ(Parse(R"(\A\B * 1e3)"), R"([\A\B * 1000])");
  EXPECT_EQ(Parse(R"(2.5E+2 * \A\B)"), R"([250 * \A\B])");
  EXPECT_EQ(Parse(R"(\A\B - 5 - \C\D)"), R"([[\A\B - 5] - \C\D])");
  EXPECT_EQ(Parse(R"(\A\B / 0)"), R"([\A\B / 0])");
}

TEST(ParseExpression, MultipliesBeforeItAddsAndGoesFromLeftToRight) {
  EXPECT_EQ(Parse(R"(\A\B + \A\C * 2)"), R"([\A\B + [\A\C * 2]])");
  EXPECT_EQ(Parse(R"(2 * \A\B + \A\C)"), R"([[2 * \A\B] + \A\C])");
  EXPECT_EQ(Parse(R"(\A\B - \A\C - \A\D)"), R"([[\A\B - \A\C] - \A\D])");
  EXPECT_EQ(Parse(R"(\A\B / \A\C * \A\D)"), R"([[\A\B / \A\C] * \A\D])");
  EXPECT_EQ(Parse(R"(1 - \A\B * 2 / 3 + 4)"),
            R"([[1 - [[\A\B * 2] / 3]] + 4])");
}

TEST(ParseExpression, FollowsParentheses) {
  EXPECT_EQ(Parse(R"((\A\B + \A\C) / 2)"), R"([[\A\B + \A\C] / 2])");
  EXPECT_EQ(Parse(R"(( \A\B + \A\C ) / 2)"), R"([[\A\B + \A\C] / 2])");
  EXPECT_EQ(Parse(R"(\A\B - (\A\C - \A\D))"), R"([\A\B - [\A\C - \A\D]])");
  EXPECT_EQ(Parse(R"(\A\B / ((2 + 3) * \A\C))"),
            R"([\A\B / [[2 + 3] * \A\C]])");
  EXPECT_EQ(Parse(R"((((\A\B)) + 1))"), R"([\A\B + 1])");
  EXPECT_EQ(Parse(R"((\A\B - 5) * 2)"), R"([[\A\B - 5] * 2])");
}

TEST(ParseExpression, AcceptsSpacesInsideParentheses) {
  EXPECT_EQ(Parse(R"(( \A\B - 1 ) * 2)"), R"([[\A\B - 1] * 2])");
  EXPECT_EQ(Parse(R"(( ( \A\B - 1 ) / 3 ))"), R"([[\A\B - 1] / 3])");
  EXPECT_EQ(Parse(R"(2 * ( 1 + ( \A\B ) ))"), R"([2 * [1 + \A\B]])");
}

// Parses a text where \System has these counters.
std::string ParseKnown(const std::string& text,
                       const std::vector<std::string>& counters) {
  const auto expression =
      ParseExpression(text, {}, [&](const perflib::Path& path) {
        return path.counterset.Matches("System") &&
               std::any_of(counters.begin(), counters.end(),
                           [&](const std::string& counter) {
                             return path.counter.Matches(counter);
                           });
      });
  if (!expression.ok()) return std::string(expression.status().message());
  return TextOf(*expression, expression->nodes.size() - 1);
}

TEST(ParseExpression, TellsOperatorsFromNamesByTheKnownCounters) {
  const std::string text = R"(\System\Threads - 1)";
  EXPECT_EQ(ParseKnown(text, {"Threads"}), R"([\System\Threads - 1])");
  EXPECT_EQ(ParseKnown(text, {"threads - 1"}), text);
  // The shorter name is the one that needs no quotes.
  EXPECT_EQ(ParseKnown(text, {"Threads", "Threads - 1"}),
            R"([\System\Threads - 1])");
  EXPECT_EQ(ParseKnown(text, {"Processes"}), R"([\System\Threads - 1])");
  EXPECT_EQ(ParseKnown(R"((\System\Set - Own / 2 ) * 2)", {"Set", "Set - Own"}),
            R"([[\System\Set - Own / 2] * 2])");
  EXPECT_EQ(ParseKnown(R"(\System\A (x) - 5 - \System\B)", {"A (x) - 5", "B"}),
            R"([\System\A (x) - 5 - \System\B])");
  const std::string own = R"(\System\Set - Own)";
  EXPECT_EQ(ParseKnown(own, {"Set", "Set - Own"}), own);
  EXPECT_EQ(ParseKnown(own, {"Other"}), own);
  // As many operands as are allowed, none of which is known.
  EXPECT_EQ(
      ParseKnown(absl::StrJoin(std::vector<std::string>(3, text), " + "), {}),
      R"([[[[[\System\Threads - 1] + \System\Threads] - 1] + )"
      R"(\System\Threads] - 1])");
}

TEST(ParseExpression, SaysWhereAPathOfAKnownCounterEnds) {
  EXPECT_EQ(ParseKnown(R"(\System\Threads - x)", {"Threads"}),
            R"(\System\Threads - x: at character 19 of the expression: )"
            R"(expected a path, a number or "("; the path ends there because )"
            R"(\System\Threads is a counter; write a path with a longer name )"
            R"(in quotes)");
  EXPECT_THAT(ParseKnown(R"(\System\Threads - 1) * 2)", {"Threads"}),
              HasSubstr(R"(because \System\Threads is a counter)"));
}

// A path in parentheses ends at the first ")" that closes no "(" of the path.
TEST(ParseExpression, FindsTheEndOfAPathInParentheses) {
  EXPECT_EQ(Parse(R"((\Disk(C:)\A + \Disk(D:)\B) / 2)"),
            R"([[\Disk(C:)\A + \Disk(D:)\B] / 2])");
  EXPECT_EQ(Parse(R"((2 * \Disk(a (b) c)\Latency (ms)) / 2)"),
            R"([[2 * \Disk(a (b) c)\Latency (ms)] / 2])");
  EXPECT_EQ(Parse(R"((2 * \Disk(a) b)\C) / 2)"),
            R"([[2 * \Disk(a) b)\C] / 2])");
  EXPECT_EQ(Parse(R"((\Odd (set) name\x + 1) * 2)"),
            R"([[\Odd (set) name\x + 1] * 2])");
}

TEST(ParseExpression, TakesAQuotedPathAsItIs) {
  EXPECT_EQ(Parse(R"(100 - '\A\B')"), R"([100 - \A\B])");
  EXPECT_EQ(Parse(R"(('\A\B' + "\A\C") / 2)"), R"([[\A\B + \A\C] / 2])");
  EXPECT_EQ(Parse(R"('\A\B - 5')"), R"(\A\B - 5)");
  EXPECT_EQ(Parse(R"('\A\B - 5' / 1e1)"), R"([\A\B - 5 / 10])");
  EXPECT_EQ(Parse(R"(2 * "\Disk(Joe's :))\A")"), R"([2 * \Disk(Joe's :))\A])");
  EXPECT_EQ(Parse(R"(('\Disk(a()\B' + 1) * 2)"), R"([[\Disk(a()\B + 1] * 2])");
}

TEST(ParseExpression, ListsEachPathOnce) {
  ASSERT_OK_AND_ASSIGN(const Expression expression,
                       ParseExpression(R"(\A\B / (\A\B + \A\C - '\A\C'))", {}));
  EXPECT_THAT(expression.paths, ElementsAre(R"(\A\B)", R"(\A\C)"));
}

TEST(ParseExpression, ReportsErrors) {
  EXPECT_EQ(Parse(R"(\A\B / \C)"),
            R"(\C: at character 3 of the path: expected "\" and a counter )"
            R"(name, or "(" and an instance name)");
  EXPECT_EQ(Parse(R"(\A\B* / \C\D)"),
            R"(\A\B*: beside an operator, a path must name one counter)");
  EXPECT_EQ(Parse(R"(\A\B / \*\D)"),
            R"(\*\D: beside an operator, a path must name one counter)");
  EXPECT_EQ(Parse(R"(2 * \A\*)"),
            R"(\A\*: beside an operator, a path must name one counter)");
  EXPECT_EQ(Parse("2 + 3 * 4"), "2 + 3 * 4: an expression must contain a path");
  EXPECT_EQ(Parse("100"), "100: an expression must contain a path");
  EXPECT_EQ(Parse(R"((\A\B + 1)"),
            R"-((\A\B + 1: at character 10 of the expression: expected ")", )-"
            "or an operator with a space on each side");
  const auto expected = [](const std::string& text) {
    const std::string error = Parse(text);
    const size_t start = error.find("at character");
    return start == std::string::npos ? error : error.substr(start);
  };
  constexpr char kOperand[] = R"(expected a path, a number or "(")";
  constexpr char kOperator[] = "expected an operator with a space on each side";
  EXPECT_EQ(expected(R"((\A\B + 1) / 2))"),
            absl::StrCat("at character 15 of the expression: ", kOperator));
  EXPECT_EQ(expected(R"(100- \A\B)"),
            absl::StrCat("at character 4 of the expression: ", kOperator));
  EXPECT_EQ(expected("\"\\A\\\u00e9\"\\B"),
            absl::StrCat("at character 7 of the expression: ", kOperator));
  EXPECT_EQ(expected("100 - "),
            absl::StrCat("at character 7 of the expression: ", kOperand));
  EXPECT_EQ(expected("100 - -5"),
            absl::StrCat("at character 7 of the expression: ", kOperand));
  EXPECT_EQ(expected("()"),
            absl::StrCat("at character 2 of the expression: ", kOperand));
  EXPECT_EQ(expected(R"(1e999 * \A\B)"),
            "at character 1 of the expression: expected a smaller number");
  EXPECT_EQ(expected(R"(2 * '\A\B)"),
            "at character 5 of the expression: expected a quote at the end of "
            "the path");
}

std::string Repeat(size_t count, const std::string& text) {
  return absl::StrJoin(std::vector<std::string>(count, text), "");
}

TEST(ParseExpression, HasLimits) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const std::string path = R"(\A\B)";
  EXPECT_OK(ParseExpression(Repeat(kMaxOperands - 1, "1 + ") + path, {}));
  EXPECT_THAT(ParseExpression(Repeat(kMaxOperands, "1 + ") + path, {}),
              StatusIs(kInvalid, HasSubstr("at most 16 paths and numbers")));
  const auto nested = [&](size_t depth) {
    return ParseExpression(
        Repeat(depth, "(") + path + " + 1" + Repeat(depth, ")"), {});
  };
  EXPECT_OK(nested(kMaxParentheses));
  EXPECT_THAT(nested(kMaxParentheses + 1),
              StatusIs(kInvalid, HasSubstr("at most 16 parentheses")));
  EXPECT_OK(ParseExpression(path + Repeat(kMaxExpressionSize - 4, "x"), {}));
  EXPECT_THAT(ParseExpression(path + Repeat(kMaxExpressionSize, "x"), {}),
              StatusIs(kInvalid, HasSubstr("is longer than 4096")));
}

// Each of these texts made the parser try thousands of paths.
TEST(ParseExpression, TriesFewEndsOfAPath) {
  const auto too_many = StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("write it in quotes"));
  EXPECT_THAT(ParseExpression("\\A(" + Repeat(1000, " + 1"), {}), too_many);
  EXPECT_THAT(ParseExpression("(\\A" + Repeat(4000, ")"), {}), too_many);
  EXPECT_THAT(ParseExpression("'\\A\\B' + \\A(" + Repeat(1000, " + 1"), {}),
              too_many);
  // A path in quotes, and a path with a few operators, are fine.
  EXPECT_OK(ParseExpression("'\\A(" + Repeat(1000, " + 1") + ")\\B'", {}));
  EXPECT_OK(ParseExpression("\\A(" + Repeat(60, " + 1") + ")\\B", {}));
}

TEST(ParseExpression, ErrorsHaveAnExcerpt) {
  const std::string name(4000, 'n');
  for (const std::string& text :
       {"\\A\\" + name + " / \\C", "\\" + name + " + 1", "2 + " + name,
        "1 * \\" + name + "\\*", "1 * '\\A\\" + name}) {
    const auto parsed = ParseExpression(text, {});
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_LT(parsed.status().message().size(), 500u);
  }
}

TEST(ParsePlainPaths, RejectsExpressions) {
  ASSERT_OK_AND_ASSIGN(const auto paths,
                       ParsePlainPaths({R"(\A\*)", R"('\A\B - 5')", "x"}, {}));
  EXPECT_THAT(paths, ElementsAre(R"(\A\*)", R"(\A\B - 5)", "x"));
  EXPECT_THAT(ParsePlainPaths({R"(\A\B - 5)"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("arithmetic is possible only in queries")));
}

}  // namespace
}  // namespace fleetperf::aggregator
