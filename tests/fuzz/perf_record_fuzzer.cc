// Fuzzes the readers of perf_event's rings and records. Whatever the bytes,
// each loop ends, and every view of a record lies inside of its bytes.
//
// An input is a Header, and the bytes of a ring or of a file.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <variant>

#include "absl/strings/string_view.h"
#include "driver/perf_event/attributes.h"
#include "driver/perf_event/record_parser.h"
#include "driver/perf_event/ring.h"
#include "tests/fuzz/check.h"

namespace fleetperf::perf_event {
namespace {

struct Header {
  uint32_t sample_type;
  uint32_t branch_sample_type;
  uint8_t read_format;
  uint8_t regs_user;
  uint8_t regs_intr;
  uint8_t mode;        // bits of Mode
  uint16_t tail;       // in bytes
  uint16_t more_head;  // bytes beyond those of the input
};
static_assert(sizeof(Header) == 16);

enum Mode : uint8_t {
  kSampleIdAll = 1,
  kOtherOrder = 2,
  kBackward = 4,
  kFile = 8,
};

// Reads all that a record refers to.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}
  ~Reader() { asm volatile("" : : "r"(sum_)); }  // keeps the reads

  void Read(absl::string_view view) {
    if (view.empty()) return;
    FUZZ_CHECK(view.data() >= bytes_.data() &&
               view.data() + view.size() <= bytes_.data() + bytes_.size());
    for (const char byte : view) sum_ += static_cast<uint8_t>(byte);
  }
  void Read(const Words& words) {
    FUZZ_CHECK(words.size() <= bytes_.size() / 8);
    for (const uint64_t word : words) sum_ += word;
  }
  void Read(std::optional<uint64_t> number) { sum_ += number.value_or(0); }
  void Read(const ReadValues& values) {
    FUZZ_CHECK(values.size() <= bytes_.size() / 8);
    Read(values.time_enabled());
    Read(values.time_running());
    for (size_t i = 0; i < values.size(); ++i) {
      Read(values[i].id);
      Read(values[i].lost);
    }
  }
  void Read(const Registers& registers) {
    Read(registers.values());
    for (int i = 0; i < 64; ++i) Read(registers.Get(i));
  }
  void Read(const SampleId& id) {
    Read(id.time());
    Read(id.id());
    Read(id.stream_id());
    Read(id.cpu());
    if (const auto thread = id.thread()) Read(thread->tid);
  }

  void operator()(const Sample& sample) {
    Read(static_cast<const SampleId&>(sample));
    Read(sample.ip());
    Read(sample.address());
    Read(sample.period());
    if (const auto read = sample.read()) Read(*read);
    Read(sample.callchain());
    Read(sample.raw());
    const BranchStack branches = sample.branches();
    FUZZ_CHECK(branches.size() <= bytes_.size() / 24);
    for (size_t i = 0; i < branches.size(); ++i) Read(branches[i].cycles);
    Read(branches.counters());
    Read(branches.hardware_index());
    Read(sample.user_registers());
    Read(sample.user_stack());
    Read(sample.weight());
    if (const auto source = sample.data_source()) Read(source->hops());
    if (const auto abort = sample.transaction()) Read(abort->abort_code());
    Read(sample.interrupt_registers());
    Read(sample.physical_address());
    Read(sample.cgroup());
    Read(sample.data_page_size());
    Read(sample.code_page_size());
    Read(sample.aux());
  }
  void operator()(const UnknownRecord& record) { Read(record.data); }
  void operator()(const MmapRecord& record) { Read(record.file); }
  void operator()(const Mmap2Record& record) {
    Read(record.build_id);
    Read(record.file);
  }
  void operator()(const CommRecord& record) { Read(record.name); }
  void operator()(const ReadRecord& record) { Read(record.values); }
  void operator()(const NamespacesRecord& record) {
    for (size_t i = 0; i < record.size(); ++i) Read(record.inode(i));
    Read(record.links);
  }
  void operator()(const KsymbolRecord& record) { Read(record.name); }
  void operator()(const BpfEventRecord& record) { Read(record.tag); }
  void operator()(const CgroupRecord& record) { Read(record.path); }
  void operator()(const TextPokeRecord& record) {
    Read(record.old_bytes);
    Read(record.new_bytes);
  }
  template <typename T>
  void operator()(const T&) {}

