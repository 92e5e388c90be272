#include "driver/windows/sys/server.h"

#include <string.h>

namespace fleetperf::pmu_device {
namespace {

class Lock {
 public:
  explicit Lock(KMUTEX& mutex) : mutex_(mutex) {
    KeWaitForSingleObject(&mutex_, Executive, KernelMode, /*Alertable=*/FALSE,
                          /*Timeout=*/nullptr);
  }
  ~Lock() { KeReleaseMutex(&mutex_, /*Wait=*/FALSE); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  KMUTEX& mutex_;
};

}  // namespace

Server::Server(pmu::Machine& machine, void* memory) : pmu_(machine, memory) {
  KeInitializeMutex(&mutex_, /*Level=*/0);
}

size_t Server::Handle(pmu::ClientId client, pmu::Command command, void* buffer,
                      size_t request_size, size_t reply_capacity) {
  auto* const out = static_cast<uint8_t*>(buffer);
  const Lock lock(mutex_);
  DeviceReply head;
  size_t reply_size = 0;
  head.result =
      pmu_.Handle(client, command, buffer, request_size, out + sizeof head,
                  reply_capacity - sizeof head, &reply_size);
  memcpy(out, &head, sizeof head);
  return sizeof head + reply_size;
}

void Server::Close(pmu::ClientId client) {
  const Lock lock(mutex_);
  pmu_.Close(client);
}

void Server::Stop() {
  const Lock lock(mutex_);
  pmu_.Stop();
}

void Server::OnCpuAdded(uint32_t cpu) {
  const Lock lock(mutex_);
  pmu_.CpuOnline(cpu);
}

void Server::OnSleep() {
  const Lock lock(mutex_);
  pmu_.Suspend();
}

void Server::OnWake() {
  const Lock lock(mutex_);
  pmu_.Resume();
}

}  // namespace fleetperf::pmu_device
