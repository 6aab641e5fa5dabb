/**
 * Whatever lies in the place of `config/backup.json`, the server starts, says what is wrong with
 * it, makes backups by hand, and goes by another one as soon as it is set.
 *
 * The start reads the file as each question for it does (`ConfigurationFile.read`), so that what
 * a document may hold is asked of one server, and each way in which a file cannot be read has a
 * start.
 */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdirSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import type {Client, Row} from '#server/client/client.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

interface Bad {
  readonly what: string;
  readonly place: (path: string) => void;
  readonly said: RegExp;
  /** What is said where the directory of archives cannot be told. */
  readonly directory?: RegExp;
  /** Nothing can be written in its place but by who put it there. */
  readonly stays?: true;
}

function content(what: string, text: string | Buffer, said: RegExp, directory?: RegExp): Bad {
  const place = (path: string): void => writeFileSync(path, text);
  return {what, place, said, ...(directory && {directory})};
}

const field = (value: unknown): string => JSON.stringify(value);

const documents: readonly Bad[] = [
  content('an empty file', '', /JSON/),
  content('bytes that are no text', Buffer.from([0xff, 0, 0xfe, 1]), /JSON/),
  content('a list', '[]', /the document must be an object/),
  content('a later version', field({version: 2}), /version must be a whole number from 1 to 1/),
  content('a field that is none', field({defaults: {shedule: {}}}), /shedule/),
  content(
    'a window without an end',
    field({defaults: {schedule: {timeWindow: {start: '22:00'}}}}),
    /timeWindow\.end is missing/,
  ),
];

const atStart: readonly Bad[] = [
  content('half of a document', '{"defaults": {', /JSON/),
  content('lists without end', '['.repeat(200_000), /JSON|stack/),
  content('64 MB of nothing', ' '.repeat(64 << 20), /no more than|JSON/),
  content(
    'a directory outside of the root',
    field({backupDirectory: '../outside'}),
    /backupDirectory must lie below the root/,
    /backupDirectory in backup\.json must lie below/,
  ),
  {
    what: 'a pipe that nobody writes into',
    place: path => void execFileSync('mkfifo', [path]),
    said: /no regular file/,
  },
  {
    what: 'a device without end',
    place: path => symlinkSync('/dev/zero', path),
    said: /no regular file/,
  },
  {what: 'a link to itself', place: path => symlinkSync(path, path), said: /no backup\.json/},
  {
    what: 'a directory',
    place: path => {
      mkdirSync(path);
    },
    said: /no regular file/,
    stays: true,
  },
];

async function isTold(client: Client, root: string, {said, directory}: Bad): Promise<void> {
  const answer = await client.serverCommand('get backup config');
  assert.equal(answer['enabled'], false);
  assert.match(String(answer['message']), said);
  if (directory === undefined) {
    assert.equal(answer['backupDirectory'], join(root, 'backups'));
    await client.serverCommand('trigger backup music');
  } else {
    assert.match(String(answer['backupDirectoryError']), directory);
    await assert.rejects(client.serverCommand('trigger backup music'), directory);
  }
}

const running = temporaryRoot('bad-documents');
let server: ServerProcess;
let asking: Client;

before(async () => {
  server = await startServer({root: running, port: await freePort()});
  asking = server.client();
  await asking.createDatabase('music');
});

after(async () => {
  asking.close();
  await server.dispose();
});

for (const bad of documents) {
  test(`a running server says why it does not go by ${bad.what}`, async () => {
    bad.place(join(running, 'config/backup.json'));
    await isTold(asking, running, bad);
  });
}

for (const bad of atStart) {
  test(`the start goes on, and says why: ${bad.what}`, {timeout: 120_000}, async () => {
    const root = temporaryRoot('bad-configuration');
    mkdirSync(join(root, 'config'));
    const path = join(root, 'config/backup.json');
    bad.place(path);
    await using server = await startServer({root, port: await freePort()});
    const client = server.client();
    try {
      await client.createDatabase('music');
      await isTold(client, root, bad);
      if (bad.stays) rmSync(path, {recursive: true});
      const config: Row = {defaults: {schedule: {frequencyMinutes: 60}}};
      await client.serverCommand('set backup config', {config});
      const after = await client.serverCommand('get backup config');
      assert.deepEqual([after['enabled'], after['config']], [true, config]);
    } finally {
      client.close();
    }
  });
}
