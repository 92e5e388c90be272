#include "perflib/block_writer.h"

#include "perflib/bytes.h"

namespace fleetperf::perflib {

BlockWriter::BlockWriter(const Clocks& clocks, std::string* bytes)
    : bytes_(*bytes) {
  bytes_.clear();
  AppendBytes(PerfDataHeader{.total_size = 0,
                             .num_counters = 0,
                             .perf_time_stamp = clocks.perf_time_stamp,
                             .perf_time_100nsec = clocks.perf_time_100nsec,
                             .perf_freq = clocks.perf_freq,
                             .system_time = SystemTimeFromPerfTime100NSec(
                                 clocks.perf_time_100nsec)},
              &bytes_);
}

void BlockWriter::AddErrorReturn(uint32_t status) {
  AppendBytes(
      PerfCounterHeader{.status = status,
                        .type = static_cast<uint32_t>(HeaderType::kErrorReturn),
                        .size = sizeof(PerfCounterHeader),
                        .reserved = 0},
      &bytes_);
  ++num_results_;
}

void BlockWriter::BeginResult(HeaderType type,
                              absl::Span<const uint32_t> counter_ids) {
  result_start_ = bytes_.size();
  AppendBytes(PerfCounterHeader{.status = kErrorSuccess,
                                .type = static_cast<uint32_t>(type),
                                .size = 0,
                                .reserved = 0},
              &bytes_);
  if (HasCounterIds(type)) {
    const size_t size = AlignUp(sizeof(PerfMultiCounters) +
                                counter_ids.size() * sizeof(uint32_t));
    AppendBytes(PerfMultiCounters{.size = static_cast<uint32_t>(size),
                                  .num_counters = static_cast<uint32_t>(
                                      counter_ids.size())},
                &bytes_);
    for (const uint32_t id : counter_ids) AppendBytes(id, &bytes_);
    AppendPadding();
  }
  instance_list_start_ = 0;
  num_instances_ = 0;
  if (HasInstances(type)) {
    instance_list_start_ = bytes_.size();
    AppendBytes(PerfMultiInstances{}, &bytes_);
  }
}

void BlockWriter::BeginInstance(absl::string_view utf16_name,
                                uint32_t instance_id) {
  const size_t size = AlignUp(sizeof(PerfInstanceHeader) + utf16_name.size() +
                              sizeof(char16_t));
  AppendBytes(PerfInstanceHeader{.size = static_cast<uint32_t>(size),
                                 .instance_id = instance_id},
              &bytes_);
  bytes_.append(utf16_name.data(), utf16_name.size());
  AppendBytes(char16_t{0}, &bytes_);
  AppendPadding();
  ++num_instances_;
}

void BlockWriter::AddValue32(uint32_t value) {
  AppendBytes(PerfCounterNumber{{.data_size = sizeof value,
                                 .size = sizeof(PerfCounterNumber)},
                                value},
              &bytes_);
}

void BlockWriter::AddValue64(uint64_t value) {
  AppendBytes(PerfCounterNumber{{.data_size = sizeof value,
                                 .size = sizeof(PerfCounterNumber)},
                                value},
              &bytes_);
}

void BlockWriter::AddValueBytes(absl::string_view data) {
  AppendBytes(PerfCounterData{.data_size = static_cast<uint32_t>(data.size()),
                              .size = static_cast<uint32_t>(AlignUp(
                                  sizeof(PerfCounterData) + data.size()))},
              &bytes_);
  bytes_.append(data.data(), data.size());
  AppendPadding();
}

void BlockWriter::EndResult() {
  if (instance_list_start_ != 0) {
    StoreAt(PerfMultiInstances{.total_size = static_cast<uint32_t>(
                                   bytes_.size() - instance_list_start_),
                               .num_instances = num_instances_},
            instance_list_start_, &bytes_);
  }
  StoreAt(static_cast<uint32_t>(bytes_.size() - result_start_),
          result_start_ + offsetof(PerfCounterHeader, size), &bytes_);
  ++num_results_;
}

void BlockWriter::FailResult(uint32_t status) {
  bytes_.resize(result_start_);
  AddErrorReturn(status);
}

void BlockWriter::Finish() {
  StoreAt(static_cast<uint32_t>(bytes_.size()),
          offsetof(PerfDataHeader, total_size), &bytes_);
  StoreAt(num_results_, offsetof(PerfDataHeader, num_counters), &bytes_);
}

// Every structure starts at a multiple of 8 from the block's start.
void BlockWriter::AppendPadding() { bytes_.resize(AlignUp(bytes_.size())); }

}  // namespace fleetperf::perflib
