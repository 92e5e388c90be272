#include "base/rpc/rpc_log.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <string>

#include "fleetperf/v1/fleet.pb.h"
#include "tests/support/log_capture.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// protobuf sends strings that are not UTF-8, and then no receiver can parse the
// message.
TEST(RpcLog, NamesWhatCannotBeSentOrRead) {
  const testing::LogCapture log;
  SendRpcLogs();
  v1::Machine machine;
  machine.set_name("caf\xE9");
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes = machine.SerializeAsString();
  EXPECT_THAT(log.Lines(),
              Contains(AllOf(StartsWith("warning "), HasSubstr("sent"),
                             HasSubstr("fleetperf.v1.Machine.name"))));
  EXPECT_THAT(log.Lines(), SizeIs(1));

  EXPECT_FALSE(machine.ParseFromString(bytes));
  EXPECT_THAT(log.Lines(),
              Contains(AllOf(StartsWith("warning "), HasSubstr("received"),
                             HasSubstr("fleetperf.v1.Machine.name"))));
  google::protobuf::SetLogHandler(nullptr);
}

TEST(RpcLog, IsQuietAboutOtherMessages) {
  const testing::LogCapture log;
  SendRpcLogs();
  v1::Machine machine;
  machine.set_name("café");
  EXPECT_TRUE(machine.ParseFromString(machine.SerializeAsString()));
  EXPECT_FALSE(machine.ParseFromString("\x0A\xFF"));
  EXPECT_THAT(log.Lines(), IsEmpty());
  google::protobuf::SetLogHandler(nullptr);
}

}  // namespace
}  // namespace fleetperf
