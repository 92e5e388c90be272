#include "base/zstd.h"

#include <zstd.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace fleetperf {
namespace {

// On samples, which are mostly runs of zeros, higher levels gain nothing.
constexpr int kLevel = 1;

// Contexts are costly to make and not thread-safe.
ZSTD_CCtx* CompressionContext() {
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  thread_local const std::unique_ptr<ZSTD_CCtx, Free> context(
      ZSTD_createCCtx());
  return context.get();
}

ZSTD_DCtx* DecompressionContext() {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  thread_local const std::unique_ptr<ZSTD_DCtx, Free> context(
      ZSTD_createDCtx());
  return context.get();
}

}  // namespace

void ZstdCompress(absl::string_view data, std::string* compressed) {
  compressed->resize(ZSTD_compressBound(data.size()));
  const size_t size =
      ZSTD_compressCCtx(CompressionContext(), compressed->data(),
                        compressed->size(), data.data(), data.size(), kLevel);
  compressed->resize(size);  // cannot fail: the room is sufficient
}

absl::Status ZstdDecompress(absl::string_view compressed, size_t size,
                            std::string* data) {
  // A block of a frame takes at least 3 bytes and holds at most 128 KiB.
  if (size / ZSTD_BLOCKSIZE_MAX > compressed.size() / 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "not a zstd frame of ", size, " bytes: ", compressed.size(),
        " bytes cannot hold so many"));
  }
  data->resize(size);
  const size_t result =
      ZSTD_decompressDCtx(DecompressionContext(), data->data(), size,
                          compressed.data(), compressed.size());
  if (ZSTD_isError(result)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "not a zstd frame of ", size, " bytes: ", ZSTD_getErrorName(result)));
  }
  if (result != size) {
    return absl::InvalidArgumentError(
        absl::StrCat("a zstd frame of ", result, " bytes instead of ", size));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf
