#include "values/counter_formula.h"

namespace fleetperf {
namespace {

using perflib::Denominator;
using perflib::Formula;

}  // namespace

bool NeedsDenominatorCounter(const CounterFormula& formula) {
  return formula.denominator == Denominator::kBaseCounter ||
         formula.denominator == Denominator::kPerfTimeCounter;
}

bool NeedsPerfFreq(const CounterFormula& formula) {
  return formula.formula == Formula::kRate ||
         formula.formula == Formula::kMultiTimer ||
         formula.formula == Formula::kAverageTimer;
}

bool UsesBlockClocks(const CounterFormula& formula) {
  return formula.formula == Formula::kElapsedTime &&
         !formula.denominator_id.has_value() &&
         !formula.frequency_id.has_value();
}

bool NeedsMulti(const CounterFormula& formula) {
  return formula.formula == Formula::kMultiTimer ||
         formula.formula == Formula::kMultiTimer100Ns ||
         formula.formula == Formula::kMultiTimerInverse;
}

CounterFormula FormulaOf(const perflib::CountersetRegistration& registration,
                         const perflib::CounterRegistration& counter) {
  CounterFormula result{.counter_id = counter.counter_id, .type = counter.type};
  const perflib::CounterTypeInfo* info = perflib::FindCounterType(counter.type);
  if (info == nullptr) return result;
  result.known_type = true;
  result.formula = info->formula;
  result.denominator = info->denominator;

  const auto link = [&](uint32_t id) -> std::optional<uint32_t> {
    if (id == perflib::kNoCounter || registration.FindCounter(id) == nullptr) {
      return std::nullopt;
    }
    return id;
  };
  if (info->denominator == Denominator::kBaseCounter) {
    result.denominator_id = link(counter.base_counter_id);
  } else if (info->denominator == Denominator::kPerfTimeCounter) {
    result.denominator_id = link(counter.perf_time_id);
    // PERF_PRECISION_OBJECT_TIMER named a base before V2.
    if (!result.denominator_id.has_value() &&
        counter.type == perflib::kPerfPrecisionObjectTimer) {
      result.denominator_id = link(counter.base_counter_id);
    }
  }
  if (info->formula == Formula::kElapsedTime) {
    result.frequency_id = link(counter.perf_freq_id);
  }
  if (NeedsMulti(result)) result.multi_id = link(counter.multi_id);
  // The default scale controls how graphs draw a counter. It applies to the
  // value only if the counter asks to be displayed as a real number.
  if ((counter.attrib & perflib::kAttribDisplayAsReal) != 0) {
    result.scale = perflib::ScaleOr0(counter.default_scale);
  }
  return result;
}

}  // namespace fleetperf
