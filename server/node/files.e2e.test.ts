/** Files of a server: its owner alone reads them; a folder without a database stops nothing. */
import assert from 'node:assert/strict';
import {mkdirSync, readdirSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {freePort, startServer, temporaryRoot} from '#server/testing/worlds/server-process.ts';

test('M7, M10: all files are its owner’s alone, and lost+found is passed over', async () => {
  const root = temporaryRoot('files');
  mkdirSync(join(root, 'databases/lost+found'), {recursive: true, mode: 0o700});
  await using server = await startServer({
    root,
    port: await freePort(),
    settings: {'svc.server.defaultDatabases': 'kept[]'},
  });
  const client = server.client();
  try {
    await client.command('kept', 'CREATE DOCUMENT TYPE T');
    const open = readdirSync(root, {recursive: true, encoding: 'utf8'}).filter(
      path => (statSync(join(root, path)).mode & 0o077) !== 0,
    );
    assert.deepEqual(open, []);
    assert.match(server.log, /lost\+found/);
  } finally {
    client.close();
  }
});
