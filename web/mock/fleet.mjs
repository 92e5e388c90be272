// A synthetic fleet: every value is a function of the machine, the counter and
// the time, so that queries and subscriptions agree without a store.

const LARGE_RAWCOUNT = 0x10100;

const COUNTERSETS = {
  'Processor Information': {
    help: 'How the processors spend their time.',
    instances: (m) => [...Array(m.cpus).keys()].map((cpu) => `0,${cpu}`).concat('_Total'),
    counters: {
      '% Processor Time': ['%', 'Time the processor was busy.'],
      '% User Time': ['%', 'Time in user mode, guests included.'],
      '% Privileged Time': ['%', 'Time in the kernel.'],
      '% IO Wait Time': ['%', 'Idle time with I/O outstanding.'],
      '% Steal Time': ['%', 'Time in which the hypervisor ran something else.'],
      'Interrupts/sec': ['1/s', 'Interrupts that the processor served.'],
    },
  },
  Memory: {
    help: 'How memory is used.',
    counters: {
      'Available Bytes': ['B', 'Memory that programs can still use.'],
      'Committed Bytes': ['B', 'Memory that was promised to programs.'],
      'Total Bytes': ['B', 'All memory of the machine.'],
      'Cache Bytes': ['B', 'Memory that caches files.'],
      '% Committed Bytes In Use': ['%', 'Committed Bytes as a percentage of Commit Limit.'],
      'Pages Input/sec': ['1/s', 'Pages read to resolve faults.'],
      'Pages Output/sec': ['1/s', 'Pages written to free memory.'],
    },
  },
  System: {
    help: 'The machine as a whole.',
    counters: {
      'Context Switches/sec': ['1/s', 'Switches from one thread to another.'],
      'Processor Queue Length': ['', 'Threads that are ready to run.'],
      Processes: ['', 'Processes that exist.'],
      Threads: ['', 'Threads that exist.'],
      'System Up Time': ['s', 'Time since the last start.'],
    },
  },
  PhysicalDisk: {
    help: 'Whole disks.',
    instances: (m) => [...m.disks, '_Total'],
    counters: {
      'Disk Bytes/sec': ['B/s', 'Bytes read and written.'],
      'Disk Read Bytes/sec': ['B/s', 'Bytes read.'],
      'Disk Write Bytes/sec': ['B/s', 'Bytes written.'],
      'Disk Transfers/sec': ['1/s', 'Reads and writes.'],
      'Avg. Disk sec/Transfer': ['s', 'The time of a read or write.'],
      '% Idle Time': ['%', 'Time without requests.'],
    },
  },
  LogicalDisk: {
    help: 'Mounted filesystems.',
    instances: () => ['/', '/home', '/var/lib'],
    counters: { '% Free Space': ['%', 'Space that is free.'], 'Free Megabytes': ['MiB', 'Space that is free.'] },
  },
  'Network Interface': {
    help: 'Network interfaces.',
    instances: () => ['eth0', 'eth1', 'lo'],
    counters: {
      'Bytes Total/sec': ['B/s', 'Bytes received and sent.'],
      'Bytes Received/sec': ['B/s', 'Bytes received.'],
      'Bytes Sent/sec': ['B/s', 'Bytes sent.'],
      'Packets/sec': ['1/s', 'Packets received and sent.'],
    },
  },
  'Linux Pressure': {
    help: 'Time in which tasks wait for a resource.',
    instances: () => ['cpu', 'io', 'memory'],
    isOn: (m) => m.isLinux,
    counters: { '% Some Stall Time': ['%', 'Time in which some task waited.'], '% Full Stall Time': ['%', 'Time in which all tasks waited.'] },
  },
  'Process V2': {
    help: 'Processes, as name:pid.',
    instances: (m) => m.processes.concat('_Total'),
    counters: {
      '% Processor Time': ['%', 'Time in which its threads ran.'],
      'Working Set': ['B', 'Its memory that is resident.'],
      'Thread Count': ['', 'Its threads.'],
    },
  },
};

const ROLES = ['web', 'db', 'cache', 'batch', 'build'];
const SITES = ['berlin', 'oslo', 'lisbon'];
const PROGRAMS = ['nginx', 'postgres', 'redis-server', 'java', 'python3', 'systemd', 'sshd', 'node', 'rsyslogd',
  'containerd', 'kubelet', 'fleetperf-agent', 'cron', 'dockerd', 'chronyd', 'bash', 'make', 'cc1plus'];

