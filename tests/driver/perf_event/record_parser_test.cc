#include "driver/perf_event/record_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "tests/driver/perf_event/parsed_record.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using ::fleetperf::testing::FromHex;

// Expected layouts are those of enum perf_event_type in
// include/uapi/linux/perf_event.h.

TEST(RecordParserTest, Mmap) {
  const Parsed parsed = Parse(1, misc::kMmapData,
                              ByteBuilder()
                                  .U32(1)
                                  .U32(2)
                                  .U64(0x7F0000001000)
                                  .U64(0x2000)
                                  .U64(0x3000)
                                  .Raw("/usr/bin/a")
                                  .PadTo8());
  const auto& mmap = parsed.As<MmapRecord>();
  EXPECT_EQ(mmap.thread, (ThreadId{1, 2}));
  EXPECT_EQ(mmap.address, 0x7F0000001000u);
  EXPECT_EQ(mmap.length, 0x2000u);
  EXPECT_EQ(mmap.page_offset, 0x3000u);
  EXPECT_TRUE(mmap.is_data);
  EXPECT_EQ(mmap.file, "/usr/bin/a");
}

TEST(RecordParserTest, TheTrailerSaysWhereAndWhen) {
  const Parsed parsed = Parse(13, 0, ByteBuilder().U64(1));
  ASSERT_OK(parsed.status());
  const SampleId& id = parsed.record().id;
  EXPECT_EQ(id.thread(), (ThreadId{11, 12}));
  EXPECT_EQ(id.time(), 13u);
  EXPECT_EQ(id.id(), 17u);  // the identifier
  EXPECT_EQ(id.stream_id(), 15u);
  EXPECT_EQ(id.cpu(), 16u);
}

TEST(RecordParserTest, TheTrailerHasOnlyTheFieldsOfTheEvent) {
  const Parsed parsed(
      RecordOf(13, 0, ByteBuilder().U64(5).U64(6).U64(7).Build()),
      WithIds(sample::kIp | sample::kTime | sample::kId | sample::kPeriod));
  EXPECT_EQ(parsed.As<LostSamplesRecord>().lost, 5u);
  const SampleId& id = parsed.record().id;
  EXPECT_FALSE(id.thread());
  EXPECT_EQ(id.time(), 6u);
  EXPECT_EQ(id.id(), 7u);
  EXPECT_FALSE(id.stream_id());
  EXPECT_FALSE(id.cpu());
}

TEST(RecordParserTest, WithoutSampleIdAllThereIsNoTrailer) {
  Attributes attributes = WithIds();
  attributes.flags = 0;
  const Parsed parsed(RecordOf(13, 0, ByteBuilder().U64(5).Build()),
                      attributes);
  EXPECT_EQ(parsed.As<LostSamplesRecord>().lost, 5u);
  EXPECT_FALSE(parsed.record().id.time());
  EXPECT_FALSE(parsed.record().id.id());
}

TEST(RecordParserTest, Lost) {
  const Parsed parsed = Parse(2, 0, ByteBuilder().U64(3).U64(4));
  EXPECT_EQ(parsed.As<LostRecord>().id, 3u);
  EXPECT_EQ(parsed.As<LostRecord>().lost, 4u);
}

TEST(RecordParserTest, GoldenBytesOfLost) {
  const Parsed parsed(FromHex("02 00 00 00  00 00  18 00"
                              "10 00 00 00 00 00 00 00"
                              "0c 3e 05 00 00 00 00 00"),
                      Attributes());
  EXPECT_EQ(parsed.As<LostRecord>().id, 16u);
  EXPECT_EQ(parsed.As<LostRecord>().lost, 343564u);
}

TEST(RecordParserTest, Comm) {
  const Parsed parsed = Parse(
      3, misc::kCommExec, ByteBuilder().U32(1).U32(2).Raw("worker").PadTo8());
  const auto& comm = parsed.As<CommRecord>();
  EXPECT_EQ(comm.thread, (ThreadId{1, 2}));
  EXPECT_TRUE(comm.is_exec);
  EXPECT_EQ(comm.name, "worker");
}

TEST(RecordParserTest, GoldenBytesOfComm) {
  const Parsed parsed(FromHex("03 00 00 00  00 20  20 00"
                              "47 00 00 00  48 00 00 00"
                              "74 65 73 74 00 00 00 00"
                              "39 30 00 00 00 00 00 00"),
                      WithIds(sample::kTime));
  const auto& comm = parsed.As<CommRecord>();
  EXPECT_EQ(comm.thread, (ThreadId{0x47, 0x48}));
  EXPECT_TRUE(comm.is_exec);
  EXPECT_EQ(comm.name, "test");
  EXPECT_EQ(parsed.record().id.time(), 12345u);
}

