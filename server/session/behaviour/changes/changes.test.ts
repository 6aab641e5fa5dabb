/**
 * What subscribers are told of committed changes: each once, in order, with the record before and
 * after, to those alone who may see it, and a clear end for whoever is too slow.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import {createTimers} from '#server/platform/real/clock.ts';
import {jsonText} from '#server/model/json.ts';
import type {Principal} from '#server/security/principal.ts';
import type {ChangedRecords, ChangeFilter, ChangeSubscription} from '../../session.ts';
import {closing} from '#server/testing/closing.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const schema = ['CREATE VERTEX TYPE Person', 'CREATE EDGE TYPE Knows', 'CREATE DOCUMENT TYPE Note'];

/** `create Note {"n":1}`, `update Note {"n":1} {"n":2}`: the properties before and after. */
function told({changes}: ChangedRecords): string[] {
  return changes.map(({kind, typeName, before, after}) =>
    [kind, typeName, ...[before, after].flatMap(record => record?.properties() ?? [])]
      .map(part => (typeof part === 'string' ? part : jsonText(new Map(part))))
      .join(' '),
  );
}

async function nextOf(subscription: ChangeSubscription, count: number): Promise<string[]> {
  const all: string[] = [];
  while (all.length < count) all.push(...told(await subscription.next()));
  return all;
}

const subscribe = (
  database: TestDatabase,
  {from, ...filter}: ChangeFilter & {readonly from?: number} = {},
  who: Principal = root,
): Promise<ChangeSubscription> =>
  database.service.changes(who, {database: database.name, filters: [filter], from});

const refused =
  (code: RefusalCode) =>
  (error: unknown): boolean =>
    error instanceof Refusal && error.code === code;

for (const reportsLate of [false, true]) {
  const reports = reportsLate ? 'late' : 'at once';

  test(`create, update and delete are told once, in order, ${reports}`, async () => {
    const world = closing(await ServiceWorld.open({}, {reportsLate}));
    const database = await world.database(schema);
    await database.run('INSERT INTO Note SET n = 0');
    const subscription = closing(await subscribe(database));
    await database.run('INSERT INTO Note SET n = 1');
    await database.run('UPDATE Note SET m = 5 WHERE n = 1');
    await database.run('DELETE FROM Note');
    assert.deepEqual(await nextOf(subscription, 4), [
      'create Note {"n":1}',
      'update Note {"n":1} {"n":1,"m":5}',
      'delete Note {"n":0}',
      'delete Note {"n":1,"m":5}',
    ]);
  });

  test(`many writers are told in the order of their commits, ${reports}`, async () => {
    const world = closing(await ServiceWorld.open({}, {reportsLate}));
    const database = await world.database([...schema, 'INSERT INTO Note SET n = 0']);
    const subscription = closing(await subscribe(database));
    const writes = 100;
    const reading = nextOf(subscription, writes);
    const add = (): Promise<unknown> => database.run('UPDATE Note SET n += 1', {retries: 500});
    await Promise.all(Array.from({length: writes}, add));
    const expected = Array.from(
      {length: writes},
      (_one, at) => `update Note {"n":${at}} {"n":${at + 1}}`,
    );
    assert.deepEqual(await reading, expected);
  });
}

test('a transaction is told as one when it is committed, and never when it is not', async () => {
  const world = closing(await ServiceWorld.open());
  const database = await world.database(schema);
  const {service, name} = database;
  const subscription = closing(await subscribe(database));
  const lost = await service.begin(root, name);
  await database.run('INSERT INTO Note SET n = 13', {transactionId: lost});
  await service.rollback(root, name, lost);
  const kept = await service.begin(root, name);
  await database.run('INSERT INTO Note SET n = 1', {transactionId: kept});
  await database.run('INSERT INTO Note SET n = 2', {transactionId: kept});
  await database.run('UPDATE Note SET n = 3 WHERE n = 2', {transactionId: kept});
  await database.run('INSERT INTO Note SET n = 0');
  await service.commit(root, name, kept, undefined);
  assert.deepEqual(told(await subscription.next()), ['create Note {"n":0}']);
  assert.deepEqual(told(await subscription.next()), ['create Note {"n":1}', 'create Note {"n":3}']);
});

