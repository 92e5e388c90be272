#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "base/config/config.h"
#include "base/os/files.h"
#include "base/tls/credentials.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using testing::StatusIs;

constexpr char kCertificate[] = "-----BEGIN CERTIFICATE-----";
constexpr char kKey[] = "-----BEGIN PRIVATE KEY-----";

class SystemdKeyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(WriteFile(directory_.File("authority.pem"), kCertificate));
    ASSERT_OK(WriteFile(directory_.File("agent.pem"), kCertificate));
    setenv("CREDENTIALS_DIRECTORY", credentials_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("CREDENTIALS_DIRECTORY"); }

  TlsFiles ReadFiles() const {
    auto file = ConfigFile::Parse(
        "tls: {authority: authority.pem, certificate: agent.pem, key: "
        "agent.key}",
        directory_.File("agent.yaml"));
    EXPECT_OK(file);
    return ReadTlsFiles(file->root().Section("tls"));
  }

  // An access list for the service's user shows as mode 0440.
  static void WriteReadableByGroup(const std::string& path) {
    ASSERT_OK(WriteFile(path, kKey));
    ASSERT_EQ(chmod(path.c_str(), 0440), 0);
  }

  const testing::TempDirectory directory_;
  const testing::TempDirectory credentials_;
};

TEST_F(SystemdKeyTest, ReplacesTheFile) {
  WriteReadableByGroup(credentials_.File("agent.key"));
  const TlsFiles files = ReadFiles();
  EXPECT_EQ(files.key, credentials_.File("agent.key"));
  EXPECT_EQ(files.certificate, directory_.File("agent.pem"));
  ASSERT_OK_AND_ASSIGN(const TlsTexts texts, ReadTlsTexts(files));
  EXPECT_EQ(texts.key, kKey);
}

TEST_F(SystemdKeyTest, LeavesOtherKeysToTheCheckOfTheirMode) {
  WriteReadableByGroup(credentials_.File("other.key"));
  WriteReadableByGroup(directory_.File("agent.key"));
  const TlsFiles files = ReadFiles();
  EXPECT_EQ(files.key, directory_.File("agent.key"));
  EXPECT_THAT(ReadTlsTexts(files),
              StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
}

}  // namespace
}  // namespace fleetperf
