#include "agent/deliver/catalogue.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/zstd.h"
#include "proto/conversions.h"

namespace fleetperf::agent {

HashedCatalogue MakeCatalogue(
    std::vector<perflib::CountersetRegistration> registrations) {
  std::sort(registrations.begin(), registrations.end(),
            [](const auto& a, const auto& b) { return a.guid < b.guid; });
  v1::CatalogueContent content;
  for (const perflib::CountersetRegistration& registration : registrations) {
    *content.add_countersets() = ToProto(registration);
  }
  const std::string bytes = content.SerializeAsString();
  HashedCatalogue hashed;
  hashed.hash = Sha256(bytes);
  hashed.catalogue.set_content_size(static_cast<uint32_t>(bytes.size()));
  hashed.catalogue.set_compression(v1::COMPRESSION_ZSTD);
  ZstdCompress(bytes, hashed.catalogue.mutable_payload());
  return hashed;
}

}  // namespace fleetperf::agent
