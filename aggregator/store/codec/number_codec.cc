#include "aggregator/store/codec/number_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "aggregator/store/codec/bit_stream.h"
#include "base/coding.h"

namespace fleetperf::aggregator {
namespace {

// The representation of a number in an encoding.
enum Residual : uint8_t {
  kValue,       // the number
  kDifference,  // from the previous number
  kChange,      // of the difference from the previous number
};

// Flags of the first byte, besides the two bits of Residual.
constexpr uint8_t kResidualMask = 3;
constexpr uint8_t kSparse = 1 << 2;  // packed if not set
// Flags of a sparse encoding: some residuals are negative; values are in
// exponential Golomb codes. Two bytes follow: the parameter of the code for
// gaps and that of the code for values.
constexpr uint8_t kSigned = 1 << 3;
constexpr uint8_t kExponential = 1 << 4;
constexpr uint8_t kKnownBits = 0x1F;

constexpr size_t kBlock = 128;

// Larger or equal quotients are not written in unary. The prefix is followed by
// all 64 bits of the number instead.
constexpr int kMaxQuotient = 24;
// The longest prefix of an exponential Golomb code. ChooseCode selects no code
// that would need a longer one.
constexpr int kMaxPrefix = 48;

int BitLength(uint64_t number) { return std::bit_width(number); }

// A variable-length code for mostly small numbers.
struct Code {
  bool exponential = false;
  int parameter = 0;
  uint64_t bits = std::numeric_limits<uint64_t>::max();  // estimated total
};

// A histogram of numbers by bit length.
struct Lengths {
  std::array<uint32_t, 65> count = {};
  uint64_t numbers = 0;

