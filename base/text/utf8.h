// Decodes UTF-8 of unknown origin.

#ifndef FLEETPERF_BASE_TEXT_UTF8_H_
#define FLEETPERF_BASE_TEXT_UTF8_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace fleetperf {

// Returns the size of the UTF-8 character that starts `text`, which is not
// empty, and sets `character` to it. Returns 0 if there is none.
size_t DecodeCharacter(absl::string_view text, uint32_t* character);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TEXT_UTF8_H_
