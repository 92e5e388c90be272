// The collected countersets of machines, in lists that equal machines share.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_COUNTERSET_LIST_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_COUNTERSET_LIST_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::aggregator {

// Returns the ids of the query's counters that are series of their own.
std::set<uint32_t> SeriesCountersOf(const CollectedQuery& query);

// The collected part of a machine's counterset.
struct CollectedCounterset {
  std::shared_ptr<const Schema> schema;
  // The counters that are series of their own, with their collection intervals.
  std::map<uint32_t, absl::Duration> counters;
};

// The countersets of a machine, ordered by name. Machines with equal ones share
// an immutable list, so that work for a list is done once for all of them.
class CountersetList {
 public:
  using List = std::vector<std::shared_ptr<const CollectedCounterset>>;
  using const_iterator = List::const_iterator;
  using value_type = List::value_type;

  CountersetList() = default;  // empty
  explicit CountersetList(std::shared_ptr<const List> list)
      : list_(std::move(list)) {}

  const_iterator begin() const { return list().begin(); }
  const_iterator end() const { return list().end(); }
  size_t size() const { return list().size(); }
  bool empty() const { return list().empty(); }
  const value_type& operator[](size_t i) const { return list()[i]; }
  const value_type& front() const { return list().front(); }

  // Equal for lists that machines share.
  const void* id() const { return list_.get(); }

 private:
  const List& list() const {
    static const List* const kEmpty = new List();
    return list_ != nullptr ? *list_ : *kEmpty;
  }

  std::shared_ptr<const List> list_;
};

// Returns the list of a machine that also has the counters of `query`.
CountersetList::List WithQuery(const CollectedQuery& query,
                               CountersetList::List list);

// The lists of all machines. Thread-compatible.
class CountersetLists {
 public:
  // Returns an equal list that a machine has, or `list`. `machines` is the
  // number of machines, by which lists that are no longer in use are removed.
  CountersetList Share(CountersetList::List list, size_t machines);

 private:
  // The lists in use, and some that are no longer, by hash.
  std::unordered_multimap<size_t, std::weak_ptr<const CountersetList::List>>
      lists_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_COUNTERSET_LIST_H_