// A number in [0, 1) for a text.
function hash(text) {
  let value = 2166136261;
  for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  value = Math.imul(value ^ (value >>> 15), 2246822507);
  value = Math.imul(value ^ (value >>> 13), 3266489909);
  return ((value ^ (value >>> 16)) >>> 0) / 2 ** 32;
}

function noise(seed, tick) {
  const value = Math.sin(seed * 1e4 + tick * 12.9898) * 43758.5453;
  return value - Math.floor(value);
}

// A smooth number in [0, 1] that wanders with the time.
function wander(seed, seconds) {
  const waves = Math.sin(seconds / 37 + seed * 50) + Math.sin(seconds / 211 + seed * 90) * 1.5 +
    Math.sin(seconds / 1900 + seed * 20) * 2;
  const between = waves / 9 + 0.5;
  return Math.min(1, Math.max(0, between + (noise(seed, Math.floor(seconds)) - 0.5) * 0.12));
}

export class Fleet {
  constructor(size) {
    this.machines = [];
    for (let i = 0; i < size; ++i) {
      const role = ROLES[i % ROLES.length];
      const name = `${role}-${String(Math.floor(i / ROLES.length) + 1).padStart(4, '0')}`;
      const isLinux = i % 11 !== 10;
      this.machines.push({
        name, index: i, seed: hash(name), isLinux,
        cpus: [4, 8, 16, 32][i % 4],
        disks: isLinux ? ['nvme0n1', 'sda'] : ['0 C:', '1 D:'],
        processes: PROGRAMS.map((program, p) => `${program}:${300 + p * 71 + (i % 50)}`),
        labels: { role, site: SITES[i % 3], rack: `r${String(i % 40).padStart(2, '0')}` },
        isNever: size > 20 && i % 997 === 500,
        diedAt: size > 20 && i % 331 === 100 ? Date.now() - 60_000 * (1 + (i % 50)) : 0,
        returnedAt: 0,
        lateBy: size > 20 && i % 173 === 50 ? 12 + (i % 60) : 0,
      });
    }
    this.byName = new Map(this.machines.map((machine) => [machine.name, machine]));
    this.setOutage(0, 0);
  }

  kill(name, diedAt = Date.now()) {
    this.byName.get(name).diedAt = diedAt;
    this.byName.get(name).returnedAt = 0;
  }

  // The samples of this time are at another aggregator.
  setOutage(from, to) {
    this.outage = { from, to };
  }

  revive(name) {
    const machine = this.byName.get(name);
    machine.returnedAt = Date.now();
  }

  isUp(machine) {
    return !machine.isNever && (machine.diedAt === 0 || machine.returnedAt > machine.diedAt);
  }

  newestSample(machine, now) {
    return this.isUp(machine) ? now - machine.lateBy * 1000 : machine.diedAt;
  }

  select(pattern, labels) {
    const name = wildcard(pattern || '*');
    const wanted = Object.entries(labels ?? {}).map(([label, value]) => [label, wildcard(value)]);
    return this.machines.filter((m) => name.test(m.name) &&
      wanted.every(([label, value]) => value.test(m.labels[label] ?? '')));
  }

  describe(machine, now) {
    if (machine.isNever) return { name: machine.name, expected: true, labels: machine.labels };
    const isUp = this.isUp(machine);
    return {
      name: machine.name, agent: machine.name, connected: isUp || undefined,
      newestSample: new Date(this.newestSample(machine, now)).toISOString(),
      skew: machine.index % 211 === 7 ? '4.2s' : undefined,
      agentVersion: machine.index % 9 === 0 ? '0.8.2' : '0.9.0',
      operatingSystem: machine.isLinux ? 'Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64'
        : 'Windows Server 2022 Datacenter, 10.0.20348',
      labels: machine.labels, expected: machine.index % 2 === 0 || undefined,
      address: isUp ? `10.${machine.index >> 8}.${machine.index & 255}.7:50112` : undefined,
      lag: isUp && machine.lateBy > 0 ? `${machine.lateBy}s` : undefined,
      certificateExpires: isUp ? new Date(now + 86_400_000 * 200).toISOString() : undefined,
      lostTicks: machine.index % 211 === 7 ? { spool_full: '12' } : undefined,
    };
  }

