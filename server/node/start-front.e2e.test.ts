/**
 * A start from outside: what it answers while it waits, how it ends, and that two servers never
 * work on one root, in whichever PID namespaces they are.
 */
import assert from 'node:assert/strict';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  canUnshare,
  type GivenSettings,
  ownPids,
  type StartedServer,
  StartedServers,
  startedHost,
} from '#server/testing/worlds/started-servers.ts';

const servers = new StartedServers('start');
after(() => servers.close());

test('a member that waits for others says so over HTTP and ends at one signal', async () => {
  const [own, other] = [await freePort(), await freePort()];
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const server = await servers.start(`waiting-${signal}`, {
      'svc.server.name': 'svc_0',
      'svc.ha.enabled': true,
      'svc.ha.serverList': `${startedHost}:${own},127.0.0.2:${other}`,
      'svc.ha.raftPort': own,
    });
    await eventually('it waits', async () => {
      return (await server.get('/ready'))?.text.includes(`127.0.0.2_${other}`) === true;
    });
    assert.equal((await server.get('/health'))?.status, 204);
    const ready = await server.get('/ready');
    assert.equal(ready?.status, 503);
    assert.match(ready?.text ?? '', /waits for its cluster to form/);
    const status = await server.get('/cluster');
    assert.equal(status?.status, 503);
    const {localPeerId, waitsFor, raftState} = JSON.parse(status?.text ?? '');
    assert.deepEqual(
      {localPeerId, waitsFor, raftState},
      {
        localPeerId: `${startedHost}_${own}`,
        waitsFor: [`127.0.0.2_${other}`],
        raftState: 'STARTING',
      },
    );
    assert.equal((await server.get('/databases'))?.status, 503);
    process.kill(server.process.pid, signal);
    await server.untilEnded();
    assert.equal(server.process.ended, 0, server.process.log);
  }
});

test('a start that is refused ends by itself with status 1, whatever had begun', async () => {
  const keyStore = join(servers.folder, 'damaged.pem');
  writeFileSync(keyStore, '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n');
  const raftPort = await freePort();
  const server = await servers.start('damaged-key-store', {
    'svc.ssl.enabled': true,
    'svc.ssl.keyStore': keyStore,
    'svc.server.httpsIncomingPort': await freePort(),
    'svc.server.name': 'svc_0',
    'svc.ha.enabled': true,
    'svc.ha.serverList': `${startedHost}:${raftPort}`,
    'svc.ha.raftPort': raftPort,
  });
  await server.untilEnded();
  assert.equal(server.process.ended, 1);
  assert.match(server.process.log, /key store .*damaged\.pem cannot be used/);
});

const skip = canUnshare() ? false : 'needs the right to make a PID namespace';

for (const kind of ['alone', 'a member']) {
  test(`one root, two PID namespaces, ${kind}: one server in every order`, {skip}, async t => {
    const name = `shared-${kind.replace(' ', '-')}`;
    const raftPort = await freePort();
    const settings: GivenSettings =
      kind === 'alone'
        ? {}
        : {
            'svc.server.name': 'svc_0',
            'svc.ha.enabled': true,
            'svc.ha.serverList': `${startedHost}:${raftPort}`,
            'svc.ha.raftPort': raftPort,
            'svc.server.readinessRequiresHA': true,
          };
    let rows = 0;
    const insertAt = async (server: StartedServer): Promise<void> => {
      const client = server.client();
      try {
        await client.command('d', 'INSERT INTO V SET n = 1');
        rows += 1;
        const {result} = await client.query('d', 'SELECT count(*) AS n FROM V');
        assert.deepEqual(result, [{n: rows}]);
      } finally {
        client.close();
      }
    };
    const refused = async (): Promise<void> => {
      const second = await servers.start(name, settings, ownPids);
      await second.untilEnded();
      assert.equal(second.process.ended, 1, second.process.log);
      assert.match(second.process.log, /another server works on .* already/);
      assert.doesNotMatch(second.process.log, /cluster\.leader|server\.ready/);
    };
    const first = await servers.start(name, settings, ownPids);
    await first.untilReady();
    const client = first.client();
    await client.createDatabase('d');
    await client.command('d', 'CREATE DOCUMENT TYPE V');
    client.close();
    await insertAt(first);
    await t.test('while the first one runs', async () => {
      await refused();
      await insertAt(first);
    });
    await t.test('while it stands still, and goes on', async () => {
      first.signal('SIGSTOP');
      await refused();
      first.signal('SIGCONT');
      await insertAt(first);
    });
    await t.test('both at once behind a kill', async () => {
      first.signal('SIGKILL');
      await first.untilEnded();
      const both = [
        await servers.start(name, settings, ownPids),
        await servers.start(name, settings, ownPids),
      ];
      await eventually('one of them has ended', () => {
        return both.some(server => server.process.ended !== undefined);
      });
      const winner = both.find(server => server.process.ended === undefined);
      assert.ok(winner !== undefined);
      await winner.untilReady();
      await insertAt(winner);
      winner.signal('SIGTERM');
      await winner.untilEnded();
      assert.equal(winner.process.ended, 0, winner.process.log);
    });
  });
}
