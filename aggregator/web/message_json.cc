#include "aggregator/web/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/web/json.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::aggregator::web {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Duration;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;

// Appends 0, 3, 6 or 9 digits.
void AppendFraction(int32_t nanos, std::string* out) {
  const auto count = static_cast<uint32_t>(std::abs(nanos));
  if (count == 0) return;
  if (count % 1'000'000 == 0) {
    absl::StrAppend(out, ".", absl::Dec(count / 1'000'000, absl::kZeroPad3));
  } else if (count % 1000 == 0) {
    absl::StrAppend(out, ".", absl::Dec(count / 1000, absl::kZeroPad6));
  } else {
    absl::StrAppend(out, ".", absl::Dec(count, absl::kZeroPad9));
  }
}

void AppendTime(const Timestamp& time, std::string* out) {
  absl::StrAppend(out, "\"",
                  absl::FormatTime("%E4Y-%m-%dT%H:%M:%S",
                                   absl::FromUnixSeconds(time.seconds()),
                                   absl::UTCTimeZone()));
  AppendFraction(time.nanos(), out);
  out->append("Z\"");
}

void AppendDuration(const Duration& duration, std::string* out) {
  const bool is_negative = duration.seconds() < 0 || duration.nanos() < 0;
  absl::StrAppend(out, is_negative ? "\"-" : "\"",
                  std::abs(duration.seconds()));
  AppendFraction(duration.nanos(), out);
  out->append("s\"");
}

// Appends the shortest text that reads as the same number.
template <typename Real>
void AppendReal(Real number, std::string* out) {
  if (std::isnan(number)) {
    out->append("\"NaN\"");
  } else if (std::isinf(number)) {
    out->append(number < 0 ? "\"-Infinity\"" : "\"Infinity\"");
  } else {
    AppendNumber(number, out);
  }
}

void AppendEnum(const FieldDescriptor& field, int number, std::string* out) {
  const auto* const value = field.enum_type()->FindValueByNumber(number);
  if (value == nullptr) {
    absl::StrAppend(out, number);
  } else {
    absl::StrAppend(out, "\"", value->name(), "\"");
  }
}

void AppendText(const FieldDescriptor& field, const std::string& text,
                std::string* out) {
  if (field.type() == FieldDescriptor::TYPE_BYTES) {
    absl::StrAppend(out, "\"", absl::Base64Escape(text), "\"");
  } else {
    AppendJsonString(text, out);
  }
}

// Appends the value of a field, or its element `index` if it is repeated.
void AppendValue(const Message& message, const FieldDescriptor& field,
                 int index, std::string* out) {
  const Reflection& reflection = *message.GetReflection();
  const auto get = [&](auto one, auto of_repeated) {
    return field.is_repeated()
               ? (reflection.*of_repeated)(message, &field, index)
               : (reflection.*one)(message, &field);
  };
  std::string scratch;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      absl::StrAppend(
          out, get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      absl::StrAppend(
          out, get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      absl::StrAppend(out, "\"",
                      get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64),
                      "\"");
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      absl::StrAppend(
          out, "\"",
          get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64), "\"");
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      AppendReal(get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble),
                 out);
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      AppendReal(get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat),
                 out);
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      out->append(get(&Reflection::GetBool, &Reflection::GetRepeatedBool)
                      ? "true"
                      : "false");
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      AppendEnum(
          field,
          get(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue),
          out);
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      AppendText(field,
                 field.is_repeated()
                     ? reflection.GetRepeatedStringReference(message, &field,
                                                             index, &scratch)
                     : reflection.GetStringReference(message, &field, &scratch),
                 out);
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      AppendJson(field.is_repeated()
                     ? reflection.GetRepeatedMessage(message, &field, index)
                     : reflection.GetMessage(message, &field),
                 out);
      break;
  }
}

// Appends a key of a map, which JSON has in quotes whatever its type.
void AppendKey(const Message& entry, std::string* out) {
  std::string key;
  AppendValue(entry, *entry.GetDescriptor()->map_key(), 0, &key);
  if (key[0] == '"') {
    out->append(key);
  } else {
    absl::StrAppend(out, "\"", key, "\"");
  }
}

void AppendMap(const Message& message, const FieldDescriptor& field,
               std::string* out) {
  const Reflection& reflection = *message.GetReflection();
  out->push_back('{');
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (i > 0) out->push_back(',');
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    AppendKey(entry, out);
    out->push_back(':');
    AppendValue(entry, *entry.GetDescriptor()->map_value(), 0, out);
  }
  out->push_back('}');
}

