/**
 * The table of administrative commands: what it promises for all of its rows, how rows are read
 * from words, and that rights and the log do not depend on the protocol. Holds invariant A2.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {resolveSettings} from '#server/base/setting-values.ts';
import {JsonParser} from '#server/model/json-parser.ts';
import {ServerAdministration} from '#server/node/administration.ts';
import {HealthMonitor} from '#server/monitoring/health-monitor.ts';
import {MetricsDump} from '#server/monitoring/metrics-dump.ts';
import {ServerEvents} from '#server/monitoring/server-events.ts';
import {RuntimeWatch} from '#server/node/monitoring/runtime-watch.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createMachine} from '#server/platform/real/machine.ts';
import {closing} from '#server/testing/closing.ts';
import {profilerWorld} from '#server/testing/worlds/profiler.ts';
import {ServiceWorld} from '#server/testing/worlds/service-world.ts';
import {readArguments, WrongWords} from './arguments.ts';
import {
  type AdministrationCall,
  administer,
  type AdministrativeCommand,
  nameOf,
  relayed,
} from './command.ts';
import {administrativeCommands} from './commands.ts';
import {spokenArguments, spokenCommand} from './spelling.ts';

const commands: readonly AdministrativeCommand[] = Object.values(administrativeCommands);
const json = new JsonParser(64);

test('no two commands begin with the same words, and all words are arguments or keywords', () => {
  const names = commands.map(nameOf);
  assert.equal(new Set(names).size, names.length);
  for (const {words, arguments: table} of commands) {
    const inside = /\{(.*)\}/.exec(words)?.[1]?.split(', ') ?? [];
    const spoken = [...words.matchAll(/<(\w+)(?:\.\.\.)?>/g)].map(([, name]) => name ?? '');
    for (const name of [...spoken, ...inside]) {
      assert.ok(table[name] !== undefined, `${words} has no argument ${name}`);
    }
  }
});

/** What a line and the fields beside it are read as. */
function read(line: string, beside: Readonly<Record<string, string | boolean>> = {}) {
  const spoken = spokenCommand(commands, line);
  assert.ok(spoken !== undefined, line);
  const given = spokenArguments(spoken, new Map(Object.entries(beside)), json);
  const values = readArguments(spoken.command.arguments, given);
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return {command: nameOf(spoken.command), ...Object.fromEntries(entries)};
}

test('words are read with keywords in any case and arguments as they are', () => {
  assert.deepEqual(read('CREATE DATABASE x'), {
    command: 'create database',
    database: 'x',
  });
  assert.deepEqual(read('create\tdatabase A b'), {command: 'create database', database: 'A b'});
  assert.deepEqual(read('list queries Database d TAG two words'), {
    command: 'list queries',
    database: 'd',
    tag: 'two words',
  });
  const named = {database: 'd', fileName: 'f.zip', others: new Map()};
  const archive = {command: 'restore backup', ...named};
  assert.deepEqual(read('restore backup d f.zip'), archive);
  assert.deepEqual(read('restore backup d f.zip AS e Overwrite'), {
    ...archive,
    target: 'e',
    overwrite: true,
  });
  assert.deepEqual(read('restore backup d f.zip overwrite'), {...archive, overwrite: true});
  assert.deepEqual(read('restore backup d f.zip', {target: 'with blank'}), {
    ...archive,
    target: 'with blank',
  });
  const misspelt = read('restore backup d f.zip', {verfiy: true});
  assert.deepEqual(misspelt, {...archive, others: new Map([['verfiy', true]])});
  assert.deepEqual(read('create user {"name": "anna", "password": "secret-one"}'), {
    command: 'create user',
    name: 'anna',
    password: 'secret-one',
  });
});

test('words that are not those of a command are told from those of none', () => {
  for (const line of [
    'list queriesx',
    'droop database x',
    '',
    'terminate',
    'terminate queries x',
  ]) {
    assert.equal(spokenCommand(commands, line), undefined, line);
  }
  const wrong = ['terminate query', 'list queries of d', 'list databases now'];
  for (const line of wrong) assert.throws(() => read(line), WrongWords, line);
  assert.throws(() => read('create database'), /Database name empty/);
  assert.throws(
    () => read('create user {"name": "a", "databses": {}}'),
    /Unknown field 'databses'/,
  );
  assert.throws(() => read('terminate query 7', {wait: 'long'}), /'wait' must be an integer/);
});

