#include "agent/source/linux/noted_file.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/source/linux/text.h"

namespace fleetperf::agent {
namespace {

constexpr absl::string_view kConsequence =
    "; the counters of this file are absent";

// Returns whether a word starts with a number above 0.
bool HasCounts(absl::string_view text) {
  absl::string_view line;
  while (NextLine(&text, &line)) {
    for (absl::string_view word = NextWord(&line); !word.empty();
         word = NextWord(&line)) {
      if (NextNumber(&word).value_or(0) > 0) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<absl::string_view> ReadOrNote(ProcFile& file, std::string* buffer,
                                            CountersetSample* sample) {
  const absl::StatusOr<absl::string_view> text = file.Read(buffer);
  if (!text.ok()) {
    sample->Note(absl::StrCat(text.status().message(), kConsequence));
    return std::nullopt;
  }
  if (text->empty()) {
    sample->Note(absl::StrCat(file.path(), " is empty", kConsequence));
    return std::nullopt;
  }
  return *text;
}

std::optional<absl::string_view> ReadCountsOrNote(ProcFile& file,
                                                  std::string* buffer,
                                                  CountersetSample* sample) {
  const auto text = ReadOrNote(file, buffer, sample);
  if (!text.has_value() || HasCounts(*text)) return text;
  NoteStub(file, sample);
  return std::nullopt;
}

void NoteStub(const ProcFile& file, CountersetSample* sample) {
  sample->Note(absl::StrCat(file.path(), " has only zeros, as in a sandbox",
                            kConsequence));
}

}  // namespace fleetperf::agent
