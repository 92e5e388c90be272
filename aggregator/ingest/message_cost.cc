#include "aggregator/ingest/message_cost.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "aggregator/ingest/certificate_budgets.h"

namespace fleetperf::aggregator {

double BytesOf(const v1::Batch& batch, const BatchLimits& limits) {
  const uint32_t content = batch.content_size() <= limits.max_content_bytes
                               ? batch.content_size()
                               : 0;
  return static_cast<double>(std::max(batch.payload().size(), size_t{content}));
}

double WorkOf(const v1::CollectRequest& request, const IngestLimits& limits) {
  const double bytes =
      request.has_batch()
          ? BytesOf(request.batch(), limits.batch)
          : kParsedWork * static_cast<double>(request.ByteSizeLong());
  return kMessageWork + bytes;
}

double WorkOf(const BatchCounts& counts) {
  return kBlockWork * static_cast<double>(counts.blocks) +
         kQueryWork * static_cast<double>(counts.queries) +
         kColumnWork * static_cast<double>(counts.columns) +
         kRetiredWork * static_cast<double>(counts.retired) +
         kLossWork * static_cast<double>(counts.losses);
}

double WorkOf(const v1::Definitions& definitions) {
  return kParsedWork *
         std::max(static_cast<double>(definitions.ByteSizeLong()),
                  kMinInstanceBytes *
                      static_cast<double>(definitions.instances_size()));
}

}  // namespace fleetperf::aggregator
