#include <filesystem>
#include <iterator>

#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::Reading;
using testing::Values;

constexpr char kRdma[] = "RDMA Activity";

class RdmaActivityTest : public testing::LinuxFixture {
 protected:
  void WriteNumber(const std::string& device, const std::string& file,
                   const std::string& text) {
    Write("sys/class/infiniband/" + device + "/ports/" + file, text + "\n");
  }
};

TEST_F(RdmaActivityTest, ReadsEveryCounter) {
  const std::map<std::string, std::string> kFiles = {
      {"state", "4: ACTIVE"},
      {"counters/port_rcv_data", "1000000000000"},
      {"counters/port_xmit_data", "7"},
      {"counters/port_rcv_packets", "101"},
      {"counters/port_xmit_packets", "102"},
      {"counters/unicast_rcv_packets", "103"},
      {"counters/multicast_rcv_packets", "104"},
      {"counters/multicast_xmit_packets", "105"},
      {"counters/port_xmit_wait", "106"},
      {"counters/port_xmit_discards", "107"},
      {"counters/port_xmit_constraint_errors", "108"},
      {"counters/port_rcv_errors", "109"},
      {"counters/port_rcv_remote_physical_errors", "110"},
      {"counters/port_rcv_constraint_errors", "111"},
      {"counters/symbol_error", "112"},
      {"counters/local_link_integrity_errors", "113"},
      {"counters/link_error_recovery", "114"},
      {"counters/link_downed", "115"},
      {"counters/excessive_buffer_overrun_errors", "116"},
      {"counters/VL15_dropped", "117"},
      {"hw_counters/out_of_sequence", "118"},
      {"hw_counters/out_of_buffer", "119"},
      {"hw_counters/packet_seq_err", "120"},
      {"hw_counters/rnr_nak_retry_err", "121"},
      {"hw_counters/local_ack_timeout_err", "122"},
      {"hw_counters/implied_nak_seq_err", "123"},
      {"hw_counters/duplicate_request", "124"},
      {"hw_counters/rx_read_requests", "125"},
      {"hw_counters/rx_write_requests", "126"},
      {"hw_counters/rx_atomic_requests", "127"},
      {"hw_counters/np_ecn_marked_roce_packets", "128"},
      {"hw_counters/np_cnp_sent", "129"},
      {"hw_counters/rp_cnp_handled", "130"},
      {"hw_counters/req_cqe_error", "131"},
      {"hw_counters/resp_cqe_error", "132"},
      {"hw_counters/lifespan", "10"},
  };
  for (const auto& [file, text] : kFiles) {
    WriteNumber("mlx5_0", "1/" + file, text);
  }
  const Reading reading = Sample(kRdma);
  EXPECT_THAT(reading.names, ElementsAre("mlx5_0:1"));
  // Data are counted in words of 4 bytes.
  EXPECT_EQ(reading.rows.at("mlx5_0:1"),
            (Values{{"RDMA Completion Queue Errors", 131 + 132},
                    {"RDMA Inbound Bytes/sec", 4'000'000'000'000},
                    {"RDMA Outbound Bytes/sec", 28},
                    {"RDMA Inbound Frames/sec", 101},
                    {"RDMA Outbound Frames/sec", 102},
                    {"Port State", 4},
                    {"Multicast Inbound Frames/sec", 104},
                    {"Multicast Outbound Frames/sec", 105},
                    {"Transmit Waits/sec", 106},
                    {"Transmit Discards", 107},
                    {"Transmit Constraint Errors", 108},
                    {"Receive Errors", 109},
                    {"Receive Remote Errors", 110},
                    {"Receive Constraint Errors", 111},
                    {"Symbol Errors", 112},
                    {"Link Integrity Errors", 113},
                    {"Link Recoveries", 114},
                    {"Link Downs", 115},
                    {"Buffer Overruns", 116},
                    {"Management Drops", 117},
                    {"Out Of Sequence", 118},
                    {"Out Of Buffer", 119},
                    {"Sequence Errors Received", 120},
                    {"Not Ready Retries Exceeded", 121},
                    {"Acknowledgement Timeouts", 122},
                    {"Implied Sequence Errors", 123},
                    {"Duplicate Requests", 124},
                    {"Read Requests Received/sec", 125},
                    {"Write Requests Received/sec", 126},
                    {"Atomic Requests Received/sec", 127},
                    {"Congestion Marks Received/sec", 128},
                    {"Congestion Notifications Sent/sec", 129},
                    {"Congestion Notifications Handled/sec", 130}}));
}

TEST_F(RdmaActivityTest, OmitsWhatADriverLacks) {
  WriteNumber("irdma0", "1/counters/port_rcv_packets", "N/A (no PMA)");
  WriteNumber("irdma0", "1/counters/port_xmit_packets", "8");
  WriteNumber("mlx5_1", "1/state", "1: DOWN");
  WriteNumber("mlx5_1", "2/state", "4: ACTIVE");
  const Reading reading = Sample(kRdma);
  EXPECT_THAT(reading.names, ElementsAre("irdma0:1", "mlx5_1:1", "mlx5_1:2"));
  EXPECT_EQ(reading.rows.at("irdma0:1"),
            (Values{{"RDMA Outbound Frames/sec", 8}}));
  EXPECT_EQ(reading.rows.at("mlx5_1:1"), (Values{{"Port State", 1}}));
  EXPECT_NE(reading.ids.at("mlx5_1:1"), reading.ids.at("mlx5_1:2"));
}

TEST_F(RdmaActivityTest, FollowsAdaptersThatComeAndGo) {
  WriteNumber("mlx5_0", "1/state", "4: ACTIVE");
  const uint32_t id = Sample(kRdma).ids.at("mlx5_0:1");
  WriteNumber("mlx5_1", "1/state", "4: ACTIVE");
  clock_.Advance(absl::Minutes(1));
  Reading reading = Sample(kRdma);
  EXPECT_THAT(reading.names, ElementsAre("mlx5_0:1", "mlx5_1:1"));
  EXPECT_EQ(reading.ids.at("mlx5_0:1"), id);
  Remove("sys/class/infiniband/mlx5_0");
  clock_.Advance(absl::Minutes(1));
  EXPECT_THAT(Sample(kRdma).names, ElementsAre("mlx5_1:1"));
}

size_t OpenFiles() {
  const auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

TEST_F(RdmaActivityTest, KeepsTheFilesOfFewPortsOpen) {
  for (int port = 1; port <= 4; ++port) {
    WriteNumber("mlx5_0", absl::StrCat(port, "/state"), "4: ACTIVE");
  }
  Registration(kRdma);
  const size_t files = OpenFiles();
  Sample(kRdma);
  EXPECT_EQ(OpenFiles(), files + 4);
  for (int port = 1; port <= 30; ++port) {
    WriteNumber("mlx5_1", absl::StrCat(port, "/state"), "4: ACTIVE");
  }
  clock_.Advance(absl::Minutes(1));
  EXPECT_EQ(Sample(kRdma).Get("mlx5_1:30", "Port State"), 4);
  EXPECT_EQ(OpenFiles(), files);
}

TEST_F(RdmaActivityTest, HasNoInstancesWithoutAdapters) {
  const Reading reading = Sample(kRdma);
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
  EXPECT_THAT(reading.names, ElementsAre());
}

}  // namespace
}  // namespace fleetperf::agent
