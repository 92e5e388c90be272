// The source over a scripted PerfLib. On Windows and under Wine, the same
// functions are exported by a DLL.

#include "agent/source/windows/perflib_source.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/source/united_source.h"
#include "perflib/block_reader.h"
#include "perflib/registration.h"
#include "tests/scripted_perflib/exports.h"
#include "tests/scripted_perflib/scripted_perflib.h"
#include "tests/support/guids.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using perflib::HeaderType;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

constexpr perflib::Guid kMemory = {.data1 = 0x5e};

// Processor Information with three instances on this machine, and a counterset
// without instances on db1.
constexpr char kScenario[] = R"json({"machines": {
  "": {"countersets": [
    {"guid": "b4fc721a-0378-476f-89ba-a5a79f810b36",
     "name": "Processor Information", "help": "Help.", "instance_type": 6,
     "localized_name": "Prozessorinformationen", "refused": {"5": 4202},
     "counters": [
       {"id": 0, "type": "PERF_100NSEC_TIMER_INV", "name": "% Processor Time",
        "localized_name": "Prozessorzeit (%)", "value": 1000},
       {"id": 27, "type": "PERF_AVERAGE_BASE", "size": 4, "value": 9},
       {"id": 5, "type": "PERF_100NSEC_TIMER", "name": "% Interrupt Time"}],
     "instances": [
       {"name": "0,0"}, {"name": "0,1", "id": 1, "until": 2,
        "values": {"0": {"value": 2000}}},
       {"name": "_Total"}]}]},
  "db1": {"countersets": [
    {"guid": "0000005e-0000-0000-0000-000000000000", "name": "Memory",
     "counters": [{"id": 1, "type": "PERF_COUNTER_LARGE_RAWCOUNT",
                   "name": "Available Bytes", "value": 4096}]}]}
}})json";

class PerfLibSourceTest : public ::testing::Test {
 protected:
  PerfLibSourceTest() { Play(kScenario); }

  static void Play(const std::string& scenario) {
    testing::ScriptedPerfLib::Instance().Play(testing::ParseScenario(scenario));
  }
  static std::unique_ptr<Source> Open(const std::string& machine = "") {
    return MakePerfLibSource(testing::ScriptedPerfLibFunctions(), machine);
  }
  // Opens a handle of this machine with one query.
  static std::unique_ptr<QueryHandle> OpenHandle(
      const CounterIdentifier& identifier, Source* source) {
    auto handle = source->OpenQueryHandle().value();
    std::vector<CounterIdentifier> identifiers = {identifier};
    EXPECT_OK(handle->AddCounters(&identifiers));
    EXPECT_EQ(identifiers[0].status, perflib::kErrorSuccess);
    return handle;
  }
  // Returns the contents of a block, as "type: name value value name ..." for
  // each result.
  static std::string Describe(QueryHandle* handle) {
    std::string bytes;
    if (const auto status = handle->QueryCounterData(&bytes); !status.ok()) {
      return std::string(status.message());
    }
    perflib::ParsedBlock block;
    perflib::ReadBlock(bytes, &block);
    std::string text;
    for (const auto& result : block.results) {
      absl::StrAppend(&text, static_cast<uint32_t>(result.type), ":");
      const size_t rows = std::max<size_t>(result.instances.count, 1);
      const auto values = block.Values(result);
      for (size_t i = 0; i < values.size(); ++i) {
        if (result.instances.count > 0 && i % (values.size() / rows) == 0) {
          const size_t row = i / (values.size() / rows);
          absl::StrAppend(&text, " ", block.Name(block.Instances(result)[row]));
        }
        absl::StrAppend(&text, " ", values[i]);
      }
      if (result.status != 0) absl::StrAppend(&text, " error ", result.status);
    }
    for (const auto& defect : block.defects) {
      absl::StrAppend(&text, " defect: ", defect.ToString());
    }
    return text;
  }
};

