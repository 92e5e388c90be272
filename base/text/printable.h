// Sanitizes external text for logs and terminals, and checks text from
// configuration files and command lines before it gets into messages and the
// store.

#ifndef FLEETPERF_BASE_TEXT_PRINTABLE_H_
#define FLEETPERF_BASE_TEXT_PRINTABLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf {

// Returns `text` with "\u202E" for each character that changes the direction of
// writing, and with "?" for each control character, each other character
// without a width, and each byte that is not UTF-8. So external names can
// neither break lines, nor send commands to a terminal, nor reverse or hide
// parts of a line.
std::string Printable(absl::string_view text);

// Returns OK if `text` is UTF-8 without control characters: those of Unicode's
// category Cc, U+0000 to U+001F and U+007F to U+009F. Otherwise returns
// InvalidArgument with the text, escaped, the reason and the next step:
// `"caf\xE9" is not UTF-8: it has the byte 0xE9; encode it in UTF-8`. protobuf
// sends other text, but no receiver can read the message.
absl::Status CheckText(absl::string_view text);

// Returns `text` in quotes, with "\xE9" for each byte of a character that
// Printable replaces. Long text is shortened (Excerpt).
std::string QuoteText(absl::string_view text);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TEXT_PRINTABLE_H_
