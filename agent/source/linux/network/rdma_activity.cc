#include "agent/source/linux/network/rdma_activity.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "base/os/files.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kCompletionQueueErrors,
  kInboundBytes,
  kOutboundBytes,
  kInboundFrames,
  kOutboundFrames,
  kPortState,
  kMulticastInbound,
  kMulticastOutbound,
  kTransmitWaits,
  kTransmitDiscards,
  kTransmitConstraintErrors,
  kReceiveErrors,
  kReceiveRemoteErrors,
  kReceiveConstraintErrors,
  kSymbolErrors,
  kLinkIntegrityErrors,
  kLinkRecoveries,
  kLinkDowns,
  kBufferOverruns,
  kManagementDrops,
  kOutOfSequence,
  kOutOfBuffer,
  kSequenceErrors,
  kNotReadyExceeded,
  kAckTimeouts,
  kImpliedNaks,
  kDuplicateRequests,
  kReadRequests,
  kWriteRequests,
  kAtomicRequests,
  kCongestionMarks,
  kCongestionSent,
  kCongestionHandled,
  kNumColumns
};

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterLargeRawcount, "RDMA Completion Queue Errors",
      "Requests and responses since the start that ended with an error."},
     "errors",
     "/sys/class/infiniband/*/ports/* hw_counters/req_cqe_error + "
     "hw_counters/resp_cqe_error",
     "Of mlx5 adapters."},
    {{1, kPerfCounterBulkCount, "RDMA Inbound Bytes/sec",
      "Bytes received by the port."},
     "bytes/s",
     "/sys/class/infiniband/*/ports/* counters/port_rcv_data",
     "On InfiniBand all that the port receives, on RoCE only RDMA."},
    {{2, kPerfCounterBulkCount, "RDMA Outbound Bytes/sec",
      "Bytes sent by the port."},
     "bytes/s",
     "/sys/class/infiniband/*/ports/* counters/port_xmit_data"},
    {{3, kPerfCounterBulkCount, "RDMA Inbound Frames/sec",
      "Packets received by the port."},
     "packets/s",
     "/sys/class/infiniband/*/ports/* counters/port_rcv_packets"},
    {{4, kPerfCounterBulkCount, "RDMA Outbound Frames/sec",
      "Packets sent by the port."},
     "packets/s",
     "/sys/class/infiniband/*/ports/* counters/port_xmit_packets"},
    {{kFirstLinuxCounterId + 0, kPerfCounterRawcount, "Port State",
      "The state of the port: 1 down, 2 initializing, 3 armed, 4 active, 5 "
      "active but deferring."},
     "state",
     "/sys/class/infiniband/*/ports/* state"},
    {{kFirstLinuxCounterId + 1, kPerfCounterCounter,
      "Multicast Inbound Frames/sec",
      "Multicast packets received by the port."},
     "packets/s",
     "/sys/class/infiniband/*/ports/* counters/multicast_rcv_packets"},
    {{kFirstLinuxCounterId + 2, kPerfCounterCounter,
      "Multicast Outbound Frames/sec", "Multicast packets sent by the port."},
     "packets/s",
     "/sys/class/infiniband/*/ports/* counters/multicast_xmit_packets"},
    {{kFirstLinuxCounterId + 3, kPerfCounterBulkCount, "Transmit Waits/sec",
      "Ticks in which the port had data to send but could not."},
     "ticks/s",
     "/sys/class/infiniband/*/ports/* counters/port_xmit_wait",
     "The length of a tick depends on the adapter: compare over time."},
    {{kFirstLinuxCounterId + 4, kPerfCounterLargeDelta, "Transmit Discards",
      "Packets to be sent that the port dropped."},
     "packets",
     "/sys/class/infiniband/*/ports/* counters/port_xmit_discards"},
    {{kFirstLinuxCounterId + 5, kPerfCounterLargeDelta,
      "Transmit Constraint Errors",
      "Packets not sent because of partition or raw packet rules."},
     "packets",
     "/sys/class/infiniband/*/ports/* counters/port_xmit_constraint_errors"},
    {{kFirstLinuxCounterId + 6, kPerfCounterLargeDelta, "Receive Errors",
      "Packets received with errors."},
     "packets",
     "/sys/class/infiniband/*/ports/* counters/port_rcv_errors"},
    {{kFirstLinuxCounterId + 7, kPerfCounterLargeDelta, "Receive Remote Errors",
      "Packets received that the other end had marked as bad."},
     "packets",
     "/sys/class/infiniband/*/ports/* "
     "counters/port_rcv_remote_physical_errors"},
    {{kFirstLinuxCounterId + 8, kPerfCounterLargeDelta,
      "Receive Constraint Errors",
      "Packets received and dropped because of partition or raw packet rules."},
     "packets",
     "/sys/class/infiniband/*/ports/* counters/port_rcv_constraint_errors"},
    {{kFirstLinuxCounterId + 9, kPerfCounterLargeDelta, "Symbol Errors",
      "Errors in symbols on the link."},
     "errors",
     "/sys/class/infiniband/*/ports/* counters/symbol_error"},
    {{kFirstLinuxCounterId + 10, kPerfCounterLargeDelta,
      "Link Integrity Errors",
      "Times at which errors on the link exceeded the threshold."},
     "times",
     "/sys/class/infiniband/*/ports/* counters/local_link_integrity_errors"},
    {{kFirstLinuxCounterId + 11, kPerfCounterLargeDelta, "Link Recoveries",
      "Times at which the link recovered from errors."},
     "times",
     "/sys/class/infiniband/*/ports/* counters/link_error_recovery"},
    {{kFirstLinuxCounterId + 12, kPerfCounterLargeDelta, "Link Downs",
      "Times at which the link did not recover and went down."},
     "times",
     "/sys/class/infiniband/*/ports/* counters/link_downed"},
    {{kFirstLinuxCounterId + 13, kPerfCounterLargeDelta, "Buffer Overruns",
      "Times at which the receive buffer of the port overflowed for long."},
     "times",
     "/sys/class/infiniband/*/ports/* "
     "counters/excessive_buffer_overrun_errors"},
    {{kFirstLinuxCounterId + 14, kPerfCounterLargeDelta, "Management Drops",
      "Management packets dropped for lack of buffers."},
     "packets",
     "/sys/class/infiniband/*/ports/* counters/VL15_dropped"},
    {{kFirstLinuxCounterId + 15, kPerfCounterLargeDelta, "Out Of Sequence",
      "Packets received out of sequence."},
     "packets",
     "/sys/class/infiniband/*/ports/* hw_counters/out_of_sequence",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 16, kPerfCounterLargeDelta, "Out Of Buffer",
      "Packets dropped because no receive request was posted."},
     "packets",
     "/sys/class/infiniband/*/ports/* hw_counters/out_of_buffer",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 17, kPerfCounterLargeDelta,
      "Sequence Errors Received",
      "Negative acknowledgements received for packets out of sequence."},
     "packets",
     "/sys/class/infiniband/*/ports/* hw_counters/packet_seq_err",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 18, kPerfCounterLargeDelta,
      "Not Ready Retries Exceeded",
      "Requests that failed because the receiver was not ready (RNR) for too "
      "long."},
     "requests",
     "/sys/class/infiniband/*/ports/* hw_counters/rnr_nak_retry_err",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 19, kPerfCounterLargeDelta,
      "Acknowledgement Timeouts",
      "Expiries of the timer for acknowledgements."},
     "timeouts",
     "/sys/class/infiniband/*/ports/* hw_counters/local_ack_timeout_err",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 20, kPerfCounterLargeDelta,
      "Implied Sequence Errors",
      "Acknowledgements received that imply a lost response."},
     "packets",
     "/sys/class/infiniband/*/ports/* hw_counters/implied_nak_seq_err",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 21, kPerfCounterLargeDelta, "Duplicate Requests",
      "Requests received twice."},
     "requests",
     "/sys/class/infiniband/*/ports/* hw_counters/duplicate_request",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 22, kPerfCounterCounter,
      "Read Requests Received/sec", "RDMA reads received."},
     "requests/s",
     "/sys/class/infiniband/*/ports/* hw_counters/rx_read_requests",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 23, kPerfCounterCounter,
      "Write Requests Received/sec", "RDMA writes received."},
     "requests/s",
     "/sys/class/infiniband/*/ports/* hw_counters/rx_write_requests",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 24, kPerfCounterCounter,
      "Atomic Requests Received/sec", "Atomic operations received."},
     "requests/s",
     "/sys/class/infiniband/*/ports/* hw_counters/rx_atomic_requests",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 25, kPerfCounterCounter,
      "Congestion Marks Received/sec",
      "RoCE packets received with a mark of congestion (ECN)."},
     "packets/s",
     "/sys/class/infiniband/*/ports/* hw_counters/np_ecn_marked_roce_packets",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 26, kPerfCounterCounter,
      "Congestion Notifications Sent/sec",
      "Congestion notification packets sent to the senders of marked packets."},
     "packets/s",
     "/sys/class/infiniband/*/ports/* hw_counters/np_cnp_sent",
     "Of mlx5 adapters."},
    {{kFirstLinuxCounterId + 27, kPerfCounterCounter,
      "Congestion Notifications Handled/sec",
      "Congestion notification packets that slowed the adapter down."},
     "packets/s",
     "/sys/class/infiniband/*/ports/* hw_counters/rp_cnp_handled",
     "Of mlx5 adapters."},
};
static_assert(std::size(kCounters) == kNumColumns);

