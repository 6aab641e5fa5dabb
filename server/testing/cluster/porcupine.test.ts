/** Porcupine accepts what a register could have answered, and refuses a stale read. */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {goObstacle} from './go-program.ts';
import {type Operation, writeLinearizable} from './history.ts';
import {judgeLinearizable, type Verdict} from './porcupine.ts';

const obstacle = await goObstacle();
const skip = obstacle ?? false;
let folder = '';

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-porcupine-'));
});
after(() => rmSync(folder, {recursive: true, force: true}));

function operation(parts: Partial<Operation>): Operation {
  return {
    client: 1,
    node: 'a/1',
    key: 'k',
    kind: 'read',
    mode: parts.kind === undefined ? 'linearizable' : undefined,
    atFollower: false,
    value: 0,
    expected: 0,
    outcome: 'ok',
    applied: true,
    found: 0,
    version: 0,
    call: 0,
    return: 1,
    reason: undefined,
    ...parts,
  };
}

function judge(...operations: readonly Operation[]): Promise<Verdict> {
  const file = join(folder, 'history.jsonl');
  writeLinearizable(file, operations);
  return judgeLinearizable(file, 10);
}

const write = operation({kind: 'write', value: 7, version: 1, call: 0, return: 10});

test('reads beside a write may see either, reads behind it the new one', {skip}, async () => {
  const verdict = await judge(
    write,
    operation({client: 2, call: 1, return: 3}),
    operation({client: 3, call: 2, return: 4, found: 0, version: 0}),
    operation({client: 2, call: 5, return: 6, found: 7, version: 1}),
    operation({client: 3, call: 11, return: 12, found: 7, version: 1}),
  );
  assert.deepEqual(verdict, {kind: 'linearizable'});
});

test('a stale read is refused', {skip}, async () => {
  const stale = operation({client: 2, call: 11, return: 12});
  assert.deepEqual(await judge(write, stale), {kind: 'violated', key: 'k'});
  const eventual = operation({client: 2, call: 11, return: 12, mode: 'eventual'});
  assert.deepEqual(await judge(write, eventual), {kind: 'linearizable'}, 'its mode allows it');
});

test('a write of unknown outcome may happen later, or never', {skip}, async () => {
  const lost = operation({kind: 'write', value: 7, outcome: 'unknown', call: 0, return: 5});
  const before = operation({client: 2, call: 100, return: 101});
  const seen = operation({client: 2, call: 200, return: 201, found: 7, version: 1});
  const gone = operation({client: 2, call: 300, return: 301});
  assert.deepEqual(await judge(lost, before), {kind: 'linearizable'});
  assert.deepEqual(await judge(lost, before, seen), {kind: 'linearizable'});
  assert.deepEqual(await judge(lost, seen, gone), {kind: 'violated', key: 'k'});
});

test('a write that was refused and shows is refused', {skip}, async () => {
  const refused = operation({kind: 'write', value: 7, outcome: 'failed', call: 0, return: 5});
  const seen = operation({client: 2, call: 10, return: 11, found: 7, version: 1});
  assert.deepEqual(await judge(refused, seen), {kind: 'violated', key: 'k'});
});

test('a write that is applied twice is refused', {skip}, async () => {
  const seen = operation({client: 2, call: 20, return: 21, found: 7, version: 2});
  assert.deepEqual(await judge(write, seen), {kind: 'violated', key: 'k'});
});

test('of two comparisons with one value, one wins', {skip}, async () => {
  const compare = (client: number, value: number): Operation =>
    operation({client, kind: 'compare', expected: 0, value, version: 1, call: 0, return: 9});
  assert.deepEqual(await judge(compare(1, 7), compare(2, 8)), {kind: 'violated', key: 'k'});
  const loser = {...compare(2, 8), applied: false, version: 0};
  assert.deepEqual(await judge(compare(1, 7), loser), {kind: 'linearizable'});
});