test('edges, light ones, truncated types and values beside a record are told', async () => {
  const world = closing(await ServiceWorld.open());
  const database = await world.database([
    ...schema,
    'CREATE PROPERTY Note.text STRING (external true)',
    "INSERT INTO Person SET name = 'a'",
    "INSERT INTO Person SET name = 'b'",
  ]);
  const subscription = closing(await subscribe(database));
  const between = "FROM (SELECT FROM Person WHERE name = 'a') TO (SELECT FROM Person)";
  await database.run(`CREATE EDGE Knows ${between} SET since = 7`);
  assert.equal(told(await subscription.next())[0], 'create Knows {"since":7}');
  const text = 'long '.repeat(400);
  await database.run('INSERT INTO Note SET text = :text', {parameters: new Map([['text', text]])});
  assert.deepEqual(await nextOf(subscription, 1), [`create Note {"text":"${text}"}`]);
  await database.run("UPDATE Note SET text = 'short'");
  assert.deepEqual(await nextOf(subscription, 1), [
    `update Note {"text":"${text}"} {"text":"short"}`,
  ]);
  await database.run('INSERT INTO Note SET n = 2');
  await subscription.next();
  await database.run('TRUNCATE TYPE Note UNSAFE');
  assert.deepEqual(await nextOf(subscription, 2), [
    'delete Note {"text":"short"}',
    'delete Note {"n":2}',
  ]);
  await database.run('DROP TYPE Note UNSAFE');
  await database.run('CREATE DOCUMENT TYPE Later');
  await database.run('INSERT INTO Later SET n = 3');
  assert.deepEqual(await nextOf(subscription, 1), ['create Later {"n":3}']);
});

test('a type and kinds choose; who was away goes on at his position', async () => {
  const world = closing(await ServiceWorld.open());
  const database = await world.database(schema);
  const kinds = new Set(['delete'] as const);
  const deletes = closing(await subscribe(database, {type: 'Note', kinds}));
  const first = await subscribe(database);
  await database.run('INSERT INTO Person SET n = 1');
  await database.run('INSERT INTO Note SET n = 1');
  assert.deepEqual(await nextOf(first, 1), ['create Person {"n":1}']);
  const {position} = first;
  first.close();
  await database.run('DELETE FROM Note');
  assert.deepEqual(await nextOf(deletes, 1), ['delete Note {"n":1}']);
  deletes.choose([{type: 'Person'}, {type: 'Person', kinds}]);
  await database.run('DELETE FROM Person');
  assert.deepEqual(await nextOf(deletes, 1), ['delete Person {"n":1}']);
  await database.run('INSERT INTO Note SET n = 2');
  const again = closing(await subscribe(database, {from: position}));
  assert.deepEqual(await nextOf(again, 4), [
    'create Note {"n":1}',
    'delete Note {"n":1}',
    'delete Person {"n":1}',
    'create Note {"n":2}',
  ]);
});

test('who comes back too late, or reads too slowly, is told that changes are lost', async () => {
  const delayed: (() => void)[] = [];
  const timers = {
    ...createTimers(),
    after: (delayMs: number, task: () => void) => {
      if (delayMs !== 7_000) return createTimers().after(delayMs, task);
      delayed.push(task);
      return () => void delayed.splice(delayed.indexOf(task), 1);
    },
  };
  const settings = {'svc.changes.bytesMax': '65536', 'svc.changes.resumeTimeout': '7s'};
  const world = closing(await ServiceWorld.open(settings, {timers}));
  const database = await world.database(schema);
  const slow = closing(await subscribe(database));
  const quick = closing(await subscribe(database));
  const {position} = slow;
  const insert = {parameters: new Map([['text', 'x'.repeat(20_000)]])};
  for (let n = 0; n < 10; n++) {
    await database.run(`INSERT INTO Note SET n = ${n}, text = :text`, insert);
    assert.equal((await quick.next()).changes[0]?.after?.get('n'), n);
  }
  await assert.rejects(slow.next(), refused('changes.lost'));
  await assert.rejects(subscribe(database, {from: position}), refused('changes.lost'));
  assert.equal(delayed.length, 0);
  const end = quick.position;
  quick.close();
  assert.equal(delayed.length, 1);
  closing(await subscribe(database, {from: end})).close();
  delayed[0]?.();
  await database.run('INSERT INTO Note SET n = 11');
  await assert.rejects(subscribe(database, {from: end}), refused('changes.lost'));
});