// A file in the directory of a port, whose number is added to a column.
struct Term {
  absl::string_view file;
  Column column;
  uint64_t factor = 1;
};

constexpr Term kTerms[] = {
    {"hw_counters/req_cqe_error", kCompletionQueueErrors},
    {"hw_counters/resp_cqe_error", kCompletionQueueErrors},
    {"counters/port_rcv_data", kInboundBytes, 4},
    {"counters/port_xmit_data", kOutboundBytes, 4},
    {"counters/port_rcv_packets", kInboundFrames},
    {"counters/port_xmit_packets", kOutboundFrames},
    {"state", kPortState},
    {"counters/multicast_rcv_packets", kMulticastInbound},
    {"counters/multicast_xmit_packets", kMulticastOutbound},
    {"counters/port_xmit_wait", kTransmitWaits},
    {"counters/port_xmit_discards", kTransmitDiscards},
    {"counters/port_xmit_constraint_errors", kTransmitConstraintErrors},
    {"counters/port_rcv_errors", kReceiveErrors},
    {"counters/port_rcv_remote_physical_errors", kReceiveRemoteErrors},
    {"counters/port_rcv_constraint_errors", kReceiveConstraintErrors},
    {"counters/symbol_error", kSymbolErrors},
    {"counters/local_link_integrity_errors", kLinkIntegrityErrors},
    {"counters/link_error_recovery", kLinkRecoveries},
    {"counters/link_downed", kLinkDowns},
    {"counters/excessive_buffer_overrun_errors", kBufferOverruns},
    {"counters/VL15_dropped", kManagementDrops},
    {"hw_counters/out_of_sequence", kOutOfSequence},
    {"hw_counters/out_of_buffer", kOutOfBuffer},
    {"hw_counters/packet_seq_err", kSequenceErrors},
    {"hw_counters/rnr_nak_retry_err", kNotReadyExceeded},
    {"hw_counters/local_ack_timeout_err", kAckTimeouts},
    {"hw_counters/implied_nak_seq_err", kImpliedNaks},
    {"hw_counters/duplicate_request", kDuplicateRequests},
    {"hw_counters/rx_read_requests", kReadRequests},
    {"hw_counters/rx_write_requests", kWriteRequests},
    {"hw_counters/rx_atomic_requests", kAtomicRequests},
    {"hw_counters/np_ecn_marked_roce_packets", kCongestionMarks},
    {"hw_counters/np_cnp_sent", kCongestionSent},
    {"hw_counters/rp_cnp_handled", kCongestionHandled},
};

