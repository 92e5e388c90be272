#include "driver/perf_event/sample.h"

#include <bit>

namespace fleetperf::perf_event {
namespace {

constexpr uint64_t kAnyWeight = sample::kWeight | sample::kWeightStruct;
constexpr uint64_t kAddresses = sample::kPhysicalAddress | sample::kCgroup |
                                sample::kDataPageSize | sample::kCodePageSize;

}  // namespace

std::optional<uint64_t> Sample::FieldOf(uint64_t field, uint64_t fields,
                                        size_t offset) const {
  if (!Has(field)) return std::nullopt;
  const uint64_t before = layout_->sample_type & fields & (field - 1);
  return NumberAt(offset + 8 * static_cast<size_t>(std::popcount(before)));
}

std::optional<ReadValues> Sample::read() const {
  if (!Has(sample::kRead)) return std::nullopt;
  const size_t head = ReadValues::HeadWords(layout_->read_format);
  const size_t entry = ReadValues::EntryWords(layout_->read_format);
  const bool is_group = (layout_->read_format & read_format::kGroup) != 0;
  const auto count =
      is_group ? static_cast<size_t>(NumberAt(parts_.read)) : size_t{1};
  return ReadValues(Words(data_ + parts_.read, head + count * entry, swapped()),
                    layout_->read_format);
}

absl::string_view Sample::raw() const {
  if (!Has(sample::kRaw)) return {};
  const char* const at = data_ + parts_.raw;
  return {at + 4, LoadNumber<uint32_t>(at, swapped())};
}

BranchStack Sample::branches() const {
  if (!Has(sample::kBranchStack)) return {};
  const auto count = static_cast<size_t>(NumberAt(parts_.branches));
  if (count == 0) return {};
  size_t at = parts_.branches + 8u;
  std::optional<uint64_t> index;
  if ((layout_->branch_sample_type & branch::kHardwareIndex) != 0) {
    index = NumberAt(at);
    at += 8;
  }
  const Words entries(data_ + at, count * BranchStack::kEntryWords, swapped());
  Words counters;
  if ((layout_->branch_sample_type & branch::kCounters) != 0) {
    counters = Words(data_ + at + entries.size() * 8, count, swapped());
  }
  return {index, entries, counters, layout_->big_endian};
}

Registers Sample::RegistersAt(size_t offset, uint64_t mask) const {
  const auto abi = static_cast<RegistersAbi>(NumberAt(offset));
  if (abi == RegistersAbi::kNone) return {};
  return {abi, mask,
          Words(data_ + offset + 8, static_cast<size_t>(std::popcount(mask)),
                swapped())};
}

Registers Sample::user_registers() const {
  if (!Has(sample::kRegsUser)) return {};
  return RegistersAt(parts_.user_registers, layout_->regs_user);
}

Registers Sample::interrupt_registers() const {
  if (!Has(sample::kRegsIntr)) return {};
  return RegistersAt(parts_.interrupt_registers, layout_->regs_intr);
}

absl::string_view Sample::user_stack() const {
  if (!Has(sample::kStackUser)) return {};
  const auto size = static_cast<size_t>(NumberAt(parts_.user_stack));
  if (size == 0) return {};
  const char* const stack = data_ + parts_.user_stack + 8;
  const uint64_t valid = LoadNumber<uint64_t>(stack + size, swapped());
  return {stack, valid < size ? static_cast<size_t>(valid) : size};
}

std::optional<uint64_t> Sample::weight() const {
  if (!Has(sample::kWeight)) return std::nullopt;
  return NumberAt(parts_.weights);
}

std::optional<WeightStruct> Sample::weight_struct() const {
  if (!Has(sample::kWeightStruct)) return std::nullopt;
  const uint64_t value = NumberAt(parts_.weights);
  return WeightStruct{static_cast<uint32_t>(value),
                      static_cast<uint16_t>(value >> 32),
                      static_cast<uint16_t>(value >> 48)};
}

std::optional<DataSource> Sample::data_source() const {
  if (!Has(sample::kDataSource)) return std::nullopt;
  return DataSource{NumberAt(parts_.weights + (Has(kAnyWeight) ? 8u : 0u))};
}

std::optional<Transaction> Sample::transaction() const {
  if (!Has(sample::kTransaction)) return std::nullopt;
  return Transaction{NumberAt(parts_.weights + (Has(kAnyWeight) ? 8u : 0u) +
                              (Has(sample::kDataSource) ? 8u : 0u))};
}

std::optional<uint64_t> Sample::physical_address() const {
  return FieldOf(sample::kPhysicalAddress, kAddresses, parts_.addresses);
}

std::optional<uint64_t> Sample::cgroup() const {
  return FieldOf(sample::kCgroup, kAddresses, parts_.addresses);
}

std::optional<uint64_t> Sample::data_page_size() const {
  return FieldOf(sample::kDataPageSize, kAddresses, parts_.addresses);
}

std::optional<uint64_t> Sample::code_page_size() const {
  return FieldOf(sample::kCodePageSize, kAddresses, parts_.addresses);
}

absl::string_view Sample::aux() const {
  if (!Has(sample::kAux)) return {};
  return {data_ + parts_.aux + 8, static_cast<size_t>(NumberAt(parts_.aux))};
}

}  // namespace fleetperf::perf_event
