#include "aggregator/samples/tick_span.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "aggregator/samples/batch_fields.h"
#include "aggregator/samples/wire_reader.h"
#include "base/coding.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {

TickSpan ReadTickSpan(const BatchContents& contents) {
  TickSpan span;
  for (const absl::string_view message : contents.blocks) {
    BlockFields blocks;
    blocks.Read(message).IgnoreError();
    VarintReader differences(blocks.perf_time_100nsec);
    uint64_t time = 0;
    while (differences.left() > 0) {
      time += UnZigZag(differences.Next());
      if (!differences.ok()) break;
      const absl::Time tick =
          perflib::TimeFromPerfTime100NSec(static_cast<int64_t>(time));
      span.start = std::min(span.start, tick);
      span.end = std::max(span.end, tick);
      ++span.ticks;
    }
  }
  return span;
}

Loss LossOfRejected(const BatchContents& contents, absl::Time now) {
  const TickSpan span = ReadTickSpan(contents);
  return {.start = span.ticks == 0 ? now : span.start,
          .end = span.ticks == 0 ? now : span.end,
          .ticks = span.ticks,
          .cause = LossCause::kRejected};
}

}  // namespace fleetperf::aggregator
