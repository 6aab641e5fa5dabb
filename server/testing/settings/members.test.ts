/**
 * What settings of a cluster do to its members: who is told, asked, handed over to or begun anew,
 * look by look, by the watch of a member whose cluster says of itself what a case wants
 * (effect-rows.ts).
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type RawSetting, resolveSettings} from '#server/base/setting-values.ts';
import {ClusterWatch} from '#server/node/cluster/cluster-watch.ts';
import type {ClusterState, PeerProgress} from '#server/cluster/cluster.ts';
import type {UnusableDatabase} from '#server/cluster/replica-repair-policy.ts';
import {MemoryCluster} from '../cluster/memory-cluster.ts';
import {followerState, leaderState, peerOf, wellProgress} from '../cluster/member-states.ts';
import {ManualTimers} from '../time/manual-timers.ts';

const database = 'db';
const damaged = [{name: database, isMissing: false}];
const missing = [{name: database, isMissing: true}];

interface Watched {
  readonly cluster: MemoryCluster;
  readonly watch: ClusterWatch;
  /** Events and what became of them, in order. */
  readonly done: string[];
  /** Milliseconds pass, and what was begun is done. */
  pass(ms: number): Promise<void>;
  unusable: readonly UnusableDatabase[];
}

function watched(state: ClusterState, values: Readonly<Record<string, RawSetting>>): Watched {
  const given = {'svc.ha.healthCheckInterval': 1_000, ...values};
  const {settings} = resolveSettings([{name: 'test', values: given}]);
  const timers = new ManualTimers();
  const cluster = new MemoryCluster(state);
  const done: string[] = [];
  const world = {cluster, done, unusable: [] as readonly UnusableDatabase[]};
  const watch = new ClusterWatch({
    cluster,
    clock: timers,
    timers,
    settings: () => settings,
    logger: {log: (_level, event) => void done.push(event)},
    links: {reset: peer => void done.push(`reset ${peer}`)},
    copies: {
      replace: async (id, name) => void done.push(`replace ${name} on ${id}`),
      hasRoom: async () => true,
    },
    formats: {written: () => 1, newest: 1, raise: async () => undefined},
    databases: () => [database],
    unusable: () => world.unusable,
  });
  return Object.assign(world, {
    watch,
    pass: async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 100) {
        timers.advance(Math.min(100, left));
        for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
      }
    },
  });
}

function leaderWith(progress: Partial<PeerProgress>, changed: Partial<ClusterState> = {}) {
  const follower = peerOf(1, {progress: {...wellProgress, ...progress}});
  return leaderState({peers: [peerOf(0), follower, peerOf(2)], ...changed});
}

const silent = {lastContactMs: 60_000};

test('svc.ha.healthCheckInterval is the time between two looks', async () => {
  for (const [interval, looks] of [
    [1_000, 4],
    [2_000, 2],
  ] as const) {
    const {pass, done, watch} = watched(leaderState(), {
      'svc.ha.healthCheckInterval': interval,
      'svc.ha.logVerbose': 1,
    });
    await pass(4_000);
    watch.end();
    assert.deepEqual(
      done,
      Array.from({length: looks}, () => 'cluster.state'),
    );
  }
});

test('svc.ha.logVerbose tells nothing, the state, and each follower', async () => {
  const told = ['cluster.state', 'cluster.follower', 'cluster.follower'];
  for (const verbose of [0, 1, 2]) {
    const {pass, done, watch} = watched(leaderState(), {'svc.ha.logVerbose': verbose});
    await pass(1_000);
    watch.end();
    assert.deepEqual(done, told.slice(0, verbose === 2 ? 3 : verbose));
  }
});

test('svc.ha.replicationLagWarning is where a member does not count as healthy', async () => {
  for (const [warning, isHealthy] of [
    [59, false],
    [60, true],
  ] as const) {
    const state = leaderWith({matchIndex: 40, laggingForMs: 5}, {commitIndex: 100});
    const {pass, watch} = watched(state, {'svc.ha.replicationLagWarning': warning});
    await pass(3_000);
    watch.end();
    assert.equal(watch.health.status(peerOf(1).id) === 'HEALTHY', isHealthy);
  }
});

test('svc.ha.peerUnreachableThreshold reports a silent member, and 0 none', async () => {
  for (const [threshold, told] of [
    [0, []],
    [90_000, []],
    [50_000, ['peer.unreachable']],
  ] as const) {
    const {pass, done, watch} = watched(leaderWith(silent), {
      'svc.ha.peerUnreachableThreshold': threshold,
    });
    await pass(3_000);
    watch.end();
    assert.deepEqual(done, told);
  }
});

