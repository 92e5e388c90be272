#include "base/zstd.h"

#include <zstd.h>

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace fleetperf {
namespace {

// Samples are mostly runs of zeros, for which higher levels gain nothing.
constexpr int kLevel = 1;

// Contexts are expensive to create and are used by one thread at a time.
// thread_local contexts would be freed after their memory: mingw-w64 ends
// threads in that order.
template <typename Context, Context* (*Create)()>
class ContextPool {
 public:
  // A context for exclusive use until the lease is destroyed.
  class Lease {
   public:
    explicit Lease(ContextPool& pool) : pool_(pool), context_(pool.Take()) {}
    ~Lease() { pool_.Return(context_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Context* get() const { return context_; }

   private:
    ContextPool& pool_;
    Context* const context_;
  };

  // Never destroyed, because threads may outlive static objects.
  static ContextPool& Instance() {
    static ContextPool& pool = *new ContextPool;
    return pool;
  }

 private:
  Context* Take() {
    {
      absl::MutexLock lock(&mutex_);
      if (!idle_.empty()) {
        Context* const context = idle_.back();
        idle_.pop_back();
        return context;
      }
    }
    return Create();
  }
  void Return(Context* context) {
    absl::MutexLock lock(&mutex_);
    idle_.push_back(context);
  }

  absl::Mutex mutex_;
  std::vector<Context*> idle_ ABSL_GUARDED_BY(mutex_);
};

using Compressors = ContextPool<ZSTD_CCtx, ZSTD_createCCtx>;
using Decompressors = ContextPool<ZSTD_DCtx, ZSTD_createDCtx>;

}  // namespace

void ZstdCompress(absl::string_view data, std::string* compressed) {
  compressed->resize(ZSTD_compressBound(data.size()));
  const Compressors::Lease compressor(Compressors::Instance());
  const size_t size =
      ZSTD_compressCCtx(compressor.get(), compressed->data(),
                        compressed->size(), data.data(), data.size(), kLevel);
  compressed->resize(size);  // cannot fail: the buffer is large enough
}

absl::Status ZstdDecompress(absl::string_view compressed, size_t size,
                            std::string* data) {
  // A frame's block takes at least 3 bytes and holds at most 128 KiB.
  if (size / ZSTD_BLOCKSIZE_MAX > compressed.size() / 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "not a zstd frame of ", size, " bytes: ", compressed.size(),
        " bytes cannot hold that much"));
  }
  data->resize(size);
  const Decompressors::Lease decompressor(Decompressors::Instance());
  const size_t result =
      ZSTD_decompressDCtx(decompressor.get(), data->data(), size,
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
