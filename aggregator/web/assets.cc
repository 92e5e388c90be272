#include "aggregator/web/assets.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace fleetperf::aggregator::web {

const Asset* Assets::Find(absl::string_view path) const {
  const auto found =
      std::lower_bound(assets_.begin(), assets_.end(), path,
                       [](const Asset& asset, absl::string_view key) {
                         return asset.path < key;
                       });
  return found != assets_.end() && found->path == path ? &*found : nullptr;
}

bool AcceptsGzip(absl::string_view accept_encoding) {
  for (const absl::string_view entry : absl::StrSplit(accept_encoding, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits(';', 1));
    const absl::string_view coding = absl::StripAsciiWhitespace(parts.first);
    if (!absl::EqualsIgnoreCase(coding, "gzip") && coding != "*") continue;
    const absl::string_view weight = absl::StripAsciiWhitespace(parts.second);
    return weight != "q=0" && !absl::StartsWith(weight, "q=0.000");
  }
  return false;
}

absl::StatusOr<std::string> Unzip(const Asset& asset) {
  constexpr int kGzip = MAX_WBITS + 16;
  std::string contents(asset.size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, kGzip) != Z_OK) {
    return absl::InternalError("zlib has no memory");
  }
  // zlib does not change its input.
  stream.next_in =
      reinterpret_cast<Bytef*>(const_cast<char*>(asset.gzip.data()));
  stream.avail_in = static_cast<uInt>(asset.gzip.size());
  stream.next_out = reinterpret_cast<Bytef*>(contents.data());
  stream.avail_out = static_cast<uInt>(contents.size());
  const int result = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (result != Z_STREAM_END) {
    return absl::InternalError("a file of the page is damaged");
  }
  return contents;
}

}  // namespace fleetperf::aggregator::web
