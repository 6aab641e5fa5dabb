/** How a server without a memory gets in, by way of whoever it is connected to. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {Membership, MembershipChange} from '#server/raft/membership.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {MemoryNetwork} from '../testing-members.ts';
import {Joining, type JoiningOptions} from './joining.ts';
import {PeerControlTransport} from './peer-control-transport.ts';

const leader = 'a_1';
const follower = 'b_1';
const newcomer = 'c_1';

/** A leader, a follower and a server without a memory; `ends` are the newcomer's connections. */
class Group {
  readonly time = new ManualTimers();
  readonly #network = new MemoryNetwork(this.time);
  membership: Membership = [leader, follower].map(id => ({id, role: 'voter', priority: 0}));
  readonly changes: string[] = [];
  readonly decommissioned = new Set<string>();
  readonly logged: string[] = [];
  /** The newcomer's log has told it. */
  wasMember = false;
  /** Why the leader refuses changes. */
  obstacle: string | undefined;

  constructor() {
    this.#join(leader, [follower, newcomer], '');
    this.#join(follower, [leader, newcomer], '');
  }

  /** It starts, with the connections of `ends` and a new memory. */
  starts(ends: readonly string[], memory: string, adopts = false): Joining {
    return this.#join(newcomer, ends, memory, adopts);
  }

  #join(id: string, others: readonly string[], memory: string, adopts = false): Joining {
    const declared = others.map(other => ({id: other, host: 'h', port: 1}));
    const talk = new PeerControlTransport(this.#network.join(id), declared, () => false);
    talk.open();
    return new Joining({
      talk,
      replicator: this.#replicatorOf(id),
      isLeading: () => id === leader,
      report: () => ({standing: 'member', data: {databases: [], documents: 0}}),
      application: {priority: 3, memory, adopts},
      writeDocuments: async () => {
        this.changes.push('documents');
      },
      timers: this.time,
      logger: {
        log: (_level, event, fields) => {
          if (event === 'cluster.not-joined')
            this.logged.push(`${id}: ${String(fields?.['reason'])}`);
        },
      },
      asked: () => {},
      isDecommissioned: peer => this.decommissioned.has(peer),
      clock: {monotonic: () => 0},
    });
  }

  #replicatorOf(id: string): JoiningOptions['replicator'] {
    const membership = (): Membership => this.membership;
    const wasMember = (): boolean => id !== newcomer || this.wasMember;
    return {
      change: change => this.#change(change),
      role: {name: id === leader ? 'leader' : 'follower', term: 1, leader, firstIndex: undefined},
      get membership() {
        return membership();
      },
      get wasMember() {
        return wasMember();
      },
    };
  }

  async #change(change: MembershipChange): Promise<void> {
    if (this.obstacle !== undefined) throw new Refusal('cluster.no-quorum', this.obstacle);
    this.changes.push(`${change.kind} ${change.id}`);
    const others = this.membership.filter(({id}) => id !== change.id);
    this.membership =
      change.kind === 'add'
        ? [...others, {id: change.id, role: 'joining', priority: change.priority}]
        : others;
  }

  /** Long enough for several asks; what they set off happens meanwhile. */
  async passes(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      this.time.advance(50);
      await new Promise(resolve => setImmediate(resolve));
    }
  }
}

test('a server that is connected to a follower alone is taken in by the leader', async () => {
  const group = new Group();
  group.starts([follower], 'm1');
  await group.passes(600);
  assert.deepEqual(group.changes, [`add ${newcomer}`]);
  assert.equal(group.membership.find(({id}) => id === newcomer)?.priority, 3);
});

test('who came with equal data gets the documents before it is told that it belongs', async () => {
  const group = new Group();
  group.starts([follower], 'm1', true);
  await group.passes(3_000);
  assert.deepEqual(group.changes, ['documents', `add ${newcomer}`]);
});

test('one that catches up for long asks on, and is not removed for it', async () => {
  const group = new Group();
  group.starts([leader, follower], 'm1');
  await group.passes(10_000);
  assert.deepEqual(group.changes, [`add ${newcomer}`]);
  group.wasMember = true;
});

test('one that lost its memory once more is somebody new', async () => {
  const group = new Group();
  const first = group.starts([leader], 'm1');
  await group.passes(600);
  first.close();
  group.starts([leader], 'm2');
  await group.passes(5_000);
  assert.deepEqual(group.changes, [`add ${newcomer}`, `remove ${newcomer}`, `add ${newcomer}`]);
});

test('why it is not taken in stands in its own log, once', async () => {
  const group = new Group();
  group.obstacle = 'no majority answers';
  group.starts([leader], 'm1');
  await group.passes(3_000);
  assert.deepEqual(group.logged, [`${newcomer}: no majority answers`]);
  group.obstacle = undefined;
  await group.passes(600);
  assert.deepEqual(group.changes, [`add ${newcomer}`]);
});