test('rights are asked and changes are logged without secrets, whatever the protocol', async () => {
  const world = closing(await ServiceWorld.open());
  const {security} = world;
  await security.ensureRoot('root-password');
  await security.addVerifier('root', 'root-password');
  const logged: string[] = [];
  const logger = {
    log: (_: unknown, event: string, fields?: unknown) =>
      void logged.push(`${event} ${JSON.stringify(fields)}`),
  };
  const platform = {clock: createClock(), timers: createTimers(), logger};
  const {settings} = resolveSettings([]);
  const administration = new ServerAdministration({
    engine: world.engine,
    events: new ServerEvents(() => 0),
    health: new HealthMonitor({clock: platform.clock, settings: () => settings, warn: () => {}}),
    runtime: new RuntimeWatch(platform.timers, createMachine()),
    makeDump: figures => new MetricsDump({...platform, logger: {log: () => {}}, figures}),
    makeProfiler: () => profilerWorld(platform).profiler,
    random: createRandom(),
    settings,
    shutdown: () => {},
  });
  const parts = {...platform, service: world.service, security, administration};
  const {createUser, listUsers} = administrativeCommands;
  const call = (name: string): AdministrationCall => {
    const principal = security.principalOf(name);
    assert.ok(principal !== undefined);
    return {parts, principal, isPrivate: true, context: {}, tell: () => {}};
  };
  const anna = {name: 'anna', password: 'a-secret-word', databases: {'*': ['admin']}};
  assert.equal(await administer(createUser, call('root'), anna), undefined);
  const bert = {name: 'bert', password: 'another-word', databases: undefined};
  await assert.rejects(administer(createUser, call('anna'), bert), isRootOnly);
  await assert.rejects(administer(listUsers, call('anna'), {}), isRootOnly);
  assert.equal(security.principalOf('bert'), undefined);
  assert.deepEqual(logged, [
    'administration.done {"user":"root","command":"create user","given":{"name":"anna"}}',
  ]);
});

test('a token that crosses the network in clear is refused where a setting says so', async () => {
  const world = closing(await ServiceWorld.open());
  const principal = {name: 'root', root: true, grants: new Map<string, string[]>()};
  const logged: string[] = [];
  const create = (isRequired: boolean): unknown => {
    const values = {'svc.server.apiTokenRequireSecureTransport': isRequired};
    const administration = {settings: () => resolveSettings([{name: 'test', values}]).settings};
    const logger = {log: (_: unknown, event: string) => void logged.push(event)};
    const parts = {security: world.security, administration, logger};
    const call = {
      parts,
      principal,
      isPrivate: false,
      tell: () => {},
    } as unknown as AdministrationCall;
    const none = {database: undefined, expiresAt: undefined, permissions: undefined};
    const given = {name: `token-${isRequired}`, ...none};
    return administer(administrativeCommands.createApiToken, call, given);
  };
  await assert.rejects(async () => create(true), {code: 'token.transport'});
  await create(false);
  assert.deepEqual(logged, ['token.unprotected', 'administration.done']);
});

test('a command of the leader is carried out by it alone', async () => {
  let asked = 0;
  const relay = (): Promise<typeof relayed> => {
    asked += 1;
    return Promise.resolve(relayed);
  };
  const cluster = {relay, reached: () => Promise.resolve()};
  const principal = {name: 'root', root: true, grants: new Map<string, string[]>()};
  const {security} = closing(await ServiceWorld.open());
  // Whatever else the command needed of this server would be missing.
  const parts = {security} as AdministrationCall['parts'];
  const call = {parts, principal, isPrivate: true, context: {}, tell: () => {}, cluster};
  const {dropDatabase} = administrativeCommands;
  assert.equal(await administer(dropDatabase, call, {database: 'd'}), relayed);
  assert.equal(asked, 1);
});

function isRootOnly(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'security.root-only';
}