// A name that no NUL ends is all there is before the trailer.
TEST(RecordParserTest, NamesEndWithTheBody) {
  const Parsed parsed =
      Parse(3, 0, ByteBuilder().U32(1).U32(2).Raw("12345678"));
  EXPECT_EQ(parsed.As<CommRecord>().name, "12345678");
  const Parsed empty = Parse(3, 0, ByteBuilder().U32(1).U32(2));
  EXPECT_EQ(empty.As<CommRecord>().name, "");
}

// The order is pid, ppid, tid, ptid.
TEST(RecordParserTest, ExitAndFork) {
  const ByteBuilder body = ByteBuilder().U32(1).U32(2).U32(3).U32(4).U64(5);
  const Parsed exit = Parse(4, 0, body);
  EXPECT_EQ(exit.As<ExitRecord>().thread, (ThreadId{1, 3}));
  EXPECT_EQ(exit.As<ExitRecord>().parent, (ThreadId{2, 4}));
  EXPECT_EQ(exit.As<ExitRecord>().time, 5u);
  const Parsed fork = Parse(7, 0, body);
  EXPECT_EQ(fork.As<ForkRecord>().thread, (ThreadId{1, 3}));
  EXPECT_EQ(fork.As<ForkRecord>().parent, (ThreadId{2, 4}));
}

TEST(RecordParserTest, ThrottleAndUnthrottle) {
  const ByteBuilder body = ByteBuilder().U64(1).U64(2).U64(3);
  const Parsed throttle = Parse(5, 0, body);
  EXPECT_EQ(throttle.As<ThrottleRecord>().time, 1u);
  EXPECT_EQ(throttle.As<ThrottleRecord>().id, 2u);
  EXPECT_EQ(throttle.As<ThrottleRecord>().stream_id, 3u);
  EXPECT_EQ(Parse(6, 0, body).As<UnthrottleRecord>().time, 1u);
}

TEST(RecordParserTest, Read) {
  Attributes attributes = WithIds();
  attributes.read_format = read_format::kTotalTimeEnabled |
                           read_format::kTotalTimeRunning | read_format::kId |
                           read_format::kLost;
  const Parsed parsed(RecordOf(8, 0,
                               ByteBuilder()
                                       .U32(1)
                                       .U32(2)
                                       .U64(100)
                                       .U64(8)
                                       .U64(4)
                                       .U64(77)
                                       .U64(9)
                                       .Build() +
                                   Trailer()),
                      attributes);
  const auto& read = parsed.As<ReadRecord>();
  EXPECT_EQ(read.thread, (ThreadId{1, 2}));
  EXPECT_EQ(read.values.time_enabled(), 8u);
  EXPECT_EQ(read.values.time_running(), 4u);
  ASSERT_EQ(read.values.size(), 1u);
  EXPECT_EQ(read.values[0], (GroupEntry{100, 77, 9}));
  EXPECT_EQ(parsed.record().id.time(), 13u);
}

ByteBuilder Mmap2Start() {
  return ByteBuilder().U32(1).U32(2).U64(3).U64(4).U64(5);
}

TEST(RecordParserTest, Mmap2WithInode) {
  const Parsed parsed = Parse(10, misc::kUser,
                              Mmap2Start()
                                  .U32(8)
                                  .U32(1)
                                  .U64(1234)
                                  .U64(99)
                                  .U32(5)
                                  .U32(2)
                                  .Raw("/lib/libc.so.6")
                                  .PadTo8());
  const auto& mmap = parsed.As<Mmap2Record>();
  EXPECT_EQ(mmap.thread, (ThreadId{1, 2}));
  EXPECT_EQ(mmap.address, 3u);
  EXPECT_EQ(mmap.length, 4u);
  EXPECT_EQ(mmap.page_offset, 5u);
  EXPECT_FALSE(mmap.is_data);
  EXPECT_EQ(mmap.major, 8u);
  EXPECT_EQ(mmap.minor, 1u);
  EXPECT_EQ(mmap.inode, 1234u);
  EXPECT_EQ(mmap.inode_generation, 99u);
  EXPECT_EQ(mmap.build_id, "");
  EXPECT_EQ(mmap.protection, 5u);
  EXPECT_EQ(mmap.flags, 2u);
  EXPECT_EQ(mmap.file, "/lib/libc.so.6");
}

