/**
 * What settings do to the connections between members, to the log that they share and to the
 * snapshots that they give each other: the parts are made by what the settings say of them.
 */
import assert from 'node:assert/strict';
import {createServer} from 'node:net';
import {test} from 'node:test';
import {type RawSetting, resolveSettings, type Settings} from '#server/base/setting-values.ts';
import {purgeOptions} from '#server/node/cluster/cluster-plan.ts';
import {givingLimits, takingLimits} from '#server/node/cluster/member-snapshots.ts';
import {allowListOf} from '#server/node/cluster/peer-connections.ts';
import {openTestLinks} from '#server/node/cluster/testing-peer-links.ts';
import type {ServerState} from '#server/engine/server-state.ts';
import {createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {LogPurge} from '#server/replication/driver/log-purge.ts';
import type {PeerLinks} from '#server/replication/links/peer-links.ts';
import {plainSockets} from '#server/replication/links/socket-security.ts';
import {PeerAddresses} from '#server/replication/peer-addresses.ts';
import {fetchSnapshot} from '#server/replication/snapshot/snapshot-fetch.ts';
import {SnapshotStore} from '#server/replication/snapshot/snapshot-store.ts';
import {eventually} from '../time/eventually.ts';
import {ManualTimers} from '../time/manual-timers.ts';
import {freePort} from '../worlds/free-port.ts';
import {temporaryRoot} from '../worlds/server-process.ts';

type Values = Readonly<Record<string, RawSetting>>;

function settingsOf(values: Values): Settings {
  return resolveSettings([{name: 'test', values}]).settings;
}

const stranger = '10.0.0.7';

/** Who is let in, at a server whose name leads elsewhere after a second. */
async function addresses(values: Values) {
  const clock = new ManualTimers();
  const table = new Map([['a', ['10.0.0.1']]]);
  const list = allowListOf(settingsOf(values));
  assert.ok(list !== undefined);
  const allowed = new PeerAddresses({
    ...list,
    clock,
    resolve: async host => table.get(host) ?? assert.fail(`no ${host}`),
  });
  await allowed.setHosts(['a', 'not-yet']);
  return {allowed, clock, table};
}

test('svc.ha.peerAllowlist.enabled asks for addresses, or for the token alone', async () => {
  const {allowed} = await addresses({'svc.ha.peerAllowlistStartupGraceMs': 0});
  assert.equal(await allowed.admit(stranger), 'refused');
  assert.equal(allowListOf(settingsOf({'svc.ha.peerAllowlist.enabled': false})), undefined);
});

test('svc.ha.peerAllowlistStartupGraceMs lets strangers in for so long', async () => {
  const {allowed, clock} = await addresses({'svc.ha.peerAllowlistStartupGraceMs': 5_000});
  assert.equal(await allowed.admit(stranger), 'grace');
  clock.advance(5_000);
  assert.equal(await allowed.admit(stranger), 'refused');
});

test('svc.ha.grpcAllowlistRefreshMs and StickyTtlMs: who moved is let in for a while', async () => {
  const {allowed, clock, table} = await addresses({
    'svc.ha.grpcAllowlistRefreshMs': 2_000,
    'svc.ha.peerAllowlistStickyTtlMs': 3_000,
    'svc.ha.peerAllowlistStartupGraceMs': 0,
  });
  table.set('a', ['10.0.0.9']);
  for (const [ms, outcome] of [
    [1_999, 'allowed'],
    [1, 'allowed'],
    [2_999, 'allowed'],
    [2_000, 'refused'],
  ] as const) {
    clock.advance(ms);
    assert.equal(await allowed.admit('10.0.0.1'), outcome, `at ${clock.now()}`);
  }
});

const host = '127.0.0.1';

function links(port: number, values: Values): PeerLinks {
  return openTestLinks(settingsOf({'svc.ha.appendBufferSize': '1MB', ...values}), port, {
    network: {lookUp: async () => [host], security: plainSockets},
  });
}

interface Pair {
  readonly left: PeerLinks;
  readonly to: string;
  /** Sizes of the messages that came. */
  readonly came: number[];
}

/** Two members that found each other; `values` are those of both. */
async function paired(values: Values, work: (pair: Pair) => Promise<void>): Promise<void> {
  const [first, second] = [await freePort(), await freePort()];
  const [left, right] = [links(first, values), links(second, values)];
  const came: number[] = [];
  const to = `${host}_${second}`;
  const isConnected = Promise.withResolvers<void>();
  const quiet = {connected: () => {}, lost: () => {}, rejected: () => {}};
  left.listen({...quiet, message: () => {}, connected: () => isConnected.resolve()});
  right.listen({...quiet, message: (_from, bytes) => void came.push(bytes.length)});
  try {
    await Promise.all([left.listenOn(host, first), right.listenOn(host, second)]);
    left.setPeers([{id: to, host, port: second}]);
    await isConnected.promise;
    await work({left, to, came});
  } finally {
    await Promise.all([left.close(), right.close()]);
  }
}

test('svc.ha.grpcMessageSizeMax is the largest message that is taken', async () => {
  await paired({'svc.ha.grpcMessageSizeMax': '1MB'}, async ({left, to, came}) => {
    left.send(to, [Buffer.alloc(1 << 19)]);
    await eventually('it came', () => came.length === 1);
    left.send(to, [Buffer.alloc(3 << 19)]);
    await eventually('others come again over a new connection', () => {
      left.send(to, [Buffer.alloc(1)]);
      return came.includes(1);
    });
    assert.ok(!came.includes(3 << 19));
  });
});

test('svc.ha.writeBufferSize is what may wait to be sent', async () => {
  await paired({'svc.ha.writeBufferSize': (1 << 20) + 8}, async ({left, to}) => {
    const sent = Array.from({length: 8}, () => left.send(to, [Buffer.alloc(1 << 18)]));
    assert.ok(sent.includes(true));
    assert.ok(sent.includes(false));
  });
});

function purge(values: Values): LogPurge {
  return new LogPurge(purgeOptions(settingsOf(values)), 0);
}

test('svc.ha.snapshotThreshold, Interval, MinEntries and logPurgeGap: when the log is cut', () => {
  const values = {
    'svc.ha.snapshotThreshold': 1_000,
    'svc.ha.snapshotInterval': 5_000,
    'svc.ha.snapshotMinEntries': 10,
    'svc.ha.logPurgeGap': 100,
  };
  const at = (applied: number, ms: number): boolean =>
    purge(values).isDue(ms, {base: 0, applied, bytes: 0, slowest: undefined});
  assert.equal(at(1_099, 1), false);
  assert.equal(at(1_100, 1), true);
  assert.equal(at(200, 4_999), false);
  assert.equal(at(200, 5_000), true);
  assert.equal(at(109, 5_000), false);
  const figures = {base: 0, applied: 1_000, bytes: 0, slowest: undefined};
  assert.equal(purge(values).through(800, figures), 700);
});

test('svc.ha.logPurgeUptoSnapshot cuts before a slow member, or waits for it', () => {
  const figures = {base: 0, applied: 10_000, bytes: 0, slowest: 50};
  for (const [passes, through] of [
    [true, 6_976],
    [false, 50],
  ] as const) {
    const values = {'svc.ha.logPurgeUptoSnapshot': passes};
    assert.equal(purge(values).through(8_000, figures), through);
  }
});

test('svc.ha.snapshotInstallRetries and RetryBaseMs: how often, after which pauses', async () => {
  const timers = new ManualTimers();
  const asked: number[] = [];
  const fetched = fetchSnapshot(
    {
      ...takingLimits(
        settingsOf({'svc.ha.snapshotInstallRetries': 2, 'svc.ha.snapshotInstallRetryBaseMs': 100}),
      ),
      receiver: 'two',
      timers,
      logger: {log: () => {}},
      reusable: () => [],
      stagedPath: () => assert.fail('nothing is fetched'),
      obstacle: () => undefined,
      transfer: () => assert.fail('nothing is fetched'),
      source: () => {
        asked.push(timers.now());
        return 'nobody leads';
      },
    },
    {atLeast: 0},
  );
  const failed = assert.rejects(fetched, /nobody leads/);
  for (let ms = 0; ms < 1_000; ms += 50) {
    timers.advance(50);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
  await failed;
  assert.equal(asked.length, 3);
  assert.ok((asked[2] ?? 0) - (asked[1] ?? 0) >= 200);
});

/** Gives out snapshots of nothing. */
function shelf(values: Values, timers: ManualTimers): SnapshotStore {
  const state = {databases: [], durableIndex: 7, positions: {}} as unknown as ServerState;
  return new SnapshotStore({
    ...givingLimits(settingsOf(values)),
    maker: {
      capture: async () => state,
      checkpointAt: index => ({last: {index, term: 1}, membership: []}),
      whenApplied: async () => {},
    },
    disk: createDisk(),
    checksum: async () => 0,
    random: createRandom(),
    timers,
    logger: {log: () => {}},
    directory: temporaryRoot('settings-snapshots'),
  });
}

test('svc.ha.snapshotMaxConcurrent and WriteTimeout: how many are given, how long', async () => {
  const timers = new ManualTimers();
  const values = {'svc.ha.snapshotMaxConcurrent': 1, 'svc.ha.snapshotWriteTimeout': 20_000};
  const given = shelf(values, timers);
  await given.hold('one', 0);
  await assert.rejects(given.hold('two', 0), {code: 'cluster.snapshot-busy'});
  timers.advance(19_999);
  assert.equal(given.oldestIndex, 7);
  timers.advance(1);
  assert.equal(given.oldestIndex, undefined);
  await given.hold('two', 0);
  given.close();
});

test('svc.ha.snapshotDownloadTimeout gives up a member that is silent', async () => {
  const silent = createServer(() => {});
  await new Promise<void>(resolve => silent.listen(0, host, resolve));
  const address = silent.address();
  assert.ok(address !== null && typeof address === 'object');
  try {
    const values = {'svc.ha.snapshotDownloadTimeout': 1_000, 'svc.ha.snapshotInstallRetries': 0};
    const fetched = fetchSnapshot(
      {
        ...takingLimits(settingsOf(values)),
        receiver: 'two',
        timers: createTimers(),
        logger: {log: () => {}},
        reusable: () => [],
        stagedPath: () => assert.fail('nothing is fetched'),
        obstacle: () => undefined,
        transfer: () => assert.fail('nothing is fetched'),
        source: () => ({host, port: address.port, token: 'secret'}),
      },
      {atLeast: 0},
    );
    await assert.rejects(fetched, /silent for 1000 ms/);
  } finally {
    silent.close();
  }
});