TEST_F(PerfLibSourceTest, ListsCountersetsOfEachMachine) {
  EXPECT_THAT(Open()->EnumerateCounterSet().value(),
              ElementsAre(testing::kGuid));
  EXPECT_THAT(Open("db1")->EnumerateCounterSet().value(), ElementsAre(kMemory));
  EXPECT_THAT(Open("db2")->EnumerateCounterSet(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("PerfEnumerateCounterSet of db2: "
                                       "RPC_S_SERVER_UNAVAILABLE (1722)"),
                             HasSubstr("TCP port 445"))));
}

TEST_F(PerfLibSourceTest, ListsMoreCountersetsThanTheFirstBufferHolds) {
  std::string countersets;
  for (int i = 0; i < 1000; ++i) {
    absl::StrAppend(&countersets, i == 0 ? "" : ",", "{\"guid\":\"",
                    absl::Hex(i, absl::kZeroPad8),
                    "-0000-0000-0000-000000000000\",\"name\":\"n\","
                    "\"counters\":[]}");
  }
  Play(
      absl::StrCat(R"({"machines":{"":{"countersets":[)", countersets, "]}}}"));
  ASSERT_OK_AND_ASSIGN(const auto guids, Open()->EnumerateCounterSet());
  ASSERT_EQ(guids.size(), 1000);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(guids[i].data1, i);
}

// PerflibV2EnumerateCounterSet of [MS-PCQ] allows a dwInSize of 0 to 256, and
// RPC rejects a call with a greater one.
TEST_F(PerfLibSourceTest, ListsOwnCountersetsIfARemoteMachineHasTooMany) {
  static std::vector<uint32_t>* const sizes = new std::vector<uint32_t>;
  static uint32_t present;
  static bool short_of_memory;
  sizes->clear();
  PerfLibFunctions functions = testing::ScriptedPerfLibFunctions();
  functions.enumerate_counter_set = [](const char16_t* machine,
                                       perflib::Guid* guids, uint32_t count,
                                       uint32_t* actual) -> uint32_t {
    if (machine == nullptr) {
      return PerfEnumerateCounterSet(machine, guids, count, actual);
    }
    constexpr uint32_t kRpcBadStubData = 1783;
    sizes->push_back(count);
    if (count > 256) return kRpcBadStubData;
    *actual = present;
    if (present > count || short_of_memory) {
      return perflib::kErrorNotEnoughMemory;
    }
    for (uint32_t i = 0; i < present; ++i) guids[i] = {.data1 = i};
    return perflib::kErrorSuccess;
  };
  const auto source = MakePerfLibSource(functions, "db1");
  present = 256;
  ASSERT_OK_AND_ASSIGN(const auto all, source->EnumerateCounterSet());
  EXPECT_EQ(all.size(), 256);
  EXPECT_THAT(source->Problems(), IsEmpty());
  present = 257;
  EXPECT_THAT(source->EnumerateCounterSet(),
              testing::IsOkAndHolds(ElementsAre(testing::kGuid)));
  EXPECT_THAT(*sizes, ElementsAre(256, 256));
  EXPECT_THAT(source->Problems(),
              ElementsAre(HasSubstr("more than 256 countersets")));
  const auto united = UniteSources(MakePerfLibSource(functions, "db1"), Open());
  ASSERT_OK(united->EnumerateCounterSet());
  EXPECT_THAT(united->Problems(),
              ElementsAre(HasSubstr("more than 256 countersets")));
  // The machine's memory is short, although its list fits.
  present = 256;
  short_of_memory = true;
  EXPECT_THAT(source->EnumerateCounterSet(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("ERROR_NOT_ENOUGH_MEMORY (8)")));
  EXPECT_THAT(source->Problems(), IsEmpty());
}