  countersets(machines) {
    return Object.entries(COUNTERSETS).map(([name, set]) => ({
      name, help: set.help, hasInstances: set.instances !== undefined || undefined,
      counters: Object.keys(set.counters).length,
      machines: machines.filter((m) => !m.isNever && (set.isOn?.(m) ?? true)).length,
      collectingMachines: machines.filter((m) => !m.isNever && (set.isOn?.(m) ?? true)).length,
    })).filter((set) => set.machines > 0).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  counters(counterset) {
    const set = Object.entries(COUNTERSETS).find(([name]) => name.toLowerCase() === counterset.toLowerCase());
    if (set === undefined) return undefined;
    return Object.entries(set[1].counters).map(([name, [unit, help]], id) => (
      { name, id, type: 'PERF_COUNTER_BULK_COUNT', unit, help, collected: true }));
  }

  instances(counterset, machines) {
    const set = COUNTERSETS[counterset];
    if (set?.instances === undefined) return [];
    return machines.flatMap((m) => set.instances(m).map((name) => ({ machine: m.name, name })));
  }

  // Counters and instances in whose names or help all words occur. The aggregator knows synonyms, too.
  search(words, counterset, machines) {
    const all = [];
    for (const { name, help, hasInstances } of this.countersets(machines)) {
      const names = new Set(this.instances(name, machines).map((one) => one.name));
      if (counterset === undefined) {
        for (const counter of this.counters(name)) {
          const path = `\\${name}${hasInstances === true ? '(*)' : ''}\\${counter.name}`;
          all.push({ kind: 'KIND_COUNTER', name: counter.name, path, collected: true, unit: counter.unit, help: counter.help });
        }
      } else if (counterset.toLowerCase() !== name.toLowerCase()) continue;
      for (const one of names) {
        all.push({ kind: 'KIND_INSTANCE', name: one, path: `\\${name}(${one})\\*`, collected: true, help: `${name} ${help}` });
      }
    }
    const wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== '');
    return all.filter(({ name, path, help }) => wanted.every(
      (word) => (counterset === undefined ? `${path} ${help}` : name).toLowerCase().includes(word)));
  }