test('svc.ha.peerChannelResetDuration makes a connection anew, and 0 never does', async () => {
  for (const [duration, resets] of [
    [0, 0],
    [2_000, 2],
  ] as const) {
    const {pass, done, watch} = watched(leaderWith(silent), {
      'svc.ha.peerChannelResetDuration': duration,
    });
    await pass(5_000);
    watch.end();
    assert.equal(done.filter(one => one === `reset ${peerOf(1).id}`).length, resets);
  }
});

test('svc.ha.peerChannelResetEscalation hands over when that did not help', async () => {
  for (const escalates of [true, false]) {
    const {pass, cluster, watch} = watched(leaderWith(silent), {
      'svc.ha.peerChannelResetDuration': 1_000,
      'svc.ha.peerChannelResetEscalation': escalates,
    });
    await pass(10_000);
    watch.end();
    assert.equal(cluster.done.length, escalates ? 1 : 0);
  }
});

test('svc.ha.stalledReplicaResyncDurationMs has who stands still begin anew', async () => {
  for (const [duration, asked] of [
    [0, false],
    [90_000, false],
    [30_000, true],
  ] as const) {
    const state = leaderWith({matchIndex: 40, laggingForMs: 60_000});
    const {pass, done, watch} = watched(state, {'svc.ha.stalledReplicaResyncDurationMs': duration});
    await pass(1_000);
    watch.end();
    assert.equal(done.includes(`replace ${database} on ${peerOf(1).id}`), asked);
  }
});

/** Which databases a follower took of the leader. */
async function taken(
  state: ClusterState,
  values: Readonly<Record<string, RawSetting>>,
  {unusable = [], ms = 5_000}: {unusable?: readonly UnusableDatabase[]; ms?: number} = {},
): Promise<number> {
  const world = watched(state, values);
  world.unusable = unusable;
  await world.pass(ms);
  world.watch.end();
  return world.cluster.done.filter(one => JSON.stringify(one) === '["resync","db"]').length;
}

const behind = followerState({appliedIndex: 100, commitIndex: 600, leaderCommitIndex: 600});

test('svc.ha.staleFollowerLagThreshold and RecoveryDurationMs: it begins anew', async () => {
  const lag = 'svc.ha.staleFollowerLagThreshold';
  const duration = 'svc.ha.staleFollowerRecoveryDurationMs';
  assert.equal(await taken(behind, {[lag]: 499, [duration]: 2_000}), 1);
  assert.equal(await taken(behind, {[lag]: 500, [duration]: 2_000}), 0);
  assert.equal(await taken(behind, {[lag]: 0, [duration]: 2_000}), 0);
  assert.equal(await taken(behind, {[lag]: 499, [duration]: 5_000}), 0);
});

test('svc.ha.divergedFollowerRecovery takes a copy that is damaged, or leaves it', async () => {
  const key = 'svc.ha.divergedFollowerRecovery';
  assert.equal(await taken(followerState(), {[key]: true}, {unusable: damaged}), 1);
  assert.equal(await taken(followerState(), {[key]: false}, {unusable: damaged}), 0);
});

test('svc.ha.divergedFollowerMaxReformats is how often it does so', async () => {
  const key = 'svc.ha.divergedFollowerMaxReformats';
  for (const most of [1, 3]) {
    const times = await taken(followerState(), {[key]: most}, {unusable: damaged, ms: 200_000});
    assert.equal(times, most);
  }
});

test('svc.ha.autoAcquireDatabases takes a database that it lacks, or waits', async () => {
  const key = 'svc.ha.autoAcquireDatabases';
  assert.equal(await taken(followerState(), {[key]: true}, {unusable: missing}), 1);
  assert.equal(await taken(followerState(), {[key]: false}, {unusable: missing}), 0);
});

test('svc.ha.resyncProgress and CatchupLagThreshold say what is logged of a resync', async () => {
  const told = async (values: Readonly<Record<string, RawSetting>>): Promise<string> => {
    const world = watched({...behind, isInstallingSnapshot: true}, values);
    await world.pass(4_000);
    world.cluster.current = {...behind, appliedIndex: 580};
    await world.pass(1_000);
    world.watch.end();
    return world.done.map(one => one.replace('resync.', '')).join();
  };
  const often = {'svc.ha.resyncProgressInterval': 2_000};
  assert.equal(await told({...often, 'svc.ha.resyncProgressLogging': false}), '');
  assert.equal(await told(often), 'progress,progress,caught-up');
  assert.equal(await told({'svc.ha.resyncProgressInterval': 9_000}), 'progress,caught-up');
  const strict = {...often, 'svc.ha.resyncCatchupLagThreshold': 10};
  assert.equal(await told(strict), 'progress,progress,progress');
});
