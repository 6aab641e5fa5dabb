/**
 * A client that vanishes at any moment of anything that it can ask for: what it had open is given
 * back, here and on the leader.
 *
 * Whoever waits hears of a client that is gone between two turns of the event loop and at no other
 * moment, however many awaits a turn runs through. So each request is first counted in turns, from
 * its line to its answer, and then cut short in every one of them, and once more when its answer
 * has come. `make vanish` takes them all; else of a long one so many, spread over it.
 */
import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import {eventually} from '../time/eventually.ts';
import {type Fields, type LineWorld, login, places} from './line-world.ts';

const long = {
  text: 'UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS n RETURN n',
  language: 'cypher',
};
const people = Array.from({length: 1_500}, (_one, n) => {
  return {type: 'Person', id: `p${n}`, properties: {n}};
});
const records = [
  ...people,
  ...people.map(({id}, n) => ({type: 'Knows', properties: {}, from: id, to: `p${n >> 1}`})),
];
const prepared = {text: 'SELECT n FROM Person WHERE n = :n', values: {n: 1}};
const takesAll = process.env['VANISH'] === 'all';
const cutsMax = takesAll ? 2_000 : 6;

type Known = Readonly<Record<'transaction' | 'rid', unknown>>;
type Ask = (known: Known) => readonly [what: string, given?: Fields];

/** The last thing that a client does; those of a transaction find one that is open. */
const requests: Readonly<Record<string, Ask>> = {
  login: () => ['login', login],
  prepare: () => ['prepare', prepared],
  begin: () => ['begin'],
  run: () => ['run', long],
  'run in a transaction': ({transaction}) => ['run', {...long, transaction}],
  next: () => ['next', {cursor: '3', rows: 100_000}],
  insert: () => ['insert', {type: 'Person', values: {n: 1}}],
  'insert in a transaction': ({transaction}) => [
    'insert',
    {type: 'Person', values: {n: 1}, transaction},
  ],
  get: ({rid}) => ['get', {rid}],
  update: ({rid}) => ['update', {rid, values: {n: 2}}],
  'update in a transaction': ({rid, transaction}) => ['update', {rid, values: {n: 3}, transaction}],
  'prepared, eventual': () => ['run', {...prepared, reads: 'eventual'}],
  'prepared, read your writes': () => ['run', {...prepared, reads: 'read_your_writes'}],
  // What it has seen written does not come: a follower waits for it, and then answers.
  'prepared, what is not there yet': () => [
    'run',
    {...prepared, reads: 'read_your_writes', after: 1e9},
  ],
  'prepared, linearizable': () => ['run', {...prepared, reads: 'linearizable'}],
  delete: ({rid}) => ['delete', {rid}],
  'write by a statement': () => ['run', {text: 'INSERT INTO Person SET n = 2'}],
  load: () => ['load', {records}],
  'load with an id': () => ['load', {records, once: 'the same'}],
  commit: ({transaction}) => ['commit', {transaction}],
  rollback: ({transaction}) => ['rollback', {transaction}],
  subscribe: () => ['subscribe'],
  administrate: () => ['list databases'],
  'administrate on the leader': () => ['list jobs'],
};

/** A client with a transaction, a cursor and a subscription open, that asks for one thing more. */
async function ready({client}: LineWorld, ask: Ask) {
  const one = client();
  await one.ask('login', login);
  const {transaction} = await one.ask('begin');
  assert.deepEqual((await one.ask('run', long))['columns'], ['n']);
  assert.equal((await one.ask('subscribe'))['done'], true);
  const {record} = await one.ask('insert', {type: 'Person', values: {n: 1}});
  return {one, asked: ask({transaction, rid: (record as Fields)['@rid']})};
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** How many turns pass until it is answered. */
async function turnsOf(world: LineWorld, ask: Ask): Promise<number> {
  const {one, asked} = await ready(world, ask);
  let isAnswered = false;
  const answering = one.ask(...asked).finally(() => {
    isAnswered = true;
  });
  let turns = 0;
  for (; !isAnswered; turns += 1) await turn();
  const {refused} = await answering;
  assert.equal(refused, undefined, 'what is cut short is what would have been done');
  one.close();
  return turns;
}

async function vanish(world: LineWorld, ask: Ask, turns: number): Promise<void> {
  const {one, asked} = await ready(world, ask);
  await one.send(...asked);
  for (let left = turns; left > 0; left -= 1) await turn();
  one.vanish();
}

/** The turns in which a request is cut short: all, or so many from the first to the last. */
function cuts(turns: number): readonly number[] {
  const count = Math.min(turns + 1, cutsMax);
  const at = (cut: number): number => Math.round((cut * turns) / Math.max(1, count - 1));
  return [...new Set(Array.from({length: count}, (_one, cut) => at(cut)))];
}

async function allIsGivenBack({load}: LineWorld): Promise<void> {
  await eventually(
    'all that clients had open is given back',
    () => Object.values(load()).every(count => count === 0),
    {told: () => JSON.stringify(load())},
  );
}

for (const [place, open] of Object.entries(places)) {
  test(`clients of ${place} vanish in every turn of everything`, async (context: TestContext) => {
    const world = await open();
    let count = 0;
    for (const [what, ask] of Object.entries(requests)) {
      const turns = await turnsOf(world, ask);
      const taken = cuts(turns);
      for (const at of taken) await vanish(world, ask, at);
      await allIsGivenBack(world);
      count += taken.length;
      context.diagnostic(`${what}: ${turns} turns, cut short in ${taken.length} of them`);
    }
    context.diagnostic(`${count} clients vanished, ${JSON.stringify(world.load())} is left`);
  });
}
