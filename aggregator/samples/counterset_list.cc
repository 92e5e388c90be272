#include "aggregator/samples/counterset_list.h"

#include <algorithm>
#include <tuple>

#include "absl/hash/hash.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMinListsToPrune = 1000;

size_t HashOf(const CountersetList::List& list) {
  size_t hash = 0;
  for (const auto& counterset : list) {
    hash = absl::HashOf(hash, counterset->schema.get());
    for (const auto& [id, interval] : counterset->counters) {
      hash = absl::HashOf(hash, id, interval);
    }
  }
  return hash;
}

bool AreEqual(const CountersetList::List& a, const CountersetList::List& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x->schema == y->schema && x->counters == y->counters;
      });
}

}  // namespace

std::set<uint32_t> SeriesCountersOf(const CollectedQuery& query) {
  std::set<uint32_t> counters;
  for (const CollectedQuery::Column& column : query.columns) {
    if (!column.only_linked) counters.insert(column.counter_id);
  }
  return counters;
}

CountersetList::List WithQuery(const CollectedQuery& query,
                               CountersetList::List list) {
  const std::shared_ptr<const Schema>& schema = query.schema;
  const auto place =
      std::find_if(list.begin(), list.end(), [&](const auto& counterset) {
        return counterset->schema->hash == schema->hash;
      });
  CollectedCounterset changed;
  if (place != list.end()) changed = **place;
  changed.schema = schema;
  for (const uint32_t id : SeriesCountersOf(query)) {
    changed.counters[id] = query.interval;
  }
  auto counterset =
      std::make_shared<const CollectedCounterset>(std::move(changed));
  if (place != list.end()) {
    *place = std::move(counterset);
  } else {
    list.push_back(std::move(counterset));
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::tie(a->schema->registration.name, a->schema->hash) <
           std::tie(b->schema->registration.name, b->schema->hash);
  });
  return list;
}

CountersetList CountersetLists::Share(CountersetList::List list,
                                      size_t machines) {
  if (lists_.size() > 2 * machines + kMinListsToPrune) {
    std::erase_if(lists_, [](const auto& one) { return one.second.expired(); });
  }
  const size_t hash = HashOf(list);
  const auto [first, last] = lists_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    auto shared = known->second.lock();
    if (shared != nullptr && AreEqual(*shared, list)) {
      return CountersetList(std::move(shared));
    }
  }
  auto added = std::make_shared<const CountersetList::List>(std::move(list));
  lists_.emplace(hash, added);
  return CountersetList(std::move(added));
}

}  // namespace fleetperf::aggregator
