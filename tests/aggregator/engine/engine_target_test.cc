#include "aggregator/engine/engine_target.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "base/tls/certificates.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

class EngineTargetTest : public ::testing::Test {
 protected:
  EngineTargetTest() {
    const absl::Time not_after = absl::Now() + absl::Hours(1);
    const KeyPair authority = *MakeAuthority("test", not_after);
    const KeyPair other = *MakeAuthority("other", not_after);
    Write("authority.pem", authority.certificate);
    Write("own.pem", authority.certificate);
    Write("own.key", authority.key);
    Write("other.key", other.key);
    Write("password", "sesame\n");
    Write("token", "abc");
    Write("empty", "\n");
    EXPECT_OK(WriteFile(directory_.File("public"), "abc", FileAccess::kPublic));
  }

  void Write(const std::string& name, const std::string& text) {
    EXPECT_OK(WriteFile(directory_.File(name), text, FileAccess::kOwnerOnly));
  }

  absl::StatusOr<EngineTarget> Read(const std::string& text) {
    ASSIGN_OR_RETURN(ConfigFile file,
                     ConfigFile::Parse(text, directory_.File("file.yaml")));
    const EngineTarget target =
        ReadEngineTarget(file.root(), "https://a.example/w");
    RETURN_IF_ERROR(file.Finish());
    return target;
  }

  const testing::TempDirectory directory_;
};

TEST_F(EngineTargetTest, ReadsAllKeys) {
  ASSERT_OK_AND_ASSIGN(const EngineTarget target, Read(R"(
url: https://engine.example:8480/insert/0/prometheus/api/v1/write?extra=1
timeout: 5s
tls: {authority: authority.pem, certificate: own.pem, key: own.key}
basic_auth: {user: fleetperf, password_file: password}
)"));
  EXPECT_EQ(target.timeout, absl::Seconds(5));
  EXPECT_EQ(target.authority, directory_.File("authority.pem"));
  EXPECT_EQ(target.certificate, directory_.File("own.pem"));
  EXPECT_EQ(target.key, directory_.File("own.key"));
  EXPECT_EQ(target.user, "fleetperf");
  EXPECT_EQ(target.password_file, directory_.File("password"));
  EXPECT_EQ(DisplayUrl(target),
            "https://engine.example:8480/insert/0/prometheus/api/v1/write");
  EXPECT_OK(
      Read("url: http://127.0.0.1:9090/api/v1/write\n"
           "bearer_token_file: token\n"));
}

TEST_F(EngineTargetTest, ExplainsErrors) {
  const struct {
    const char* text;  // after the URL
    const char* key;
    const char* message;
  } kCases[] = {
      {"timeout: 1h", "timeout", "between"},
      {"tls: {certificate: own.pem}", "tls.certificate", "needs key"},
      {"tls: {key: own.key}", "tls.key", "needs certificate"},
      {"tls: {certificate: own.pem, key: other.key}", "tls.key", "other.key"},
      {"tls: {certificate: own.pem, key: none}", "tls.key", "none"},
      {"tls: {certificate: own.pem, key: public}", "tls.key", "chmod 600"},
      {"tls: {authority: none}", "tls.authority", "none"},
      {"tls: {authority: token}", "tls.authority", "name a PEM file"},
      {"basic_auth: {user: a}", "basic_auth.user", "needs password_file"},
      {"basic_auth: {password_file: password}", "basic_auth.password_file",
       "needs user"},
      {"basic_auth: {user: 'a:b', password_file: password}", "basic_auth.user",
       "colon"},
      {"basic_auth: {user: a, password_file: empty}",
       "basic_auth.password_file", "is empty"},
      {"bearer_token_file: public", "bearer_token_file", "chmod 600"},
      {"bearer_token_file: none", "bearer_token_file", "none"},
      {"basic_auth: {user: a, password_file: password}\n"
       "bearer_token_file: token",
       "bearer_token_file", "together with basic_auth"},
      {"bearer_token: abc", "bearer_token", "did you mean"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(Read(absl::StrCat("url: https://engine.example/write\n",
                                  test.text, "\n")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("file.yaml:"), HasSubstr(test.key),
                               HasSubstr(test.message))))
        << test.text;
  }
}

TEST_F(EngineTargetTest, ExplainsUrls) {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {"timeout: 5s", "url"},
      {"url: engine.example:9090", "not a URL of HTTP; write it as https://"},
      {"url: ftp://engine.example/x", "not a URL of HTTP"},
      {"url: https://", "not a URL of HTTP"},
      {"url: https://a:b@engine.example/x", "basic_auth.password_file"},
      {"url: https://engine.example/x#y", "fragment"},
      {"url: http://engine.example/x\ntls: {authority: authority.pem}",
       "write https:// in url"},
  };
  for (const auto& test : kCases) {
    EXPECT_THAT(
        Read(absl::StrCat(test.text, "\n")),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(test.message)))
        << test.text;
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
