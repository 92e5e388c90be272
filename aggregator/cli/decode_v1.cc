#include "aggregator/cli/decode_v1.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "perflib/counter_type.h"
#include "perflib/utf16.h"
#include "perflib/v1/data_reader.h"

namespace fleetperf::cli {
namespace {

using perflib::ParsedV1Data;
using perflib::V1Instance;
using perflib::V1Object;

// Empty if the provider gives none.
Field::Value UniqueId(const V1Instance& instance) {
  if (instance.unique_id == perflib::kNoUniqueId) return {};
  return static_cast<uint32_t>(instance.unique_id);
}

void UseInstance(const ParsedV1Data& data, const V1Object& object,
                 const V1Instance& instance,
                 absl::FunctionRef<void(const Record&)> use) {
  const std::string name =
      perflib::Utf8FromUtf16(data.Utf16FullName(object, instance));
  for (const auto& counter : data.Counters(object)) {
    const perflib::V1Value value = data.ValueOf(instance, counter);
    use({{.name = "object", .value = object.header.object_name_title_index},
         {.name = "instance", .value = name},
         {.name = "unique_id", .value = UniqueId(instance)},
         {.name = "counter", .value = counter.counter_name_title_index},
         {.name = "type",
          .value = perflib::CounterTypeName(counter.counter_type)},
         {.name = "size", .value = value.size},
         {.name = "value", .value = value.value}});
  }
}

}  // namespace

bool IsV1Data(absl::string_view bytes) {
  return absl::StartsWith(bytes, absl::string_view("P\0E\0R\0F\0", 8));
}

std::vector<std::string> ForEachV1Value(
    absl::string_view bytes, absl::FunctionRef<void(const Record&)> use) {
  ParsedV1Data data;
  perflib::ReadV1Data(bytes, &data);
  for (const V1Object& object : data.objects) {
    for (const V1Instance& instance : data.Instances(object)) {
      if (instance.is_sound()) UseInstance(data, object, instance, use);
    }
  }
  std::vector<std::string> defects;
  for (const perflib::Defect& defect : data.defects) {
    defects.push_back(defect.ToString());
  }
  if (data.defect_count > data.defects.size()) {
    defects.push_back(
        absl::StrCat("and ", data.defect_count - data.defects.size(), " more"));
  }
  return defects;
}

}  // namespace fleetperf::cli
