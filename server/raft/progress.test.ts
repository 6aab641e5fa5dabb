/** What may be under way to a peer, against a list of everything that was sent and not answered. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {Progress} from './progress.ts';

const window = {messagesMax: 3, bytesMax: 100};

test('the window counts what was sent and not answered, whatever order answers come in', () => {
  const move = fc.oneof(
    {weight: 3, arbitrary: fc.record({kind: fc.constant('send'), bytes: fc.nat(60)})},
    {weight: 3, arbitrary: fc.record({kind: fc.constant('answer'), match: fc.nat(20)})},
    fc.record({kind: fc.constant('lost'), bytes: fc.nat(0)}),
  );
  fc.assert(
    fc.property(fc.array(move, {maxLength: 60}), moves => {
      const progress = new Progress(0, 0);
      progress.replicate();
      let underWay: {last: number; bytes: number}[] = [];
      let match = 0;
      for (const each of moves) {
        const bytes = underWay.reduce((sum, one) => sum + one.bytes, 0);
        const room = underWay.length < window.messagesMax && bytes < window.bytesMax;
        assert.equal(progress.maySend(window), room);
        if ('match' in each) {
          // A peer holds no more than was ever sent to it.
          const answer = Math.min(each.match, progress.next - 1);
          assert.equal(progress.accepted(answer), answer > match);
          match = Math.max(match, answer);
          underWay = underWay.filter(one => one.last > match);
        } else if (each.kind === 'lost') {
          progress.probe(0);
          assert.equal(progress.next, match + 1);
          progress.replicate();
          underWay = [];
        } else if (room) {
          underWay.push({last: progress.next, bytes: each.bytes});
          progress.sent(progress.next, each.bytes);
        }
        assert.equal(progress.match, match);
        assert.equal(progress.next, (underWay.at(-1)?.last ?? match) + 1);
      }
    }),
    {numRuns: 500},
  );
});

test('a probe is one append at a time, and a heartbeat allows the next', () => {
  const progress = new Progress(7, 0);
  assert.deepEqual([progress.mode, progress.next], ['probe', 8]);
  assert.ok(progress.maySend(window));
  progress.sent(9, 10);
  assert.ok(!progress.maySend(window));
  assert.equal(progress.next, 8);
  progress.resume();
  assert.ok(progress.maySend(window));
});
