// A PMU core on a simulated machine, and devices of its clients.

#ifndef FLEETPERF_TESTS_DRIVER_HARDWARE_IN_PROCESS_DEVICE_H_
#define FLEETPERF_TESTS_DRIVER_HARDWARE_IN_PROCESS_DEVICE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "driver/hardware/device.h"
#include "driver/pmu/pmu.h"
#include "driver/pmu/simulation/simulated_machine.h"

namespace fleetperf::testing {

class InProcessPmu {
 public:
  explicit InProcessPmu(pmu::SimulatedMachine& machine)
      : memory_(pmu::Pmu::MemorySize(machine.CpuLimit()) / sizeof(Block) + 1),
        pmu_(machine, memory_.data()) {}

  // The device of a client, which must not outlive this object.
  std::unique_ptr<hardware::Device> Open() {
    return std::make_unique<ClientDevice>(&pmu_, ++last_client_);
  }

  pmu::Pmu& pmu() { return pmu_; }

 private:
  struct alignas(16) Block {
    char bytes[16];
  };

  class ClientDevice : public hardware::Device {
   public:
    ClientDevice(pmu::Pmu* core, pmu::ClientId client)
        : core_(core), client_(client) {}
    ~ClientDevice() override { core_->Close(client_); }

    absl::StatusOr<std::string> Call(pmu::Command command,
                                     absl::string_view request) override {
      std::string reply(1 << 20, '\0');
      size_t size = 0;
      const pmu::Result result =
          core_->Handle(client_, command, request.data(), request.size(),
                        reply.data(), reply.size(), &size);
      if (result != pmu::Result::kOk) {
        return hardware::ErrorOf(command, result);
      }
      reply.resize(size);
      return reply;
    }

   private:
    pmu::Pmu* const core_;
    const pmu::ClientId client_;
  };

  std::vector<Block> memory_;
  pmu::Pmu pmu_;
  pmu::ClientId last_client_ = 0;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_DRIVER_HARDWARE_IN_PROCESS_DEVICE_H_