void AppendList(const Message& message, const FieldDescriptor& field,
                std::string* out) {
  out->push_back('[');
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field);
       ++i) {
    if (i > 0) out->push_back(',');
    AppendValue(message, field, i, out);
  }
  out->push_back(']');
}

constexpr int64_t kNanosPerMilli = 1'000'000;

void AppendMillis(int64_t unix_nanos, std::string* out) {
  if (unix_nanos < 0) out->push_back('-');
  const uint64_t nanos = unix_nanos < 0 ? ~static_cast<uint64_t>(unix_nanos) + 1
                                        : static_cast<uint64_t>(unix_nanos);
  AppendNumber(nanos / kNanosPerMilli, out);
  const uint64_t rest = nanos % kNanosPerMilli;
  if (rest == 0) return;
  absl::StrAppend(out, ".", absl::Dec(rest, absl::kZeroPad6));
  while (out->back() == '0') out->pop_back();
}

// Appends a map from the positions of a column's values that are not `usual`.
template <typename Column, typename Value, typename Append>
void AppendMap(absl::string_view name, const Column& column, Value usual,
               Append append, std::string* out) {
  bool is_open = false;
  for (int i = 0; i < column.size(); ++i) {
    if (column[i] == usual) continue;
    absl::StrAppend(out, is_open ? "," : absl::StrCat(",\"", name, "\":{"),
                    "\"", i, "\":");
    append(column[i]);
    is_open = true;
  }
  if (is_open) out->push_back('}');
}

}  // namespace

void AppendJson(const Message& message, std::string* out) {
  const Descriptor* const type = message.GetDescriptor();
  if (type == Timestamp::descriptor()) {
    return AppendTime(static_cast<const Timestamp&>(message), out);
  }
  if (type == Duration::descriptor()) {
    return AppendDuration(static_cast<const Duration&>(message), out);
  }
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  out->push_back('{');
  for (const FieldDescriptor* const field : fields) {
    if (field != fields.front()) out->push_back(',');
    absl::StrAppend(out, "\"", field->json_name(), "\":");
    if (field->is_map()) {
      AppendMap(message, *field, out);
    } else if (field->is_repeated()) {
      AppendList(message, *field, out);
    } else {
      AppendValue(message, *field, 0, out);
    }
  }
  out->push_back('}');
}

std::string ToJson(const Message& message) {
  std::string json;
  AppendJson(message, &json);
  return json;
}

void AppendPoints(const v1::Points& points, std::string* out) {
  absl::StrAppend(out, "{\"series\":", points.series(), ",\"t\":[");
  int64_t time = 0;
  for (int i = 0; i < points.time_unix_nanos_size(); ++i) {
    if (i > 0) out->push_back(',');
    time += points.time_unix_nanos(i);
    AppendMillis(time, out);
  }
  out->append("],\"v\":[");
  for (int i = 0; i < points.values_size(); ++i) {
    if (i > 0) out->push_back(',');
    const bool is_ok =
        points.statuses().empty() || points.statuses(i) == v1::VALUE_STATUS_OK;
    if (is_ok && std::isfinite(points.values(i))) {
      AppendNumber(points.values(i), out);
    } else {
      out->append("null");
    }
  }
  out->push_back(']');
  const auto append_number = [&](auto number) { AppendNumber(number, out); };
  AppendMap(
      "statuses", points.statuses(), int{v1::VALUE_STATUS_OK},
      [&](int status) {
        absl::StrAppend(
            out, "\"",
            v1::ValueStatus_Name(static_cast<v1::ValueStatus>(status)), "\"");
      },
      out);
  AppendMap(
      "causes", points.causes(), int{v1::GAP_CAUSE_UNSPECIFIED},
      [&](int cause) {
        absl::StrAppend(out, "\"",
                        v1::GapCause_Name(static_cast<v1::GapCause>(cause)),
                        "\"");
      },
      out);
  AppendMap("breaks", points.breaks(), 0u, append_number, out);
  AppendMap("coverage", points.coverage(), 1.0f, append_number, out);
  AppendMap("presence", points.presence(), 1.0f, append_number, out);
  if (points.last_is_partial()) out->append(",\"partial\":true");
  if (points.has_newest_sample_unix_nanos()) {
    out->append(",\"newest_sample\":");
    AppendMillis(points.newest_sample_unix_nanos(), out);
  }
  out->push_back('}');
}

}  // namespace fleetperf::aggregator::web
