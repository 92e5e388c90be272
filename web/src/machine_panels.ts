// The panels of a machine: which counters they show, by the names that Windows
// and Linux have in common. Panels without counters are left out.

import { counters, countersets } from './catalogue.ts';
import { ChartData, MAX_LINES } from './chart_data.ts';
import { escapeName } from './completion.ts';
import type { Series } from './wire.ts';

export interface PanelSpec {
  title: string;
  kind: 'chart' | 'heat' | 'bars';
  counterset: string;
  counters: readonly string[];
  // "total": the instance _Total; "each": all others; "none": no instances.
  instances: 'total' | 'each' | 'none';
}

const SPECS: readonly PanelSpec[] = [
  { title: 'Processor time', kind: 'chart', counterset: 'Processor Information', instances: 'total',
    counters: ['% Processor Time', '% User Time', '% Privileged Time', '% IO Wait Time', '% Steal Time'] },
  { title: 'Each processor', kind: 'heat', counterset: 'Processor Information', instances: 'each',
    counters: ['% Processor Time'] },
  { title: 'Memory', kind: 'chart', counterset: 'Memory', instances: 'none',
    counters: ['Available Bytes', 'Committed Bytes', 'Cache Bytes', 'Total Bytes'] },
  { title: 'Disk traffic', kind: 'chart', counterset: 'PhysicalDisk', instances: 'each',
    counters: ['Disk Read Bytes/sec', 'Disk Write Bytes/sec'] },
  { title: 'Time of a disk transfer', kind: 'chart', counterset: 'PhysicalDisk', instances: 'each',
    counters: ['Avg. Disk sec/Transfer'] },
  { title: 'Network traffic', kind: 'chart', counterset: 'Network Interface', instances: 'each',
    counters: ['Bytes Received/sec', 'Bytes Sent/sec'] },
  { title: 'Paging', kind: 'chart', counterset: 'Memory', instances: 'none',
    counters: ['Pages Input/sec', 'Pages Output/sec'] },
  { title: 'Waiting for resources', kind: 'chart', counterset: 'Linux Pressure', instances: 'each',
    counters: ['% Some Stall Time'] },
  { title: 'Free space of filesystems', kind: 'bars', counterset: 'LogicalDisk', instances: 'each',
    counters: ['% Free Space'] },
  { title: 'Context switches', kind: 'chart', counterset: 'System', instances: 'none',
    counters: ['Context Switches/sec'] },
  { title: 'Processor queue', kind: 'chart', counterset: 'System', instances: 'none',
    counters: ['Processor Queue Length'] },
];

// Processors beyond this number are left out of the picture of each one.
const MAX_PROCESSORS = 256;

export interface MachinePanel {
  spec: PanelSpec; // with the counters that exist
  data: ChartData;
  paths: string[];
}

// Reads which of the panels' counters the machine collects.
export async function panelsOf(machine: string, maxValues: number): Promise<MachinePanel[]> {
  const selection = { machine: escapeName(machine) };
  const sets = new Set((await countersets(selection)).map((set) => set.name ?? ''));
  const panels = await Promise.all(SPECS.filter((spec) => sets.has(spec.counterset)).map(async (spec) => {
    const collected = new Set((await counters(spec.counterset, selection))
      .filter((counter) => counter.collected === true).map((counter) => counter.name ?? ''));
    const names = spec.counters.filter((name) => collected.has(name));
    return {
      spec: { ...spec, counters: names },
      data: new ChartData(spec.kind === 'heat' ? MAX_PROCESSORS : MAX_LINES, maxValues, false),
      paths: names.map((name) => pathOf(machine, spec, name)),
    };
  }));
  return panels.filter((panel) => panel.paths.length > 0);
}

function pathOf(machine: string, spec: PanelSpec, counter: string): string {
  const instance = { total: '(_Total)', each: '(*)', none: '' }[spec.instances];
  return `\\\\${escapeName(machine)}\\${spec.counterset}${instance}\\${counter}`;
}

// Several panels may show a counterset; each series belongs to one.
export function belongsTo(series: Series, spec: PanelSpec): boolean {
  if (series.counterset !== spec.counterset) return false;
  if (!spec.counters.includes(series.counter ?? '')) return false;
  if (spec.instances === 'none') return true;
  return spec.instances === 'total' ? series.instance?.toLowerCase() === '_total' : series.isAggregate !== true;
}