  void Add(uint64_t number) {
    ++count[BitLength(number)];
    ++numbers;
  }
  int longest() const {
    int length = 64;
    while (length > 0 && count[length] == 0) --length;
    return length;
  }
};

uint64_t RiceBits(const Lengths& lengths, int longest, int parameter) {
  uint64_t bits = lengths.numbers * static_cast<uint64_t>(parameter + 1);
  for (int length = parameter + 1; length <= longest; ++length) {
    // Estimates the quotient as three quarters of the largest one of this
    // length.
    const int shift = length - parameter;
    const uint64_t quotient =
        shift > 5 ? 64 + kMaxQuotient : (uint64_t{3} << shift) / 4;
    bits += lengths.count[length] * quotient;
  }
  return bits;
}

uint64_t ExponentialBits(const Lengths& lengths, int longest, int parameter) {
  uint64_t bits = 0;
  for (int length = 0; length <= longest; ++length) {
    // Approximate: quotient + 1 may be longer than the quotient.
    const int over = length - parameter;
    const int twice_prefix = over <= 0   ? 0
                             : over == 1 ? 2
                             : over == 2 ? 3
                                         : 2 * over - 2;
    bits += lengths.count[length] *
            static_cast<uint64_t>(twice_prefix + 1 + parameter);
  }
  return bits;
}

Code ChooseCode(const Lengths& lengths, bool may_be_exponential) {
  Code best;
  const int longest = lengths.longest();
  for (int parameter = 0; parameter <= std::min(longest, 63); ++parameter) {
    const uint64_t rice = RiceBits(lengths, longest, parameter);
    if (rice < best.bits) best = {false, parameter, rice};
    if (!may_be_exponential || longest - parameter >= kMaxPrefix) continue;
    const uint64_t exponential = ExponentialBits(lengths, longest, parameter);
    if (exponential < best.bits) best = {true, parameter, exponential};
  }
  return best;
}

void PutCode(const Code& code, uint64_t number, BitWriter* to) {
  const int parameter = code.parameter;
  const uint64_t quotient = number >> parameter;
  if (code.exponential) {
    const int prefix = BitLength(quotient + 1) - 1;
    to->PutUnary(prefix);
    to->Put((quotient + 1) & LowBits(prefix), prefix);
  } else if (quotient < kMaxQuotient) {
    to->PutUnary(static_cast<int>(quotient));
  } else {
    to->Put(LowBits(kMaxQuotient), kMaxQuotient);
    return to->Put(number, 64);
  }
  to->Put(number & LowBits(parameter), parameter);
}

uint64_t GetRice(int parameter, BitReader* from) {
  const int quotient = from->GetUnary(kMaxQuotient);
  if (quotient == kMaxQuotient) return from->Get(64);
  return static_cast<uint64_t>(quotient) << parameter | from->Get(parameter);
}

uint64_t GetExponential(int parameter, BitReader* from) {
  const int prefix = from->GetUnary(kMaxPrefix);
  const uint64_t quotient = ((uint64_t{1} << prefix) | from->Get(prefix)) - 1;
  return quotient << parameter | from->Get(parameter);
}

// Computes the residuals of a sequence from the second number on, or from the
// third on for kChange.
void ResidualsOf(absl::Span<const uint64_t> numbers, Residual residual,
                 std::vector<uint64_t>* residuals) {
  const size_t count = numbers.size() - 1;
  residuals->resize(count);
  uint64_t* to = residuals->data();
  switch (residual) {
    case kValue:
      std::copy(numbers.begin() + 1, numbers.end(), to);
      break;
    case kDifference:
      for (size_t i = 0; i < count; ++i) to[i] = numbers[i + 1] - numbers[i];
      break;
    case kChange:
      for (size_t i = 1; i < count; ++i) {
        to[i - 1] = numbers[i + 1] - 2 * numbers[i] + numbers[i - 1];
      }
      residuals->pop_back();
      break;
  }
}

// An encoding of mostly zero residuals.
struct SparsePlan {
  Code gap;
  Code value;
  bool is_signed = false;
  size_t count = 0;  // of nonzero residuals
  uint64_t bits() const { return gap.bits + value.bits + 32; }
};

// Returns the written form of a nonzero residual.
uint64_t SparseValue(uint64_t residual, bool is_signed) {
  return (is_signed ? ZigZag(residual) : residual) - 1;
}

SparsePlan PlanSparse(absl::Span<const uint64_t> residuals) {
  SparsePlan plan;
  uint64_t all = 0;
  for (const uint64_t residual : residuals) all |= residual;
  plan.is_signed = all >> 63 != 0;
  Lengths gaps;
  Lengths values;
  size_t next = 0;
  for (size_t i = 0; i < residuals.size(); ++i) {
    if (residuals[i] == 0) continue;
    gaps.Add(i - next);
    values.Add(SparseValue(residuals[i], plan.is_signed));
    next = i + 1;
  }
  plan.count = gaps.numbers;
  plan.gap = ChooseCode(gaps, /*may_be_exponential=*/false);
  plan.value = ChooseCode(values, /*may_be_exponential=*/true);
  return plan;
}

void PutSparse(absl::Span<const uint64_t> residuals, const SparsePlan& plan,
               std::string* to) {
  to->push_back(static_cast<char>(plan.gap.parameter));
  to->push_back(static_cast<char>(plan.value.parameter));
  PutVarint(plan.count, to);
  BitWriter bits(to);
  size_t next = 0;
  for (size_t i = 0; i < residuals.size(); ++i) {
    if (residuals[i] == 0) continue;
    PutCode(plan.gap, i - next, &bits);
    PutCode(plan.value, SparseValue(residuals[i], plan.is_signed), &bits);
    next = i + 1;
  }
  bits.Finish();
}

template <bool is_exponential>
bool GetSparseValues(uint64_t count, int gap_parameter, int value_parameter,
                     bool is_signed, absl::string_view bytes,
                     absl::Span<uint64_t> residuals) {
  BitReader bits(bytes);
  size_t next = 0;
  for (; count > 0; --count) {
    const uint64_t gap = GetRice(gap_parameter, &bits);
    if (gap >= residuals.size() - next) return false;
    next += gap;
    const uint64_t value =
        (is_exponential ? GetExponential(value_parameter, &bits)
                        : GetRice(value_parameter, &bits)) +
        1;
    residuals[next++] = is_signed ? UnZigZag(value) : value;
    if (next == residuals.size()) break;
  }
  return count <= 1 && bits.finished();
}

bool GetSparse(uint8_t flags, absl::string_view bytes,
               absl::Span<uint64_t> residuals) {
  if (bytes.size() < 2) return false;
  const int gap_parameter = static_cast<uint8_t>(bytes[0]);
  const int value_parameter = static_cast<uint8_t>(bytes[1]);
  bytes.remove_prefix(2);
  uint64_t count = 0;
  if (gap_parameter > 63 || value_parameter > 63 ||
      !GetVarint(&bytes, &count) || count > residuals.size()) {
    return false;
  }
  std::fill(residuals.begin(), residuals.end(), 0);
  const bool is_signed = (flags & kSigned) != 0;
  return (flags & kExponential) != 0
             ? GetSparseValues<true>(count, gap_parameter, value_parameter,
                                     is_signed, bytes, residuals)
             : GetSparseValues<false>(count, gap_parameter, value_parameter,
                                      is_signed, bytes, residuals);
}

// Returns the smallest residual: as an unsigned number for kValue, otherwise as
// a signed one.
uint64_t BaseOf(absl::Span<const uint64_t> residuals, Residual residual) {
  if (residual == kValue) {
    return *std::min_element(residuals.begin(), residuals.end());
  }
  int64_t smallest = std::numeric_limits<int64_t>::max();
  for (const uint64_t one : residuals) {
    smallest = std::min(smallest, static_cast<int64_t>(one));
  }
  return static_cast<uint64_t>(smallest);
}

int WidthOf(absl::Span<const uint64_t> block, uint64_t base) {
  uint64_t all = 0;
  for (const uint64_t residual : block) all |= residual - base;
  return BitLength(all);
}

size_t PackedSize(size_t count, int width) {
  return (count * static_cast<size_t>(width) + 7) / 8;
}

// Calls `use` with each block until it returns false.
template <typename Numbers, typename Use>
bool ForEachBlock(Numbers numbers, const Use& use) {
  for (size_t i = 0; i < numbers.size(); i += kBlock) {
    if (!use(numbers.subspan(i, kBlock))) return false;
  }
  return true;
}

uint64_t PackedBits(absl::Span<const uint64_t> residuals, uint64_t base) {
  size_t bytes = 0;
  ForEachBlock(residuals, [&](absl::Span<const uint64_t> block) {
    bytes += 1 + PackedSize(block.size(), WidthOf(block, base));
    return true;
  });
  return 8 * (bytes + (BitLength(ZigZag(base)) + 6) / 7);
}

void PutPacked(absl::Span<const uint64_t> residuals, uint64_t base,
               std::string* to) {
  PutVarint(ZigZag(base), to);
  ForEachBlock(residuals, [&](absl::Span<const uint64_t> block) {
    const int width = WidthOf(block, base);
    to->push_back(static_cast<char>(width));
    BitWriter bits(to);
    for (const uint64_t residual : block) bits.Put(residual - base, width);
    bits.Finish();
    return true;
  });
}

// Reads a whole block. `bytes` must be readable for 8 bytes past its end.
void Unpack(const char* bytes, int width, uint64_t base,
            absl::Span<uint64_t> block) {
  const uint64_t mask = LowBits(width);
  size_t bit = 0;
  for (uint64_t& residual : block) {
    const char* from = bytes + bit / 8;
    const int shift = static_cast<int>(bit % 8);
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    uint64_t packed = word >> shift;
    // Adds the bits that do not fit into the word.
    if (width > 56 && shift > 0) {
      packed |= uint64_t{static_cast<uint8_t>(from[8])} << (64 - shift);
    }
    residual = base + (packed & mask);
    bit += static_cast<size_t>(width);
  }
}

bool GetPacked(absl::string_view bytes, absl::Span<uint64_t> residuals) {
  uint64_t base = 0;
  if (!GetVarint(&bytes, &base)) return false;
  base = UnZigZag(base);
  const bool is_whole =
      ForEachBlock(residuals, [&](absl::Span<uint64_t> block) {
        if (bytes.empty()) return false;
        const int width = static_cast<uint8_t>(bytes[0]);
        const size_t size = PackedSize(block.size(), width);
        bytes.remove_prefix(1);
        if (width > 64 || size > bytes.size()) return false;
        if (bytes.size() - size >= 8) {
          Unpack(bytes.data(), width, base, block);
        } else {
          std::array<char, kBlock* 8 + 8> padded = {};
          std::copy_n(bytes.data(), size, padded.data());
          Unpack(padded.data(), width, base, block);
        }
        bytes.remove_prefix(size);
        return true;
      });
  return is_whole && bytes.empty();
}

// Replaces residuals with numbers, in place.
void Integrate(Residual residual, uint64_t first_difference,
               absl::Span<uint64_t> numbers) {
  switch (residual) {
    case kValue:
      break;
    case kDifference: {
      uint64_t number = numbers[0];
      for (uint64_t& one : numbers.subspan(1)) one = number += one;
      break;
    }
    case kChange: {
      uint64_t difference = first_difference;
      uint64_t number = numbers[0] + difference;
      numbers[1] = number;
      for (uint64_t& one : numbers.subspan(2)) {
        one = number += difference += one;
      }
      break;
    }
  }
}

// The smallest encoding found so far.
struct Plan {
  Residual residual = kDifference;
  std::vector<uint64_t>* residuals = nullptr;
  bool is_sparse = true;
  SparsePlan sparse;
  uint64_t base = 0;  // if packed
  uint64_t bits = std::numeric_limits<uint64_t>::max();
};

void TrySparse(Residual residual, std::vector<uint64_t>* residuals,
               Plan* best) {
  const SparsePlan sparse = PlanSparse(*residuals);
  if (sparse.bits() >= best->bits) return;
  *best = {.residual = residual,
           .residuals = residuals,
           .sparse = sparse,
           .bits = sparse.bits()};
}

void TryPacked(Residual residual, std::vector<uint64_t>* residuals,
               Plan* best) {
  const uint64_t base = BaseOf(*residuals, residual);
  const uint64_t bits = PackedBits(*residuals, base);
  if (bits >= best->bits) return;
  *best = {.residual = residual,
           .residuals = residuals,
           .is_sparse = false,
           .base = base,
           .bits = bits};
}

// If fewer than one in this many differences is nonzero, only their sparse
// encoding is tried.
constexpr size_t kSparsePart = 4;

}  // namespace

void EncodeChanges(absl::Span<const uint64_t> numbers, std::string* to) {
  if (std::all_of(numbers.begin(), numbers.end(),
                  [&](uint64_t number) { return number == numbers[0]; })) {
    return;
  }
  // Reused by later calls.
  thread_local std::array<std::vector<uint64_t>, 3> scratch;
  Plan best;
  std::vector<uint64_t>& differences = scratch[kDifference];
  ResidualsOf(numbers, kDifference, &differences);
  TrySparse(kDifference, &differences, &best);
  if (best.sparse.count >= differences.size() / kSparsePart) {
    TryPacked(kDifference, &differences, &best);
    ResidualsOf(numbers, kValue, &scratch[kValue]);
    TryPacked(kValue, &scratch[kValue], &best);
    if (numbers.size() > 2) {
      ResidualsOf(numbers, kChange, &scratch[kChange]);
      TryPacked(kChange, &scratch[kChange], &best);
      TrySparse(kChange, &scratch[kChange], &best);
    }
  }
  uint8_t flags = best.residual;
  if (best.is_sparse) {
    flags |= kSparse;
    if (best.sparse.is_signed) flags |= kSigned;
    if (best.sparse.value.exponential) flags |= kExponential;
  }
  to->push_back(static_cast<char>(flags));
  if (best.residual == kChange) {
    PutVarint(ZigZag(numbers[1] - numbers[0]), to);
  }
  if (best.is_sparse) {
    PutSparse(*best.residuals, best.sparse, to);
  } else {
    PutPacked(*best.residuals, best.base, to);
  }
}

bool DecodeChanges(absl::string_view bytes, absl::Span<uint64_t> numbers) {
  if (bytes.empty()) {
    std::fill(numbers.begin() + 1, numbers.end(), numbers[0]);
    return true;
  }
  const auto flags = static_cast<uint8_t>(bytes[0]);
  bytes.remove_prefix(1);
  const uint8_t residual = flags & kResidualMask;
  const bool is_change = residual == kChange;
  if (residual > kChange || (flags & ~kKnownBits) != 0 ||
      numbers.size() < (is_change ? 3 : 2)) {
    return false;
  }
  uint64_t first_difference = 0;
  if (is_change && !GetVarint(&bytes, &first_difference)) return false;
  const absl::Span<uint64_t> residuals = numbers.subspan(is_change ? 2 : 1);
  const bool is_whole = (flags & kSparse) != 0
                            ? GetSparse(flags, bytes, residuals)
                            : GetPacked(bytes, residuals);
  if (!is_whole) return false;
  Integrate(static_cast<Residual>(residual), UnZigZag(first_difference),
            numbers);
  return true;
}

void PutNumbers(absl::Span<const uint64_t> numbers, std::string* to) {
  if (numbers.empty()) return;
  PutVarint(numbers[0], to);
  std::string changes;
  EncodeChanges(numbers, &changes);
  PutBytes(changes, to);
}

bool GetNumbers(absl::string_view* from, size_t count,
                std::vector<uint64_t>* numbers) {
  numbers->resize(count);
  if (count == 0) return true;
  absl::string_view changes;
  return GetVarint(from, &(*numbers)[0]) && GetBytes(from, &changes) &&
         DecodeChanges(changes, absl::MakeSpan(*numbers));
}

bool SkipNumbers(absl::string_view* from, size_t count) {
  if (count == 0) return true;
  uint64_t first = 0;
  absl::string_view changes;
  return GetVarint(from, &first) && GetBytes(from, &changes);
}

}  // namespace fleetperf::aggregator