TEST(RecordParserTest, Mmap2WithBuildId) {
  const std::string id = "abcdefghijklmnopqrst";
  for (const size_t size : {size_t{16}, size_t{20}}) {
    const Parsed parsed =
        Parse(10, misc::kMmapBuildId,
              Mmap2Start()
                  .Raw(std::string{static_cast<char>(size), 0, 0, 0})
                  .Raw(id)
                  .U32(5)
                  .U32(2)
                  .Raw("[vdso]")
                  .PadTo8());
    const auto& mmap = parsed.As<Mmap2Record>();
    EXPECT_EQ(mmap.build_id, id.substr(0, size));
    EXPECT_EQ(mmap.inode, 0u);
    EXPECT_EQ(mmap.protection, 5u);
    EXPECT_EQ(mmap.file, "[vdso]");
  }
}

TEST(RecordParserTest, Aux) {
  const Parsed parsed =
      Parse(11, 0, ByteBuilder().U64(1).U64(2).U64(AuxRecord::kTruncated));
  EXPECT_EQ(parsed.As<AuxRecord>().offset, 1u);
  EXPECT_EQ(parsed.As<AuxRecord>().size, 2u);
  EXPECT_EQ(parsed.As<AuxRecord>().flags, 1u);
}

TEST(RecordParserTest, ITraceStart) {
  const Parsed parsed = Parse(12, 0, ByteBuilder().U32(1).U32(2));
  EXPECT_EQ(parsed.As<ITraceStartRecord>().thread, (ThreadId{1, 2}));
}

TEST(RecordParserTest, Switch) {
  const Parsed in = Parse(14, 0, ByteBuilder());
  EXPECT_FALSE(in.As<SwitchRecord>().out);
  EXPECT_EQ(in.record().id.thread(), (ThreadId{11, 12}));
  const Parsed out =
      Parse(14, misc::kSwitchOut | misc::kSwitchOutPreempt, ByteBuilder());
  EXPECT_TRUE(out.As<SwitchRecord>().out);
  EXPECT_TRUE(out.As<SwitchRecord>().preempted);
}

TEST(RecordParserTest, SwitchCpuWide) {
  const Parsed parsed =
      Parse(15, misc::kSwitchOut, ByteBuilder().U32(1).U32(2));
  EXPECT_TRUE(parsed.As<SwitchCpuWideRecord>().out);
  EXPECT_FALSE(parsed.As<SwitchCpuWideRecord>().preempted);
  EXPECT_EQ(parsed.As<SwitchCpuWideRecord>().other, (ThreadId{1, 2}));
}

TEST(RecordParserTest, Namespaces) {
  const Parsed parsed = Parse(
      16, 0,
      ByteBuilder().U32(1).U32(2).U64(2).U64(4).U64(0xF0).U64(4).U64(0xF1));
  const auto& namespaces = parsed.As<NamespacesRecord>();
  EXPECT_EQ(namespaces.thread, (ThreadId{1, 2}));
  ASSERT_EQ(namespaces.size(), 2u);
  EXPECT_EQ(namespaces.device(NamespacesRecord::kNet), 4u);
  EXPECT_EQ(namespaces.inode(NamespacesRecord::kUts), 0xF1u);
}

TEST(RecordParserTest, Ksymbol) {
  const Parsed parsed = Parse(17, 0,
                              ByteBuilder()
                                  .U64(0xFFFFFFFFC0000000)
                                  .U32(64)
                                  .U16(KsymbolRecord::kBpf)
                                  .U16(1)
                                  .Raw("bpf_prog_1")
                                  .PadTo8());
  const auto& symbol = parsed.As<KsymbolRecord>();
  EXPECT_EQ(symbol.address, 0xFFFFFFFFC0000000u);
  EXPECT_EQ(symbol.length, 64u);
  EXPECT_EQ(symbol.type, KsymbolRecord::kBpf);
  EXPECT_TRUE(symbol.unregistered);
  EXPECT_EQ(symbol.name, "bpf_prog_1");
}

TEST(RecordParserTest, BpfEvent) {
  const Parsed parsed = Parse(
      18, 0, ByteBuilder().U16(1).U16(2).U32(3).Raw("\x01\x02\x03\x04tag!"));
  const auto& event = parsed.As<BpfEventRecord>();
  EXPECT_EQ(event.type, BpfEventRecord::kLoad);
  EXPECT_EQ(event.flags, 2u);
  EXPECT_EQ(event.id, 3u);
  EXPECT_EQ(event.tag, "\x01\x02\x03\x04tag!");
}

