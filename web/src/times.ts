// Times and durations as users read and write them.

export type Zone = 'utc' | 'local';

const UNITS_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000,
  w: 604_800_000 };

// Parses "1h30m", "90s", "7d", "500ms". Returns ms; undefined if it is not a
// positive duration.
export function parseDuration(text: string): number | undefined {
  const parts = text.trim().match(/\d+(\.\d+)?(ms|[smhdw])/g);
  if (parts === null || parts.join('') !== text.trim()) return undefined;
  let sum = 0;
  for (const part of parts) {
    const unit = part.replace(/[\d.]+/, '');
    sum += Number.parseFloat(part) * UNITS_MS[unit];
  }
  return sum > 0 ? sum : undefined;
}

// Returns "1d1h2m5s", as the command line.
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const sign = ms < 0 ? '-' : '';
  let rest = Math.abs(ms);
  if (rest < 1000) return `${sign}${Number(rest.toFixed(3))}ms`;
  const days = Math.floor(rest / 86_400_000);
  rest -= days * 86_400_000;
  const hours = Math.floor(rest / 3_600_000);
  rest -= hours * 3_600_000;
  const minutes = Math.floor(rest / 60_000);
  rest -= minutes * 60_000;
  const seconds = Number((rest / 1000).toFixed(3));
  return sign + (days > 0 ? `${days}d` : '') + (hours > 0 ? `${hours}h` : '') + (minutes > 0 ? `${minutes}m` : '') +
    (seconds > 0 ? `${seconds}s` : '');
}

// The steps and ranges that charts choose from.
const ROUND_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000,
  300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000,
  86_400_000, 172_800_000, 604_800_000,
];

// Returns the shortest round duration that is not shorter than `shortest`.
export function roundDuration(shortest: number): number {
  for (const duration of ROUND_MS) if (duration >= shortest) return duration;
  const week = 604_800_000;
  return Math.ceil(shortest / week) * week;
}

// A proto3 JSON duration: "1.5s".
export function protoDuration(ms: number): string {
  return `${ms / 1000}s`;
}

interface Fields {
  date: string;
  hours: string;
  minutes: string;
  seconds: string;
  millis: string;
}

const two = (number: number): string => String(number).padStart(2, '0');

function fieldsOf(ms: number, zone: Zone): Fields {
  const time = new Date(ms);
  if (zone === 'utc') {
    return {
      date: `${time.getUTCFullYear()}-${two(time.getUTCMonth() + 1)}-${two(time.getUTCDate())}`,
      hours: two(time.getUTCHours()),
      minutes: two(time.getUTCMinutes()),
      seconds: two(time.getUTCSeconds()),
      millis: String(time.getUTCMilliseconds()).padStart(3, '0'),
    };
  }
  return {
    date: `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`,
    hours: two(time.getHours()),
    minutes: two(time.getMinutes()),
    seconds: two(time.getSeconds()),
    millis: String(time.getMilliseconds()).padStart(3, '0'),
  };
}

// Returns "2026-11-27 15:04:05", with ".123" if it is not a whole second.
export function formatTime(ms: number, zone: Zone): string {
  const f = fieldsOf(ms, zone);
  return `${f.date} ${f.hours}:${f.minutes}:${f.seconds}${f.millis === '000' ? '' : `.${f.millis}`}`;
}

// Returns the clock time, with as many parts as an axis with this step needs.
export function formatClock(ms: number, step: number, zone: Zone): string {
  const f = fieldsOf(ms, zone);
  if (step >= 86_400_000) return f.date;
  const clock = `${f.hours}:${f.minutes}`;
  if (step >= 60_000) return clock;
  return step >= 1000 ? `${clock}:${f.seconds}` : `${clock}:${f.seconds}.${f.millis}`;
}

export function formatDate(ms: number, zone: Zone): string {
  return fieldsOf(ms, zone).date;
}

// Returns RFC 3339 in UTC, without a fraction for whole seconds.
export function toRfc3339(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

// Returns "2026-11-27 15:04:05.000" in UTC, which spreadsheets read as a time.
export function toSpreadsheetTime(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').replace('Z', '');
}

// Parses the time of a field or an address: RFC 3339, a date and time in the
// zone, "-1h30m", seconds since 1970, or "now". Returns undefined for others.
export function parseTime(text: string, now: number, zone: Zone): number | undefined {
  const trimmed = text.trim();
  if (trimmed === 'now') return now;
  if (trimmed.startsWith('-')) {
    const ago = parseDuration(trimmed.slice(1));
    return ago === undefined ? undefined : now - ago;
  }
  if (/^\d{9,}$/.test(trimmed)) return Number(trimmed) * 1000;
  const clock = trimmed.match(/^(\d{1,2}):(\d{2})(:\d{2})?$/);
  if (clock !== null) {
    const today = parseDated(`${formatDate(now, zone)}T${trimmed.padStart(clock[3] ? 8 : 5, '0')}`, zone);
    if (today === undefined) return undefined;
    return today <= now ? today : today - 86_400_000;
  }
  return parseDated(trimmed.replace(' ', 'T'), zone);
}

function parseDated(text: string, zone: Zone): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/.test(text)) {
    return undefined;
  }
  const hasZone = /(Z|[+-]\d{2}:\d{2})$/.test(text) && text.includes('T');
  const full = text.includes('T') ? text : `${text}T00:00`;
  const parsed = Date.parse(hasZone ? full : zone === 'utc' ? `${full}Z` : full);
  return Number.isNaN(parsed) ? undefined : parsed;
}

// The age of a machine's newest value that may be due to its clock and to the
// time between batches, and the time without a new one.
const STALE_MS = 35_000;
const SILENT_MS = 5000;

// Whether values that have arrived are no current ones: their newest time, by
// the machine's clock, is long ago, and none arrives. `arrivedAt`: by
// performance.now().
export function isStale(newest: number, arrivedAt: number): boolean {
  return Number.isFinite(newest) && Date.now() - newest > STALE_MS && performance.now() - arrivedAt > SILENT_MS;
}

// Returns "3m12s ago", coarse enough to be read at a glance.
export function formatAge(ms: number): string {
  if (ms < 0) return 'in the future';
  if (ms < 2000) return 'now';
  if (ms < 3_600_000) return `${formatDuration(Math.floor(ms / 1000) * 1000)} ago`;
  if (ms < 172_800_000) return `${formatDuration(Math.floor(ms / 60_000) * 60_000)} ago`;
  return `${Math.floor(ms / 86_400_000)} days ago`;
}
