#include "tests/driver/ring0/guest_memory.h"

#include <elf.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/os/os_error.h"
#include "tests/driver/ring0/guest/mailbox.h"

namespace fleetperf::ring0 {
namespace {

constexpr uint64_t kPageSize = 0x1000;
constexpr uint64_t kLargePage = 0x200000;
constexpr uint64_t kPageMap = kTablesBegin;
constexpr uint64_t kPointers = kTablesBegin + kPageSize;
constexpr uint64_t kDirectory = kTablesBegin + 2 * kPageSize;
constexpr uint64_t kSegments = kTablesBegin + 3 * kPageSize;
constexpr uint64_t kTasks = kTablesBegin + 4 * kPageSize;
constexpr uint64_t kTaskSize = 104;
constexpr uint64_t kTaskStride = 0x80;
constexpr uint64_t kSegmentsStride = 0x80;
constexpr uint64_t kPresentWritableUser = 7;
constexpr uint64_t kIsLargePage = 0x80;

constexpr uint64_t kCr0 = 0x80010033;  // PG, WP, NE, ET, MP, PE
constexpr uint64_t kCr4 = 0x20;        // PAE
constexpr uint64_t kEfer = 0x500;      // LME, LMA

uint64_t* WordsAt(uint8_t* memory, uint64_t address) {
  return reinterpret_cast<uint64_t*>(memory + address);
}

kvm_segment Segment(uint16_t selector, bool is_code) {
  return {.base = 0,
          .limit = 0xFFFFFFFF,
          .selector = selector,
          .type = static_cast<uint8_t>(is_code ? 0xB : 0x3),
          .present = 1,
          .dpl = static_cast<uint8_t>(selector & 3),
          .db = static_cast<uint8_t>(is_code ? 0 : 1),
          .s = 1,
          .l = static_cast<uint8_t>(is_code ? 1 : 0),
          .g = 1};
}

// A CPU marks its task as busy in the table, so each has a table.
void WriteSegments(uint32_t cpu, uint8_t* memory) {
  uint64_t* const segments = WordsAt(memory, kSegments + cpu * kSegmentsStride);
  segments[kKernelCode / 8] = 0x00AF9B000000FFFF;
  segments[kKernelData / 8] = 0x00CF93000000FFFF;
  segments[kUserData / 8] = 0x00CFF3000000FFFF;
  segments[kUserCode / 8] = 0x00AFFB000000FFFF;
  const uint64_t task = kTasks + cpu * kTaskStride;
  segments[kTask / 8] = 0x00008B0000000000 | task << 16 | (kTaskSize - 1);
  segments[kTask / 8 + 1] = 0;
  // The stack on which the CPU handles exceptions of user mode.
  const uint64_t stack = kStacksBegin + (2 * cpu + 2) * kStackSize;
  std::memcpy(memory + task + 4, &stack, sizeof(stack));
}

absl::Status LoadSegment(const std::string& file, const Elf64_Phdr& header,
                         uint8_t* memory) {
  if (header.p_offset > file.size() ||
      header.p_filesz > file.size() - header.p_offset ||
      header.p_filesz > header.p_memsz || header.p_vaddr < kImageBegin ||
      header.p_vaddr > kStacksBegin ||
      header.p_memsz > kStacksBegin - header.p_vaddr) {
    return absl::InvalidArgumentError(
        absl::StrCat("a segment at ", absl::Hex(header.p_vaddr), " of ",
                     header.p_memsz, " bytes is outside of ",
                     absl::Hex(kImageBegin), " to ", absl::Hex(kStacksBegin)));
  }
  std::memcpy(memory + header.p_vaddr, file.data() + header.p_offset,
              header.p_filesz);
  return absl::OkStatus();
}

}  // namespace

void Unmap::operator()(uint8_t* memory) const { munmap(memory, kMemorySize); }

absl::StatusOr<GuestMemory> MapGuestMemory() {
  void* const memory = mmap(nullptr, kMemorySize, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return StatusFromErrno(errno, "mmap");
  return GuestMemory(static_cast<uint8_t*>(memory));
}

absl::StatusOr<uint64_t> LoadImage(const std::string& path, uint8_t* memory) {
  std::ifstream stream(path, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  Elf64_Ehdr header;
  if (file.size() < sizeof(header)) {
    return absl::NotFoundError(absl::StrCat(path, " is no executable"));
  }
  std::memcpy(&header, file.data(), sizeof(header));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const uint64_t offset = header.e_phoff + i * sizeof(segment);
    if (offset > file.size() - sizeof(segment)) {
      return absl::DataLossError(absl::StrCat(path, " is cut"));
    }
    std::memcpy(&segment, file.data() + offset, sizeof(segment));
    if (segment.p_type != PT_LOAD) continue;
    if (absl::Status status = LoadSegment(file, segment, memory);
        !status.ok()) {
      return status;
    }
  }
  return header.e_entry;
}

void WriteTables(uint8_t* memory) {
  *WordsAt(memory, kPageMap) = kPointers | kPresentWritableUser;
  *WordsAt(memory, kPointers) = kDirectory | kPresentWritableUser;
  for (uint64_t page = 0; page < kMemorySize / kLargePage; ++page) {
    WordsAt(memory, kDirectory)[page] =
        page * kLargePage | kIsLargePage | kPresentWritableUser;
  }
  for (uint32_t cpu = 0; cpu < kNumCpus; ++cpu) WriteSegments(cpu, memory);
}

void SetTables(uint32_t cpu, kvm_sregs* registers) {
  registers->cr0 = kCr0;
  registers->cr3 = kPageMap;
  registers->cr4 = kCr4;
  registers->efer = kEfer;
  registers->gdt.base = kSegments + cpu * kSegmentsStride;
  registers->gdt.limit = kSegmentsStride - 1;
  registers->cs = Segment(kKernelCode, true);
  registers->ss = Segment(kKernelData, false);
  registers->ds = registers->es = registers->fs = registers->gs = registers->ss;
  registers->tr = {.base = kTasks + cpu * kTaskStride,
                   .limit = kTaskSize - 1,
                   .selector = kTask,
                   .type = 0xB,
                   .present = 1};
}

}  // namespace fleetperf::ring0
