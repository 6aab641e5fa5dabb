/** The thread that keeps a processor awake: behind all others, and for as long as it is told to. */
import assert from 'node:assert/strict';
import {readdirSync, readFileSync} from 'node:fs';
import {test} from 'node:test';
import {setTimeout as pause} from 'node:timers/promises';
import {awakeKeeper} from './open.ts';

const idlePolicy = '5';

/** Reads a thread's line in /proc after its name: its state comes first. */
function facts(): string[] | undefined {
  for (const task of readdirSync('/proc/self/task')) {
    const line = readFileSync(`/proc/self/task/${task}/stat`, 'utf8');
    const nameEnd = line.lastIndexOf(')');
    if (line.slice(0, nameEnd).endsWith('svc:awake')) return line.slice(nameEnd + 2).split(' ');
  }
  return undefined;
}

test('it runs only where nothing else does, and sleeps when its time is over', async () => {
  const spinFor = awakeKeeper('native');
  assert.equal(facts(), undefined, 'there is none before it is needed');
  spinFor(20_000);
  assert.equal(facts()?.[38], idlePolicy);
  // On a busy machine it gets to its end late.
  for (let tries = 0; facts()?.[0] !== 'S' && tries < 1_000; tries++) await pause(10);
  assert.equal(facts()?.[0], 'S');
  spinFor(1_000);
  for (let tries = 0; facts()?.[0] !== 'S' && tries < 1_000; tries++) await pause(10);
  assert.equal(facts()?.[0], 'S');
});

test('without the native store there is nothing to keep awake with', () => {
  awakeKeeper('fallback')(1_000);
});