test('a transaction larger than what is kept is lost, and what follows is told', async () => {
  const world = closing(await ServiceWorld.open({'svc.changes.bytesMax': '65536'}));
  const database = await world.database(schema);
  const subscription = closing(await subscribe(database));
  const text = {parameters: new Map([['text', 'x'.repeat(80_000)]])};
  await database.run('INSERT INTO Note SET text = :text', text);
  await assert.rejects(subscription.next(), refused('changes.lost'));
  const next = closing(await subscribe(database));
  await database.run('INSERT INTO Note SET n = 1');
  assert.deepEqual(await nextOf(next, 1), ['create Note {"n":1}']);
});

test('rights are asked for each change; a dropped user and a dropped database end it', async () => {
  const world = closing(await ServiceWorld.open({'svc.server.saltIterations': '1000'}));
  const database = await world.database(schema);
  const {service, name} = database;
  const {security} = world;
  const readsNotes = {access: [], types: {Note: {access: ['readRecord']}}};
  await security.saveGroup(name, 'readers', readsNotes);
  const grant = {[name]: ['readers']};
  await security.createUser({name: 'anna', password: 'anna-pass', databases: grant});
  const anna = security.principalOf('anna');
  assert.ok(anna);
  await assert.rejects(subscribe(database, {type: 'Person'}, anna), refused('security.denied'));
  const all = closing(await subscribe(database, {}, anna));
  const notes = closing(await subscribe(database, {type: 'Note'}, anna));
  await database.run('INSERT INTO Person SET n = 1');
  await database.run('INSERT INTO Note SET n = 1');
  assert.deepEqual(await nextOf(all, 1), ['create Note {"n":1}']);
  await database.run('INSERT INTO Note SET n = 2');
  const readsPeople = {access: [], types: {Person: {access: ['readRecord']}}};
  await security.saveGroup(name, 'readers', readsPeople);
  await assert.rejects(notes.next(), refused('security.denied'));
  await database.run('INSERT INTO Person SET n = 2');
  assert.deepEqual(await nextOf(all, 1), ['create Person {"n":2}']);
  const waiting = all.next();
  await security.dropUser('anna');
  await assert.rejects(waiting, refused('security.denied'));
  const ofRoot = closing(await subscribe(database));
  const rest = ofRoot.next();
  const dropped = assert.rejects(rest, refused('changes.lost'));
  await service.dropDatabase(root, name);
  await dropped;
});

test('subscriptions are counted, and given back', async () => {
  const world = closing(await ServiceWorld.open({'svc.changes.subscriptionsMax': '2'}));
  const database = await world.database(schema);
  const one = await subscribe(database);
  closing(await subscribe(database));
  await assert.rejects(subscribe(database), refused('admission.full'));
  one.close();
  one.close();
  closing(await subscribe(database));
});

test('one user has a share of the subscriptions, root may have all', async () => {
  const settings = {
    'svc.changes.subscriptionsMaxPerUser': '1',
    'svc.server.saltIterations': '1000',
  };
  const world = closing(await ServiceWorld.open(settings));
  const database = await world.database(schema);
  const databases = {[database.name]: ['admin']};
  await world.security.createUser({name: 'anna', password: 'anna-pass', databases});
  const anna = world.security.principalOf('anna');
  closing(await subscribe(database, {}, anna));
  await assert.rejects(subscribe(database, {}, anna), refused('admission.full'));
  closing(await subscribe(database));
  closing(await subscribe(database));
});
