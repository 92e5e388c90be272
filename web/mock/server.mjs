// A server with the contract of the aggregator's web page, over a synthetic
// fleet: for development, and for the browser tests that need no aggregator.
//
//   node mock/server.mjs [--port 8090] [--machines 10000] [--login]

import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { Fleet } from './fleet.mjs';

const DIST = fileURLToPath(new URL('../dist/', import.meta.url));
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
  "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const PAGE = 1000;
const OTHERS = [{ aggregator: 'agg-2.example:7443', page: 'https://agg-2.example:7445' }];

const seconds = (duration) => Number.parseFloat(duration ?? '0');

class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const HTTP = { INVALID_ARGUMENT: 400, UNAUTHENTICATED: 401, NOT_FOUND: 404, RESOURCE_EXHAUSTED: 429 };

// `login`: whether a cookie is needed.
export async function startMock({ port = 0, machines = 10_000, login = false } = {}) {
  const fleet = new Fleet(machines);
  const state = { session: 'mock-session', isDown: false };
  const streams = new Set();
  const server = createServer((request, response) => {
    handle(fleet, state, streams, login, request, response).catch((error) => {
      if (response.headersSent) {
        response.end(JSON.stringify({ error: { code: error.code ?? 'INTERNAL', message: error.message } }) + '\n');
      } else {
        sendJson(response, HTTP[error.code] ?? 500, { error: { code: error.code ?? 'INTERNAL', message: error.message } });
      }
    });
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    url,
    link: login ? `${url}/login?token=mock` : url,
    kill: (name, diedAt) => fleet.kill(name, diedAt),
    revive: (name) => fleet.revive(name),
    setOutage: (from, to) => fleet.setOutage(from, to),
    endSession: () => {
      state.session = 'another';
    },
    // Ends all subscriptions and refuses requests for data, until it is up.
    setDown: (isDown) => {
      state.isDown = isDown;
      if (isDown) for (const stream of streams) stream.destroy();
    },
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}

async function handle(fleet, state, streams, login, request, response) {
  const url = new URL(request.url, 'http://mock');
  if (login && url.pathname === '/login') {
    response.writeHead(200, {
      'Content-Type': TYPES['.html'], 'Content-Security-Policy': CSP, Refresh: '0; url=/',
      'Set-Cookie': `fleetperf_session=${state.session}; HttpOnly; SameSite=Strict; Path=/`,
    });
    return void response.end('<!doctype html><title>fleetperf</title><p>You are logged in: <a href="/">open the page</a>.');
  }
  const isKnown = !login || (request.headers.cookie ?? '').includes(`fleetperf_session=${state.session}`);
  if (url.pathname.startsWith('/api/v1/')) {
    if (state.isDown) return void request.socket.destroy();
    if (!isKnown) throw new Refusal('UNAUTHENTICATED', 'there is no session, or it has ended: run "fleetperf web login"');
    return answer(fleet, streams, url.pathname.slice('/api/v1/'.length), await bodyOf(request), response);
  }
  if (!isKnown && url.pathname === '/') {
    response.writeHead(401, { 'Content-Type': TYPES['.html'], 'Content-Security-Policy': CSP });
    return void response.end('<!doctype html><title>fleetperf</title><p>Run: fleetperf web login');
  }
  return sendFile(url.pathname, request, response);
}

async function bodyOf(request) {
  let text = '';
  for await (const chunk of request) text += chunk;
  return JSON.parse(text || '{}');
}

function sendJson(response, status, body) {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify(body));
}

async function sendFile(path, request, response) {
  const file = normalize(path === '/' ? '/index.html' : path);
  let content;
  try {
    content = await readFile(join(DIST, file));
  } catch {
    response.writeHead(404);
    return void response.end();
  }
  response.writeHead(200, {
    'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream', 'Content-Encoding': 'gzip',
    'Content-Security-Policy': CSP, 'X-Content-Type-Options': 'nosniff',
  });
  response.end(gzipSync(content));
}

function answer(fleet, streams, method, body, response) {
  const now = Date.now();
  switch (method) {
    case 'machines': return sendMachines(fleet, body, response);
    case 'others': return sendJson(response, 200, { others: OTHERS });
    case 'countersets': return sendJson(response, 200, { countersets: fleet.countersets(fleet.select(body.machine, body.labels)) });
    case 'counters': {
      const counters = fleet.counters(body.counterset);
      if (counters === undefined) throw new Refusal('NOT_FOUND', `no machine has a counterset "${body.counterset}"`);
      return sendJson(response, 200, { counters });
    }
    case 'instances': return sendJson(response, 200, {
      instances: fleet.instances(body.counterset, fleet.select(body.machine, body.labels).slice(0, body.pageSize || 20)),
    });
    case 'find': return sendJson(response, 200, {
      found: fleet.search(body.words, body.counterset, fleet.select(body.machine, body.labels).slice(0, 20))
        .slice(0, body.maxResults || 20),
    });
    case 'query': return sendQuery(fleet, body, now, response);
    case 'explain': return sendExplanation(fleet, body, response);
    case 'subscribe': return sendSubscription(fleet, streams, body, response);
    default: throw new Refusal('NOT_FOUND', `no method "${method}"`);
  }
}

function sendMachines(fleet, body, response) {
  const machines = fleet.select(body.machine, body.labels);
  const from = Number(body.pageToken || 0);
  const size = body.pageSize || PAGE;
  sendJson(response, 200, {
    machines: machines.slice(from, from + size).map((machine) => fleet.describe(machine, Date.now())),
    nextPageToken: from + size < machines.length ? String(from + size) : '',
  });
}

// The mock calculates no arithmetic: it answers with the first path's values.
function pathOf(text) {
  const quoted = text.match(/['"](\\.*?)['"]/);
  if (quoted !== null) return quoted[1];
  const path = text.match(/\\.*/)?.[0] ?? text;
  return path.split(/ [-+*/] (?=\(*[\\\d])/)[0];
}

function findAll(fleet, body) {
  if ((body.paths ?? []).length === 0) throw new Refusal('INVALID_ARGUMENT', 'no path is given');
  const selection = fleet.select(body.machine, body.labels);
  if (selection.length === 0) throw new Refusal('NOT_FOUND', 'no machine has these labels');
  const all = [];
  const missing = [];
  let error;
  for (const text of body.paths) {
    const isExpression = pathOf(text) !== text;
    const found = fleet.find(pathOf(text), selection);
    if (found.error !== undefined) {
      if (found.error.code === 'INVALID_ARGUMENT') throw new Refusal(found.error.code, found.error.message);
      error = found.error;
      missing.push({ path: text, reason: found.error.message });
      continue;
    }
    for (const series of found.series) all.push(isExpression ? { ...series, path: text, unit: series.unit } : series);
  }
  if (all.length === 0) throw new Refusal(error?.code ?? 'NOT_FOUND', error?.message ?? 'nothing matches');
  return { all, missing };
}

function rank(fleet, all, body, at) {
  const isRanked = body.top || body.bottom || body.where || body.aggregate;
  let chosen = isRanked ? all.filter((s) => s.instance !== '_Total' || body.paths.some((p) => p.includes('_Total'))) : all;
  const value = (s) => fleet.valueAt(s, at, 1000)?.v ?? -1;
  if (body.where) chosen = chosen.filter((s) => value(s) > body.where.number);
  if (body.top) chosen = [...chosen].sort((a, b) => value(b) - value(a)).slice(0, body.top);
  if (body.bottom) chosen = [...chosen].sort((a, b) => value(a) - value(b)).slice(0, body.bottom);
  return chosen;
}

function wireSeries({ m, ...series }, id) {
  return { id, ...series };
}

function pointsOf(fleet, series, id, times, step) {
  const points = { series: id, t: [], v: [] };
  const set = (map, key, value) => {
    if (value !== undefined) (points[map] ??= {})[key] = value;
  };
  for (const t of times) {
    const value = fleet.valueAt(series, t, step);
    if (value === undefined) continue;
    const i = points.t.push(t) - 1;
    points.v.push(value.v);
    set('statuses', i, value.status);
    set('causes', i, value.cause);
    set('breaks', i, value.breaks);
    set('coverage', i, value.coverage);
  }
  return points;
}

async function sendQuery(fleet, body, now, response) {
  const end = body.endTime ? Date.parse(body.endTime) : now;
  const start = body.startTime ? Date.parse(body.startTime) : end - seconds(body.since) * 1000;
  const step = Math.max(1000, seconds(body.step) * 1000 || end - start);
  const { all, missing } = findAll(fleet, body);
  let chosen = rank(fleet, all, body, Math.min(end, now));
  if (body.aggregate) chosen = groups(chosen, body);
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' });
  const write = (part) => response.write(JSON.stringify(part) + '\n');
  if (body.withProgress) write({ progress: { machinesRead: '0', machines: String(new Set(all.map((s) => s.m)).size) } });
  const times = [];
  if (body.step) for (let t = Math.ceil((start + 1) / step) * step; t <= Math.min(end, now); t += step) times.push(t);
  else times.push(Math.min(end, now));
  chosen.forEach((series, index) => {
    write({ series: wireSeries(series, index + 1) });
    write({ points: pointsOf(fleet, series, index + 1, times, step) });
  });
  for (const one of missing) write({ missing: one });
  response.end('{"end":true}\n');
}

// One series for each group: the first one's values stand for all.
function groups(all, body) {
  const seen = new Map();
  for (const series of all) {
    const labels = Object.fromEntries((body.byLabels ?? []).map((name) => [name, series.m.labels[name]]));
    const isByMachine = (body.by ?? []).includes('GROUPING_MACHINE');
    const isByInstance = (body.by ?? []).includes('GROUPING_INSTANCE');
    const key = JSON.stringify([labels, isByMachine && series.machine, isByInstance && series.instance, series.counter]);
    if (seen.has(key)) continue;
    seen.set(key, {
      m: series.m, unit: series.unit, type: series.type, counterset: series.counterset, counter: series.counter,
      path: series.path.replace(/\(.*\)/, '(*)'), machine: isByMachine ? series.machine : undefined,
      instance: isByInstance ? series.instance : undefined, labels: body.byLabels ? labels : undefined,
    });
  }
  return [...seen.values()];
}

function sendExplanation(fleet, body, response) {
  const { all } = findAll(fleet, { ...body, paths: [body.path] });
  const at = body.time ? Math.floor(Date.parse(body.time) / 1000) * 1000 : Date.now();
  const explanations = all.slice(0, 100).map((series) => {
    const value = fleet.valueAt(series, at, 1000);
    const newer = Math.round(at * 37 + (value?.v ?? 0) * 1000);
    const sample = (ms, raw) => ({ perfTimeStamp: String(ms * 10_000), perfTime100nsec: String((ms + 11644473600000) * 10_000), perfFreq: '10000000', value: String(raw) });
    const grown = Math.round((value?.v ?? 0) * 1000);
    return {
      series: wireSeries(series, 0), countersetGuid: '{b4fc721a-0378-476f-89ba-a5a79f810b36}', counterId: 0,
      older: sample(at - 1000, newer - grown), newer: sample(at, newer), denominator: 'PerfTime100NSec',
      formula: 'dN / (dD / F)', arithmetic: value?.v == null ? '' : `(${newer} - ${newer - grown}) / (10000000 / 10000000) / 1000`,
      value: value?.v ?? 0, status: value?.status ?? (value === undefined ? 'VALUE_STATUS_GAP' : 'VALUE_STATUS_OK'),
      cause: value?.cause ?? (value === undefined ? 'GAP_CAUSE_NO_SAMPLES' : undefined),
    };
  });
  sendJson(response, 200, { explanations, leftOut: all.length > 100 ? String(all.length - 100) : undefined });
}

function sendSubscription(fleet, streams, body, response) {
  const { all, missing } = findAll(fleet, { ...body, top: undefined });
  const interval = Math.max(1000, seconds(body.interval) * 1000);
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' });
  streams.add(response);
  const sent = new Map(); // series to id
  let nextId = 1;
  let count = 0;
  let sentUntil = 0;
  const send = (isFirst) => {
    const t = Math.floor(Date.now() / interval) * interval;
    // Timers are late, but no window is left out.
    const times = [];
    for (let at = isFirst ? t : sentUntil + interval; at <= t; at += interval) times.push(at);
    if (times.length === 0) return;
    sentUntil = t;
    const part = {};
    const add = (map, value) => (part[map] ??= []).push(value);
    const chosen = body.top || body.where ? rank(fleet, all, body, t) : all;
    for (const [series, id] of sent) {
      if (chosen.includes(series)) continue;
      add('ended', id);
      sent.delete(series);
    }
    for (const series of chosen) {
      const shown = isFirst && !fleet.isUp(series.m) ? [Math.floor(series.m.diedAt / 1000) * 1000] : times;
      if (!isFirst && !fleet.isUp(series.m)) continue;
      if (!sent.has(series)) {
        sent.set(series, nextId++);
        add('series', wireSeries(series, sent.get(series)));
      }
      const points = pointsOf(fleet, series, sent.get(series), shown, interval);
      if (points.t.length > 0) add('points', points);
    }
    if (isFirst) {
      part.machines = { live: new Set(all.map((s) => s.m)).size };
      if (missing.length > 0) part.missing = missing;
    }
    if (++count % 120 === 0) part.lagged = 7;
    response.write(JSON.stringify(part) + '\n');
  };
  send(true);
  const timer = setInterval(() => send(false), interval);
  const heartbeat = setInterval(() => response.write('{}\n'), 5000);
  response.on('close', () => {
    clearInterval(timer);
    clearInterval(heartbeat);
    streams.delete(response);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, otherwise) => {
    const at = process.argv.indexOf(name);
    return at < 0 ? otherwise : Number(process.argv[at + 1]);
  };
  const mock = await startMock({
    port: option('--port', 8090), machines: option('--machines', 10_000), login: process.argv.includes('--login'),
  });
  console.log(`The mock server is at ${mock.link}`);
}
