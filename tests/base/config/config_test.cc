#include "base/config/config.h"

#include <map>
#include <string>
#include <vector>

#include "base/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;
using testing::StatusIs;

constexpr char kPath[] = "/etc/fleetperf/agent.yaml";

struct Settings {
  std::string text = "default";
  bool flag = true;
  int64_t number = 5;
  absl::Duration duration = absl::Seconds(5);
  uint64_t size = 5;
  std::vector<std::string> list = {"default"};
  std::map<std::string, std::string> map = {{"default", "value"}};
  std::map<std::string, std::vector<std::string>> lists;
  std::string path = "default";
};

// Reads every kind of value.
absl::Status ReadSettings(const std::string& yaml, Settings* settings) {
  auto file = ConfigFile::Parse(yaml, kPath);
  if (!file.ok()) return file.status();
  ConfigSection root = file->root();
  root.Read("text", &settings->text);
  root.Read("flag", &settings->flag);
  root.Read("number", &settings->number, -10, 10);
  root.Read("duration", &settings->duration, absl::Seconds(1), absl::Hours(1));
  root.ReadByteSize("size", &settings->size, 1024, 1 << 20);
  root.Read("list", &settings->list);
  root.Read("map", &settings->map);
  root.Read("lists", &settings->lists);
  root.ReadPath("path", &settings->path);
  return file->Finish();
}

TEST(Config, ReadsEveryKindOfValue) {
  Settings settings;
  ASSERT_OK(ReadSettings(R"(
text: "two words"   # a comment
flag: false
number: -10
duration: 1m30s
size: 64KiB
list: [a, "b c", 3]
map: {region: eu, rack: 12}
lists: {a: one, 'b c': [1, two], d: []}
path: keys/agent.key
)",
                         &settings));
  EXPECT_EQ(settings.text, "two words");
  EXPECT_FALSE(settings.flag);
  EXPECT_EQ(settings.number, -10);
  EXPECT_EQ(settings.duration, absl::Seconds(90));
  EXPECT_EQ(settings.size, 65536);
  EXPECT_THAT(settings.list, ElementsAre("a", "b c", "3"));
  EXPECT_THAT(settings.lists, ElementsAre(Pair("a", ElementsAre("one")),
                                          Pair("b c", ElementsAre("1", "two")),
                                          Pair("d", ElementsAre())));
  EXPECT_THAT(settings.map,
              ElementsAre(Pair("rack", "12"), Pair("region", "eu")));
  EXPECT_EQ(settings.path, "/etc/fleetperf/keys/agent.key");
}

// Text of another encoding would be in messages that nobody can read.
TEST(Config, RefusesWhatIsNotText) {
  const struct {
    std::string yaml;
    std::string error;
  } cases[] = {
      {"flag: true\ntext: caf\xE9\n", ":2: text: \"caf\\xE9\" is not UTF-8"},
      {"text: \"a\\eb\"\n", ":1: text: \"a\\x1Bb\" has the control character"},
      {"text: \"a\\tb\"\n", ":1: text: \"a\\x09b\" has the control character"},
      {"text: |\n  two\n  lines\n", ": text: \"two\\x0Alines\\x0A\" has the"},
      {"text: \"\\x85\"\n", ":1: text: \"\\xC2\\x85\" has the control"},
      {"list: caf\xE9\n", ":1: list: \"caf\\xE9\" is not UTF-8"},
      {"list:\n- a\n- caf\xE9\n", ":3: list[1]: \"caf\\xE9\" is not UTF-8"},
      {"map:\n  a: b\n  site: K\xF6ln\n", ":3: map.site: \"K\\xF6ln\" is not"},
      {"map: {caf\xE9: a}\n", ":1: map: \"caf\\xE9\" is not UTF-8"},
      {"path: /var/caf\xE9\n", ":1: path: \"/var/caf\\xE9\" is not UTF-8"},
      {"number: \xB2\n", ":1: number: \"\\xB2\" is not UTF-8"},
      {"duration: 5\xB5s\n", ":1: duration: \"5\\xB5s\" is not UTF-8"},
      {"size: \"1\\0\"\n", ":1: size: \"1\\x00\" has the control"},
      {"flag: \xE9\n", ":1: flag: \"\\xE9\" is not UTF-8"},
      {"flag: true\ntext: a # \x04\nnumber: 1\n",
       ":2: the file has the byte 0x04, a control character"},
      {"text: a\nt\xE9xt: a\n", ":2: a key: \"t\\xE9xt\" is not UTF-8"},
  };
  for (const auto& [yaml, error] : cases) {
    Settings settings;
    EXPECT_THAT(ReadSettings(yaml, &settings),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(StartsWith(kPath), HasSubstr(error))))
        << yaml;
  }
}