  // Returns the series of a path, or an error.
  find(path, selection) {
    const parsed = path.match(/^(?:\\\\([^\\]+))?\\([^\\(]+)(?:\((.*)\))?\\(.+)$/);
    if (parsed === null) return { error: { code: 'INVALID_ARGUMENT', message: `"${path}": expected \\counterset(instance)\\counter` } };
    const [, machine, setName, instance, counterName] = parsed;
    const setMatch = wildcard(setName);
    const sets = Object.entries(COUNTERSETS).filter(([name]) => setMatch.test(name));
    if (sets.length === 0) {
      return { error: { code: 'NOT_FOUND', message: `no machine has a counterset "${setName}"; did you mean ${nearest(setName, Object.keys(COUNTERSETS))}?` } };
    }
    const counterMatch = wildcard(counterName);
    const counters = sets.flatMap(([name, set]) => Object.keys(set.counters).filter((c) => counterMatch.test(c)).map((c) => [name, set, c]));
    if (counters.length === 0) {
      return { error: { code: 'NOT_FOUND', message: `counterset "${sets[0][0]}" has no counter "${counterName}"; did you mean ${nearest(counterName, Object.keys(sets[0][1].counters))}?` } };
    }
    const machines = this.select(machine, undefined).filter((m) => selection.includes(m) && !m.isNever);
    if (machines.length === 0) return { error: { code: 'NOT_FOUND', message: `no machine "${machine ?? '*'}"` } };
    const instanceMatch = instance === undefined ? undefined : wildcard(instance);
    const series = [];
    for (const m of machines) {
      for (const [name, set, counter] of counters) {
        if (set.isOn?.(m) === false) continue;
        const [unit] = set.counters[counter];
        const common = { machine: m.name, counterset: name, counter, unit, type: LARGE_RAWCOUNT, m };
        if (set.instances === undefined) {
          series.push({ ...common, path: `\\${name}\\${counter}` });
        } else {
          for (const one of set.instances(m)) {
            if (instanceMatch !== undefined && !instanceMatch.test(one)) continue;
            series.push({ ...common, instance: one, isAggregate: one === '_Total' || undefined, path: `\\${name}(${one})\\${counter}` });
          }
        }
      }
    }
    return { series };
  }

  // The value of the window that ends at `ms`, with its troubles.
  valueAt(series, ms, step) {
    const { m } = series;
    if (ms > this.outage.from && ms <= this.outage.to) {
      return { v: null, status: 'VALUE_STATUS_GAP', cause: 'GAP_CAUSE_NO_SAMPLES', coverage: 0 };
    }
    if (m.diedAt !== 0 && ms > m.diedAt && (m.returnedAt < m.diedAt || ms <= m.returnedAt)) {
      if (m.returnedAt < m.diedAt) return undefined;
      return { v: null, status: 'VALUE_STATUS_GAP', cause: 'GAP_CAUSE_NO_SAMPLES', coverage: 0 };
    }
    if (m.returnedAt > m.diedAt && ms > m.returnedAt && ms <= m.returnedAt + step) {
      return { v: null, status: 'VALUE_STATUS_GAP', cause: 'GAP_CAUSE_AGENT_RESTART', coverage: 0 };
    }
    const minute = Math.floor(ms / 60_000) % 30;
    if (m.index % 5 === 1 && minute >= 8 && minute < 10) {
      return { v: null, status: 'VALUE_STATUS_GAP', cause: 'GAP_CAUSE_POWER_CUT', coverage: 0 };
    }
    const v = rawValue(series, ms / 1000);
    if (m.index % 5 !== 4 && minute === 20 && ms % 60_000 < step) {
      return { v, cause: 'GAP_CAUSE_RESET', breaks: 1, coverage: 0.82 };
    }
    return { v };
  }
}

function rawValue({ m, counterset, instance, counter, unit }, seconds) {
  const seed = hash(`${m.name}${counterset}${instance ?? ''}${counter}`);
  const load = wander(m.seed, seconds);
  const own = wander(seed, seconds);
  if (counterset === 'Processor Information') {
    const busy = Math.min(100, 100 * Math.pow(instance === '_Total' ? load : (2 * load + own) / 3, 1.6));
    const parts = { '% User Time': 0.7, '% Privileged Time': 0.24, '% IO Wait Time': 0.05, '% Steal Time': 0.01 };
    if (counter === 'Interrupts/sec') return 900 + busy * 60;
    return busy * (parts[counter] ?? 1);
  }
  if (counterset === 'Memory') {
    const total = 2 ** (34 + (m.index % 3));
    if (counter === 'Total Bytes') return total;
    if (unit === 'B') return total * (counter === 'Available Bytes' ? 0.75 - load / 2 : 0.2 + load / 3);
    if (unit === '%') return 30 + 50 * load;
    return Math.max(0, (own - 0.7) * 900);
  }
  if (counterset === 'Process V2') {
    const weight = Math.pow(hash(instance), 4);
    if (instance === '_Total') return unit === '%' ? 100 * m.cpus * load : 2 ** 33;
    if (unit === '%') return 180 * weight * (0.4 + own);
    if (unit === 'B') return 2 ** 20 * (8 + 1800 * weight + 20 * own);
    return Math.round(1 + 60 * weight);
  }
  if (counterset === 'System') {
    if (counter === 'System Up Time') return seconds - 1.79e9 + m.seed * 1e6;
    const largest = { 'Context Switches/sec': 90_000, 'Processor Queue Length': 12, Processes: 400, Threads: 2200 }[counter];
    const value = largest * (0.3 + 0.5 * load + 0.2 * own);
    return counter === 'Context Switches/sec' ? value : Math.round(value);
  }
  if (counterset === 'LogicalDisk') return unit === '%' ? 20 + 70 * seed - (seconds % 3600) / 900 : 90_000 * seed;
  if (unit === '%') return counterset === 'PhysicalDisk' ? 100 - 60 * own * load : 40 * own * own;
  if (unit === 's') return 0.0004 + 0.004 * own * own;
  if (unit === 'B/s') return (instance === 'lo' ? 2e5 : 9e7) * own * load * (0.3 + seed);
  return 5000 * own * (0.3 + load);
}

export function wildcard(pattern) {
  const source = pattern.replace(/\[([*?#])\]|([.+^${}()|[\]\\])|(\*)|(\?)/g,
    (_, literal, special, star) => (literal ? `\\${literal}` : special ? `\\${special}` : star ? '.*' : '.'));
  return new RegExp(`^${source}$`, 'i');
}

function nearest(name, names) {
  const pairs = (text) => new Set([...text.toLowerCase()].map((c, i, all) => c + (all[i + 1] ?? '')));
  const own = pairs(name);
  const score = (other) => [...pairs(other)].filter((pair) => own.has(pair)).length;
  return `"${[...names].sort((a, b) => score(b) - score(a))[0]}"`;
}
