// The JSON of the server's answers: proto3 JSON of the messages in
// proto/fleetperf/v1, except for points, which are columns as below. Fields
// that have their default value are absent.

export interface Series {
  id?: number;
  machine?: string;
  path?: string;
  counterset?: string;
  instance?: string;
  instanceIndex?: number;
  counter?: string;
  unit?: string;
  type?: number;
  attrib?: string;
  labels?: Record<string, string>;
  isAggregate?: boolean;
}

// Values of one series. The maps have an entry, by the index in `t`, for each
// value that differs from the default.
export interface Points {
  series?: number;
  t: number[]; // ms since 1970
  v: (number | null)[]; // null: no value
  causes?: Record<string, string>;
  statuses?: Record<string, string>;
  breaks?: Record<string, number>;
  coverage?: Record<string, number>;
  presence?: Record<string, number>;
  partial?: boolean;
  newest_sample?: number;
}

export interface Missing {
  path?: string;
  reason?: string;
}

export interface SilentMachine {
  machine?: string;
  newestSample?: string;
  clockSkew?: string; // if its clock is the reason
  hasSamples?: boolean; // in the rest of the time
}

export interface QueryProgress {
  machinesRead?: string;
  machines?: string;
}

export interface ErrorBody {
  code?: string;
  message?: string;
}

// A line of the answer to a query.
export interface QueryPart {
  series?: Series;
  points?: Points;
  missing?: Missing;
  silent?: SilentMachine;
  progress?: QueryProgress;
  end?: boolean;
  error?: ErrorBody;
}

export interface LiveMachines {
  live?: number;
  widened?: number;
  widenedInterval?: string;
}

// A line of a subscription.
export interface SubscriptionPart {
  series?: Series[];
  points?: Points[];
  ended?: number[];
  lagged?: number;
  machines?: LiveMachines;
  missing?: Missing[];
  error?: ErrorBody;
}

export interface MachineSelection {
  machine?: string;
  labels?: Record<string, string>;
}

export interface QueryRequest extends MachineSelection {
  paths: string[];
  since?: string; // a proto3 JSON duration: "300s"
  startTime?: string;
  endTime?: string;
  step?: string;
  over?: string;
  top?: number;
  bottom?: number;
  aggregate?: string;
  by?: string[];
  byLabels?: string[];
  where?: Condition;
  withProgress?: boolean;
}

export interface Condition {
  comparison: string;
  number: number;
  unit?: string;
}

export interface SubscribeRequest extends MachineSelection {
  paths: string[];
  interval?: string;
  top?: number;
  bottom?: number;
  where?: Condition;
}

export interface Machine {
  name?: string;
  agent?: string;
  connected?: boolean;
  newestSample?: string;
  skew?: string;
  agentVersion?: string;
  operatingSystem?: string;
  labels?: Record<string, string>;
  rejectedBatches?: string;
  address?: string;
  lostTicks?: Record<string, string>;
  limitsBroken?: Record<string, string>;
  lag?: string;
  expected?: boolean;
  certificateExpires?: string;
  noNewSamples?: boolean;
  conflictingAddress?: string;
  notHere?: boolean; // it may be connected to another aggregator
}

export interface OtherAggregator {
  aggregator?: string; // host:port
  page?: string; // https://...
}

export interface MachinesPage {
  machines?: Machine[];
  nextPageToken?: string;
}

export interface Counterset {
  name?: string;
  help?: string;
  hasInstances?: boolean;
  counters?: number;
  machines?: number;
  collectingMachines?: number;
}

export interface CountersetsPage {
  countersets?: Counterset[];
  nextPageToken?: string;
}

export interface Counter {
  name?: string;
  type?: string;
  unit?: string;
  help?: string;
  collected?: boolean;
}

export interface CountersPage {
  counters?: Counter[];
  nextPageToken?: string;
}

export interface InstancesPage {
  instances?: { machine?: string; name?: string; instanceId?: number }[];
  unanswered?: string[];
  nextPageToken?: string;
}

export interface FindRequest extends MachineSelection {
  words: string;
  maxResults: number;
  counterset?: string;
}

export interface Found {
  kind?: 'KIND_COUNTER' | 'KIND_INSTANCE' | 'KIND_MACHINE';
  name?: string;
  path?: string;
  collected?: boolean;
  unit?: string;
  help?: string;
}

export interface FindAnswer {
  found?: Found[];
  leftOut?: string;
  correctedWords?: string;
  machinesLeftOut?: string;
}

export interface RawSample {
  perfTimeStamp?: string;
  perfTime100nsec?: string;
  perfFreq?: string;
  value?: string;
  denominator?: string;
  frequency?: string;
  multi?: string;
}

export interface Explanation {
  series?: Series;
  countersetGuid?: string;
  counterId?: number;
  older?: RawSample;
  newer?: RawSample;
  denominator?: string;
  formula?: string;
  arithmetic?: string;
  value?: number | string;
  status?: string;
  cause?: string;
}

export interface ExplainAnswer {
  explanations?: Explanation[];
  leftOut?: string;
  failures?: { machine?: string; counterset?: string; time?: string; status?: number }[];
}

// Returns "agent_restart" of "GAP_CAUSE_AGENT_RESTART", as the command line
// writes it.
export function plainEnum(name: string): string {
  return name.replace(/^(GAP_CAUSE_|VALUE_STATUS_)/, '').toLowerCase();
}

// Returns the seconds of a proto3 JSON duration: "1.5s".
export function secondsOf(duration: string | undefined): number {
  return duration === undefined ? 0 : Number.parseFloat(duration);
}