TEST(Config, AcceptsTextOfAllLanguages) {
  Settings settings;
  ASSERT_OK(
      ReadSettings("# caf\xE9, a comment in Latin-1\n"
                   "text: \"caf\\xE9 \u4E2D\"\nmap: {größe: 5 µs}\n",
                   &settings));
  EXPECT_EQ(settings.text, "café \u4E2D");
  EXPECT_THAT(settings.map, ElementsAre(Pair("größe", "5 µs")));
}

TEST(Config, KeepsDefaultsOfKeysWithoutAValue) {
  for (const char* yaml : {"", "# nothing but a comment\n", "{}",
                           "text:\nflag: ~\nlist: null\n"
                           "map:\npath:\nsize:\n"}) {
    SCOPED_TRACE(yaml);
    Settings settings;
    ASSERT_OK(ReadSettings(yaml, &settings));
    EXPECT_EQ(settings.text, "default");
    EXPECT_TRUE(settings.flag);
    EXPECT_EQ(settings.number, 5);
    EXPECT_EQ(settings.duration, absl::Seconds(5));
    EXPECT_EQ(settings.size, 5);
    EXPECT_THAT(settings.list, ElementsAre("default"));
    EXPECT_THAT(settings.map, ElementsAre(Pair("default", "value")));
    EXPECT_EQ(settings.path, "default");
  }
}

TEST(Config, AcceptsTheBoundsOfARange) {
  for (const char* yaml : {"number: 10", "number: -10", "duration: 1s",
                           "duration: 1h", "size: 1024", "size: 1MiB"}) {
    Settings settings;
    EXPECT_OK(ReadSettings(yaml, &settings)) << yaml;
  }
}

TEST(Config, ReportsFileLineAndKeyOfInvalidValues) {
  const struct {
    const char* yaml;
    const char* error;  // after the file's name
  } kCases[] = {
      {"text: [a]", ":1: text: expected a single value"},
      {"\ntext: {a: b}", ":2: text: expected a single value"},
      {"flag: yes", ":1: flag: expected true or false"},
      {"flag: True", ":1: flag: expected true or false"},
      {"number: 11", ":1: number: \"11\" is not a whole number from -10 to 10"},
      {"number: -11",
       ":1: number: \"-11\" is not a whole number from -10 to 10"},
      {"number: 1.5",
       ":1: number: \"1.5\" is not a whole number from -10 to 10"},
      {"number: 99999999999999999999",
       ":1: number: \"99999999999999999999\" is not a whole number"},
      {"\n\nduration: 10", ":3: duration: \"10\" is not a duration"},
      {"duration: 999ms", ":1: duration: 999ms is not between 1s and 1h"},
      {"duration: 61m", ":1: duration: 61m is not between 1s and 1h"},
      {"size: 1023", ":1: size: 1023 is not between 1KiB and 1MiB"},
      {"size: 2MiB", ":1: size: 2MiB is not between 1KiB and 1MiB"},
      {"size: 64MB", ":1: size: \"64MB\" is not a size"},
      {"list: {a: b}", ":1: list: expected a list of values"},
      {"list: [a, [b]]", ":1: list: expected a list of values"},
      {"map: [a]", ":1: map: expected \"name: value\" lines"},
      {"map: {a: [b]}", ":1: map: expected \"name: value\" lines"},
      {"lists: [a]", ":1: lists: expected \"name: [values]\" lines"},
      {"lists: {a: {b: c}}", ":1: lists: expected \"name: [values]\" lines"},
      {"lists: {a: [[b]]}", ":1: lists: expected \"name: [values]\" lines"},
      {"path: [a]", ":1: path: expected a single value"},
      {"just text", ":1: the file must consist of \"key: value\" lines"},
      {"- a\n- b", ":1: the file must consist of \"key: value\" lines"},
      // Unknown keys.
      {"text: a\nnumbr: 3",
       ":2: unknown key \"numbr\"; did you mean \"number\"?"},
      {"zzzzzzzz: 3", ":1: unknown key \"zzzzzzzz\""},
      // The first error is reported.
      {"unknown: 1\nnumber: x\nflag: x", ":3: flag: expected true or false"},
  };
  for (const auto& test : kCases) {
    Settings settings;
    EXPECT_THAT(ReadSettings(test.yaml, &settings),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         StartsWith(std::string(kPath) + test.error)));
  }
}

