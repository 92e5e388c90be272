// Bundles the tests (node 18 reads no TypeScript) and runs them with node's own
// test runner.
import { build } from 'esbuild';
import { readdirSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const out = fileURLToPath(new URL('../build/tests/', import.meta.url));
const tests = readdirSync(here).filter((name) => name.endsWith('.test.ts'));
await build({
  entryPoints: tests.map((name) => here + name),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'warning',
});
const files = tests.map((name) => out + name.replace(/\.ts$/, '.mjs'));
process.exit(spawnSync(process.execPath, ['--test', ...files], { stdio: 'inherit' }).status ?? 1);
