// Blocks for tests of the reader, and a reader that prints its results.

#ifndef FLEETPERF_TESTS_PERFLIB_PARSED_BLOCK_H_
#define FLEETPERF_TESTS_PERFLIB_PARSED_BLOCK_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "perflib/block_reader.h"
#include "tests/support/block_bytes.h"

namespace fleetperf::testing {

using perflib::Defect;
using perflib::ParsedBlock;
using perflib::QueryResult;

// A block read from a copy of the bytes that ends where its memory ends, so
// that AddressSanitizer detects reads beyond them.
class Parsed : public ParsedBlock {
 public:
  explicit Parsed(absl::string_view input) : copy_(input.begin(), input.end()) {
    ReadBlock(absl::string_view(copy_.data(), copy_.size()), this);
  }
  Parsed(const Parsed&) = delete;

  std::vector<std::string> Messages() const {
    std::vector<std::string> messages;
    for (const Defect& defect : defects) messages.push_back(defect.ToString());
    return messages;
  }

  // Returns a line for each result: "6 at 48: ids 7 9; 0,0 (1) = 10/8 11/4;
  // 0,_Total (2) = 20/8 21/4". Values are followed by their size. Status and
  // completeness follow at the end unless they are 0 and true.
  std::vector<std::string> Results() const {
    std::vector<std::string> lines;
    for (const QueryResult& result : results) {
      std::string& line = lines.emplace_back(absl::StrCat(
          static_cast<uint32_t>(result.type), " at ", result.offset, ":"));
      const auto ids = CounterIds(result);
      const auto rows = Instances(result);
      if (!ids.empty())
        absl::StrAppend(&line, " ids ", absl::StrJoin(ids, " "), ";");
      const size_t columns = std::max<size_t>(ids.size(), 1);
      for (size_t i = 0; i < result.values.count; ++i) {
        if (!rows.empty() && i % columns == 0)
          absl::StrAppend(&line, " ", Name(rows[i / columns]), " (",
                          rows[i / columns].instance_id, ") =");
        absl::StrAppend(&line, " ", Values(result)[i], "/",
                        ValueSizes(result)[i]);
      }
      if (result.status != 0) absl::StrAppend(&line, " status ", result.status);
      if (!result.complete) line += " broken";
    }
    return lines;
  }

 private:
  const std::vector<char> copy_;
};

// Two instances with two counters each.
inline std::string CountersetBody() {
  return CounterIds({7, 9}) +
         InstanceList(2, Instance("0,0", 1) + Value64(10) + Value32(11) +
                             Instance("0,_Total", 2) + Value64(20) +
                             Value32(21));
}

// Two instances with one counter each.
inline std::string InstancesBody() {
  return InstanceList(
      2, Instance("C:", 3) + Value64(30) + Instance("", 4) + Value64(40));
}

// A result of each type.
inline std::string BlockOfEverything() {
  return Block({Result(kError, "", 232), Result(kSingle, Value32(0xFFFFFFFF)),
                Result(kCounters, CounterIds({1, 2, 8}) + Value64(UINT64_MAX) +
                                      Value32(5) + Value("odd")),
                Result(kInstances, InstancesBody()),
                Result(kSet, CountersetBody())});
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_PERFLIB_PARSED_BLOCK_H_
