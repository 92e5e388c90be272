#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#if defined(_M_X64)
#include <intrin.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/printable.h"
#include "driver/events/core_model.h"
#include "driver/events/events.h"
#include "driver/pmc/commands.h"
#include "driver/pmc/table.h"
#include "driver/pmu/cpu_features.h"
#include "driver/pmu/cpuid.h"
#include "driver/pmu/machine.h"
#include "nlohmann/json.hpp"

namespace fleetperf::pmc {
namespace {

using Json = nlohmann::ordered_json;
using pmu::CpuFeatures;

// The CPU that executes this thread, as CPUID describes it to user mode.
struct ThisCpu {
  std::string brand;          // "AMD EPYC 7763 64-Core Processor"
  pmu::CpuFeatures features;  // without those that need MSRs
  bool has_hypervisor = false;
  bool has_invariant_tsc = false;
};

// A machine in user mode: all privileged instructions fault.
class UserMode final : public pmu::Machine {
 public:
  pmu::CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) override {
    pmu::CpuidRegisters registers;
#if defined(_M_X64)
    int values[4];
    __cpuidex(values, static_cast<int>(leaf), static_cast<int>(subleaf));
    std::memcpy(&registers, values, sizeof(values));
#elif defined(__x86_64__)
    __cpuid_count(leaf, subleaf, registers.eax, registers.ebx, registers.ecx,
                  registers.edx);
#else
    static_cast<void>(leaf);
    static_cast<void>(subleaf);
#endif
    return registers;
  }
  bool ReadMsr(uint32_t, uint64_t*) override { return false; }
  bool WriteMsr(uint32_t, uint64_t) override { return false; }
  uint64_t ReadCr4() override { return 0; }
  bool WriteCr4(uint64_t) override { return false; }
  uint64_t ReadTsc() override { return 0; }
  uint32_t CpuLimit() override { return 1; }
  bool RunOn(uint32_t, pmu::CpuWork&) override { return false; }
  pmu::Reservation ReservePmu() override {
    return pmu::Reservation::kUnavailable;
  }
  void ReleasePmu() override {}
};

constexpr uint32_t kFirstBrandLeaf = 0x80000002;
constexpr uint32_t kLastBrandLeaf = 0x80000004;

std::string BrandOf(const pmu::Cpuid& cpuid) {
  std::string brand;
  for (uint32_t leaf = kFirstBrandLeaf; leaf <= kLastBrandLeaf; ++leaf) {
    const pmu::CpuidRegisters registers = cpuid.Leaf(leaf);
    char bytes[sizeof(registers)];
    std::memcpy(bytes, &registers, sizeof(registers));
    brand.append(bytes, sizeof(bytes));
  }
  brand.resize(std::strlen(brand.c_str()));
  return std::string(absl::StripAsciiWhitespace(brand));
}

// Vendor::kOther on other architectures than x86-64.
ThisCpu DescribeThisCpu() {
  UserMode machine;
  const pmu::Cpuid cpuid(machine);
  return {.brand = BrandOf(cpuid),
          .features = pmu::DetectFeatures(machine),
          .has_hypervisor = pmu::Bit(cpuid.Leaf(1).ecx, 31),
          .has_invariant_tsc = pmu::Bit(cpuid.Leaf(0x80000007).edx, 8)};
}

struct ListedEvent {
  std::string name;
  std::string code;
  std::string state;
};

struct Listing {
  std::vector<Fact> facts;
  std::vector<ListedEvent> cpu_events;      // by the vendor's names
  std::vector<ListedEvent> counted_events;  // by the reader
};

const char* NameOf(pmu::Vendor vendor) {
  switch (vendor) {
    case pmu::Vendor::kIntel:
      return "Intel";
    case pmu::Vendor::kAmd:
      return "AMD";
    case pmu::Vendor::kOther:
      break;
  }
  return "other";
}

std::string PmuText(const CpuFeatures& features) {
  if (!features.HasPmu()) {
    return features.identity.vendor == pmu::Vendor::kOther
               ? "not Intel's or AMD's"
               : "none; virtual machines often have none";
  }
  const pmu::CpuDescription& cpu = features.description;
  std::string text =
      features.identity.vendor == pmu::Vendor::kIntel
          ? absl::StrCat("architectural version ", cpu.pmu_version, ", ")
          : "";
  absl::StrAppend(&text, cpu.num_general, " general counters of ",
                  cpu.general_width, " bits");
  if (cpu.fixed_counters == 0) return text;
  absl::StrAppend(&text, ", fixed counters");
  for (uint32_t i = 0; i < pmu::kMaxFixedCounters; ++i) {
    if (features.HasFixed(i)) absl::StrAppend(&text, " ", i);
  }
  return absl::StrCat(text, " of ", cpu.fixed_width, " bits");
}

const char* CoreText(uint32_t core_type) {
  switch (core_type) {
    case events::kAtomCore:
      return "Atom, of a hybrid CPU";
    case events::kBigCore:
      return "Core, of a hybrid CPU";
    default:
      return "not hybrid";
  }
}

std::string HertzText(uint64_t hertz) {
  if (hertz == 0) return "of unknown frequency";
  return absl::StrFormat("%.6f GHz", static_cast<double>(hertz) / 1e9);
}

events::Core CoreOf(const CpuFeatures& features) {
  return {.vendor = features.identity.vendor,
          .family = features.identity.family,
          .model = features.identity.model,
          .stepping = features.identity.stepping,
          .core_type = features.description.core_type};
}

void AddCpuEvents(const CpuFeatures& features, Listing* listing) {
  const events::Core core = CoreOf(features);
  const auto add = [&](const events::Event& event, const char* state) {
    listing->cpu_events.push_back(
        {event.name, events::CodeText(event.code), state});
  };
  if (core.vendor == pmu::Vendor::kIntel) {
    for (const auto& [event, bit] : events::ArchitecturalEvents()) {
      const bool is_absent =
          (features.description.absent_events >> bit & 1) != 0;
      add(event, !features.HasPmu() ? "no PMU"
                 : is_absent        ? "absent, by CPUID"
                                    : "architectural");
    }
  }
  for (const events::Event& event : events::EventsOfModel(core)) {
    add(event, features.HasPmu() ? "of this model" : "no PMU");
  }
  for (const events::Event& event : events::L3EventsOfModel(core)) {
    add(event, "of the PMU of each L3");
  }
}

Listing ListMachine(const Machine& machine) {
  Listing listing;
  const ThisCpu this_cpu = DescribeThisCpu();
  const CpuFeatures& features = this_cpu.features;
  const char* const code_name = events::CodeNameOf(CoreOf(features));
  listing.facts = {
      {"CPU", this_cpu.brand},
      {"model", absl::StrFormat(
                    "%s, family 0x%X, model 0x%X, stepping %d",
                    NameOf(features.identity.vendor), features.identity.family,
                    features.identity.model, features.identity.stepping)},
      {"code name", *code_name != '\0' ? code_name : "not known to fleetperf"},
      {"core", CoreText(features.description.core_type)},
      {"hypervisor", this_cpu.has_hypervisor ? "yes" : "no"},
      {"PMU, by CPUID", PmuText(features)},
      {"timestamp counter",
       absl::StrCat(HertzText(machine.timestamp_hertz()),
                    this_cpu.has_invariant_tsc
                        ? ", runs at this frequency in all states"
                        : ", may stop or change its frequency")}};
  for (Fact& fact : machine.facts()) listing.facts.push_back(std::move(fact));
  AddCpuEvents(features, &listing);

  const auto reader = machine.open_reader({});
  listing.facts.emplace_back(
      "counts of all CPUs",
      reader.ok() ? (*reader)->origin()
                  : absl::StrCat("no: ", reader.status().message()));
  const auto thread = machine.open_thread_counters(0, RdpmcAccess::kAsItIs);
  listing.facts.emplace_back(
      "counts of a thread",
      thread.ok() ? (*thread)->origin()
                  : absl::StrCat("no: ", thread.status().message()));
  if (!reader.ok()) return listing;
  for (const hardware::CountedEvent& event : (*reader)->events()) {
    listing.counted_events.push_back(
        {event.event, std::string(NameOf(event.count)),
         event.status.ok() ? "" : std::string(event.status.message())});
  }
  return listing;
}

std::string EventTable(const char* title,
                       const std::vector<ListedEvent>& listed) {
  if (listed.empty()) return "";
  size_t name_width = 0;
  size_t code_width = 0;
  for (const ListedEvent& event : listed) {
    name_width = std::max(name_width, event.name.size());
    code_width = std::max(code_width, event.code.size());
  }
  std::string text = absl::StrCat("\n", title, "\n");
  for (const ListedEvent& event : listed) {
    std::string line = absl::StrFormat(
        "  %-*s  %-*s  %s", static_cast<int>(name_width), event.name,
        static_cast<int>(code_width), event.code, Printable(event.state));
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

Json EventsJson(const std::vector<ListedEvent>& listed, const char* code) {
  Json array = Json::array();
  for (const ListedEvent& event : listed) {
    array.push_back(
        {{"event", event.name}, {code, event.code}, {"state", event.state}});
  }
  return array;
}

}  // namespace

std::string DescribeMachine(const Machine& machine, bool json) {
  const Listing listing = ListMachine(machine);
  if (json) {
    Json object = Json::object();
    for (const auto& [name, value] : listing.facts) object[name] = value;
    object["cpu_events"] = EventsJson(listing.cpu_events, "code");
    object["counted_events"] = EventsJson(listing.counted_events, "counts");
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  std::string text;
  for (const auto& [name, value] : listing.facts) {
    absl::StrAppendFormat(&text, "%-20s  %s\n", name, Printable(value));
  }
  return absl::StrCat(
      text, EventTable("events of the CPU:", listing.cpu_events),
      EventTable("events that are counted:", listing.counted_events));
}

}  // namespace fleetperf::pmc
