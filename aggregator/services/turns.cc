#include "aggregator/services/turns.h"

#include <utility>

namespace fleetperf::aggregator {

void Turns::Post(const std::string& caller, Task task) {
  {
    absl::MutexLock lock(&mutex_);
    const auto [entry, is_new] = waiting_.try_emplace(caller);
    if (!is_new) {
      entry->second.push_back(std::move(task));
      return;
    }
  }
  Enqueue(caller, std::move(task));
}

void Turns::Enqueue(const std::string& caller, Task task) {
  queue_([turns = shared_from_this(), caller, task = std::move(task)] {
    task();
    turns->EndTurn(caller);
  });
}

void Turns::EndTurn(const std::string& caller) {
  Task next;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = waiting_.find(caller);
    if (entry->second.empty()) {
      waiting_.erase(entry);
      return;
    }
    next = std::move(entry->second.front());
    entry->second.pop_front();
  }
  Enqueue(caller, std::move(next));
}

}  // namespace fleetperf::aggregator
