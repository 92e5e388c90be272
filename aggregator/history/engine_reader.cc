#include "aggregator/history/engine_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

using perflib::k100NSecPerSecond;

constexpr int64_t kPerMilli = k100NSecPerSecond / 1000;
constexpr int64_t kShortest = 60 * k100NSecPerSecond;
constexpr int64_t kFirst = 3600 * k100NSecPerSecond;
constexpr int64_t kLongest = 32 * 24 * kFirst;
// Pieces grow and shrink so that an answer has about this many bytes.
constexpr size_t kFewBytes = size_t{2} << 20, kManyBytes = size_t{8} << 20;

// Before any sample.
absl::Time EarliestTime() {
  return absl::FromCivil(absl::CivilSecond(2000, 1, 1), absl::UTCTimeZone());
}

}  // namespace

EngineReader::EngineReader(SampleEngine* engine,
                           const ReadableStore::ReadRequest* request,
                           const std::map<uint32_t, uint64_t>& epochs)
    : engine_(*engine),
      request_(*request),
      question_(request->machine, *request->selected),
      frames_(request, epochs) {}

absl::Status EngineReader::Read(
    absl::Time from, absl::Time to,
    absl::FunctionRef<absl::Status(const Frame&)> on_frame) {
  int64_t begin =
      perflib::PerfTime100NSecFromTime(std::max(from, EarliestTime()));
  const int64_t end = perflib::PerfTime100NSecFromTime(to);
  for (int64_t length = kFirst; begin < end;) {
    const int64_t piece_end = std::min(end, begin + length);
    if (request_.on_chunk) RETURN_IF_ERROR(request_.on_chunk());
    EngineSeries series(&question_);
    size_t bytes = 0;
    const absl::Status read = ReadPiece(begin, piece_end, &bytes, &series);
    if (absl::IsResourceExhausted(read) && length > kShortest) {
      length = std::max(std::min(length, end - begin) / 4, kShortest);
      continue;
    }
    if (absl::IsResourceExhausted(read)) {
      return absl::ResourceExhaustedError(
          absl::StrCat(read.message(),
                       "; select fewer instances or counters, or raise the "
                       "engine's limits"));
    }
    RETURN_IF_ERROR(read);
    RETURN_IF_ERROR(frames_.Make(begin, piece_end, &series, on_frame));
    begin = piece_end;
    if (bytes < kFewBytes) length = std::min(length * 2, kLongest);
    if (bytes > kManyBytes) length = std::max(length / 2, kShortest);
  }
  return absl::OkStatus();
}

absl::Status EngineReader::ReadPiece(int64_t begin, int64_t end, size_t* bytes,
                                     EngineSeries* series) {
  // Samples have the times of their ticks, rounded down to milliseconds.
  const int64_t millis = end / kPerMilli - begin / kPerMilli + 1;
  const absl::Time last = perflib::TimeFromPerfTime100NSec(end);
  for (const std::string& selector : question_.selectors()) {
    ASSIGN_OR_RETURN(std::string answer,
                     engine_.Query(absl::StrCat(selector, "[", millis, "ms]"),
                                   last, request_.on_chunk));
    *bytes += answer.size();
    const absl::Status read = ReadMatrix(std::move(answer), series);
    if (!read.ok()) {
      return absl::Status(
          read.code(),
          absl::StrCat(
              "cannot read samples from ", engine_.name(), ": ", read.message(),
              "; check that history.url is that of a query interface"));
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
