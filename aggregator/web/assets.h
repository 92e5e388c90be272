// The files of the page, which the build puts into the executable.

#ifndef FLEETPERF_AGGREGATOR_WEB_ASSETS_H_
#define FLEETPERF_AGGREGATOR_WEB_ASSETS_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf::aggregator::web {

struct Asset {
  absl::string_view path;  // "/assets/index-1a2b.js"
  absl::string_view content_type;
  absl::string_view etag;  // with quotes: a hash of the contents
  absl::string_view gzip;  // the contents, compressed
  size_t size = 0;         // of the contents
};

// Thread-safe.
class Assets {
 public:
  // `assets` are sorted by path, and outlive the object.
  explicit Assets(absl::Span<const Asset> assets) : assets_(assets) {}
  // Returns the executable's files; none if it was built without the page.
  static Assets OfExecutable();

  bool empty() const { return assets_.empty(); }
  // Returns nullptr if there is no such file.
  const Asset* Find(absl::string_view path) const;

 private:
  const absl::Span<const Asset> assets_;
};

// Whether a client accepts gzip, by its header Accept-Encoding.
bool AcceptsGzip(absl::string_view accept_encoding);

// Returns the contents, for the rare client that does not accept gzip.
absl::StatusOr<std::string> Unzip(const Asset& asset);

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_ASSETS_H_
