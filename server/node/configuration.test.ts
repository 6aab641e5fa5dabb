/** Sources of settings and their order; what a source says wrongly is refused by name. */
import assert from 'node:assert/strict';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
import {readConfiguration} from './configuration.ts';
import {parseDefaultDatabases} from './default-databases.ts';
import {firstRootPassword} from './root-password.ts';
import {version} from './version.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-configuration-'));
after(() => rmSync(directory, {recursive: true, force: true}));

const file = join(directory, 'server-configuration.json');
writeFileSync(file, JSON.stringify({configuration: {txRetries: 1, 'svc.txTimeout': '5s'}}));

const retriesFrom = (
  sets: Record<string, string>,
  environment: Record<string, string>,
): readonly [number, string] => {
  const {settings, refused} = readConfiguration({sets, configPath: file}, environment);
  assert.deepEqual(refused, []);
  return [settings.get('svc.txRetries'), settings.origin('svc.txRetries')];
};

test('the first source that names a setting wins', () => {
  const upper = {SVC_TXRETRIES: '7'};
  const dotted = {'svc.txRetries': '6'};
  const defined = {SVC_OPTS: '-Dother=1 -Dsvc.txRetries=5'};
  assert.deepEqual(retriesFrom({'svc.txRetries': '8'}, {...upper, ...dotted, ...defined}), [
    8,
    '--set',
  ]);
  assert.deepEqual(retriesFrom({}, {...upper, ...dotted, ...defined}), [7, 'environment']);
  assert.deepEqual(retriesFrom({}, {...dotted, ...defined}), [6, 'environment']);
  assert.deepEqual(retriesFrom({}, defined), [5, '-D option']);
  assert.deepEqual(retriesFrom({}, {}), [1, file]);
});

test('the file takes keys with and without the prefix', () => {
  const {settings} = readConfiguration({sets: {}, configPath: file}, {});
  assert.equal(settings.get('svc.txTimeout'), 5_000);
});

test('a pod is called as its host, unless it is named', () => {
  const nameOf = (sets: Record<string, string>, environment: Record<string, string>): string => {
    const read = readConfiguration(
      {sets: {'svc.ha.k8s': 'true', ...sets}, configPath: file},
      environment,
    );
    return [
      read.settings.get('svc.server.name'),
      ...read.refused.map(({message}) => message),
    ].join();
  };
  assert.equal(nameOf({}, {HOSTNAME: 'db-7'}), 'db-7');
  assert.equal(nameOf({'svc.server.name': 'seven'}, {HOSTNAME: 'db-7'}), 'seven');
  assert.match(nameOf({}, {}), /HOSTNAME is not set: give svc.server.name/);
  assert.equal(nameOf({'svc.ha.k8s': 'false'}, {HOSTNAME: 'db-7'}), 'svc_0');
});

test('settings that contradict each other are refused, those that mean nothing passed over', () => {
  const sets = {'svc.ha.serverList': 'a,b', 'svc.ha.electionTimeoutMin': '9s'};
  const environment = {SVC_HA_ERRORRETRIES: '3'};
  const {refused, passedOver} = readConfiguration({sets, configPath: file}, environment);
  assert.deepEqual(
    refused.map(({detail}) => detail['key']),
    ['svc.ha.electionTimeoutMax'],
  );
  assert.deepEqual(
    passedOver.map(({key, origin}) => [key, origin]),
    [['svc.ha.errorRetries', 'environment']],
  );
});

const wrongs = [
  // what, sets, says
  ['an unknown key', {'svc.txRetrys': '1'}, /txRetrys.*txRetries/],
  ['a wrong type', {'svc.txRetries': 'many'}, /'many'.*svc\.txRetries/],
  ['a file that is not there', {}, /nowhere\.json/],
] as const;

for (const [what, sets, says] of wrongs) {
  test(`${what} is refused with a sentence`, () => {
    const configPath = what.includes('file') ? join(directory, 'nowhere.json') : file;
    const {refused} = readConfiguration({sets, configPath}, {});
    assert.equal(refused.length, 1);
    assert.match(refused[0]?.message ?? '', says);
  });
}

test('a file that is no JSON object is refused with its path', () => {
  const broken = join(directory, 'broken.json');
  writeFileSync(broken, '{"configuration": ');
  const {refused} = readConfiguration({sets: {}, configPath: broken}, {});
  assert.match(refused[0]?.message ?? '', /broken\.json/);
});

test('default databases are read with their users', () => {
  assert.deepEqual(parseDefaultDatabases(' a ; b[ann:secret:1,bob:x] ; c[]{restore:c.zip}'), [
    {name: 'a', users: [], data: undefined},
    {
      name: 'b',
      users: [
        {name: 'ann', secret: 'secret:1'},
        {name: 'bob', secret: 'x'},
      ],
      data: undefined,
    },
    {name: 'c', users: [], data: {way: 'restore', address: 'c.zip'}},
  ]);
  const [imported] = parseDefaultDatabases('d[]{import:https://example.org/a.csv}');
  assert.deepEqual(imported?.data, {way: 'import', address: 'https://example.org/a.csv'});
  for (const wrong of ['a[]{}', 'a[]{drop:x}', 'a[]{import:}', 'a{import:x', 'a[b:c]{import:x}y']) {
    assert.throws(() => parseDefaultDatabases(wrong), /defaultDatabases/, wrong);
  }
});

test('a wrong list of default databases is refused without its passwords', () => {
  assert.throws(
    () => parseDefaultDatabases('b[ann:hunter22'),
    (error: unknown) => /defaultDatabases/.test(String(error)) && !/hunter22/.test(String(error)),
  );
});

const prompt = (isTerminal: boolean, typed = '') => {
  const told: string[] = [];
  return {
    isTerminal,
    told,
    ask: () => Promise.resolve(typed),
    tell: (line: string) => void told.push(line),
  };
};

const settingsOf = (values: Record<string, string>) =>
  resolveSettings([{name: 'test', values}]).settings;

test('without a terminal and without a password the first start is refused', async () => {
  await assert.rejects(
    firstRootPassword(settingsOf({}), prompt(false)),
    /svc\.server\.rootPassword.*svc\.server\.rootPasswordPath/,
  );
});

test('the password comes from the setting, the file, or the terminal', async () => {
  const path = join(directory, 'password');
  writeFileSync(path, 'from-the-file\n');
  const setting = settingsOf({'svc.server.rootPassword': 'from-the-setting'});
  const fromFile = settingsOf({'svc.server.rootPasswordPath': path});
  assert.equal(await firstRootPassword(setting, prompt(false)), 'from-the-setting');
  assert.equal(await firstRootPassword(fromFile, prompt(false)), 'from-the-file');
  assert.equal(
    await firstRootPassword(settingsOf({}), prompt(true, 'typed-by-hand')),
    'typed-by-hand',
  );
  const blank = prompt(true);
  const made = await firstRootPassword(settingsOf({}), blank);
  assert.ok(made.length >= 16);
  assert.match(blank.told.join(), new RegExp(made));
});

test('a password that is too short is refused', async () => {
  await assert.rejects(
    firstRootPassword(settingsOf({'svc.server.rootPassword': 'short'}), prompt(false)),
    /8 to 256/,
  );
});

test('the version is that of the package', () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  assert.equal((JSON.parse(manifest) as {version: string}).version, version);
});
