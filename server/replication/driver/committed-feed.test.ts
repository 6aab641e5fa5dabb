/** When committed entries are taken up: at once where somebody waits for them, else together. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Entry} from '#server/raft/message.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {commitTasks} from '#server/node/commit/commit-tasks.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import {PendingEntries} from '#server/transactions/pending-entries.ts';
import {testLogId} from '#server/transactions/testing-entries.ts';
import {CommittedFeed} from './committed-feed.ts';

/** A feed of entries that only move the position. */
class Feeding {
  readonly timers = new ManualTimers();
  readonly feed: CommittedFeed;
  isAwaited = false;

  constructor() {
    const pipe = commitTasks({
      scheduler: {
        soon: task => void this.timers.after(0, task),
        after: (delayMs, task) => this.timers.after(delayMs, task),
      },
    })({log: undefined, logId: testLogId, startIndex: 0, settings: defaultEngineSettings});
    const pending = new PendingEntries(0, {isShared: true});
    pipe.listen(progress => pending.advance(progress));
    this.feed = new CommittedFeed({
      replicator: {
        entries: (after, through) =>
          Array.from({length: through - after}, (): Entry => ({kind: 'empty', term: 1})),
      },
      pipe,
      pending,
      execute: () => assert.fail('no entry of the server'),
      follows: () => assert.fail('no entry of a database'),
      decided: () => undefined,
      failed: reason => assert.fail(reason),
      timers: this.timers,
      isAwaited: () => this.isAwaited,
    });
  }
}

test('what nobody waits for gathers for a moment', () => {
  const {feed, timers} = new Feeding();
  feed.extend(1);
  timers.advance(3);
  feed.extend(3);
  assert.equal(feed.enqueuedIndex, 0);
  timers.advance(1);
  assert.equal(feed.enqueuedIndex, 3);
  feed.extend(4);
  assert.equal(feed.enqueuedIndex, 3, 'and the next one anew');
  timers.advance(4);
  assert.equal(feed.enqueuedIndex, 4);
});

test('many are taken up at once, and so is what somebody waits for', () => {
  const feeding = new Feeding();
  const {feed} = feeding;
  feed.extend(200);
  assert.equal(feed.enqueuedIndex, 200);
  feeding.isAwaited = true;
  feed.extend(201);
  assert.equal(feed.enqueuedIndex, 201);
  feeding.isAwaited = false;
  feed.extend(202);
  assert.equal(feed.enqueuedIndex, 201);
  feed.goOn();
  assert.equal(feed.enqueuedIndex, 202, 'somebody began to wait');
});
