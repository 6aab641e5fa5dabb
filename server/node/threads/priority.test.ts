/** Threads lower their priority for themselves alone, and as far as this machine lets them. */
import assert from 'node:assert/strict';
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {createInterface} from 'node:readline';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {isDeepStrictEqual} from 'node:util';
import {addonPath} from '#server/storage/rocksdb/open.ts';
import type {Priority} from './priority.ts';
import {lowered, type ThreadFacts} from './testing-threads.ts';

const skip = process.platform !== 'linux' && 'threads have no priority of their own';
const program = fileURLToPath(new URL('./testing-lowered.ts', import.meta.url));
const givenUpMs = 50_000;

/** Waits until a thread that was started for that has what is expected of it. */
async function reaches(
  expected: ThreadFacts,
  started: Priority | 'hashes',
  addon: readonly string[] = [],
) {
  const words = ['--conditions=source', program, started, ...addon];
  const child = spawn(process.execPath, words, {stdio: ['ignore', 'pipe', 'inherit']});
  const late = setTimeout(() => child.kill('SIGKILL'), givenUpMs);
  try {
    await untilIn(child, expected, started);
  } finally {
    clearTimeout(late);
    if (child.kill('SIGKILL')) await once(child, 'close');
  }
}

async function untilIn({stdout}: ChildProcess, expected: ThreadFacts, what: string) {
  assert.ok(stdout);
  let before: ReadonlyMap<string, ThreadFacts> | undefined;
  for await (const line of createInterface({input: stdout})) {
    const now = new Map(JSON.parse(line) as [string, ThreadFacts][]);
    before ??= now;
    const added = [...now].filter(([id]) => before?.has(id) === false);
    if (!added.some(([, facts]) => isDeepStrictEqual(facts, expected))) continue;
    const others = [...now].filter(([id]) => before?.has(id));
    for (const [id, facts] of others) assert.deepEqual(facts, before.get(id), 'others keep theirs');
    return;
  }
  assert.fail(`no thread for ${what} has ${JSON.stringify(expected)}`);
}

test('a thread takes a niceness of its own', {skip}, async () => {
  await reaches({niceness: lowered(5), isIdle: false}, 'statement');
  await reaches({niceness: lowered(10), isIdle: false}, 'background');
});

test('the idle class is entered by the addon, and without it comes the last niceness', {
  skip,
}, async () => {
  await reaches({niceness: 19, isIdle: false}, 'idle');
  const addon = addonPath('native');
  assert.ok(addon !== undefined);
  await reaches({niceness: 19, isIdle: true}, 'idle', [addon]);
  await reaches({niceness: 19, isIdle: true}, 'hashes', [addon]);
});
