/** Events in memory and in files: rotation, what is kept, and what a broken disk does to them. */
import assert from 'node:assert/strict';
import {appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {closing} from '#server/testing/closing.ts';
import {EventFiles} from './event-files.ts';
import {ServerEvents} from './server-events.ts';

const at = Date.UTC(2026, 10, 20, 22, 21, 56, 799);

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-events-'));
  after(() => rmSync(path, {recursive: true, force: true}));
  return join(path, 'log');
}

function filesIn(directory: string, startedAt = at, fileBytesMax?: number) {
  const logged: string[] = [];
  const logger = {log: (_level: unknown, event: string) => void logged.push(event)};
  const options = {disk: createDisk(), directory, startedAt, logger};
  const size = fileBytesMax === undefined ? {} : {fileBytesMax};
  return {logged, files: closing(new EventFiles({...options, ...size}))};
}

test('what is logged is an event, and what came before there was a file is in it too', () => {
  const events = new ServerEvents(() => at);
  const logger = events.tee({log: () => {}});
  logger.log('info', 'server.ready', {port: 1});
  logger.log('debug', 'request', {});
  logger.log('error', 'cluster.halted', {reason: 'no majority'});
  const {files} = filesIn(folder());
  events.keepIn(files);
  logger.log('warn', 'auto-backup.failed', {plugin: 'Auto-Backup', database: 'd'});
  events.add('HINT', 'JVM', 'a hint');
  const expected = [
    ['INFO', 'Server', null, 'server.ready'],
    ['CRITICAL', 'HA', null, 'cluster.halted: no majority'],
    ['WARNING', 'Auto-Backup', 'd', 'auto-backup.failed'],
    ['HINT', 'JVM', null, 'a hint'],
  ];
  for (const list of [events.list(), events.read(events.files()[0] ?? '')]) {
    assert.deepEqual(
      list.map(({type, component, db, message}) => [type, component, db, message]),
      expected,
    );
  }
  assert.equal(events.list()[0]?.time, '2026-11-20 22:21:56.799');
  assert.deepEqual(events.files(), ['server-event-log-20261120-222156.0.jsonl']);
  assert.deepEqual(events.counts, {HINT: 1, INFO: 1, WARNING: 1, CRITICAL: 1});
});

test('memory keeps the latest thousand', () => {
  const events = new ServerEvents(() => at);
  for (let n = 0; n < 1_002; n++) events.add('INFO', 'Server', String(n));
  assert.deepEqual([events.list().length, events.list()[0]?.message], [1_000, '2']);
  assert.equal(events.counts.INFO, 1_002);
});

test('a file that is full is followed by another, and ten are kept', () => {
  const directory = folder();
  const {files} = filesIn(directory, at, 300);
  const event = (message: string) =>
    ({time: '', type: 'INFO', component: 'Server', db: null, message}) as const;
  for (let n = 0; n < 40; n++) files.append(event(`${'x'.repeat(60)} ${n}`));
  const names = files.list();
  assert.equal(names.length, 10);
  assert.deepEqual(readdirSync(directory).length, 10);
  const read = names.toReversed().flatMap(name => files.read(name));
  assert.ok(read.at(-1)?.message.endsWith(' 39'));
  const numbers = read.map(({message}) => Number(message.split(' ')[1]));
  assert.deepEqual(
    numbers,
    [...numbers.keys()].map(index => (numbers[0] ?? 0) + index),
  );
});

test('a later start has a file of its own, also within the same second', () => {
  const directory = folder();
  const event = {time: '', type: 'INFO', component: 'Server', db: null, message: 'm'} as const;
  filesIn(directory).files.append(event);
  filesIn(directory).files.append(event);
  filesIn(directory, at + 60_000).files.append(event);
  assert.deepEqual(filesIn(directory).files.list(), [
    'server-event-log-20261120-222256.0.jsonl',
    'server-event-log-20261120-222156.1.jsonl',
    'server-event-log-20261120-222156.0.jsonl',
  ]);
});

test('only files of events are read, and a line that was cut is left out', () => {
  const directory = folder();
  const {files} = filesIn(directory);
  files.append({time: '', type: 'INFO', component: 'Server', db: null, message: 'whole'});
  const [name = ''] = files.list();
  appendFileSync(join(directory, name), '{"time":"20');
  writeFileSync(join(directory, 'secret.txt'), 'secret');
  assert.deepEqual(
    files.read(name).map(({message}) => message),
    ['whole'],
  );
  assert.deepEqual(files.read('secret.txt'), []);
  assert.deepEqual(files.read('server-event-log-20261120-222156.9.jsonl'), []);
  for (const path of ['../secret.txt', '/etc/passwd', 'a\\b']) {
    assert.throws(() => files.read(path), Refusal, path);
  }
});

test('a disk that takes no line is told once, and tried again', () => {
  const directory = folder();
  writeFileSync(directory, 'a file where the folder should be');
  const {files, logged} = filesIn(directory);
  const event = {time: '', type: 'INFO', component: 'Server', db: null, message: 'm'} as const;
  files.append(event);
  files.append(event);
  assert.deepEqual(logged, ['events.not-written']);
  rmSync(directory);
  files.append(event);
  assert.equal(files.list().length, 1);
});
