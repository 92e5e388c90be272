// calc: raw samples on standard input, calculated values on standard output.

#include <cstdio>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "cli/commands.h"
#include "perflib/counter_type.h"
#include "values/calculate.h"

namespace fleetperf::cli {
namespace {

using nlohmann::json;

// A line that calc reads.
struct CalcLine {
  // Without the older sample if `series` is not empty.
  PrintedCounter counter;
  // The members that tell the origin of the value, to repeat in the output:
  // "\"machine\":\"web-1\",". Empty if there are none.
  std::string origin;
  // For a line with one sample: the series of the sample and its life. The
  // older sample is that of the series' previous line.
  std::string series;
  std::string life;
  bool has_value = true;
  // Whether the samples are as stored: what their formula lacks is missing in
  // the data, which has a status, and not in the line.
  bool is_stored = false;
};

// A value that is no type of winperf.h.
constexpr uint32_t kUnknownType = 0xFFFFFFFF;

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

const json* Find(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && !found->is_null() ? &*found : nullptr;
}

std::string DumpMember(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<uint64_t> ToNumber(const json& value, absl::string_view name) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  uint64_t number;
  if (value.is_string() &&
      absl::SimpleAtoi(value.get_ref<const std::string&>(), &number)) {
    return number;
  }
  return Wrong(name, " is ", DumpMember(value),
               ", it must be a whole number from 0 to 2^64-1");
}

// Sets `number` to std::nullopt if there is no such member. `parent` precedes
// the name in messages: "raw1.".
absl::Status ReadNumber(const json& object, absl::string_view parent,
                        const char* name, std::optional<uint64_t>* number) {
  const json* value = Find(object, name);
  if (value == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(*number, ToNumber(*value, absl::StrCat(parent, name)));
  return absl::OkStatus();
}

uint32_t TypeOfName(const std::string& name) {
  const auto* info = perflib::FindCounterTypeByName(name);
  return info != nullptr ? info->type : kUnknownType;
}

// Reads a type's name or number. Any other value is an unknown type, not an
// error.
absl::Status ReadType(const json& value, const char* name, uint32_t* type) {
  if (value.is_string()) {
    *type = TypeOfName(value.get<std::string>());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const uint64_t number, ToNumber(value, name));
  *type = number <= std::numeric_limits<uint32_t>::max()
              ? static_cast<uint32_t>(number)
              : kUnknownType;
  return absl::OkStatus();
}

absl::Status ReadSize(const json& object, const char* name, uint8_t* size) {
  std::optional<uint64_t> number;
  RETURN_IF_ERROR(ReadNumber(object, "", name, &number));
  if (!number.has_value()) return absl::OkStatus();
  if (*number != 4 && *number != 8) {
    return Wrong(name, " is ", *number, ", it must be 4 or 8");
  }
  *size = static_cast<uint8_t>(*number);
  return absl::OkStatus();
}

bool IsNegative(const json& value) {
  if (value.is_string()) {
    return absl::StartsWith(value.get_ref<const std::string&>(), "-");
  }
  return value.is_number_integer() && !value.is_number_unsigned();
}

// A negative frequency counts as 0 and is not an error, because frequencies in
// blocks are signed.
absl::Status ReadFrequency(const json& object, absl::string_view parent,
                           const char* name, std::optional<uint64_t>* freq) {
  const json* value = Find(object, name);
  if (value == nullptr || !IsNegative(*value)) {
    return ReadNumber(object, parent, name, freq);
  }
  *freq = 0;
  return absl::OkStatus();
}

// Returns the member of a raw sample that a type's formula measures against.
const char* ClockOf(uint32_t type) {
  const auto* info = perflib::FindCounterType(type);
  if (info == nullptr) return "base";
  switch (info->denominator) {
    case perflib::Denominator::kPerfTimeStamp:
      return "perf_time";
    case perflib::Denominator::kPerfTime100NSec:
      return "perf_time_100ns";
    default:
      return "base";
  }
}

// Reads a sample as `query --raw` prints it.
absl::Status ReadRawSample(const json& object, const std::string& parent,
                           uint32_t type, PrintedSample* sample) {
  std::optional<uint64_t> value;
  RETURN_IF_ERROR(ReadNumber(object, parent, "value", &value));
  sample->data = value.value_or(0);
  RETURN_IF_ERROR(ReadNumber(object, parent, ClockOf(type), &sample->time));
  const char* frequency =
      Find(object, "frequency") != nullptr ? "frequency" : "perf_freq";
  RETURN_IF_ERROR(ReadFrequency(object, parent, frequency, &sample->freq));
  return ReadNumber(object, parent, "multi", &sample->multi);
}

// Reads a sample as documents print it.
absl::Status ReadPrintedSample(const json& object, const std::string& parent,
                               PrintedSample* sample) {
  std::optional<uint64_t> data;
  RETURN_IF_ERROR(ReadNumber(object, parent, "data", &data));
  if (!data.has_value()) return Wrong(parent, "data is missing");
  sample->data = *data;
  RETURN_IF_ERROR(ReadNumber(object, parent, "time", &sample->time));
  RETURN_IF_ERROR(ReadFrequency(object, parent, "freq", &sample->freq));
  return ReadNumber(object, parent, "multi", &sample->multi);
}

// Whether a sample is as `query --raw` prints it.
bool IsStored(const json& sample) { return sample.contains("perf_freq"); }

absl::Status ReadSample(const json& object, absl::string_view name,
                        PrintedCounter* counter, PrintedSample* sample) {
  if (!object.is_object()) return Wrong(name, " is not an object");
  const std::string parent = absl::StrCat(name, ".");
  if (!IsStored(object)) {
    return ReadPrintedSample(object, parent, sample);
  }
  RETURN_IF_ERROR(ReadSize(object, "size", &counter->data_size));
  return ReadRawSample(object, parent, counter->type, sample);
}

absl::Status ReadSamples(const json& object, CalcLine* line) {
  PrintedCounter& counter = line->counter;
  RETURN_IF_ERROR(ReadSize(object, "data_size", &counter.data_size));
  RETURN_IF_ERROR(ReadSize(object, "base_size", &counter.base_size));
  const json* newer = Find(object, "raw1");
  if (newer == nullptr) return Wrong("raw1, the newer sample, is missing");
  line->is_stored = newer->is_object() && IsStored(*newer);
  RETURN_IF_ERROR(ReadSample(*newer, "raw1", &counter, &counter.newer));
  if (const json* older = Find(object, "raw0")) {
    RETURN_IF_ERROR(
        ReadSample(*older, "raw0", &counter, &counter.older.emplace()));
  }
  return absl::OkStatus();
}

// Returns the members of these names, as in the line.
template <size_t kCount>
std::string MembersOf(const json& object, const char* const (&names)[kCount]) {
  std::string members;
  for (const char* name : names) {
    if (!object.contains(name)) continue;
    absl::StrAppend(&members, "\"", name, "\":", DumpMember(object[name]), ",");
  }
  return members;
}

absl::Status ReadOneSample(const json& object, CalcLine* line) {
  line->series = absl::StrCat(
      "of ", MembersOf(object, {"machine", "path", "query", "counter",
                                "instance", "instance_id"}));
  line->is_stored = true;
  line->life = MembersOf(object, {"life"});
  line->has_value = Find(object, "value") != nullptr;
  if (!line->has_value) return absl::OkStatus();
  RETURN_IF_ERROR(ReadSize(object, "size", &line->counter.data_size));
  return ReadRawSample(object, "", line->counter.type, &line->counter.newer);
}

// Parses a JSON object with two samples, as documents print them or as
// `explain` does, or with one sample, as `query --raw` and `decode` print them.
// Integers may be strings. `default_type` is the type of lines without one.
// Errors name the member.
absl::StatusOr<CalcLine> ParseCalcLine(absl::string_view text,
                                       const std::string& default_type) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Wrong("the line is not a JSON object");
  CalcLine line{.origin =
                    MembersOf(object, {"machine", "path", "query", "counter",
                                       "instance", "instance_id", "time"})};
  PrintedCounter& counter = line.counter;
  if (const json* type = Find(object, "type")) {
    RETURN_IF_ERROR(ReadType(*type, "type", &counter.type));
  } else if (!default_type.empty()) {
    counter.type = TypeOfName(default_type);
  } else {
    return Wrong("type is missing");
  }
  counter.older_type = counter.type;
  if (const json* older_type = Find(object, "type0")) {
    RETURN_IF_ERROR(ReadType(*older_type, "type0", &counter.older_type));
  }
  const bool has_one = !object.contains("raw1") && IsStored(object);
  if (has_one) {
    RETURN_IF_ERROR(ReadOneSample(object, &line));
  } else {
    RETURN_IF_ERROR(ReadSamples(object, &line));
  }
  return line;
}

class Calculator {
 public:
  explicit Calculator(const CalcFlags& flags) : flags_(flags) {}