// A buffer grows to the required size, not to twice its own.
TEST_F(PerfLibSourceTest, AllocatesWhatIsRequired) {
  static std::vector<uint32_t>* const sizes = new std::vector<uint32_t>;
  sizes->clear();
  PerfLibFunctions functions = testing::ScriptedPerfLibFunctions();
  functions.query_counter_data = [](void*, void*, uint32_t size,
                                    uint32_t* actual) {
    sizes->push_back(size);
    *actual = 4104;
    return size < *actual ? perflib::kErrorNotEnoughMemory
                          : perflib::kErrorSuccess;
  };
  // The buffer is large enough; memory is short elsewhere.
  functions.query_counter_info = [](void*, void*, uint32_t size,
                                    uint32_t* actual) {
    sizes->push_back(size);
    *actual = 100;
    return perflib::kErrorNotEnoughMemory;
  };
  const auto source = MakePerfLibSource(functions, "");
  ASSERT_OK_AND_ASSIGN(const auto handle, source->OpenQueryHandle());
  std::string block;
  EXPECT_OK(handle->QueryCounterData(&block));
  ASSERT_EQ(sizes->size(), 2);
  EXPECT_GE((*sizes)[1], 4104);
  EXPECT_LT((*sizes)[1], 8192);
  sizes->clear();
  EXPECT_THAT(
      handle->QueryCounterInfo(),
      StatusIs(absl::StatusCode::kResourceExhausted,
               HasSubstr("PerfQueryCounterInfo: ERROR_NOT_ENOUGH_MEMORY")));
  ASSERT_EQ(sizes->size(), 2);
  EXPECT_EQ((*sizes)[1], (*sizes)[0]);
}

TEST_F(PerfLibSourceTest, ReadsRegistrations) {
  const auto source = Open();
  const auto ask = [&](perflib::RegistrationRequest request) {
    return source->QueryCounterSetRegistrationInfo(testing::kGuid, request, 0)
        .value();
  };
  using Request = perflib::RegistrationRequest;
  ASSERT_OK_AND_ASSIGN(
      const auto registration,
      perflib::ReadCountersetStruct(ask(Request::kCountersetStruct)));
  EXPECT_EQ(registration.instance_type, 6);
  ASSERT_EQ(registration.counters.size(), 3);
  EXPECT_EQ(registration.counters[1].counter_id, 27);
  EXPECT_EQ(perflib::ReadString(ask(Request::kCountersetEnglishName)).value(),
            "Processor Information");
  EXPECT_EQ(perflib::ReadString(ask(Request::kCountersetName)).value(),
            "Prozessorinformationen");
  EXPECT_THAT(source->QueryCounterSetRegistrationInfo(
                  kMemory, Request::kCountersetStruct, 0),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("ERROR_WMI_GUID_NOT_FOUND (4200)")));
}

TEST_F(PerfLibSourceTest, ListsInstances) {
  ASSERT_OK_AND_ASSIGN(const std::string bytes,
                       Open()->EnumerateCounterSetInstances(testing::kGuid));
  EXPECT_THAT(perflib::ReadInstanceList(bytes).value(),
              ElementsAre(perflib::InstanceName{"0,0", 0},
                          perflib::InstanceName{"0,1", 1},
                          perflib::InstanceName{"_Total", 0}));
}

TEST_F(PerfLibSourceTest, DeliversEveryKindOfBlock) {
  const auto source = Open();
  const auto remote = Open("db1");
  const struct {
    Source* source;
    CounterIdentifier query;
    std::string block;
  } kCases[] = {
      {source.get(),
       {.counterset = testing::kGuid, .instance = "*"},
       "6: 0,0 1000 9 0 0,1 2000 9 0 _Total 1000 9 0"},
      {source.get(),
       {.counterset = testing::kGuid, .counter_id = 0, .instance = "*"},
       "4: 0,0 1000 0,1 2000 _Total 1000"},
      {source.get(),
       {.counterset = testing::kGuid, .instance = "0,1"},
       "2: 2000 9 0"},
      {source.get(),
       {.counterset = testing::kGuid, .counter_id = 27, .instance = "0,1"},
       "1: 9"},
      {source.get(),
       {.counterset = testing::kGuid, .instance = "7,7"},
       "0: error 232"},
      {remote.get(), {.counterset = kMemory}, "2: 4096"},
      {remote.get(), {.counterset = kMemory, .counter_id = 1}, "1: 4096"},
  };
  for (const auto& test : kCases) {
    const auto handle = OpenHandle(test.query, test.source);
    EXPECT_EQ(Describe(handle.get()), test.block);
  }
}

