#include "aggregator/config_keys.h"

namespace fleetperf::aggregator {
namespace {

constexpr WhenChanged kReload = WhenChanged::kReload;
constexpr WhenChanged kRestart = WhenChanged::kRestart;

constexpr ConfigKey kKeys[] = {
    {"name",
     "the machine name of the aggregator's own counters "
     "([counters.md](counters.md#fleetperfs-own-counters))",
     kRestart, "the host name"},
    {"listen", "`host:port`; port 0 selects a free port"},
    {"address_file",
     "a file that receives the address, with its port, once connections are "
     "accepted"},
    {"tls.authority",
     "PEM file of the authorities that clients' certificates must be from; "
     "read again when it changes, like the next two"},
    {"tls.certificate", "PEM file of the aggregator's certificate"},
    {"tls.key",
     "PEM file of the certificate's key; the file's mode must not give others "
     "access ([security.md](security.md#certificates)); a credential of "
     "systemd "
     "(`LoadCredential=`) with the file's name is used instead"},
    {"tls.revoked",
     "the list of revoked certificates, which `fleetperf pki revoke` makes: a "
     "text file with a certificate's SHA-256 fingerprint at the start of each "
     "line; read again when it changes "
     "([security.md](security.md#certificates))"},
    {"web.listen",
     "`host:port` of the page for browsers ([web.md](../tasks/web.md)); port 0 "
     "selects a free port",
     kRestart, "none: no page"},
    {"web.address_file",
     "a file that receives the page's address, with its port, once connections "
     "are accepted"},
    {"web.certificate",
     "PEM file of the page's certificate, with its chain, for browsers that do "
     "not trust `tls.authority`; read again when it changes, like the next",
     kRestart, "`tls.certificate`"},
    {"web.key", "PEM file of that certificate's key, like `tls.key`", kRestart,
     "`tls.key`"},
    {"web.public_url",
     "the start of login links, for a page behind a reverse proxy: "
     "`https://fleetperf.example`",
     kRestart,
     "the host of `web.listen`, or else the first name in the page's "
     "certificate, with the port"},
    {"store.directory", "created if missing; one process at a time"},
    {"store.full_resolution",
     "samples received longer ago are thinned to one a minute", kReload},
    {"store.minute_resolution",
     "then to one an hour; not shorter than `full_resolution`", kReload},
    {"store.retention",
     "then removed; for a day after the clock has jumped ahead, no data is "
     "removed by age ([store.md](store.md))",
     kReload},
    {"store.max_size",
     "the store's size on disk; beyond it, the data received first is removed, "
     "however old it is, of agents beyond their share before others "
     "([store.md](store.md)); RocksDB's log takes up to 256 MiB more",
     kReload, "none"},
    {"store.recent_memory",
     "the memory for the newest batches, which answer questions about the last "
     "minutes; beyond it, or after 10 minutes, the oldest are read from the "
     "disk again; `0`: none",
     kRestart, "an eighth of the memory"},
    {"agents.reconnect_after",
     "the approximate interval at which each agent is asked to reconnect, so "
     "that load spreads"},
    {"agents.max_samples_per_second",
     "limit of the agents with one certificate, on average; one that exceeds "
     "it must pause"},
    {"agents.max_new_series_per_hour",
     "limit of the agents with one certificate: lives of instances, times the "
     "counters collected of each; one that exceeds it must pause"},
    {"agents.catch_up_samples_per_second",
     "combined limit of all agents that send backlogs after an outage"},
    {"expected_machines",
     "names of machines that should be connected: `fleetperf machines` lists "
     "them as missing while no agent collects from them, also before the first "
     "one has ([alerting.md](../tasks/alerting.md#missing-machines))",
     kReload, "none"},
    {"others",
     "the other aggregators of the fleet, to which machines may be connected: "
     "an expected machine that is not connected is `not here`, instead of "
     "missing ([scaling.md](../tasks/scaling.md))",
     kRestart, "none"},
    {"others[].aggregator", "`host:port`, by which users reach it"},
    {"others[].page",
     "the address of its page, to which the page links: "
     "`https://agg-2.example:7445`",
     kRestart, "none: it has no page"},
    {"machine_labels",
     "labels that the aggregator adds to those of agents, replaces or removes; "
     "of entries that set the same label of a machine, the last one holds "
     "([operating.md](../tasks/operating.md#labels)); at most 64 different "
     "labels, each entry within the limits of `labels` of an agent",
     kReload},
    {"machine_labels[].machines", "names of machines, with `*` and `?`",
     kReload, "required"},
    {"machine_labels[].labels",
     "names and values; an empty value removes the label", kReload, "required"},
    {"connections.max",
     "maximum number of open connections; each agent has one", kRestart,
     "`65536`, and at most three quarters of the process's descriptor limit"},
    {"connections.max_per_address",
     "maximum number of connections from one address, or one /64 network with "
     "IPv6; all agents behind one NAT or proxy share it",
     kRestart, "three quarters of `connections.max`"},
    {"connections.max_unauthenticated",
     "maximum number of connections that have not shown a certificate; see "
     "[security.md](security.md)",
     kRestart, "`4096`, and at most a quarter of `connections.max`"},
    {"subscriptions.max_live_machines",
     "maximum number of watched machines whose agents send each tick at once; "
     "values of other watched machines arrive at an interval of 10 s; "
     "subscriptions with an interval of 10 s or more do not count"},
    {"subscriptions.max_subscribers",
     "maximum number of subscribers at a time; one certificate may have a "
     "quarter of them"},
    {"plans", "the queries of each agent ([plans.md](../tasks/plans.md))",
     kReload},
    {"plans[].name", "the plan's name in messages; unique", kReload},
    {"plans[].machines",
     "names of agents, with `*` and `?`; at least one must match", kReload,
     "any"},
    {"plans[].operating_system",
     "with `*` and `?`, as `fleetperf machines` shows it: `Linux*`", kReload,
     "any"},
    {"plans[].labels",
     "labels of the agents' machines and their values, with `*` and `?`; all "
     "must match",
     kReload, "any"},
    {"plans[].queries", "as `queries` of an agent", kReload, "required"},
    {"plans[].include",
     "as `include` of an agent; for all queries of the agents that match",
     kReload, "all but automounts"},
    {"plans[].exclude", "as `exclude` of an agent, likewise", kReload, "none"},
    {"export.url",
     "the address of an engine: `https://engine.example/api/v1/write`; while "
     "this section is there, the engine gets the samples that arrive, by "
     "Prometheus remote write ([export.md](../tasks/export.md))"},
    {"export.paths", "counters to export, as `fleetperf query` names them",
     kRestart, "all"},
    {"export.labels",
     "labels of machines that all their series get; "
     "`fleetperf_machine_info` has all of them "
     "([Labels](../tasks/export.md#labels-of-machines))",
     kRestart, "none"},
    {"export.raw",
     "whether raw counters, their bases and clocks are exported, too "
     "([Raw counters](../tasks/export.md#raw-counters))"},
    {"export.interval",
     "the time between two looks for new samples, which are sent together"},
    {"export.shards",
     "requests in progress at a time; each has some of the machines"},
    {"export.timeout", "the longest time of a request"},
    {"export.tls.authority",
     "PEM file of the authorities that the engine's certificate must be from; "
     "read again when it changes, like the next two",
     kRestart, "those of the system"},
    {"export.tls.certificate", "PEM file of a certificate for the engine"},
    {"export.tls.key",
     "PEM file of that certificate's key; see `tls.key` for its mode"},
    {"export.basic_auth.user", "the user of HTTP's basic authentication"},
    {"export.basic_auth.password_file",
     "a file with the password in one line; see `tls.key` for its mode; read "
     "for each request"},
    {"export.bearer_token_file",
     "a file with a token in one line, instead of a user; see `tls.key` for "
     "its mode; read for each request"},
    {"history.url",
     "where the engine answers queries: "
     "`https://engine.example/api/v1/query`; while this section is there, the "
     "engine's raw samples answer questions about times before "
     "`store.full_resolution` "
     "([query-through.md](../tasks/query-through.md))"},
    {"history.timeout", "the longest time of a request"},
    {"history.tls.authority",
     "PEM file of the authorities that the engine's certificate must be from; "
     "read again when it changes, like the next two",
     kRestart, "those of the system"},
    {"history.tls.certificate", "PEM file of a certificate for the engine"},
    {"history.tls.key",
     "PEM file of that certificate's key; see `tls.key` for its mode"},
    {"history.basic_auth.user", "the user of HTTP's basic authentication"},
    {"history.basic_auth.password_file",
     "a file with the password in one line; see `tls.key` for its mode; read "
     "for each request"},
    {"history.bearer_token_file",
     "a file with a token in one line, instead of a user; see `tls.key` for "
     "its mode; read for each request"},
    {"log.level", "`debug`, `info`, `warning`, `error`", kReload},
    {"log.format",
     "`text`, or `json`: an object a line "
     "([logs](../tasks/deployment.md#operate))"},
    {"log.file", "rotated at 10 MiB, five files", kRestart, "standard error"},
};

}  // namespace

absl::Span<const ConfigKey> ConfigKeys() { return kKeys; }

}  // namespace fleetperf::aggregator
