#include "agent/source/linux/network/network_protocols.h"

namespace fleetperf::agent {

void AddNetworkProtocols(const std::string& root,
                         std::vector<std::unique_ptr<Provider>>* providers) {
  const auto snmp = std::make_shared<SharedProcFile>(root + "/proc/net/snmp");
  for (const LinuxCounterset* counterset : {&kTcpV4, &kUdpV4, &kIpV4, &kIcmp}) {
    providers->push_back(
        std::make_unique<NetworkProtocol<LinePairs>>(*counterset, snmp));
  }
  const auto snmp6 = std::make_shared<SharedProcFile>(root + "/proc/net/snmp6");
  for (const LinuxCounterset* counterset : {&kUdpV6, &kIpV6, &kIcmpV6}) {
    providers->push_back(
        std::make_unique<NetworkProtocol<NamedLines>>(*counterset, snmp6));
  }
  providers->push_back(std::make_unique<NetworkProtocol<LinePairs>>(
      kLinuxNetworkProtocol,
      std::make_shared<SharedProcFile>(root + "/proc/net/netstat")));
}

}  // namespace fleetperf::agent
