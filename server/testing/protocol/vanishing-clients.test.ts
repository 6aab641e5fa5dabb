/**
 * A client that vanishes at any moment of anything that it can ask for: what it had open is given
 * back, here and on the leader.
 *
 * Each request is sent and the connection is broken so many turns of the event loop later, so that
 * it ends at one await after the other on the way through protocol, service and relay.
 */
import {test, type TestContext} from 'node:test';
import {eventually} from '../time/eventually.ts';
import {type Fields, type LineClient, type LineWorld, login, places} from './line-world.ts';

const long = {text: 'UNWIND range(1, 5000000) AS n RETURN n'};
const records = Array.from({length: 3_000}, (_one, n) => ({n}));
const turnsMax = 6;

type Ask = (client: LineClient, transaction: unknown) => readonly [what: string, given?: Fields];

/** The last thing that a client does; those of a transaction find one that is open. */
const requests: Readonly<Record<string, Ask>> = {
  login: () => ['login', login],
  prepare: () => ['prepare', {text: 'SELECT n FROM Person WHERE n = :n'}],
  begin: () => ['begin'],
  run: () => ['run', long],
  'run in a transaction': (_client, transaction) => ['run', {...long, transaction}],
  next: () => ['next', {cursor: '3', rows: 100_000}],
  insert: () => ['insert', {type: 'Person', values: {n: 1}}],
  'insert in a transaction': (_client, transaction) => [
    'insert',
    {type: 'Person', values: {n: 1}, transaction},
  ],
  load: () => ['load', {type: 'Person', records}],
  commit: (_client, transaction) => ['commit', {transaction}],
  subscribe: () => ['subscribe'],
  administrate: () => ['list databases'],
};

async function vanish({client}: LineWorld, ask: Ask, turns: number): Promise<void> {
  const one = client();
  await one.ask('login', login);
  const {transaction} = await one.ask('begin');
  await one.ask('run', long);
  await one.send(...ask(one, transaction));
  for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setImmediate(resolve));
  one.close();
}

async function allIsGivenBack({load, client}: LineWorld): Promise<void> {
  await eventually(
    'all that clients had open is given back',
    () => Object.values(load()).every(count => count === 0),
    {told: () => JSON.stringify(load())},
  );
  // Two subscriptions may be open: one that was left would be counted.
  const next = client();
  await next.ask('login', login);
  await eventually('no subscription is left', async () => {
    const second = client();
    await second.ask('login', login);
    const told = [await next.ask('subscribe'), await second.ask('subscribe')];
    second.close();
    return told.every(({done}) => done === true);
  });
  next.close();
}

for (const [place, open] of Object.entries(places)) {
  test(`clients of ${place} vanish in the middle of everything`, async (context: TestContext) => {
    const world = await open();
    let count = 0;
    for (const ask of Object.values(requests)) {
      for (let turns = 0; turns < turnsMax; turns++) {
        await vanish(world, ask, turns);
        count += 1;
      }
      await allIsGivenBack(world);
    }
    context.diagnostic(`${count} clients vanished, ${JSON.stringify(world.load())} is left`);
  });
}