TEST_F(PerfLibSourceTest, ReportsRefusedIdentifiers) {
  const auto source = Open();
  ASSERT_OK_AND_ASSIGN(const auto handle, source->OpenQueryHandle());
  std::vector<CounterIdentifier> identifiers = {
      {.counterset = testing::kGuid, .counter_id = 0, .instance = "*"},
      {.counterset = testing::kGuid, .counter_id = 5, .instance = "*"},
      {.counterset = testing::kGuid, .counter_id = 99, .instance = "*"},
      {.counterset = testing::kGuid, .counter_id = 27},
      {.counterset = kMemory, .counter_id = 1},
      {.counterset = testing::kGuid, .counter_id = 27, .instance = "*"}};
  ASSERT_OK(handle->AddCounters(&identifiers));
  std::vector<uint32_t> statuses;
  for (const auto& identifier : identifiers) {
    statuses.push_back(identifier.status);
  }
  EXPECT_THAT(statuses, ElementsAre(0, 4202, 4202, 87, 4200, 0));
  EXPECT_EQ(identifiers[0].instance, "*");

  // Results are in the order reported by PerfQueryCounterInfo.
  ASSERT_OK_AND_ASSIGN(const std::string bytes, handle->QueryCounterInfo());
  ASSERT_OK_AND_ASSIGN(const auto infos,
                       perflib::ReadCounterIdentifiers(bytes));
  ASSERT_EQ(infos.size(), 2);
  EXPECT_EQ(infos[0].counter_id, 27);
  EXPECT_EQ(infos[1].index, 1);
  EXPECT_EQ(Describe(handle.get()),
            "4: 0,0 9 0,1 9 _Total 94: 0,0 1000 0,1 2000 _Total 1000");

  identifiers = {infos[0]};
  ASSERT_OK(handle->DeleteCounters(&identifiers));
  EXPECT_EQ(identifiers[0].status, perflib::kErrorSuccess);
  EXPECT_EQ(Describe(handle.get()), "4: 0,0 1000 0,1 2000 _Total 1000");
}

TEST_F(PerfLibSourceTest, ReadsBlocksThatGrowBetweenSizeAndData) {
  std::string scenario = kScenario;
  scenario.insert(scenario.find("\"countersets\""), "\"grows\": true, ");
  std::string instances;
  for (int i = 0; i < 2000; ++i) {
    absl::StrAppend(&instances, "{\"name\": \"1,", i, "\"},");
  }
  scenario.insert(scenario.find("{\"name\": \"0,0\"}"), instances);
  Play(scenario);
  const auto source = Open();
  const auto handle = OpenHandle(
      {.counterset = testing::kGuid, .counter_id = 0, .instance = "*"},
      source.get());
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Describe(handle.get()),
                AllOf(HasSubstr(" 1,1999 1000"), HasSubstr(" _Total 1000")));
  }
}

TEST_F(PerfLibSourceTest, ToleratesVanishingInstances) {
  const auto source = Open();
  const auto handle = OpenHandle(
      {.counterset = testing::kGuid, .counter_id = 0, .instance = "*"},
      source.get());
  Describe(handle.get());
  Describe(handle.get());
  EXPECT_EQ(Describe(handle.get()), "4: 0,0 1000 _Total 1000");
}

TEST_F(PerfLibSourceTest, PassesMalformedBlocksToTheReader) {
  std::string scenario = kScenario;
  // dwSize of the first result.
  scenario.insert(scenario.find("\"countersets\""),
                  R"("corrupt": [{"tick": 1, "offset": 56, "value": 7}], )");
  Play(scenario);
  const auto source = Open();
  const auto handle = OpenHandle(
      {.counterset = testing::kGuid, .counter_id = 27, .instance = "0,0"},
      source.get());
  EXPECT_EQ(Describe(handle.get()), "1: 9");
  EXPECT_THAT(Describe(handle.get()), HasSubstr("PERF_COUNTER_HEADER"));
  EXPECT_EQ(Describe(handle.get()), "1: 9");
}

