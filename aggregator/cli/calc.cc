// calc: raw samples on standard input, calculated values on standard output.

#include <cstdio>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "aggregator/cli/commands.h"
#include "aggregator/formula/calculate.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"

namespace fleetperf::cli {
namespace {

using aggregator::CalculatedValue;
using aggregator::PrintedCounter;
using aggregator::PrintedSample;
using nlohmann::json;

// Not a type of winperf.h.
constexpr uint32_t kUnknownType = 0xFFFFFFFF;

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

const json* Find(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && !found->is_null() ? &*found : nullptr;
}

absl::StatusOr<uint64_t> ToNumber(const json& value, absl::string_view name) {
  if (!value.is_number_unsigned()) {
    return Wrong(name, " is ", value.dump(),
                 ", it must be a whole number from 0 to 2^64-1");
  }
  return value.get<uint64_t>();
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

// Reads a type's name or number. Any other value is an unknown type, not an
// error.
absl::Status ReadType(const json& value, const char* name, uint32_t* type) {
  if (value.is_string()) {
    const auto* info = perflib::FindCounterTypeByName(value.get<std::string>());
    *type = info != nullptr ? info->type : kUnknownType;
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

// A negative frequency counts as 0 and is not an error, because frequencies in
// blocks are signed.
absl::Status ReadFrequency(const json& object, absl::string_view parent,
                           std::optional<uint64_t>* freq) {
  const json* value = Find(object, "freq");
  const bool is_negative = value != nullptr && value->is_number_integer() &&
                           !value->is_number_unsigned();
  if (!is_negative) return ReadNumber(object, parent, "freq", freq);
  *freq = 0;
  return absl::OkStatus();
}

absl::Status ReadSample(const json& object, absl::string_view name,
                        PrintedSample* sample) {
  if (!object.is_object()) return Wrong(name, " is not an object");
  const std::string parent = absl::StrCat(name, ".");
  std::optional<uint64_t> data;
  RETURN_IF_ERROR(ReadNumber(object, parent, "data", &data));
  if (!data.has_value()) return Wrong(parent, "data is missing");
  sample->data = *data;
  RETURN_IF_ERROR(ReadNumber(object, parent, "time", &sample->time));
  RETURN_IF_ERROR(ReadFrequency(object, parent, &sample->freq));
  return ReadNumber(object, parent, "multi", &sample->multi);
}

absl::StatusOr<PrintedCounter> ReadCounter(const std::string& line) {
  const json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Wrong("the line is not a JSON object");
  PrintedCounter counter;
  const json* type = Find(object, "type");
  if (type == nullptr) return Wrong("type is missing");
  RETURN_IF_ERROR(ReadType(*type, "type", &counter.type));
  counter.older_type = counter.type;
  if (const json* older_type = Find(object, "type0")) {
    RETURN_IF_ERROR(ReadType(*older_type, "type0", &counter.older_type));
  }
  RETURN_IF_ERROR(ReadSize(object, "data_size", &counter.data_size));
  RETURN_IF_ERROR(ReadSize(object, "base_size", &counter.base_size));
  const json* newer = Find(object, "raw1");
  if (newer == nullptr) return Wrong("raw1, the newer sample, is missing");
  RETURN_IF_ERROR(ReadSample(*newer, "raw1", &counter.newer));
  if (const json* older = Find(object, "raw0")) {
    RETURN_IF_ERROR(ReadSample(*older, "raw0", &counter.older.emplace()));
  }
  const std::string defect = aggregator::DefectOf(counter);
  if (!defect.empty()) return Wrong(defect);
  return counter;
}

void Print(const CalculatedValue& value) {
  const std::string status(aggregator::StatusName(value.status));
  if (value.ok()) {
    std::printf("{\"status\":\"%s\",\"value\":%.17g}\n", status.c_str(),
                value.value);
  } else {
    std::printf("{\"status\":\"%s\"}\n", status.c_str());
  }
}

}  // namespace

absl::Status Calc(const CalcFlags& flags) {
  std::string line;
  uint64_t number = 0;
  bool wrong = false;
  while (std::getline(std::cin, line)) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    auto counter = ReadCounter(line);
    if (!counter.ok()) {
      wrong = true;
      std::fflush(stdout);
      std::fprintf(stderr, "fleetperf: standard input:%llu: %s\n",
                   static_cast<unsigned long long>(number),
                   Printable(counter.status().message()).c_str());
      continue;
    }
    counter->wraps = flags.wrap32;
    Print(aggregator::Calculate(*counter));
  }
  return wrong ? AlreadyReported() : absl::OkStatus();
}

}  // namespace fleetperf::cli
