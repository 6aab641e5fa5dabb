/**
 * When V8 compiles a function with its best compiler, and how much it takes into one piece.
 *
 * V8's own figures fit pages and tools: three thousand calls of a function come before its best
 * code. What a server does for one request is a thousand short functions, called once or twice
 * each; at a few hundred requests a second those run in slower code for long, each with the price
 * of a call. A server that has been in service for a while compiles after six hundred calls, and
 * takes twice as much into one piece. Not before: what runs at the start is called for other
 * reasons, and compiling it would cost time and memory.
 *
 * Source: docs/design/0032-compiled-sooner.md.
 */
import {setFlagsFromString} from 'node:v8';
import type {Timers} from '#server/platform/clock.ts';

export const flagsOfService: readonly string[] = [
  '--invocation-count-for-turbofan=600',
  '--max-inlined-bytecode-size=920',
  '--max-inlined-bytecode-size-cumulative=2000',
];
const whileMs = 10_000;

/**
 * Compiles sooner from ten seconds on, for all threads of this process; the returned function takes
 * that back until then.
 */
export function compileSooner(timers: Timers): () => void {
  return timers.after(whileMs, () => {
    for (const flag of flagsOfService) setFlagsFromString(flag);
  });
}