// The files of more ports are opened for each reading.
constexpr size_t kMaxOpenPorts = 4;

// Returns a number that another directory at the same place does not have.
uint32_t IdOf(const std::string& directory) {
  struct stat status;
  if (stat(directory.c_str(), &status) != 0) return 0;
  return static_cast<uint32_t>(status.st_ino);
}

}  // namespace

constinit const LinuxCounterset RdmaActivity::kCounterset = {
    .guid = "{0bbcc280-fcaa-50e4-8bb7-2dcb09c37d8f}",
    .name = "RDMA Activity",
    .help = "Ports of adapters with remote direct memory access.",
    .instance_type = kCountersetMultipleInstances,
    .instances = "`device:port`",
    .counters = kCounters};

RdmaActivity::RdmaActivity(const std::string& root)
    : Provider(MakeRegistration(kCounterset)),
      directory_(root + "/sys/class/infiniband") {}

absl::Status RdmaActivity::Sample(ColumnSet needed, const Clocks& clocks,
                                  CountersetSample* sample) {
  if (list_.IsDue(clocks)) FindPorts();
  for (Port& port : ports_) {
    sample->AddInstance(port.utf16_name, port.id);
    if (!ReadPort(port, needed, sample)) list_.MakeDue();
  }
  return absl::OkStatus();
}

