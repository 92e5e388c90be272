#include "tests/agent/source/linux/whole_machine.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/linux_countersets.h"
#include "agent/source/linux/network/protocol_statistics.h"

namespace fleetperf::testing {
namespace {

using agent::LinuxCounter;
using agent::LinuxCounterset;

// Calls `use` with the counters' sources that start with `file`, without it.
template <typename Use>
void ForEachSource(absl::string_view file, Use use) {
  for (const LinuxCounterset* counterset : agent::LinuxCountersets()) {
    for (const LinuxCounter& counter : counterset->counters) {
      absl::string_view source = counter.source;
      if (absl::ConsumePrefix(&source, file)) use(source);
    }
  }
}

// The keys that the sources of all counters name, with a number each:
// "MemTotal: 1000 kB".
std::string KeyedLines(absl::string_view file, absl::string_view gap,
                       absl::string_view end) {
  std::set<std::string> keys;
  ForEachSource(absl::StrCat(file, " "), [&](absl::string_view source) {
    const std::string list = absl::StrReplaceAll(
        source, {{" - ", ", "}, {" + ", ", "}, {"_*", "_normal"}});
    for (const absl::string_view key : absl::StrSplit(list, ", ")) {
      keys.insert(std::string(key));
    }
  });
  std::string text;
  uint64_t number = 1000;
  for (const std::string& key : keys) {
    absl::StrAppend(&text, key, gap, number++, end, "\n");
  }
  return text;
}

// "Tcp: InSegs OutSegs\nTcp: 1000 1001\n" for all sections of the file.
std::string LinePairs(absl::string_view file) {
  std::map<std::string, std::set<std::string>> sections;
  for (const LinuxCounterset* counterset : agent::LinuxCountersets()) {
    if (!absl::StartsWith(counterset->counters[0].source,
                          absl::StrCat(file, " "))) {
      continue;
    }
    for (const auto& field : agent::FieldsOf(counterset->counters)) {
      sections[std::string(field.section)].insert(std::string(field.name));
    }
  }
  std::string text;
  uint64_t number = 1000;
  for (const auto& [section, names] : sections) {
    std::string values;
    absl::StrAppend(&text, section, ":");
    for (const std::string& name : names) {
      absl::StrAppend(&text, " ", name);
      absl::StrAppend(&values, " ", number++);
    }
    absl::StrAppend(&text, "\n", section, ":", values, "\n");
  }
  return text;
}

std::string NamedLines(absl::string_view file) {
  std::string text;
  uint64_t number = 1000;
  std::set<std::string> names;
  for (const LinuxCounterset* counterset : agent::LinuxCountersets()) {
    if (!absl::StartsWith(counterset->counters[0].source,
                          absl::StrCat(file, " "))) {
      continue;
    }
    for (const auto& field : agent::FieldsOf(counterset->counters)) {
      if (!names.insert(std::string(field.name)).second) continue;
      absl::StrAppend(&text, field.name, " ", number++, "\n");
    }
  }
  return text;
}

void AddProcessors(MachineTexts* files) {
  (*files)["proc/stat"] =
      "cpu  1000 20 300 4000 50 6 7 8 9 10\n"
      "cpu0 1000 20 300 4000 50 6 7 8 9 10\n"
      "intr 500 1 2\nctxt 12345\nbtime 1790703143\nprocesses 678\n"
      "procs_running 3\nprocs_blocked 2\nsoftirq 100 1 2\n";
  (*files)["proc/interrupts"] =
      "           CPU0\n"
      "  1:         91   IO-APIC   1-edge      i8042\n"
      "LOC:       2000   Local timer interrupts\n";
  (*files)["proc/softirqs"] = "                    CPU0\n      NET_RX:  77\n";
  (*files)["proc/schedstat"] =
      "version 15\ntimestamp 4294892296\n"
      "cpu0 11 0 13 14 15 16 170000 180000 19\n";
  (*files)["proc/loadavg"] = "1.29 0.13 12.05 5/74 2352\n";
  (*files)["proc/uptime"] = "352.64 700.01\n";
  (*files)["proc/sys/fs/file-nr"] = "773\t0\t2466160\n";
  (*files)["proc/sys/fs/inode-nr"] = "116632\t45\n";
  (*files)["proc/sys/fs/dentry-state"] = "216751\t215131\t45\t0\t96189\t0\n";
  const std::string cpus = "sys/devices/system/cpu/";
  (*files)[cpus + "online"] = "0\n";
  (*files)[cpus + "present"] = "0-1\n";
  for (const auto& [file, text] :
       MachineTexts{{"cpufreq/scaling_cur_freq", "2000000"},
                    {"cpufreq/scaling_max_freq", "3000000"},
                    {"cpufreq/cpuinfo_max_freq", "4000000"},
                    {"thermal_throttle/core_throttle_count", "5"},
                    {"thermal_throttle/core_throttle_total_time_ms", "70"},
                    {"cpuidle/state0/name", "C1"},
                    {"cpuidle/state0/latency", "2"},
                    {"cpuidle/state0/time", "10000"},
                    {"cpuidle/state0/usage", "11"},
                    {"cpuidle/state1/name", "C2"},
                    {"cpuidle/state1/latency", "50"},
                    {"cpuidle/state1/time", "20000"},
                    {"cpuidle/state1/usage", "21"},
                    {"cpuidle/state2/name", "C3"},
                    {"cpuidle/state2/latency", "500"},
                    {"cpuidle/state2/time", "30000"},
                    {"cpuidle/state2/usage", "31"}}) {
    (*files)[absl::StrCat(cpus, "cpu0/", file)] = text + "\n";
  }
}

void AddMemory(MachineTexts* files) {
  (*files)["proc/meminfo"] = KeyedLines("/proc/meminfo", ": ", " kB");
  (*files)["proc/vmstat"] = KeyedLines("/proc/vmstat", " ", "");
  (*files)["proc/swaps"] =
      "Filename Type Size Used Priority\n/dev/sda2 partition 1000 100 -2\n";
  for (const char* resource : {"cpu", "memory", "io"}) {
    (*files)[absl::StrCat("proc/pressure/", resource)] =
        "some avg10=0.00 avg60=0.10 avg300=0.20 total=1230\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=450\n";
  }
  const std::string node = "sys/devices/system/node/node0/";
  std::string meminfo;
  for (const char* key :
       {"MemTotal", "MemFree", "Active(file)", "Inactive(file)", "Dirty",
        "Writeback", "AnonPages", "Slab", "SReclaimable"}) {
    absl::StrAppend(&meminfo, "Node 0 ", key, ": ",
                    5120 + meminfo.size() * 1024, " kB\n");
  }
  (*files)[node + "meminfo"] = meminfo;
  (*files)[node + "numastat"] =
      "numa_hit 11\nnuma_miss 12\nnuma_foreign 13\ninterleave_hit 14\n"
      "local_node 15\nother_node 16\n";
}

void AddProcess(MachineTexts* files) {
  // 52 fields.
  const std::string stat =
      "1 (init) S 0 1 1 0 -1 4194560 100 200 300 400 500 600 700 800 20 0 1 0 "
      "9000 1000000 2000 18446744073709551615 1 1 0 0 0 0 671173123 4096 1260 "
      "0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
  const std::string status =
      "Name:\tinit\nState:\tS (sleeping)\nVmPeak:\t  1100 kB\n"
      "VmSize:\t 1000 kB\nVmHWM:\t 900 kB\nVmRSS:\t 800 kB\n"
      "RssAnon:\t 700 kB\nRssFile:\t 100 kB\nVmSwap:\t 60 kB\nThreads:\t1\n"
      "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t25\n";
  for (const auto& [file, text] : MachineTexts{
           {"stat", stat},
           {"status", status},
           {"io",
            "rchar: 1000\nwchar: 2000\nsyscr: 30\nsyscw: 40\n"
            "read_bytes: 4096\nwrite_bytes: 8192\n"
            "cancelled_write_bytes: 0\n"},
           {"oom_score", "666\n"},
           {"smaps_rollup",
            "00400000-7fff0000 ---p 00000000 00:00 0 [rollup]\nRss: 800 kB\n"
            "Pss: 400 kB\nPrivate_Clean: 100 kB\nPrivate_Dirty: 200 kB\n"},
           {"cgroup", "0::/init.scope\n"},
           {"task/1/stat", stat},
           {"task/1/status", status},
           {"task/1/schedstat", "7554965 1457105 3\n"},
           {"fdinfo/5",
            "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t3\n"
            "drm-pdev:\t0000:03:00.0\ndrm-engine-gfx:\t25000 ns\n"
            "drm-total-vram:\t40 KiB\ndrm-resident-vram:\t30 KiB\n"
            "drm-total-gtt:\t20 KiB\ndrm-resident-gtt:\t10 KiB\n"}}) {
    (*files)["proc/1/" + file] = text;
  }
  (*files)["sys/class/drm/card0/dev"] = "226:0\n";
}

void AddDisks(MachineTexts* files) {
  (*files)["proc/diskstats"] =
      "   8 0 sda 100 11 800 50 200 12 1600 60 3 70 110 13 1 80 14 5 6\n"
      "   8 1 sda1 90 11 700 50 190 12 1500 60 2 70 110 13 1 80 14 5 6\n"
      " 253 0 dm-0 80 11 600 50 180 12 1400 60 1 70 110 13 1 80 14 5 6\n";
  (*files)["sys/block/sda/size"] = "1000\n";
  (*files)["sys/dev/block/8:1/uevent"] = "MAJOR=8\nMINOR=1\nDEVNAME=sda1\n";
  (*files)["proc/self/mountinfo"] =
      "36 35 8:1 / / rw,noatime shared:1 - ext4 /dev/sda1 rw\n";
  (*files)["sys/fs/ext4/sda1/errors_count"] = "4\n";
  for (const auto& [file, text] :
       MachineTexts{{"dev", "9:0"},
                    {"md/array_state", "active"},
                    {"md/level", "raid1"},
                    {"md/metadata_version", "1.2"},
                    {"md/raid_disks", "2"},
                    {"md/degraded", "1"},
                    {"md/mismatch_cnt", "7"},
                    {"md/sync_action", "resync"},
                    {"md/sync_completed", "10 / 100"},
                    {"md/sync_speed", "500"},
                    {"md/dev-sda1/state", "in_sync"}}) {
    (*files)["sys/block/md0/" + file] = text + "\n";
  }
  (*files)["proc/net/rpc/nfs"] =
      "net 0 0 0 0\nrpc 70000 12 70001\n"
      "proc3 22 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 "
      "115 116 117 118 119 120 121\n"
      "proc4 32 1000 1001 1002 1003 1004 1005 1006 1007 1008 1009 1010 1011 "
      "1012 1013 1014 1015 1016 1017 1018 1019 1020 1021 1022 1023 1024 1025 "
      "1026 1027 1028 1029 1030 1031\n";
  (*files)["proc/self/mountstats"] =
      "device server:/export mounted on /home with fstype nfs4 statvers=1.1\n"
      "\tage:\t100\n\tbytes:\t11 12 13 14 5000 16 17 18\n"
      "\txprt:\ttcp 832 1 3 0 11 6428 6428 0 12154 0 24 26 5726\n"
      "\tper-op statistics\n"
      "\t        READ: 200 203 1 31744 7960 70 800 900 4\n"
      "\t       WRITE: 3000 3000 0 1 2 5 60 70 0\n";
}

void AddNetwork(MachineTexts* files) {
  (*files)["proc/net/dev"] =
      "Inter-|   Receive  |  Transmit\n face |bytes packets |bytes packets\n"
      "  eth0: 5000 700 3 4 5 6 7 80 9000 100 11 12 13 14 15 16\n";
  for (const auto& [file, text] :
       MachineTexts{{"ifindex", "2"},
                    {"speed", "1000"},
                    {"duplex", "full"},
                    {"carrier", "1"},
                    {"operstate", "up"},
                    {"carrier_changes", "5"},
                    {"carrier_down_count", "2"},
                    {"statistics/rx_nohandler", "21"},
                    {"statistics/rx_missed_errors", "22"},
                    {"statistics/rx_crc_errors", "23"}}) {
    (*files)["sys/class/net/eth0/" + file] = text + "\n";
  }
  (*files)["proc/net/snmp"] = LinePairs("/proc/net/snmp");
  (*files)["proc/net/snmp6"] = NamedLines("/proc/net/snmp6");
  (*files)["proc/net/netstat"] = LinePairs("/proc/net/netstat");
  (*files)["proc/net/sockstat"] =
      "sockets: used 101\nTCP: inuse 11 orphan 12 tw 13 alloc 14 mem 15\n"
      "UDP: inuse 16 mem 17\nUDPLITE: inuse 18\nRAW: inuse 19\n"
      "FRAG: inuse 20 memory 21\n";
  (*files)["proc/net/sockstat6"] =
      "TCP6: inuse 22\nUDP6: inuse 23\nUDPLITE6: inuse 24\nRAW6: inuse 25\n"
      "FRAG6: inuse 26 memory 27\n";
  (*files)["proc/sys/net/ipv4/tcp_mem"] = "100 200 300\n";
  (*files)["proc/sys/net/ipv4/udp_mem"] = "110 210 310\n";
  (*files)["proc/net/softnet_stat"] =
      "00000010 00000001 00000002 00000000 00000000 00000000 00000000 00000000 "
      "00000000 00000003 00000004 00000005 00000000\n";
  (*files)["proc/sys/net/netfilter/nf_conntrack_count"] = "55\n";
  (*files)["proc/sys/net/netfilter/nf_conntrack_max"] = "1000\n";
  (*files)["proc/net/stat/nf_conntrack"] =
      "entries  clashres found new invalid ignore delete chainlength insert "
      "insert_failed drop early_drop icmp_error  expect_new expect_create "
      "expect_delete search_restart\n"
      "00000037  00000001 00000002 00000003 00000004 00000005 00000006 "
      "00000007 00000008 00000009 0000000a 0000000b 0000000c  0000000d "
      "0000000e 0000000f 00000010\n";
  uint64_t number = 1000;
  ForEachSource(
      "/sys/class/infiniband/*/ports/* ", [&](absl::string_view source) {
        for (const absl::string_view file : absl::StrSplit(source, " + ")) {
          (*files)[absl::StrCat("sys/class/infiniband/mlx5_0/ports/1/", file)] =
              absl::StrCat(number++, "\n");
        }
      });
}

void AddSensors(MachineTexts* files) {
  for (const auto& [file, text] : MachineTexts{{"name", "nct6775"},
                                               {"temp1_input", "45000"},
                                               {"temp1_max", "80000"},
                                               {"temp1_crit", "100000"},
                                               {"fan1_input", "1200"},
                                               {"in0_input", "1100"},
                                               {"curr1_input", "500"},
                                               {"power1_input", "7000000"},
                                               {"humidity1_input", "40000"}}) {
    (*files)["sys/class/hwmon/hwmon0/" + file] = text + "\n";
  }
  (*files)["sys/class/thermal/thermal_zone0/type"] = "acpitz\n";
  (*files)["sys/class/thermal/thermal_zone0/temp"] = "40000\n";
  const std::string meter = "sys/class/powercap/intel-rapl:0/";
  (*files)[meter + "name"] = "package-0\n";
  (*files)[meter + "energy_uj"] = "123456789\n";
  (*files)[meter + "max_energy_range_uj"] = "262143328850\n";
}

void AddCgroupsOfVersion2(MachineTexts* files) {
  (*files)["sys/fs/cgroup/cgroup.controllers"] = "cpu io memory pids\n";
  const std::string pressure =
      "some avg10=0.00 avg60=0.10 avg300=0.20 total=1230\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=450\n";
  for (const auto& [file, text] : MachineTexts{
           {"cpu.stat",
            "usage_usec 3000\nuser_usec 2000\nsystem_usec 1000\n"
            "nr_periods 30\nnr_throttled 20\nthrottled_usec 10\n"},
           {"cpu.max", "150000 100000\n"},
           {"memory.current", "100000\n"},
           {"memory.peak", "200000\n"},
           {"memory.max", "300000\n"},
           {"memory.swap.current", "4000\n"},
           {"memory.events",
            "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 0\n"},
           {"memory.stat",
            "anon 101\nfile 102\nkernel 103\nsock 104\nshmem 105\n"
            "file_dirty 106\nslab 107\ninactive_file 108\n"
            "workingset_refault_anon 109\nworkingset_refault_file 110\n"
            "pgscan 111\npgsteal 112\npgfault 113\npgmajfault 114\n"},
           {"io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n"},
           {"pids.current", "12\n"},
           {"pids.max", "100\n"},
           {"pids.events", "max 7\n"},
           {"cpu.pressure", pressure},
           {"memory.pressure", pressure},
           {"io.pressure", pressure}}) {
    (*files)["sys/fs/cgroup/a.slice/" + file] = text;
  }
}

void AddCgroupsOfVersion1(MachineTexts* files) {
  for (const auto& [file, text] : MachineTexts{
           {"cpu/a.slice/cpu.stat",
            "nr_periods 30\nnr_throttled 20\nthrottled_time 1000\n"},
           {"cpu/a.slice/cpu.cfs_quota_us", "150000\n"},
           {"cpu/a.slice/cpu.cfs_period_us", "100000\n"},
           {"cpuacct/a.slice/cpuacct.usage", "3000000\n"},
           {"cpuacct/a.slice/cpuacct.stat", "user 20\nsystem 10\n"},
           {"memory/a.slice/memory.usage_in_bytes", "100000\n"},
           {"memory/a.slice/memory.max_usage_in_bytes", "200000\n"},
           {"memory/a.slice/memory.limit_in_bytes", "300000\n"},
           {"memory/a.slice/memory.failcnt", "2\n"},
           {"memory/a.slice/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"},
           {"memory/a.slice/memory.stat",
            "total_cache 101\ntotal_rss 102\ntotal_shmem 103\n"
            "total_dirty 104\ntotal_swap 105\ntotal_pgfault 106\n"
            "total_pgmajfault 107\ntotal_inactive_file 108\n"},
           {"memory/a.slice/memory.kmem.usage_in_bytes", "5000\n"},
           {"blkio/a.slice/blkio.throttle.io_service_bytes",
            "8:0 Read 4096\n8:0 Write 8192\n8:0 Total 12288\nTotal 12288\n"},
           {"blkio/a.slice/blkio.throttle.io_serviced",
            "8:0 Read 1\n8:0 Write 2\n8:0 Total 3\nTotal 3\n"},
           {"pids/a.slice/pids.current", "12\n"},
           {"pids/a.slice/pids.max", "100\n"}}) {
    (*files)["sys/fs/cgroup/" + file] = text;
  }
}

}  // namespace

MachineTexts WholeMachine(CgroupVersion cgroups) {
  MachineTexts files;
  AddProcessors(&files);
  AddMemory(&files);
  AddProcess(&files);
  AddDisks(&files);
  AddNetwork(&files);
  AddSensors(&files);
  if (cgroups == CgroupVersion::kTwo) {
    AddCgroupsOfVersion2(&files);
  } else {
    AddCgroupsOfVersion1(&files);
  }
  return files;
}

}  // namespace fleetperf::testing
