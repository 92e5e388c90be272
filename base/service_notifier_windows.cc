#include <utility>

#include "base/service_notifier.h"

namespace fleetperf {

ServiceNotifier::ServiceNotifier(std::function<void()> probe)
    : probe_(std::move(probe)) {}

ServiceNotifier::~ServiceNotifier() = default;

void ServiceNotifier::Watch(absl::Duration) {}

}  // namespace fleetperf
