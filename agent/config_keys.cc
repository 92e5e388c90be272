#include "agent/config_keys.h"

namespace fleetperf::agent {
namespace {

constexpr WhenChanged kReload = WhenChanged::kReload;
constexpr WhenChanged kRestart = WhenChanged::kRestart;

constexpr ConfigKey kKeys[] = {
    {"name", "the machine's name in the store; the certificate must contain it",
     kRestart, "the host name"},
    {"aggregators",
     "`host:port`, all aggregators; `aggregators_order` decides which one the "
     "agent prefers ([delivery.md](delivery.md#several-aggregators))",
     kReload, "required"},
    {"aggregators_order",
     "`hash`: the agent's name decides, so that agents spread; `listed`: the "
     "first that can be reached, so that the others are standbys "
     "([scaling.md](../tasks/scaling.md#a-standby))",
     kReload},
    {"tls.authority",
     "PEM file of the authorities that the aggregator's certificate must be "
     "from; read again when it changes, like the next two"},
    {"tls.certificate", "PEM file of the agent's certificate"},
    {"tls.key",
     "PEM file of the certificate's key; the file's mode must not give others "
     "access ([security.md](security.md#certificates)); a credential of "
     "systemd "
     "(`LoadCredential=`) with the file's name is used instead"},
    {"labels",
     "for display and selection; at most 64, of 128 bytes for a name, `1KiB` "
     "for a value and `8KiB` in all ([delivery.md](delivery.md#limits))",
     kReload},
    {"queries",
     "the queries to collect, unless the aggregator has a plan for the agent "
     "([plans.md](../tasks/plans.md))",
     kReload,
     "the list in `agent/collect/default_plan_linux.cc` or `_windows.cc`"},
    {"include",
     "the only instances to collect, by counterset: names of countersets, with "
     "`*` and `?`, or `{GUID}`, and for each a list of names of instances, "
     "with "
     "`*` and `?` ([plans.md](../tasks/plans.md#instances))",
     kReload, "all but automounts"},
    {"exclude",
     "instances that are not collected, in the same form; it overrides "
     "`include`",
     kReload, "none"},
    {"queries[].counterset", "a name, with `*` and `?`, or `{GUID}`", kReload},
    {"queries[].counters",
     "names, with `*` and `?`, or `id:N`; counters that their formulas need "
     "are added",
     kReload, "all"},
    {"queries[].instances", "names, with `*` and `?`", kReload, "all"},
    {"queries[].aggregates",
     "names of instances that are the aggregates of others, with `*` and `?`, "
     "besides those that are known "
     "([query-rules.md](query-rules.md#which-series-are-selected)); at most 64",
     kReload, "none"},
    {"queries[].wrap32",
     "whether a 4-byte counter that falls by more than half of its range has "
     "wrapped; otherwise it was reset. Bases always wrap",
     kReload},
    {"queries[].machines",
     "machines on the network, on Windows only "
     "([windows.md](../tasks/windows.md)); the certificate must contain their "
     "names",
     kReload, "the agent's own"},
    {"queries[].interval",
     "whole seconds, from `1s` to `24h`; counters are not designed to be read "
     "more often",
     kReload},
    {"delivery.batch_period",
     "how long ticks are held back to be sent together; no tick is held back "
     "while a user watches the machine at an interval below `10s`"},
    {"state_directory",
     "the directory of the spool, which holds the samples that no aggregator "
     "has acknowledged; one agent at a time ([delivery.md](delivery.md))",
     kRestart,
     "`/var/lib/fleetperf-agent`; on Windows `state` next to the file"},
    {"delivery.spool_size",
     "maximum size of the spool on disk, without a few MiB for open ticks and "
     "state; beyond it, the oldest batches are dropped and counted"},
    {"delivery.spool_age",
     "older batches are dropped and counted; batches do not age while no agent "
     "runs"},
    {"capture.directory",
     "the directory to which the agent writes the blocks that it reads, for "
     "`fleetperf decode` and `replay`; `--capture DIR` overrides it"},
    {"capture.max_size",
     "disk space, in whole pages; beyond it the oldest blocks are removed"},
    {"replay",
     "plays the capture in this directory instead of collecting, as the "
     "machine `name`, which is then required. The agent exits when all of it "
     "is stored, or with status 1 if that fails; `--replay DIR` and `--name "
     "NAME` override the keys"},
    {"root",
     "on Linux, the directory where a container has the machine's root "
     "filesystem, with its `/proc` and `/sys` "
     "([kubernetes.md](../tasks/kubernetes.md))",
     kRestart, "`/`"},
    {"perflib_dll",
     "for tests on Windows: a DLL that exports PerfLib's functions", kRestart,
     "the DLL of Windows"},
    {"log.level", "`debug`, `info`, `warning`, `error`", kReload},
    {"log.format",
     "`text`, or `json`: an object a line "
     "([logs](../tasks/deployment.md#operate))"},
    {"log.file", "rotated at 10 MiB, five files", kRestart,
     "standard error, on systemd's journal with its levels instead of times; "
     "the event log for a Windows service"},
};

}  // namespace

absl::Span<const ConfigKey> ConfigKeys() { return kKeys; }

}  // namespace fleetperf::agent
