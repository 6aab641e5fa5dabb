/**
 * A client that vanishes at any moment of anything that it can ask for (vanishing.ts): what it had
 * open is given back, here and on the leader.
 */
import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import {type Fields, type LineWorld, login, places} from './line-world.ts';
import {type ReadyClient, vanishInTurns} from './vanishing.ts';

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
async function ready({client}: LineWorld, ask: Ask): Promise<ReadyClient> {
  const one = client();
  await one.ask('login', login);
  const {transaction} = await one.ask('begin');
  assert.deepEqual((await one.ask('run', long))['columns'], ['n']);
  assert.equal((await one.ask('subscribe'))['done'], true);
  const {record} = await one.ask('insert', {type: 'Person', values: {n: 1}});
  const asked = ask({transaction, rid: (record as Fields)['@rid']});
  return {
    send: () => one.send(...asked),
    async answered() {
      const {refused} = await one.answer();
      assert.equal(refused, undefined, 'what is cut short is what would have been done');
    },
    vanish: () => one.vanish(),
  };
}

for (const [place, open] of Object.entries(places)) {
  test(`clients of ${place} vanish in every turn of everything`, async (context: TestContext) => {
    const world = await open();
    let count = 0;
    for (const [what, ask] of Object.entries(requests)) {
      const {turns, clients} = await vanishInTurns(() => ready(world, ask), world.load);
      count += clients;
      context.diagnostic(`${what}: ${turns} turns, cut short in ${clients} of them`);
    }
    context.diagnostic(`${count} clients vanished, ${JSON.stringify(world.load())} is left`);
  });
}
