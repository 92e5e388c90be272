// Sequences of numbers in few bytes: the values of one counter of one instance
// over some time, or anything else that changes little from one to the next.
//
// What is kept is what a number differs from what was expected of it: from the
// number before it, or from that and the difference before. A sequence in which
// most differences are 0 is kept sparsely, as the gaps between the others and
// these, in Rice or exponential Golomb codes; any other packed, in blocks of as
// many bits as its largest one needs. The encoder takes what is smallest.
//
// Sources: R. F. Rice, "Some Practical Universal Noiseless Coding Techniques"
// (1979); J. Teuhola, "A compression method for clustered bit-vectors" (1978).
// docs/store.md has the layout.

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_NUMBER_CODEC_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_NUMBER_CODEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf::aggregator {

// Appends what gives back the numbers behind the first one: nothing if they are
// all the same as that.
void EncodeChanges(absl::Span<const uint64_t> numbers, std::string* to);

// Fills `numbers`, which is not empty and has the first one in place. False if
// `bytes` are not, to the last one, what EncodeChanges makes of so many.
bool DecodeChanges(absl::string_view bytes, absl::Span<uint64_t> numbers);

// The same with the first number and the size of the rest before it. Nothing
// for no numbers.
void PutNumbers(absl::Span<const uint64_t> numbers, std::string* to);

// Takes `count` numbers off the front of `from`. False if they are not there.
// The caller has bounded `count`.
bool GetNumbers(absl::string_view* from, size_t count,
                std::vector<uint64_t>* numbers);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_NUMBER_CODEC_H_