TEST(Config, KeepsTheVariableOfAnInvalidValue) {
  Settings settings;
  EXPECT_FALSE(
      ReadSettings("number: 11\nduration: 2h\nsize: 1\nlist: [[a]]", &settings)
          .ok());
  EXPECT_EQ(settings.number, 5);
  EXPECT_EQ(settings.duration, absl::Seconds(5));
  EXPECT_EQ(settings.size, 5);
  EXPECT_THAT(settings.list, ElementsAre("default"));
}

TEST(Config, AcceptsASingleStringAsAList) {
  Settings settings;
  ASSERT_OK(ReadSettings("list: only", &settings));
  EXPECT_THAT(settings.list, ElementsAre("only"));
  ASSERT_OK(ReadSettings("list: []", &settings));
  EXPECT_THAT(settings.list, IsEmpty());
}

TEST(Config, ResolvesPathsAgainstTheFile) {
  Settings settings;
  ASSERT_OK(ReadSettings("path: /var/log/a.log", &settings));
  EXPECT_EQ(settings.path, "/var/log/a.log");
  ASSERT_OK_AND_ASSIGN(ConfigFile file,
                       ConfigFile::Parse("path: a.log", "agent.yaml"));
  file.root().ReadPath("path", &settings.path);
  EXPECT_EQ(settings.path, "a.log");
}

TEST(Config, ReportsTheLineOfInvalidYaml) {
  for (const char* yaml :
       {"a: 1\nb: [1, 2\n", "a: 1\n\tb: 2", "a: 1\nb: *unknown"}) {
    EXPECT_THAT(ConfigFile::Parse(yaml, kPath),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AnyOf(HasSubstr(std::string(kPath) + ":2: "),
                               HasSubstr(std::string(kPath) + ":3: "))))
        << yaml;
  }
}

TEST(Config, RejectsDuplicateKeys) {
  Settings settings;
  EXPECT_THAT(ReadSettings("number: 1\ntext: a\nnumber: 2", &settings),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       std::string(kPath) + ":3: \"number\" is set twice"));
}

TEST(Config, RequiresValues) {
  const struct {
    const char* yaml;
    const char* error;
  } kCases[] = {
      {"other: 1", ":1: listen: is missing"},
      {"other: 1\nlisten: \"\"", ":2: listen: is missing"},
      {"other: 1\nlisten:", ":1: listen: is missing"},
      // A missing section has no line to report.
      {"other: 1\nlisten: a", ": tls.key: is missing"},
      {"listen: a\ntls:\n  other: 1\nother: 1", ":3: tls.key: is missing"},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.yaml);
    ASSERT_OK_AND_ASSIGN(ConfigFile file, ConfigFile::Parse(test.yaml, kPath));
    std::string listen, key;
    ConfigSection root = file.root();
    root.Has("other");
    root.Require("listen", &listen);
    ConfigSection tls = root.Section("tls");
    tls.Has("other");
    tls.RequirePath("key", &key);
    EXPECT_THAT(file.Finish(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        std::string(kPath) + test.error));
  }
}

TEST(Config, ReadsSectionsAndListsOfThem) {
  ASSERT_OK_AND_ASSIGN(ConfigFile file, ConfigFile::Parse(R"(
delivery:
  retry:
    most: 7
queries:
  - path: \System\*
    every: 2
  - path: \Memory\*
)",
                                                          kPath));
  ConfigSection root = file.root();
  EXPECT_TRUE(root.Has("delivery"));
  EXPECT_FALSE(root.Has("absent"));
  int64_t most = 0;
  root.Section("delivery").Section("retry").Read("most", &most, 0, 10);
  EXPECT_EQ(most, 7);
  std::vector<std::string> paths;
  std::vector<int64_t> intervals;
  for (ConfigSection query : root.Sections("queries")) {
    query.Require("path", &paths.emplace_back());
    query.Read("every", &intervals.emplace_back(1), 1, 10);
  }
  EXPECT_THAT(paths, ElementsAre("\\System\\*", "\\Memory\\*"));
  EXPECT_THAT(intervals, ElementsAre(2, 1));
  EXPECT_THAT(root.Sections("absent"), IsEmpty());
  EXPECT_FALSE(root.Section("absent").Section("too").Has("anything"));
  EXPECT_OK(file.Finish());
}

