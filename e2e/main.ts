/**
 * `make e2e`: runs the scenarios on a real Kubernetes of three nodes, which exists on this machine
 * for as long as they take, in namespaces without a way out of it.
 *
 * ONLY=S01,E06 runs these alone, ONLY=further those that are left out otherwise, ONLY=all all of
 * them; KEEP=1 leaves the lab up behind them, until Ctrl-C; LANES=1 runs them one after the other,
 * where three may run at once. Whatever this process ends of, nothing of the lab stays on the
 * machine but the built programs (SVC_E2E_CACHE) and, behind a failure, its logs. SVC_E2E_FOLDER
 * says where the lab's files lie meanwhile.
 */
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Instructions} from './inside.ts';
import {otherLabRuns} from './lab/cgroups.ts';
import {LabFolder} from './lab/layout.ts';
import {Namespaces} from './lab/namespaces.ts';
import {installPackages} from './programs/debian-packages.ts';
import {goPrograms} from './programs/go-programs.ts';
import {chosen, scenarios} from './scenarios/scenario-table.ts';

const root = join(import.meta.dirname, '..');
const archives = join(root, 'dist/images');

async function main(): Promise<number> {
  const only = process.env['ONLY'] ?? '';
  chosen(scenarios, only);
  if (process.getuid?.() !== 0) throw new Error('namespaces and mounts need root');
  const tell = (line: string): void => console.error(line);
  installPackages(tell);
  const path = goPrograms(tell);
  const folder = new LabFolder(process.env['SVC_E2E_FOLDER'] ?? join(tmpdir(), 'svc-e2e'));
  if (otherLabRuns(folder)) throw new Error('another lab runs on this machine');
  const instructions: Instructions = {
    folder: folder.path,
    images: imageArchives(),
    version: versionOf(),
    only,
    keep: (process.env['KEEP'] ?? '') !== '',
    lanes: lanesWanted(),
  };
  const program = join(import.meta.dirname, 'inside.ts');
  const args = [JSON.stringify(instructions)];
  const namespaces = await Namespaces.enter({folder, program, args, path});
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => namespaces.kill());
  }
  const code = await namespaces.ended;
  await namespaces.cleanUp({keepsLogs: code !== 0});
  if (code !== 0) console.error(`logs: ${folder.logs}`);
  return code;
}

function imageArchives(): Record<string, string> {
  const names = existsSync(archives) ? readdirSync(archives) : [];
  const found = names.filter(name => name.endsWith('.tar'));
  if (!found.includes('server.tar')) throw new Error('make images has not run');
  return Object.fromEntries(found.map(name => [name.replace(/\.tar$/, ''), join(archives, name)]));
}

/** More of them are slower than one after the other on two processors. */
const lanesDefault = 3;

function lanesWanted(): number {
  const text = process.env['LANES'] ?? '';
  if (text === '') return lanesDefault;
  if (!/^[1-9]$/.test(text)) throw new Error('LANES is a number of scenarios, from 1 to 9');
  return Number(text);
}

function versionOf(): string {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  return (JSON.parse(text) as {version: string}).version;
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return 2;
});
