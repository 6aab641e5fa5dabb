/** The parts of the driver: entries in memory, the clock, reads that wait, messages that wait. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Effect, Persist} from '#server/raft/effect.ts';
import type {Entry} from '#server/raft/message.ts';
import {decodeMessage} from '#server/raft/message-encoding.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {SeededRandom} from '#server/testing/property/seeded-random.ts';
import {EntryCache} from './entry-cache.ts';
import {LeaderRequests} from './leader-requests.ts';
import {ElectionClock} from './election-clock.ts';
import {OutgoingMessages} from './outgoing-messages.ts';
import {ReadIndexBatcher} from './read-index-batcher.ts';

type SendEntries = Extract<Effect, {readonly kind: 'send-entries'}>;

function entry(term: number, bytes = 84): Entry {
  return {kind: 'data', term, data: new Uint8Array(bytes)};
}

function write(keepThrough: number, entries: readonly Entry[]): Persist {
  const hardState = {term: 1, vote: undefined};
  return {kind: 'persist', number: 1, hardState, restart: undefined, keepThrough, entries};
}

const terms = (entries: readonly Entry[] | undefined) => entries?.map(({term}) => term);

test('the newest entries are in memory, as many as fit, and those that are nowhere else', () => {
  const cache = new EntryCache(10, 250);
  cache.write(write(10, [entry(1), entry(1), entry(2), entry(2)]));
  assert.deepEqual(terms(cache.between(10, 14)), [1, 1, 2, 2]);
  cache.evict(11);
  assert.equal(cache.between(10, 12), undefined);
  assert.deepEqual(terms(cache.between(11, 14)), [1, 2, 2], 'not durable, so only here');
  cache.evict(14);
  assert.equal(cache.between(11, 14), undefined);
  assert.deepEqual(terms(cache.between(12, 14)), [2, 2]);
  assert.equal(cache.between(12, 15), undefined, 'not there yet');
});

test('an entry in memory keeps nothing alive but itself and its neighbours', () => {
  const cache = new EntryCache(0, 1 << 20);
  const entries = Array.from({length: 3_000}, (_, at): Entry => {
    const message = Buffer.alloc(64 << 10, at);
    return {kind: 'data', term: 1, data: message.subarray(100, at === 7 ? 50_000 : 200)};
  });
  cache.write(write(0, entries));
  const kept = cache.between(0, 3_000) ?? [];
  assert.deepEqual(kept, entries);
  const memory = new Set(kept.map(one => (one.kind === 'data' ? one.data.buffer : undefined)));
  const bytes = [...memory].reduce((sum, buffer) => sum + (buffer?.byteLength ?? 0), 0);
  assert.ok(bytes < 2 << 20, `${bytes} bytes for 350,000`);
});

test('entries of every size come and go, beside an array of them', () => {
  const random = new SeededRandom(5);
  const cache = new EntryCache(0, 20_000);
  let log: Entry[] = [];
  const taken: {readonly entries: readonly Entry[]; readonly copy: readonly Entry[]}[] = [];
  for (let turn = 0; turn < 3_000; turn += 1) {
    const keepThrough =
      log.length - (random.once(5) ? random.below(Math.min(log.length, 9) + 1) : 0);
    const entries = Array.from({length: random.below(8)}, (_, at): Entry => {
      if (random.once(20)) return {kind: 'empty', term: turn};
      const data = Buffer.alloc(random.once(50) ? 9_000 : random.below(300), turn + at);
      return {kind: 'data', term: turn, data};
    });
    cache.write(write(keepThrough, entries));
    log = [...log.slice(0, keepThrough), ...entries];
    cache.evict(log.length - random.below(20));
    assert.equal(cache.lastIndex, log.length);
    const after = Math.max(0, log.length - random.below(60));
    const through = after + random.below(log.length - after + 1);
    const found = cache.between(after, through);
    if (found === undefined) continue;
    assert.deepEqual(found, log.slice(after, through));
    if (turn % 100 === 0) taken.push({entries: found, copy: structuredClone(found)});
  }
  for (const {entries, copy} of taken) {
    entries.forEach((one, at) => {
      const was = copy[at];
      if (one.kind === 'data' && was?.kind === 'data')
        assert.ok(one.data.every((byte, i) => byte === was.data[i]));
    });
  }
});

test('what is cut off is replaced, also before what is in memory, and a new log begins', () => {
  const cache = new EntryCache(10, 1_000);
  cache.write(write(10, [entry(1), entry(1), entry(1)]));
  cache.write(write(11, [entry(2), entry(2)]));
  assert.deepEqual(terms(cache.between(10, 13)), [1, 2, 2]);
  cache.write(write(5, [entry(3)]));
  assert.deepEqual(terms(cache.between(5, 6)), [3]);
  assert.equal(cache.lastIndex, 6);
  const restart = {last: {index: 50, term: 4}, membership: []};
  cache.write({...write(50, []), restart});
  cache.write(write(50, [entry(4)]));
  assert.deepEqual(terms(cache.between(50, 51)), [4]);
});

test('a process that stood still counts a little of the silence, one that ran all of it', () => {
  const time = new ManualTimers();
  const clock = new ElectionClock(time, 100);
  time.advance(40);
  assert.equal(clock.now(), 40);
  time.advance(5_000);
  assert.equal(clock.now(), 140);
  time.advance(100);
  assert.equal(clock.now(), 240);
});

function questions(): {
  readonly time: ManualTimers;
  readonly asked: string[];
  readonly reads: ReadIndexBatcher;
} {
  const time = new ManualTimers();
  const asked: string[] = [];
  const reads = new ReadIndexBatcher({
    idPrefix: 'p',
    repeatMs: 50,
    now: () => time.monotonic(),
    yield: () => time.yield(),
    ask: id => void asked.push(id),
  });
  return {time, asked, reads};
}

test('reads of one turn share a question, those that come meanwhile the next one', async () => {
  const {time, asked, reads} = questions();
  const first = [reads.wait(1_000), reads.wait(1_000)];
  await time.yield();
  const [second, third] = [reads.wait(1_000), reads.wait(1_000)];
  await time.yield();
  assert.deepEqual(asked, ['p-1']);
  reads.ready('p-1', 7);
  assert.deepEqual(await Promise.all(first), [7, 7]);
  await time.yield();
  assert.deepEqual(asked, ['p-1', 'p-2']);
  reads.ready('p-1', 99);
  reads.ready('p-2', 8);
  assert.deepEqual(await Promise.all([second, third]), [8, 8]);
});

test('a question that fails or is lost is asked again, while the read has time', async () => {
  const {time, asked, reads} = questions();
  const read = reads.wait(120);
  await time.yield();
  reads.failed('p-1');
  assert.deepEqual(asked, ['p-1'], 'not at once: nobody leads');
  reads.tick();
  time.advance(60);
  reads.tick();
  assert.deepEqual(asked, ['p-1', 'p-2', 'p-3']);
  time.advance(60);
  reads.tick();
  reads.tick();
  await assert.rejects(read, {code: 'cluster.no-quorum'});
});

test('a message waits for what it relies on; others pass it by', () => {
  const sent: string[] = [];
  const outgoing = outgoingTo(sent, () => Promise.resolve(undefined));
  outgoing.send({kind: 'send', to: 'b', after: 2, message: vote(5)});
  outgoing.send({kind: 'send', to: 'b', after: 0, message: vote(6)});
  assert.deepEqual(sent, ['b vote-reply 6']);
  outgoing.durable(1);
  outgoing.durable(2);
  assert.deepEqual(sent, ['b vote-reply 6', 'b vote-reply 5']);
});

test('a laggard gets entries from the disk in order, and none that were replaced', async () => {
  const sent: string[] = [];
  const reads: ((entries: readonly Entry[]) => void)[] = [];
  const outgoing = outgoingTo(sent, () => new Promise(resolve => reads.push(resolve)));
  outgoing.sendEntries(append(3, 5));
  outgoing.sendEntries(append(5, 6));
  outgoing.sendEntries(append(3, 3));
  assert.deepEqual(sent, ['b append 3 of 0'], 'a heartbeat does not wait');
  await settle();
  assert.equal(reads.length, 1, 'one read at a time');
  reads[0]?.([entry(1), entry(1)]);
  await settle();
  reads[1]?.([entry(2)]);
  await settle();
  assert.deepEqual(sent, ['b append 3 of 0', 'b append 3 of 2']);
});

test('a word about the commit goes a moment later, unless an append brings it along', () => {
  const sent: string[] = [];
  const timers = new ManualTimers();
  const outgoing = outgoingTo(sent, () => Promise.resolve(undefined), timers);
  const word = (index: number) => outgoing.sendEntries({...append(index, index), mayWait: true});
  word(3);
  timers.advance(3);
  assert.deepEqual(sent, []);
  timers.advance(3);
  assert.deepEqual(sent.splice(0), ['b append 3 of 0']);
  word(4);
  outgoing.sendEntries(append(4, 4));
  timers.advance(100);
  assert.deepEqual(sent.splice(0), ['b append 4 of 0'], 'the append, and no word behind it');
  word(5);
  outgoing.send({kind: 'send', to: 'c', after: 0, message: vote(6)});
  outgoing.send({kind: 'send', to: 'b', after: 0, message: vote(6)});
  const behind = ['c vote-reply 6', 'b append 5 of 0', 'b vote-reply 6'];
  assert.deepEqual(sent.splice(0), behind, 'what else goes to the peer goes behind it');
  word(6);
  outgoing.tellAll();
  timers.advance(100);
  assert.deepEqual(sent, ['b append 6 of 0']);
});

/** Entries of term 1 are what the log holds. */
function outgoingTo(
  sent: string[],
  read: () => Promise<readonly Entry[] | undefined>,
  timers = new ManualTimers(),
): OutgoingMessages {
  return new OutgoingMessages({
    timers,
    transport: {
      listen() {},
      setPeers() {},
      send(to, [bytes]) {
        const message = decodeMessage(bytes ?? new Uint8Array(0));
        const isAppend = message.kind === 'append';
        const what = isAppend
          ? `${message.previous.index} of ${message.entries.length}`
          : message.term;
        sent.push(`${to} ${message.kind} ${what}`);
        return true;
      },
      reset() {},
      connections: () => [],
      close: () => Promise.resolve(),
    },
    atHand: () => undefined,
    read,
    isCurrent: (_, entries) => entries.every(({term}) => term === 1),
  });
}

function vote(term: number) {
  return {kind: 'vote-reply', term, granted: true} as const;
}

/** Builds an append of the entries after `index`, to b. */
function append(index: number, through: number): SendEntries {
  const head = {kind: 'append', term: 1, round: 1, previous: {index, term: 1}, commit: 0} as const;
  return {kind: 'send-entries', to: 'b', head, through, after: 0, mayWait: false};
}

const settle = () => new Promise<void>(resolve => setImmediate(resolve));

test('who asked for a change is told of its commit, or that it is not known', async () => {
  const requests = new LeaderRequests();
  const done = requests.whenCommitted(5);
  const open = requests.whenCommitted(6);
  requests.committed(5);
  await done;
  requests.leadershipEnded('it lost its office');
  await assert.rejects(open, /it lost its office: whether the change happened is not known/);
  const transfer = requests.whenTransferred();
  requests.transferred('b');
  assert.equal(await transfer, 'b');
});