TEST(Config, NamesTheSectionOfAnError) {
  const struct {
    const char* yaml;
    const char* error;
  } kCases[] = {
      {"delivery:\n  most: x",
       ":2: delivery.most: \"x\" is not a whole number from 0 to 10"},
      {"delivery:\n  most: 1\n  mosst: 1",
       ":3: unknown key \"mosst\" in delivery; did you mean \"most\"?"},
      {"delivery: 5", ":1: delivery must consist of \"key: value\" lines"},
      {"queries:\n  - most: 1\n  - most: x",
       ":3: queries[1].most: \"x\" is not a whole number from 0 to 10"},
      {"queries:\n  - mosst: 1",
       ":2: unknown key \"mosst\" in queries[0]; did you mean \"most\"?"},
      {"queries:\n  - a",
       ":2: queries[0] must consist of \"key: value\" lines"},
      {"queries:\n  most: 1", ":2: queries: expected a list"},
  };
  for (const auto& test : kCases) {
    ASSERT_OK_AND_ASSIGN(ConfigFile file, ConfigFile::Parse(test.yaml, kPath));
    int64_t most = 0;
    ConfigSection root = file.root();
    root.Section("delivery").Read("most", &most, 0, 10);
    for (ConfigSection query : root.Sections("queries"))
      query.Read("most", &most, 0, 10);
    EXPECT_THAT(file.Finish(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        std::string(kPath) + test.error));
  }
}

TEST(Config, SuggestsTheSectionOfAMisplacedKey) {
  const struct {
    const char* yaml;
    const char* error;
  } kCases[] = {
      {"most: 1", ":1: unknown key \"most\"; did you mean \"delivery.most\"?"},
      {"delivery:\n  listen: a",
       ":2: unknown key \"listen\" in delivery; did you mean \"listen\"?"},
  };
  for (const auto& test : kCases) {
    ASSERT_OK_AND_ASSIGN(ConfigFile file, ConfigFile::Parse(test.yaml, kPath));
    ConfigSection root = file.root();
    std::string listen;
    int64_t most = 0;
    root.Read("listen", &listen);
    root.Section("delivery").Read("most", &most, 0, 10);
    EXPECT_THAT(file.Finish(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        std::string(kPath) + test.error));
  }
}

TEST(Config, ListsTheKeysThatWereRead) {
  ASSERT_OK_AND_ASSIGN(ConfigFile file, ConfigFile::Parse(R"(
listen: a
store: {size: 2KiB}
queries:
  - interval: 10s
  - interval: 20s
)",
                                                          kPath));
  ConfigSection root = file.root();
  std::string listen;
  root.Require("listen", &listen);
  uint64_t size = 7 << 20;
  ConfigSection store = root.Section("store");
  store.ReadByteSize("size", &size, 0, uint64_t{1} << 40);
  bool flag = true;
  store.Read("flag", &flag);
  for (ConfigSection query : root.Sections("queries")) {
    absl::Duration interval = absl::Minutes(1);
    query.Read("interval", &interval, absl::Seconds(1), absl::Hours(48));
  }
  ASSERT_OK(file.Finish());
  const ConfigSettings& settings = file.settings();
  ASSERT_EQ(settings.size(), 5);
  EXPECT_EQ(settings.at("listen").type, "text");
  EXPECT_TRUE(settings.at("listen").is_required);
  EXPECT_EQ(settings.at("listen").text, "a");
  EXPECT_EQ(settings.at("store.size").type, "size");
  EXPECT_EQ(settings.at("store.size").default_value, "7MiB");
  EXPECT_EQ(settings.at("store.size").least, "");
  EXPECT_EQ(settings.at("store.size").most, "1TiB");
  EXPECT_EQ(settings.at("store.size").text, "2KiB");
  EXPECT_EQ(settings.at("store.flag").default_value, "true");
  EXPECT_EQ(settings.at("store.flag").text, "");
  EXPECT_EQ(settings.at("queries[].interval").default_value, "1m");
  EXPECT_EQ(settings.at("queries[].interval").least, "1s");
  EXPECT_EQ(settings.at("queries[].interval").most, "2d");
  EXPECT_EQ(settings.at("queries[].interval").text, "");
  EXPECT_NE(settings.at("queries").text, "");
}

TEST(Config, ReportsErrorsOfTheCallerWithTheirLine) {
  ASSERT_OK_AND_ASSIGN(ConfigFile file,
                       ConfigFile::Parse("a: 1\nb:\n  c: 1", kPath));
  ConfigSection root = file.root();
  root.Has("a");
  root.Section("b").Error("c", "must be even");
  EXPECT_THAT(file.Finish(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       std::string(kPath) + ":3: b.c: must be even"));
}

TEST(Config, LoadsAFile) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("agent.yaml");
  EXPECT_THAT(ConfigFile::Load(path),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
  ASSERT_OK(WriteFile(path, "key: agent.key"));
  ASSERT_OK_AND_ASSIGN(ConfigFile file, ConfigFile::Load(path));
  std::string key;
  file.root().ReadPath("key", &key);
  EXPECT_EQ(key, directory.File("agent.key"));
  EXPECT_OK(file.Finish());
}

}  // namespace
}  // namespace fleetperf
