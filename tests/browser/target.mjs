// What the tests drive: the mock server, or a real aggregator.
//
//   FLEETPERF_WEB_LINK     the link that `fleetperf web login` prints; unset: the mock
//   FLEETPERF_WEB_MACHINE  a machine whose agent the tests may end
//   FLEETPERF_WEB_KILL     a command that ends this agent
//   FLEETPERF_WEB_REVIVE   a command that starts it again
//
// Without the last three, tests of an agent that dies are skipped.
import { execSync } from 'node:child_process';
import { startMock } from '../../web/mock/server.mjs';

const MOCK_MACHINES = 300;

export async function startTarget() {
  const link = process.env.FLEETPERF_WEB_LINK;
  if (link === undefined) {
    const mock = await startMock({ machines: MOCK_MACHINES, login: true });
    return { ...mock, mock, machine: 'web-0002', canKill: true };
  }
  const { FLEETPERF_WEB_MACHINE: machine, FLEETPERF_WEB_KILL: kill, FLEETPERF_WEB_REVIVE: revive } = process.env;
  return {
    url: new URL(link).origin,
    link,
    mock: undefined,
    machine,
    canKill: machine !== undefined && kill !== undefined && revive !== undefined,
    kill: () => execSync(kill, { stdio: 'inherit' }),
    revive: () => execSync(revive, { stdio: 'inherit' }),
    close: async () => undefined,
  };
}
