// Compresses sequences of 64-bit numbers that change little from one to the
// next, such as the values of one counter of one instance over time.
//
// Invariants:
//
// - The first number is not part of the encoding; the caller stores it. If all
//   numbers are equal, the encoding is empty.
// - Every other encoding starts with a flag byte that names the residual: the
//   number itself, the difference from the previous number, or the change of
//   that difference. All arithmetic is modulo 2^64, so every sequence of
//   numbers can be encoded.
// - Residuals are stored either sparse or packed. The sparse form holds only
//   the nonzero residuals and the gaps between them, in Rice or exponential
//   Golomb codes. The packed form holds blocks of 128 residuals, each with the
//   bit width of the largest residual in the block.
// - The encoder estimates the size of each candidate form and uses the
//   smallest.
// - The count of numbers is not stored. The decoder gets it from the caller,
//   and never reads past the encoding or writes past the count, whatever the
//   bytes are.
//
// Sources: R. F. Rice, "Some Practical Universal Noiseless Coding Techniques"
// (1979); J. Teuhola, "A compression method for clustered bit-vectors" (1978).
// docs/reference/store.md has the layout.

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_NUMBER_CODEC_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_NUMBER_CODEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf::aggregator {

// Appends an encoding of all numbers after the first one. Appends nothing if
// all numbers are equal. `numbers` must not be empty.
void EncodeChanges(absl::Span<const uint64_t> numbers, std::string* to);

// Decodes into `numbers`, which must not be empty and already holds the first
// number. Returns false if `bytes` is not exactly one encoding of that many
// numbers.
bool DecodeChanges(absl::string_view bytes, absl::Span<uint64_t> numbers);

// Appends the first number, and the size and bytes of the encoding of the
// others. Appends nothing if `numbers` is empty.
void PutNumbers(absl::Span<const uint64_t> numbers, std::string* to);

// Consumes an encoding of `count` numbers, made by PutNumbers, from the front
// of `from`. Returns false if the bytes are not valid. The caller must bound
// `count`.
bool GetNumbers(absl::string_view* from, size_t count,
                std::vector<uint64_t>* numbers);

// Consumes such an encoding without decoding it.
bool SkipNumbers(absl::string_view* from, size_t count);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_NUMBER_CODEC_H_
