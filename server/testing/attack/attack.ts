/**
 * The attack: a user without any right opens all of his doors at once on a real server of its own
 * on the loopback interface, while root asks short questions and says how it was answered.
 *
 * `make attack` takes half a minute, `make attack PROFILE=exhaust` ten. It ends with 1 when root
 * was refused once, when root's slowest hundredth waited longer than is promised, when the server
 * took more memory than is promised, or when it ended.
 */
import {readFileSync} from 'node:fs';
import {freePort, rootPassword, startServer, temporaryRoot} from '../worlds/server-process.ts';
import {type Caller, doors, send} from './doors.ts';

const probeMillis = 50;
const quietMillisMax = 10_000;
/** What a probe of root may take at the 99th part of a hundred, on two processors. */
const slowMillisMax = 2_000;
const memoryBytesMax = 2 * 2 ** 30;

export interface AttackReport {
  readonly seconds: number;
  readonly probes: number;
  readonly refusals: readonly string[];
  /** Milliseconds of the slowest hundredth of root's probes. */
  readonly slowMillis: number;
  /** The same before the doors were opened. */
  readonly quietMillis: number;
  /** Largest resident size that was seen. */
  readonly memoryBytes: number;
  readonly hasEnded: boolean;
  /** The number of answers of each status that each door met. */
  readonly met: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Runs all doors for so long; throws only when the server does not come up. */
export async function runAttack(seconds: number): Promise<AttackReport> {
  const port = await freePort();
  const settings = {'svc.server.defaultDatabases': 'h[]'};
  await using server = await startServer({root: temporaryRoot('attack'), port, settings});
  const root: Caller = {url: server.url, user: 'root', password: rootPassword};
  const eve: Caller = {url: server.url, user: 'evil', password: 'evil-password'};
  const path = 'server/users';
  const databases = {h: ['nothing']};
  const body = {name: eve.user, password: eve.password, databases};
  const made = await send(root, {path, body});
  if (made.status !== 201) throw new Error(`the user was not made: ${made.body}`);
  const quietUntil = performance.now() + Math.min(quietMillisMax, 1_000 * seconds);
  const quiet = await watch(root, () => performance.now() > quietUntil, server.pid);
  const until = performance.now() + 1_000 * seconds;
  const isOver = (): boolean => performance.now() > until || server.hasEnded;
  const met: Record<string, Record<string, number>> = {};
  const assault = Object.entries(doors).map(async ([name, door]) => {
    const counts: Record<string, number> = {};
    met[name] = counts;
    for (let round = 0; !isOver(); round += 1) {
      const sent = await door(eve, 'h', round).catch(() => [{status: 0}]);
      for (const {status} of sent) counts[status] = (counts[status] ?? 0) + 1;
    }
  });
  const watched = await watch(root, isOver, server.pid);
  const {hasEnded} = server;
  await Promise.all(assault);
  return {seconds, ...watched, quietMillis: quiet.slowMillis, hasEnded, met};
}

async function watch(
  root: Caller,
  isOver: () => boolean,
  pid: number,
): Promise<Pick<AttackReport, 'probes' | 'refusals' | 'slowMillis' | 'memoryBytes'>> {
  const times: number[] = [];
  const refusals: string[] = [];
  let memoryBytes = 0;
  const body = {language: 'sql', command: 'SELECT 1 AS n'};
  while (!isOver()) {
    const startedAt = performance.now();
    const answer = await send(root, {path: 'query/h', body}).catch(String);
    times.push(performance.now() - startedAt);
    if (typeof answer === 'string') refusals.push(answer);
    else if (answer.status !== 200) refusals.push(`${answer.status} ${answer.body.slice(0, 200)}`);
    memoryBytes = Math.max(memoryBytes, residentBytes(pid));
    await new Promise(resolve => setTimeout(resolve, probeMillis));
  }
  times.sort((a, b) => a - b);
  const slowMillis = times[Math.floor(times.length * 0.99)] ?? times.at(-1) ?? 0;
  return {probes: times.length, refusals, slowMillis: Math.round(slowMillis), memoryBytes};
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
  const {refusals, slowMillis, memoryBytes, hasEnded} = report;
  return [
    ...(hasEnded ? ['the server ended'] : []),
    ...refusals.slice(0, 3).map(refusal => `root was refused: ${refusal}`),
    ...(slowMillis > slowMillisMax ? [`root waited for ${slowMillis} ms`] : []),
    ...(memoryBytes > memoryBytesMax ? [`the server took ${memoryBytes} bytes`] : []),
  ];
}

if (import.meta.main) {
  const isLong = process.env['PROFILE'] === 'exhaust';
  const report = await runAttack(Number(process.env['SECONDS'] ?? (isLong ? 600 : 30)));
  const broken = brokenPromises(report);
  process.stdout.write(`${JSON.stringify({...report, broken}, undefined, 2)}\n`);
  process.exitCode = broken.length === 0 ? 0 : 1;
}