  // Prints the value of a line.
  absl::Status Use(absl::string_view text) {
    // The header of a block, as decode prints it.
    if (absl::StrContains(text, "\"total_size\":")) return absl::OkStatus();
    auto line = ParseCalcLine(text, flags_.type);
    if (!line.ok()) return line.status();
    if (!line->has_value) {
      previous_.erase(line->series);
      Print(line->origin, CalculatedValue::Gap(GapCause::kNoValue), "");
      return absl::OkStatus();
    }
    if (!line->series.empty()) TakeOlder(&*line);
    if (!line->is_stored) {
      const std::string defect = DefectOf(line->counter);
      if (!defect.empty()) return absl::InvalidArgumentError(defect);
    }
    line->counter.wraps = flags_.wrap32;
    Print(line->origin, Calculate(line->counter), HexOf(line->counter));
    return absl::OkStatus();
  }

 private:
  struct Previous {
    std::string life;
    PrintedSample sample;
  };

  // Sets the older sample and remembers the newer one. No formula spans two
  // lives.
  void TakeOlder(CalcLine* line) {
    const auto previous = previous_.find(line->series);
    if (previous != previous_.end() && previous->second.life == line->life) {
      line->counter.older = previous->second.sample;
    }
    previous_[line->series] = {line->life, line->counter.newer};
  }

