/** A schedule of one minute on the sample database makes an archive that is whole, in real time. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Row} from '#server/client/client.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {startServer, temporaryRoot} from '#server/testing/worlds/server-process.ts';

test('an archive of demo within a minute', {timeout: 240_000}, async () => {
  const settings = {'svc.server.sampleDatabase': 'demo'};
  const root = temporaryRoot('backup-minute');
  await using server = await startServer({root, port: await freePort(), settings});
  const client = server.client();
  try {
    const config = {defaults: {schedule: {type: 'cron', expression: '0 * * * * *'}}};
    await client.serverCommand('set backup config', {config});
    let archives: readonly Row[] = [];
    await eventually(
      'an archive',
      async () => {
        archives = (await client.serverCommand('list backups demo'))['backups'] as readonly Row[];
        return archives.length > 0;
      },
      {millisMax: 180_000, pollMillis: 500},
    );
    const command = `restore backup demo ${String(archives[0]?.['fileName'])}`;
    const {message} = await client.serverCommand(command, {verify: true});
    assert.match(String(message), /is whole: \d+ files/);
  } finally {
    client.close();
  }
});