void RdmaActivity::FindPorts() {
  std::vector<Port> old_ports = std::move(ports_);
  ports_.clear();
  for (const std::string& device : ListNames(directory_)) {
    const std::string ports = absl::StrCat(directory_, "/", device, "/ports");
    for (const std::string& port : ListNames(ports)) {
      const std::string directory = absl::StrCat(ports, "/", port);
      const uint32_t id = IdOf(directory);
      const auto known = std::find_if(
          old_ports.begin(), old_ports.end(), [&](const Port& old_port) {
            return old_port.directory == directory && old_port.id == id;
          });
      if (known != old_ports.end()) {
        ports_.push_back(std::move(*known));
      } else {
        ports_.push_back(
            OpenPort(directory, id, absl::StrCat(device, ":", port)));
      }
    }
  }
}

RdmaActivity::Port RdmaActivity::OpenPort(const std::string& directory,
                                          uint32_t id, absl::string_view name) {
  Port port = {
      .directory = directory, .id = id, .utf16_name = Utf16FromUtf8(name)};
  ColumnSet incomplete = 0;
  for (const Term& term : kTerms) {
    std::string path = absl::StrCat(directory, "/", term.file);
    if (!FileExists(path)) {
      incomplete |= Bit(term.column);
      continue;
    }
    port.numbers.push_back({ProcFile(std::move(path), ProcFile::Kind::kSmall),
                            term.column, term.factor});
  }
  std::erase_if(port.numbers, [&](const Number& number) {
    return Has(incomplete, number.column);
  });
  return port;
}

bool RdmaActivity::ReadPort(Port& port, ColumnSet needed,
                            CountersetSample* sample) {
  bool is_present = true;
  for (Number& number : port.numbers) {
    if (!Has(needed, number.column)) continue;
    auto text = number.file.Read(&buffer_);
    if (ports_.size() > kMaxOpenPorts) number.file.Close();
    // Other errors are those of a counter that the hardware lacks.
    if (absl::IsNotFound(text.status())) is_present = false;
    if (!text.ok()) continue;
    sample->Add(number.column, Times(NextNumber(&*text), number.factor));
  }
  return is_present;
}

}  // namespace fleetperf::agent