  // Returns the member with the value of a _HEX type, all of its digits.
  static std::string HexOf(const PrintedCounter& counter) {
    if (!perflib::IsHexType(counter.type)) return "";
    return absl::StrFormat(",\"hex\":\"0x%X\"", counter.newer.data);
  }

  static void Print(absl::string_view origin, const CalculatedValue& value,
                    absl::string_view hex) {
    const auto status = StatusName(value.status);
    PutLine(value.ok()
                ? absl::StrFormat("{%s\"status\":\"%s\",\"value\":%.17g%s}",
                                  origin, status, value.value, hex)
                : absl::StrFormat("{%s\"status\":\"%s\"}", origin, status));
  }

  const CalcFlags flags_;
  std::map<std::string, Previous> previous_;  // by series
};

}  // namespace

absl::Status Calc(const CalcFlags& flags) {
  Calculator calculator(flags);
  std::string line;
  uint64_t number = 0;
  bool wrong = false;
  while (std::getline(std::cin, line) && !HasOutputFailed()) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const absl::Status used = calculator.Use(line);
    if (used.ok()) continue;
    wrong = true;
    std::fflush(stdout);
    std::fprintf(stderr, "fleetperf: standard input:%llu: %s\n",
                 static_cast<unsigned long long>(number),
                 Printable(used.message()).c_str());
  }
  return wrong ? AlreadyReported() : absl::OkStatus();
}

}  // namespace fleetperf::cli
