/** The ring hands every entry to both readers in order, whatever its size, and never overruns. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {createRingMemory, RingReader, RingWriter, word} from './commit-ring.ts';

const step = fc.oneof(
  {weight: 4, arbitrary: fc.record({kind: fc.constant('write' as const), bytes: fc.nat(400)})},
  {weight: 2, arbitrary: fc.constant({kind: 'log' as const})},
  {weight: 2, arbitrary: fc.constant({kind: 'apply' as const})},
);

test('what is written is logged and applied once, in order, with its chain value', () => {
  fc.assert(
    fc.property(fc.array(step, {maxLength: 200}), steps => {
      const memory = createRingMemory(2048);
      const writer = new RingWriter(memory);
      const outside = new Map<number, Buffer>();
      const logger = new RingReader(memory, {source: word.head, own: word.logged}, outside);
      const applier = new RingReader(memory, {source: word.logged, own: word.applied}, outside);
      let written = 0;
      let logged = 0;
      let applied = 0;
      const apply = () => {
        const {records, to} = applier.take(applier.end, 10, 1000);
        for (const {payload, chain} of records) {
          assert.equal(payload.readUInt32LE(0), applied);
          assert.equal(chain, applied * 3);
          applied++;
        }
        applier.advance(to);
      };
      const log = () => {
        const {records, to} = logger.take(logger.end, 10, 1000);
        for (const record of records) logger.writeChain(record, logged++ * 3);
        logger.advance(to);
      };
      for (const next of steps) {
        if (next.kind === 'log') log();
        else if (next.kind === 'apply') apply();
        else if (writer.hasRoom(next.bytes + 4)) {
          const entry = Buffer.alloc(next.bytes + 4, written);
          entry.writeUInt32LE(written++, 0);
          if (next.bytes > 350) {
            outside.set(written, entry);
            writer.writeOutside(written, 0);
          } else writer.write(entry, 0);
        }
      }
      for (let round = 0; round < 300; round++) {
        log();
        apply();
      }
      assert.deepEqual([logged, applied], [written, written]);
    }),
  );
});
