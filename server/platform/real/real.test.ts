/**
 * The real platform keeps the contracts of platform/: offsets are honoured, a missing directory
 * lists empty, the log survives whatever it is given.
 */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {createClock, createRandom, createTimers} from './clock.ts';
import {createDisk} from './disk.ts';
import {createLogger} from './logger.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-platform-'));
after(() => rmSync(root, {recursive: true}));

test('a file is written and read at offsets, preallocated, truncated and closed', () => {
  const disk = createDisk();
  const path = join(root, 'file');
  assert.throws(() => disk.open(path, 'write'), {code: 'ENOENT'});
  const file = disk.open(path, 'create');
  file.preallocate(3 << 20);
  assert.equal(file.size(), 3 << 20);
  file.writeAt(Buffer.from('hello'), 4096);
  file.sync();
  file.close();
  file.close();
  const again = disk.open(path, 'create');
  assert.equal(again.size(), 3 << 20, 'opening keeps what is there');
  const target = Buffer.alloc(7);
  assert.equal(again.readAt(target, 4096), 7);
  assert.equal(target.toString(), 'hello\0\0');
  again.truncate(4098);
  assert.equal(again.readAt(target, 4096), 2);
  again.close();
  assert.throws(() => again.size(), /closed/);
  assert.throws(() => disk.open(path, 'create-new'), {code: 'EEXIST'});
});

test('what is no regular file is refused by its path, a pipe without waiting', () => {
  const disk = createDisk();
  const pipe = join(root, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const path of [pipe, root, '/dev/zero']) {
    assert.throws(() => disk.open(path, 'read'), {message: `${path} is no regular file`});
  }
  disk.unlink(pipe);
});

test('names are listed in order, linked, renamed and removed', () => {
  const disk = createDisk();
  const directory = join(root, 'a/b');
  assert.deepEqual(disk.list(directory), []);
  disk.makeDirectory(directory);
  for (const name of ['c', 'a', 'b']) disk.open(join(directory, name), 'create-new').close();
  disk.link(join(directory, 'a'), join(directory, 'd'));
  disk.rename(join(directory, 'b'), join(directory, 'e'));
  disk.unlink(join(directory, 'a'));
  disk.syncDirectory(directory);
  assert.deepEqual(disk.list(directory), ['c', 'd', 'e']);
  assert.ok(disk.freeBytes(directory) > 0);
  disk.removeTree(directory);
  disk.removeTree(directory);
  assert.equal(disk.exists(directory), false);
});

test('the log filters by level and survives any value', () => {
  const lines: string[] = [];
  const logger = createLogger({
    level: 'info',
    fields: {node: 'n1'},
    write: line => lines.push(line),
  });
  const circle: Record<string, unknown> = {big: 1n, of: Symbol('s')};
  circle['self'] = circle;
  logger.log('debug', 'dropped');
  logger.log('warn', 'kept', {circle, error: new Error('boom')});
  assert.equal(lines.length, 1);
  const line = JSON.parse(lines[0] ?? '') as Record<string, Record<string, unknown>>;
  assert.equal(line['event'], 'kept');
  assert.equal(line['node'], 'n1');
  assert.equal(line['circle']?.['big'], '1');
  assert.equal(line['error']?.['message'], 'boom');
  createLogger({
    level: 'debug',
    write: () => {
      throw new Error('closed pipe');
    },
  }).log('error', 'not thrown');
});

test('a line of text is one line, with the request id before what else is told', () => {
  const lines: string[] = [];
  let level: 'warn' | 'info' = 'warn';
  const logger = createLogger({
    level: () => level,
    format: 'text',
    fields: {node: 'n1'},
    write: line => lines.push(line),
  });
  logger.log('info', 'dropped');
  level = 'info';
  const reason = 'two\nlines "quoted"';
  logger.log('info', 'server.ready', {port: 2480, requestId: 'r-1', reason, none: undefined});
  assert.equal(lines.length, 1);
  const [line = ''] = lines;
  assert.match(line, /^\d{4}-\d\d-\d\dT[\d:.]+Z INFO  server server\.ready requestId=r-1 /);
  assert.ok(line.endsWith(' node=n1 port=2480 reason="two\\nlines \\"quoted\\""\n'), line);
});

test('time goes on, chance varies, timers fire once and can be cancelled', async () => {
  const clock = createClock();
  const before = clock.monotonic();
  const random = createRandom();
  const drawn = new Set(Array.from({length: 600}, () => random.u32()));
  assert.ok(drawn.size > 590);
  const timers = createTimers();
  const cancel = timers.after(0, () => assert.fail('was cancelled'));
  cancel();
  cancel();
  const keepAlive = setInterval(() => {}, 50);
  await new Promise<void>(resolve => timers.after(1, resolve));
  clearInterval(keepAlive);
  await timers.yield();
  assert.ok(clock.monotonic() > before);
});
