#include "tests/agent/source/linux/every_counter.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace fleetperf::testing {
namespace {

// Enough for values that change at every tick of a busy machine, and a second
// or two if one is wrong.
constexpr int kAttempts = 500;

using Value = std::optional<uint64_t>;

std::string Text(const Value& value) {
  return value.has_value() ? absl::StrCat(*value) : "absent";
}

bool IsBetween(const Value& before, const Value& value, const Value& after,
               uint64_t slack) {
  if (!before.has_value() || !value.has_value() || !after.has_value()) {
    return before == value && value == after;
  }
  return *value + slack >= std::min(*before, *after) &&
         *value <= std::max(*before, *after) + slack;
}

bool IsTotal(const std::string& instance) {
  return absl::EndsWith(instance, "_Total");
}

}  // namespace

Value CounterFormula::ValueIn(const Fields& numbers) const {
  uint64_t sum = 0;
  bool is_present = false;
  for (const std::string& field : fields) {
    const auto number = numbers.find(field);
    if (number == numbers.end()) continue;
    is_present = true;
    sum += number->second;
  }
  if (!is_present) return std::nullopt;
  return sum * unit / divisor;
}

void EveryCounterFixture::UseThisMachine(const WordList& directories) {
  is_this_machine_ = true;
  for (const std::string& directory : directories) {
    const std::filesystem::path link = PathOf(directory);
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_directory_symlink("/" + directory, link);
  }
}

CountersetFormulas EveryCounterFixture::Without(
    const std::set<std::string>& counters, CountersetFormulas formulas) {
  std::erase_if(formulas.counters, [&](const CounterFormula& formula) {
    return counters.contains(formula.counter);
  });
  formulas.elsewhere.insert(counters.begin(), counters.end());
  return formulas;
}

std::vector<uint32_t> EveryCounterFixture::IdsOf(
    const CountersetFormulas& formulas) {
  std::map<std::string, uint32_t> ids;
  for (const auto& counter : Registration(formulas.counterset).counters) {
    ids[counter.name.empty() ? absl::StrCat("id:", counter.counter_id)
                             : counter.name] = counter.counter_id;
  }
  std::vector<uint32_t> compared;
  for (const CounterFormula& formula : formulas.counters) {
    const auto id = ids.extract(formula.counter);
    EXPECT_FALSE(id.empty()) << formula.counter << " is no counter of "
                             << formulas.counterset << ", or is there twice";
    if (!id.empty()) compared.push_back(id.mapped());
  }
  for (const std::string& counter : formulas.elsewhere) {
    EXPECT_EQ(ids.erase(counter), 1u) << counter;
  }
  for (const auto& [counter, id] : ids) {
    ADD_FAILURE() << formulas.counterset << ": " << counter
                  << " is not compared with its source";
  }
  return compared;
}

EveryCounterFixture::Differences EveryCounterFixture::Compare(
    const CountersetFormulas& formulas, const std::vector<uint32_t>& ids) {
  // A tick of its own, in which slow files are read, too.
  clock_.Advance(absl::Minutes(1));
  const FieldsByInstance before = formulas.read(Files());
  const Reading reading = Sample(formulas.counterset, ids);
  const FieldsByInstance after = formulas.read(Files());

  Differences differences;
  for (const std::string& name : reading.names) {
    if (formulas.has_more_instances || IsTotal(name)) continue;
    if (before.contains(name) || after.contains(name)) continue;
    differences[name] = "is not in the source";
  }
  for (const auto& [instance, fields] : before) {
    const auto later = after.find(instance);
    if (later == after.end()) continue;  // removed
    if (!reading.rows.contains(instance)) {
      differences[instance] = "is no instance";
      continue;
    }
    for (const CounterFormula& formula : formulas.counters) {
      const Value first = formula.ValueIn(fields);
      const Value value = reading.Get(instance, formula.counter);
      const Value last = formula.ValueIn(later->second);
      if (IsBetween(first, value, last, formula.slack)) continue;
      differences[absl::StrCat(instance, " ", formula.counter)] =
          absl::StrCat("is ", Text(value), ", in the source ", Text(first),
                       " before and ", Text(last), " after");
    }
  }
  return differences;
}

void EveryCounterFixture::ExpectEveryCounter(
    const CountersetFormulas& formulas) {
  const std::vector<uint32_t> ids = IdsOf(formulas);
  if (formulas.read(Files()).empty()) {
    if (is_this_machine_) GTEST_SKIP() << "no " << formulas.counterset;
    FAIL() << "the tree has no " << formulas.counterset;
  }
  Differences left = Compare(formulas, ids);
  for (int attempt = 1; attempt < kAttempts && !left.empty(); ++attempt) {
    const Differences now = Compare(formulas, ids);
    std::erase_if(left, [&](const auto& difference) {
      return !now.contains(difference.first);
    });
  }
  for (const auto& [name, difference] : left) {
    ADD_FAILURE() << formulas.counterset << ": " << name << " " << difference;
  }
}

}  // namespace fleetperf::testing