 private:
  absl::string_view bytes_;
  uint64_t sum_ = 0;
};

void ParseAndRead(const RecordParser& parser, const RawRecord& raw) {
  // A copy without spare bytes, so that sanitizers detect over-reads.
  const auto bytes = std::make_unique<char[]>(raw.size());
  std::memcpy(bytes.get(), raw.bytes().data(), raw.size());
  const RecordHeader header = {static_cast<uint32_t>(raw.type()), raw.misc(),
                               static_cast<uint16_t>(raw.size())};
  const RawRecord copy(header, bytes.get());
  Reader reader(copy.bytes());
  reader.Read(parser.EventId(copy));
  Record record;
  if (!parser.Parse(copy, &record).ok()) return;
  reader.Read(record.id);
  std::visit(reader, record.data);
}

// Checks that no more records come than a ring can hold.
template <typename Records>
void ReadAll(const RecordParser& parser, size_t size, Records* records) {
  size_t left = size;
  while (const auto raw = records->Next()) {
    FUZZ_CHECK(raw->size() >= 8 && raw->size() <= left);
    left -= raw->size();
    ParseAndRead(parser, *raw);
  }
}

void ReadRing(const Header& header, const RecordParser& parser,
              absl::string_view bytes) {
  size_t size = 64;
  while (size < bytes.size()) size *= 2;
  const auto data = std::make_unique<uint64_t[]>(size / 8);
  std::memcpy(data.get(), bytes.data(), bytes.size());
  MmapPage page = {};
  page.data_tail = header.tail;
  page.data_head = header.tail + bytes.size() + header.more_head;
  const RingMemory memory = {&page,
                             {reinterpret_cast<char*>(data.get()), size}};
  if ((header.mode & kBackward) != 0) {
    page.data_head = -page.data_head;
    BackwardRing ring(memory);
    ring.Start();
    ReadAll(parser, size, &ring);
    return;
  }
  Ring ring(memory);
  // The second pass shows that a damaged ring is not read again.
  ReadAll(parser, size, &ring);
  ReadAll(parser, 0, &ring);
  AuxRing aux(&page, memory.data);
  page.aux_head = header.more_head;
  page.aux_tail = header.tail;
  if (const auto read = aux.Read(); read.ok()) {
    FUZZ_CHECK(read->size() <= size);
    aux.Release(read->size());
  }
}

void ReadFile(const RecordParser& parser, absl::string_view bytes,
              std::endian order) {
  while (true) {
    const auto raw = RawRecord::FromBytes(bytes, order);
    if (!raw.ok()) return;
    ParseAndRead(parser, *raw);
    bytes.remove_prefix(raw->size());
  }
}

void Check(absl::string_view input) {
  Header header;
  if (input.size() < sizeof(header)) return;
  std::memcpy(&header, input.data(), sizeof(header));
  input.remove_prefix(sizeof(header));
  Attributes attributes;
  attributes.sample_type = header.sample_type;
  attributes.branch_sample_type = header.branch_sample_type;
  attributes.read_format = header.read_format;
  attributes.sample_regs_user = header.regs_user;
  attributes.sample_regs_intr = uint64_t{header.regs_intr} << 56;
  if ((header.mode & kSampleIdAll) != 0) attributes.flags = flag::kSampleIdAll;
  const std::endian order =
      (header.mode & kOtherOrder) != 0 ? std::endian::big : std::endian::little;
  const RecordParser parser(RecordLayout(attributes, order));
  if ((header.mode & kFile) != 0) {
    ReadFile(parser, input, order);
  } else {
    ReadRing(header, parser, input);
  }
}

}  // namespace
}  // namespace fleetperf::perf_event

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::perf_event::Check(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
