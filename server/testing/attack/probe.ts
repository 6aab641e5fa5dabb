/**
 * Root's client in an attack, a process of its own: what it measures is the server, and not the
 * turn of an event loop that the attackers keep busy.
 */
import {fork} from 'node:child_process';
import {once} from 'node:events';
import {type Caller, send} from './doors.ts';

const probeMillis = 50;

/** How root was answered over a time. */
export interface Probed {
  readonly probes: number;
  readonly refusals: readonly string[];
  /** Milliseconds of the middle one, of the slowest hundredth, and of the slowest. */
  readonly middleMillis: number;
  readonly slowMillis: number;
  readonly worstMillis: number;
}

/** Asks as root again and again, from now until `end` is called. */
export function probe(root: Caller): {readonly end: () => Promise<Probed>} {
  const child = fork(import.meta.filename, [JSON.stringify(root)]);
  return {
    end: async () => {
      child.send('end');
      const [probed] = (await once(child, 'message')) as [Probed];
      return probed;
    },
  };
}

async function ask(root: Caller, isOver: () => boolean): Promise<Probed> {
  const times: number[] = [];
  const refusals: string[] = [];
  const body = {language: 'sql', command: 'SELECT 1 AS n'};
  while (!isOver()) {
    const startedAt = performance.now();
    const answer = await send(root, {path: 'query/h', body}).catch(String);
    times.push(performance.now() - startedAt);
    if (typeof answer === 'string') refusals.push(answer);
    else if (answer.status !== 200) refusals.push(`${answer.status} ${answer.body.slice(0, 200)}`);
    await new Promise(resolve => setTimeout(resolve, probeMillis));
  }
  times.sort((one, other) => one - other);
  const at = (share: number): number =>
    Math.round(10 * (times[Math.floor(times.length * share)] ?? times.at(-1) ?? 0)) / 10;
  const middleMillis = at(0.5);
  return {
    probes: times.length,
    refusals,
    middleMillis,
    slowMillis: at(0.99),
    worstMillis: at(1),
  };
}

if (import.meta.main) {
  const told = once(process, 'message');
  let isOver = false;
  void told.then(() => (isOver = true));
  const root = JSON.parse(process.argv[2] ?? '{}') as Caller;
  const probed = await ask(root, () => isOver);
  process.send?.(probed, () => process.disconnect());
}
