/**
 * Three servers that were given the same database before they formed a cluster: two of them join
 * the third, and what their copies have in common with its copy is not sent.
 */
import assert from 'node:assert/strict';
import {cpSync, mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {untilLed} from '#server/testing/cluster/cluster-system.ts';
import {startSvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort, startServer, temporaryRoot} from '#server/testing/server-process.ts';

const base = temporaryRoot('matching');
after(() => rmSync(base, {recursive: true, force: true}));
const rows = 300;
const rowBytes = 10_000;

interface Fetched {
  readonly event: string;
  readonly bytes: number;
  readonly bytesReceived: number;
}

/** A database of one server, copied to where the others will look for theirs. */
async function prepare(): Promise<void> {
  const root = join(base, 'svc_0');
  mkdirSync(root);
  const server = await startServer({root, port: await freePort()});
  const client = server.client();
  await client.createDatabase('music');
  await client.command('music', 'CREATE DOCUMENT TYPE Artist');
  for (let at = 0; at < rows; at += 50) {
    const texts = Array.from({length: 50}, (_, n) => `{"n": ${at + n}, "text": "${text(at + n)}"}`);
    await client.command('music', `INSERT INTO Artist CONTENT [${texts.join()}]`);
  }
  client.close();
  assert.equal(await server.stop(), 0);
  for (const name of ['svc_1', 'svc_2']) {
    cpSync(join(root, 'databases'), join(base, name, 'databases'), {recursive: true});
  }
}

/** Nothing that a store makes small. */
function text(seed: number): string {
  let state = seed + 1;
  let letters = '';
  while (letters.length < rowBytes) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    letters += state.toString(36);
  }
  return letters;
}

test('copies that are the same are not sent', {timeout: 240_000}, async () => {
  await prepare();
  const cluster = await startSvcCluster({size: 3, folder: base});
  try {
    await untilLed(cluster);
    for (const member of cluster.members) {
      const client = cluster.client(member);
      await eventually(`${member.name} has everything`, async () => {
        const {result} = await client.query('music', 'SELECT count(*) AS n FROM Artist');
        return result[0]?.['n'] === rows;
      });
      client.close();
    }
    const fetched = cluster.members.flatMap(({process}) =>
      process.log
        .split('\n')
        .filter(line => line.includes('"snapshot.fetched"'))
        .map(line => JSON.parse(line) as Fetched),
    );
    assert.ok(fetched.length >= 2, 'two took the copy of the third');
    for (const {bytes, bytesReceived} of fetched) {
      assert.ok(bytes > (rows * rowBytes) / 2, `${bytes} bytes are in it`);
      assert.ok(bytesReceived < bytes / 10, `${bytesReceived} of ${bytes} bytes were sent`);
    }
  } finally {
    await cluster.dispose(true);
  }
});
