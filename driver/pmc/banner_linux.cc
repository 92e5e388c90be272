#include "driver/pmc/banner_linux.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace fleetperf::pmc {
namespace {

using perf_event::System;

constexpr char kCpus[] = "/sys/devices/system/cpu";
constexpr char kZones[] = "/sys/class/powercap";
constexpr double kMicrowattsPerWatt = 1e6;

std::string LineOf(System& system, const std::string& path) {
  const auto text = system.ReadFile(path);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// The names in a directory that are a prefix and a number.
std::vector<std::string> NumberedNames(System& system,
                                       const std::string& directory,
                                       absl::string_view prefix) {
  std::vector<std::string> numbered;
  const auto names = system.ListDirectory(directory);
  if (!names.ok()) return numbered;
  for (const std::string& name : *names) {
    absl::string_view digits = name;
    uint32_t number;
    if (absl::ConsumePrefix(&digits, prefix) &&
        absl::SimpleAtoi(digits, &number)) {
      numbered.push_back(name);
    }
  }
  return numbered;
}

std::string Plural(size_t count, const char* noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

struct Processors {
  std::set<std::string> sockets;
  std::set<std::string> cores;  // by the list of their threads
  size_t threads = 0;
  // The CPUs that share each cache, by level and type: "L1d 32 KiB".
  std::map<std::string, std::set<std::string>> caches;
};

// "32K" is 32 KiB.
std::string SizeText(absl::string_view size) {
  return absl::ConsumeSuffix(&size, "K") ? absl::StrCat(size, " KiB")
                                         : std::string(size);
}

void AddCaches(System& system, const std::string& directory,
               Processors* processors) {
  for (const std::string& index : NumberedNames(system, directory, "index")) {
    const auto file = [&](const char* name) {
      return LineOf(system, absl::StrCat(directory, "/", index, "/", name));
    };
    const std::string level = file("level");
    const std::string size = file("size");
    if (level.empty() || size.empty()) continue;
    const std::string type = file("type");
    const char* const suffix = type == "Data"          ? "d"
                               : type == "Instruction" ? "i"
                                                       : "";
    processors->caches[absl::StrCat("L", level, suffix, " ", SizeText(size))]
        .insert(file("shared_cpu_list"));
  }
}

// A CPU that is offline has no topology.
Processors FindProcessors(System& system) {
  Processors processors;
  for (const std::string& cpu : NumberedNames(system, kCpus, "cpu")) {
    const std::string directory = absl::StrCat(kCpus, "/", cpu);
    const std::string topology = directory + "/topology/";
    const std::string socket = LineOf(system, topology + "physical_package_id");
    const std::string core = LineOf(system, topology + "thread_siblings_list");
    if (socket.empty() || core.empty()) continue;
    ++processors.threads;
    processors.sockets.insert(socket);
    processors.cores.insert(core);
    AddCaches(system, directory + "/cache", &processors);
  }
  return processors;
}

std::string CachesText(const Processors& processors) {
  std::vector<std::string> texts;
  for (const auto& [name, shared] : processors.caches) {
    texts.push_back(absl::StrCat(name, " x ", shared.size()));
  }
  return absl::StrJoin(texts, ", ");
}

// Empty: unknown. The sockets of a machine have the same.
std::string TdpText(System& system) {
  std::multiset<std::string> powers;
  for (const std::string& zone : NumberedNames(system, kZones, "intel-rapl:")) {
    const std::string directory = absl::StrCat(kZones, "/", zone, "/");
    uint64_t microwatts;
    if (!absl::StartsWith(LineOf(system, directory + "name"), "package-") ||
        LineOf(system, directory + "constraint_0_name") != "long_term" ||
        !absl::SimpleAtoi(
            LineOf(system, directory + "constraint_0_max_power_uw"),
            &microwatts) ||
        microwatts == 0) {
      continue;
    }
    powers.insert(absl::StrCat(
        static_cast<double>(microwatts) / kMicrowattsPerWatt, " W"));
  }
  if (powers.size() > 1 && powers.count(*powers.begin()) == powers.size()) {
    return absl::StrCat(*powers.begin(), " for each of ",
                        Plural(powers.size(), "package"));
  }
  return absl::StrJoin(powers, ", ");
}

}  // namespace

std::vector<Fact> Banner(System& system) {
  std::vector<Fact> facts;
  const Processors processors = FindProcessors(system);
  if (processors.threads != 0) {
    facts.emplace_back(
        "processors",
        absl::StrJoin({Plural(processors.sockets.size(), "socket"),
                       Plural(processors.cores.size(), "core"),
                       Plural(processors.threads, "thread")},
                      ", "));
  }
  if (!processors.caches.empty()) {
    facts.emplace_back("caches", CachesText(processors));
  }
  if (std::string tdp = TdpText(system); !tdp.empty()) {
    facts.emplace_back("TDP", std::move(tdp));
  }
  return facts;
}

}  // namespace fleetperf::pmc
