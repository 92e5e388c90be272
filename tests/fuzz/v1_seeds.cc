#include <string>
#include <utility>

#include "base/os/files.h"
#include "base/status_macros.h"
#include "perflib/counter_type.h"
#include "tests/fuzz/seed_files.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf {
namespace {

using testing::MakeV1Object;
using testing::V1Data;
using testing::V1ObjectBytes;

// The first byte of an input tells names from objects.
constexpr char kNames = 0;
constexpr char kObjects = 1;

// Returns V1 data with an object without instances, one with, and children.
std::string Objects() {
  const V1ObjectBytes single = {
      .name_index = 4,
      .counters =
          {{.name_index = 24, .type = perflib::kPerfElapsedTime},
           {.name_index = 26, .type = perflib::kPerfAverageTimer, .size = 4},
           {.name_index = 26, .type = perflib::kPerfAverageBase, .size = 4},
           {.name_index = 28,
            .type = perflib::kPerfCounterMultiTimer,
            .size = 12}},
      .instances = {{.values = {1, 2, 3, 4, 5}}},
      .has_instances = false};
  const V1ObjectBytes many = {
      .name_index = 234,
      .counters = {{.name_index = 200, .type = perflib::kPerfCounterBulkCount}},
      .instances = {{.name = "0 C:", .values = {7}, .unique_id = 3},
                    {.name = "_Total", .values = {9}}}};
  V1ObjectBytes children = many;
  children.name_index = 236;
  children.code_page = 1252;
  children.instances = {
      {.name = "D:", .values = {1}, .parent_index = 234, .parent_position = 1}};
  return V1Data({1, 2, 3}, {MakeV1Object(single), MakeV1Object(many),
                            MakeV1Object(children)});
}

// Types that are measured in the object's time, with and without a base, and
// multi timers.
std::string ObjectTimes() {
  return V1Data(
      {1, 2, 3},
      {MakeV1Object(
          {.name_index = 6,
           .counters = {{.type = perflib::kPerfPrecisionObjectTimer},
                        {.type = perflib::kPerfLargeRawBase},
                        {.type = perflib::kPerfObjTimeTimer},
                        {.type = perflib::kPerfCounterObjTimeQueuelenType},
                        {.type = perflib::kPerf100NsecMultiTimerInv},
                        {.type = perflib::kPerfCounterMultiBase},
                        {.type = perflib::kPerfCounterNodata, .size = 0},
                        {.type = perflib::kPerfPrecisionObjectTimer}},
           .instances = {{.name = "\xC3\xA4", .values = {1, 2, 3, 4, 5, 6, 7}}},
           .code_page = 65001,
           .perf_time = 8,
           .perf_freq = 9})});
}

// Returns V1 data with a name that has no NUL, and whose length reaches into
// the counter block behind it.
std::string NameWithoutEnd() {
  std::string bytes = V1Data(
      {1, 2, 3},
      {MakeV1Object({.name_index = 6,
                     .counters = {{.type = perflib::kPerfCounterBulkCount}},
                     .instances = {{.name = "0123456", .values = {1}}},
                     .code_page = 1252})});
  constexpr size_t kInstance =
      104 + testing::v1_bytes::kObjectSize + testing::v1_bytes::kDefinitionSize;
  bytes[kInstance + testing::v1_bytes::kInstanceSize + 7] = '7';
  return testing::WithU32(std::move(bytes), kInstance + 20, 16);
}

}  // namespace

absl::Status WriteV1Data(const std::string& root) {
  const auto write = [&](const std::string& name, char kind,
                         const std::string& bytes) {
    return Write(root, "v1_data", name, kind + bytes);
  };
  RETURN_IF_ERROR(write("objects", kObjects, Objects()));
  RETURN_IF_ERROR(write("object_times", kObjects, ObjectTimes()));
  RETURN_IF_ERROR(write("name_without_end", kObjects, NameWithoutEnd()));
  const std::string object = MakeV1Object(
      {.name_index = 4, .counters = {{.name_index = 24}}, .instances = {{}}});
  RETURN_IF_ERROR(write("wine", kObjects, testing::WineV1Data({object}, 0x40)));
  RETURN_IF_ERROR(write("wine_empty", kObjects, testing::WineV1Data({}, 0)));
  RETURN_IF_ERROR(write("wine_names", kNames, testing::WineV1NameTable()));
  RETURN_IF_ERROR(write("names", kNames,
                        testing::V1NameTable({{2, "System"}, {4, "Memory"}})));
  const std::string samba = FLEETPERF_V1_FIXTURES "/samba_";
  ASSIGN_OR_RETURN(std::string data, ReadFile(samba + "2.bin"));
  RETURN_IF_ERROR(write("samba", kObjects, data));
  // With the header in its size.
  RETURN_IF_ERROR(
      write("samba_whole", kObjects,
            testing::WithU32(data, 20, static_cast<uint32_t>(data.size()))));
  ASSIGN_OR_RETURN(std::string names, ReadFile(samba + "counter_009.bin"));
  return write("samba_names", kNames, names);
}

}  // namespace fleetperf
