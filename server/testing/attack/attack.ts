/**
 * The attack: a user without any right opens all of his doors at once on a real server of its own
 * on the loopback interface, while root asks short questions and says how it was answered.
 *
 * `make attack` takes half a minute, `make attack PROFILE=exhaust` ten; `ONLY=H3` opens one door
 * alone. It ends with 1 when root
 * was refused once, when root's slowest hundredth waited longer than is promised, when the server
 * took more memory than is promised, or when it ended.
 */
import {readFileSync} from 'node:fs';
import {setPriority} from 'node:os';
import {freePort} from '../worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '../worlds/server-process.ts';
import {type Caller, doors, send, slowFunction} from './doors.ts';
import {probe, type Probed} from './probe.ts';

const quietSeconds = 30;
const lookMillis = 100;
const millisPerTick = 10;
/** Gives way to the server and to root, as a client on another machine would. */
const assaultNiceness = 10;
/** How many times as long root's slowest hundredth may take as before. */
const timesAsLongMax = 3;
const memoryBytesMax = 2 * 2 ** 30;

export interface AttackReport extends Probed {
  readonly seconds: number;
  /** The slowest hundredth of root's probes before the doors were opened. */
  readonly quietMillis: number;
  /** How many times as long it was behind that. */
  readonly timesAsLong: number;
  /** Largest resident size that was seen. */
  readonly memoryBytes: number;
  /** Share of the time that the network thread computed: what a door costs all others. */
  readonly networkShare: number;
  readonly hasEnded: boolean;
  /** The number of answers of each status that each door met. */
  readonly met: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/**
 * Runs the doors for so long; throws only when the server does not come up.
 *
 * @param only - Names of doors begin with it.
 */
export async function runAttack(seconds: number, only = ''): Promise<AttackReport> {
  const port = await freePort();
  const settings = {'svc.server.defaultDatabases': 'h[]'};
  const folder = temporaryRoot('attack');
  await using server = await startServer({root: folder, port, settings, isMeasured: true});
  const root: Caller = {url: server.url, user: 'root', password: rootPassword};
  const eve: Caller = {url: server.url, user: 'evil', password: 'evil-password'};
  const path = 'server/users';
  const databases = {h: ['nothing']};
  const body = {name: eve.user, password: eve.password, databases};
  const made = await send(root, {path, body});
  if (made.status !== 201) throw new Error(`the user was not made: ${made.body}`);
  const defined = await send(root, {path: 'command/h', body: slowFunction});
  if (defined.status !== 200) throw new Error(`the function was not made: ${defined.body}`);
  const quiet = await watch(server, root, Math.min(quietSeconds, seconds));
  const until = performance.now() + 1_000 * seconds;
  const isOver = (): boolean => performance.now() > until || server.hasEnded;
  const met: Record<string, Record<string, number>> = {};
  const opened = Object.entries(doors).filter(([name]) => name.startsWith(only));
  const watching = watch(server, root, seconds);
  // Behind root's client, which would inherit it.
  setPriority(assaultNiceness);
  const assault = opened.map(async ([name, door]) => {
    const counts: Record<string, number> = {};
    met[name] = counts;
    for (let round = 0; !isOver(); round += 1) {
      const sent = await door(eve, 'h', round).catch(() => [{status: 0}]);
      for (const {status} of sent) counts[status] = (counts[status] ?? 0) + 1;
    }
  });
  const watched = await watching;
  const {hasEnded} = server;
  await Promise.all(assault);
  const {slowMillis: quietMillis} = quiet;
  const timesAsLong = Math.round((100 * watched.slowMillis) / quietMillis) / 100;
  return {seconds, ...watched, quietMillis, timesAsLong, hasEnded, met};
}

async function watch(
  server: ServerProcess,
  root: Caller,
  seconds: number,
): Promise<Probed & Pick<AttackReport, 'memoryBytes' | 'networkShare'>> {
  const probing = probe(root);
  const startedAt = performance.now();
  const computed = networkMillis(server.pid);
  const until = startedAt + 1_000 * seconds;
  let memoryBytes = 0;
  while (performance.now() < until && !server.hasEnded) {
    memoryBytes = Math.max(memoryBytes, residentBytes(server.pid));
    await new Promise(resolve => setTimeout(resolve, lookMillis));
  }
  const share = (networkMillis(server.pid) - computed) / (performance.now() - startedAt);
  const probed = await probing.end();
  return {...probed, memoryBytes, networkShare: Math.round(100 * share) / 100};
}

/** Time of the processor that the first thread of a process has taken. */
function networkMillis(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')')).split(' ');
    return (Number(fields[12]) + Number(fields[13])) * millisPerTick;
  } catch {
    return 0;
  }
}

function residentBytes(pid: number): number {
  try {
    const [, kilobytes = '0'] =
      /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) * 1_024;
  } catch {
    return 0;
  }
}

/** What of the report breaks a promise of docs/security.md; empty: nothing. */
export function brokenPromises(report: AttackReport): readonly string[] {
  const {refusals, slowMillis, timesAsLong, memoryBytes, hasEnded} = report;
  return [
    ...(hasEnded ? ['the server ended'] : []),
    ...refusals.slice(0, 3).map(refusal => `root was refused: ${refusal}`),
    ...(timesAsLong > timesAsLongMax
      ? [`root waited for ${slowMillis} ms, ${timesAsLong} times as long as alone`]
      : []),
    ...(memoryBytes > memoryBytesMax ? [`the server took ${memoryBytes} bytes`] : []),
  ];
}

if (import.meta.main) {
  const isLong = process.env['PROFILE'] === 'exhaust';
  const seconds = Number(process.env['SECONDS'] ?? (isLong ? 600 : 30));
  const report = await runAttack(seconds, process.env['ONLY']);
  const broken = brokenPromises(report);
  process.stdout.write(`${JSON.stringify({...report, broken}, undefined, 2)}\n`);
  process.exitCode = broken.length === 0 ? 0 : 1;
}