TEST_F(PerfLibSourceTest, ClosesItsHandles) {
  const auto source = Open();
  {
    const auto handle = source->OpenQueryHandle().value();
    EXPECT_EQ(testing::ScriptedPerfLib::Instance().open_handles(), 1);
  }
  EXPECT_EQ(testing::ScriptedPerfLib::Instance().open_handles(), 0);
}

TEST_F(PerfLibSourceTest, ExplainsLocalErrors) {
  std::string scenario = kScenario;
  scenario.insert(scenario.find("\"countersets\""),
                  R"("errors": {"PerfAddCounters": 5}, )");
  Play(scenario);
  const auto source = Open();
  ASSERT_OK_AND_ASSIGN(const auto handle, source->OpenQueryHandle());
  std::vector<CounterIdentifier> identifiers = {
      {.counterset = testing::kGuid, .instance = "*"}};
  EXPECT_THAT(handle->AddCounters(&identifiers),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("Performance Monitor Users")));
}

TEST_F(PerfLibSourceTest, NamesMissingFunctions) {
  const auto source = MakePerfLibSource({}, "");
  const auto is_missing = [](const char* function) {
    return StatusIs(
        absl::StatusCode::kUnimplemented,
        HasSubstr(absl::StrCat(function, " is not supported by this Windows")));
  };
  EXPECT_THAT(source->EnumerateCounterSet(),
              is_missing("PerfEnumerateCounterSet"));
  EXPECT_THAT(source->EnumerateCounterSetInstances({}),
              is_missing("PerfEnumerateCounterSetInstances"));
  EXPECT_THAT(source->QueryCounterSetRegistrationInfo({}, {}, 0),
              is_missing("PerfQueryCounterSetRegistrationInfo"));
  EXPECT_THAT(source->OpenQueryHandle(), is_missing("PerfOpenQueryHandle"));

  PerfLibFunctions functions = testing::ScriptedPerfLibFunctions();
  functions.add_counters = nullptr;
  functions.delete_counters = nullptr;
  functions.query_counter_info = nullptr;
  functions.query_counter_data = nullptr;
  const auto some = MakePerfLibSource(functions, "");
  ASSERT_OK_AND_ASSIGN(const auto handle, some->OpenQueryHandle());
  std::vector<CounterIdentifier> identifiers(1);
  std::string block;
  EXPECT_THAT(handle->AddCounters(&identifiers), is_missing("PerfAddCounters"));
  EXPECT_THAT(handle->DeleteCounters(&identifiers),
              is_missing("PerfDeleteCounters"));
  EXPECT_THAT(handle->QueryCounterInfo(), is_missing("PerfQueryCounterInfo"));
  EXPECT_THAT(handle->QueryCounterData(&block),
              is_missing("PerfQueryCounterData"));
}

TEST_F(PerfLibSourceTest, RejectsSizesBeyondTheBuffer) {
  PerfLibFunctions functions = testing::ScriptedPerfLibFunctions();
  functions.enumerate_counter_set = [](const char16_t*, perflib::Guid*,
                                       uint32_t count, uint32_t* actual) {
    *actual = count + 1;
    return perflib::kErrorSuccess;
  };
  functions.query_counter_data = [](void*, void*, uint32_t, uint32_t* actual) {
    *actual = 0xFFFFFFFF;
    return perflib::kErrorNotEnoughMemory;
  };
  // Requests a larger buffer on every call.
  functions.query_counter_info = [](void*, void*, uint32_t size,
                                    uint32_t* actual) {
    *actual = size + 8;
    return perflib::kErrorNotEnoughMemory;
  };
  const auto source = MakePerfLibSource(functions, "");
  EXPECT_THAT(source->EnumerateCounterSet(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("PerfEnumerateCounterSet reported")));
  ASSERT_OK_AND_ASSIGN(const auto handle, source->OpenQueryHandle());
  std::string block = "old";
  EXPECT_THAT(handle->QueryCounterData(&block),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("PerfQueryCounterData needs")));
  EXPECT_THAT(block, IsEmpty());
  EXPECT_THAT(handle->QueryCounterInfo(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("PerfQueryCounterInfo needs")));
}

}  // namespace
}  // namespace fleetperf::agent
