#include "agent/source/linux/network/linux_tcp_connection.h"

#include <iterator>
#include <utility>

#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

// Columns from 0 are the states from TCP_ESTABLISHED on.
constexpr size_t kNumStateColumns = TcpCounts::kNumStates - 1;
enum Column : size_t {
  kReceiveQueueBytes = kNumStateColumns,
  kSendQueueBytes,
  kAcceptQueue,
  kFullAcceptQueues,
  kNumColumns
};

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterRawcount, "Established",
      "Connections in the state ESTABLISHED."},
     "sockets",
     "sock_diag TCP_ESTABLISHED"},
    {{1, kPerfCounterRawcount, "SYN Sent",
      "Connections that this machine is opening."},
     "sockets",
     "sock_diag TCP_SYN_SENT",
     "A growing number: the other side does not answer."},
    {{2, kPerfCounterRawcount, "SYN Received",
      "Connections that another machine is opening."},
     "sockets",
     "sock_diag TCP_SYN_RECV",
     "A growing number: a flood of SYN segments."},
    {{3, kPerfCounterRawcount, "FIN Wait 1",
      "Connections that this machine closed, without an acknowledgement yet."},
     "sockets",
     "sock_diag TCP_FIN_WAIT1"},
    {{4, kPerfCounterRawcount, "FIN Wait 2",
      "Connections that this machine closed and the other side has not."},
     "sockets",
     "sock_diag TCP_FIN_WAIT2"},
    {{5, kPerfCounterRawcount, "Time Wait",
      "Closed connections that wait for late segments."},
     "sockets",
     "sock_diag TCP_TIME_WAIT"},
    {{6, kPerfCounterRawcount, "Closed", "Sockets that are not connected."},
     "sockets",
     "sock_diag TCP_CLOSE"},
    {{7, kPerfCounterRawcount, "Close Wait",
      "Connections that the other side closed and the program has not."},
     "sockets",
     "sock_diag TCP_CLOSE_WAIT",
     "A growing number: the program leaks sockets."},
    {{8, kPerfCounterRawcount, "Last ACK",
      "Connections that wait for the acknowledgement of their close."},
     "sockets",
     "sock_diag TCP_LAST_ACK"},
    {{9, kPerfCounterRawcount, "Listen", "Listening sockets."},
     "sockets",
     "sock_diag TCP_LISTEN"},
    {{10, kPerfCounterRawcount, "Closing",
      "Connections that both sides closed at the same time."},
     "sockets",
     "sock_diag TCP_CLOSING"},
    {{11, kPerfCounterLargeRawcount, "Receive Queue Bytes",
      "Bytes received that programs have not read."},
     "bytes",
     "sock_diag idiag_rqueue"},
    {{12, kPerfCounterLargeRawcount, "Send Queue Bytes",
      "Bytes sent, or waiting to be sent, without an acknowledgement."},
     "bytes",
     "sock_diag idiag_wqueue"},
    {{13, kPerfCounterRawcount, "Accept Queue Length",
      "Connections that programs have not accepted."},
     "connections",
     "sock_diag idiag_rqueue of listening sockets"},
    {{14, kPerfCounterRawcount, "Accept Queues Full",
      "Listening sockets that refuse connections because programs do not "
      "accept them."},
     "sockets",
     "sock_diag idiag_rqueue, idiag_wqueue of listening sockets"},
};
static_assert(std::size(kCounters) == kNumColumns);

void AddFamily(absl::string_view utf16_name, uint32_t id,
               const TcpCounts& counts, CountersetSample* sample) {
  sample->AddInstance(utf16_name, id);
  for (size_t i = 0; i < kNumStateColumns; ++i) {
    sample->Set(i, counts.sockets[i + 1]);
  }
  sample->Set(kReceiveQueueBytes, counts.receive_queue_bytes);
  sample->Set(kSendQueueBytes, counts.send_queue_bytes);
  sample->Set(kAcceptQueue, counts.accept_queue);
  sample->Set(kFullAcceptQueues, counts.full_accept_queues);
}

}  // namespace

constinit const LinuxCounterset LinuxTcpConnection::kCounterset = {
    .guid = "{283a9c5f-3fbd-57a8-ac03-c4495461e31e}",
    .name = "Linux TCP Connection",
    .help = "TCP sockets by state.",
    .instance_type = kCountersetMultipleInstances,
    .instances = "`IPv4`, `IPv6`",
    .counters = kCounters};

LinuxTcpConnection::LinuxTcpConnection(Count count)
    : Provider(MakeRegistration(kCounterset)),
      count_(std::move(count)),
      utf16_v4_name_(Utf16FromUtf8("IPv4")),
      utf16_v6_name_(Utf16FromUtf8("IPv6")) {}

absl::Status LinuxTcpConnection::Sample(ColumnSet, const Clocks&,
                                        CountersetSample* sample) {
  const auto counts = count_();
  if (absl::IsNotFound(counts.status())) return absl::OkStatus();
  if (!counts.ok()) return counts.status();
  AddFamily(utf16_v4_name_, 4, counts->v4, sample);
  AddFamily(utf16_v6_name_, 6, counts->v6, sample);
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