TEST(RecordParserTest, Cgroup) {
  const Parsed parsed =
      Parse(19, 0, ByteBuilder().U64(42).Raw("/system.slice").PadTo8());
  EXPECT_EQ(parsed.As<CgroupRecord>().id, 42u);
  EXPECT_EQ(parsed.As<CgroupRecord>().path, "/system.slice");
}

TEST(RecordParserTest, TextPoke) {
  const Parsed parsed = Parse(
      20, 0, ByteBuilder().U64(0x1000).U16(5).U16(2).Raw("oldieNW").PadTo8());
  EXPECT_EQ(parsed.As<TextPokeRecord>().address, 0x1000u);
  EXPECT_EQ(parsed.As<TextPokeRecord>().old_bytes, "oldie");
  EXPECT_EQ(parsed.As<TextPokeRecord>().new_bytes, "NW");
}

TEST(RecordParserTest, AuxOutputHardwareId) {
  const Parsed parsed = Parse(21, 0, ByteBuilder().U64(5));
  EXPECT_EQ(parsed.As<AuxOutputHardwareIdRecord>().hardware_id, 5u);
}

TEST(RecordParserTest, UnknownTypesKeepTheirBytes) {
  const Parsed parsed = Parse(22, 7, ByteBuilder().U64(5));
  EXPECT_EQ(parsed.As<UnknownRecord>().type, 22u);
  EXPECT_EQ(parsed.As<UnknownRecord>().data,
            ByteBuilder().U64(5).Build() + Trailer());
  EXPECT_EQ(parsed.record().misc, 7);
  EXPECT_EQ(parsed.record().id.time(), 13u);
}

// One parser for all records of a loop: what one record sets does not stay.
TEST(RecordParserTest, ARecordCanBeReused) {
  const RecordParser parser(RecordLayout(WithIds(sample::kTime)));
  const std::string lost = RecordOf(13, 1, ByteBuilder().U64(5).U64(6).Build());
  const std::string sampled = RecordOf(9, 2, ByteBuilder().U64(7).Build());
  Record record;
  ASSERT_OK(parser.Parse(*RawRecord::FromBytes(lost), &record));
  EXPECT_EQ(std::get<LostSamplesRecord>(record.data).lost, 5u);
  ASSERT_OK(parser.Parse(*RawRecord::FromBytes(sampled), &record));
  EXPECT_EQ(std::get<Sample>(record.data).time(), 7u);
  EXPECT_EQ(record.id.time(), 7u);
  EXPECT_EQ(record.misc, 2);
  ASSERT_OK(parser.Parse(*RawRecord::FromBytes(lost), &record));
  EXPECT_EQ(record.id.time(), 6u);
}

// Byte orders.

TEST(RecordParserTest, RecordsOfABigEndianMachine) {
  const Parsed parsed(FromHex("00 00 00 0a  20 00  00 60"
                              "00 00 00 01  00 00 00 02"
                              "00 00 00 00 00 00 10 00"
                              "00 00 00 00 00 00 20 00"
                              "00 00 00 00 00 00 30 00"
                              "00 00 00 08  00 00 00 01"
                              "00 00 00 00 00 00 04 d2"
                              "00 00 00 00 00 00 00 63"
                              "00 00 00 05  00 00 00 02"
                              "2f 62 69 6e 2f 61 00 00"
                              "00 00 00 0b  00 00 00 0c"
                              "00 00 00 00 00 00 00 0d"),
                      WithIds(sample::kTid | sample::kTime), std::endian::big);
  const auto& mmap = parsed.As<Mmap2Record>();
  EXPECT_TRUE(mmap.is_data);
  EXPECT_EQ(mmap.thread, (ThreadId{1, 2}));
  EXPECT_EQ(mmap.address, 0x1000u);
  EXPECT_EQ(mmap.major, 8u);
  EXPECT_EQ(mmap.inode, 1234u);
  EXPECT_EQ(mmap.protection, 5u);
  EXPECT_EQ(mmap.file, "/bin/a");
  EXPECT_EQ(parsed.record().id.thread(), (ThreadId{11, 12}));
  EXPECT_EQ(parsed.record().id.time(), 13u);
}

TEST(RecordParserTest, RecordsOfALittleEndianMachine) {
  const Parsed parsed(FromHex("0d 00 00 00  00 00  10 00"
                              "05 00 00 00 00 00 00 00"),
                      Attributes(), std::endian::little);
  EXPECT_EQ(parsed.As<LostSamplesRecord>().lost, 5u);
}

}  // namespace
}  // namespace fleetperf::perf_event
