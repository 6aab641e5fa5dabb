/**
 * The ring hands every entry to the log thread and its chain value back, in order, whatever its
 * size; it never overruns, and a turn that is not over is not seen. Holds invariant N1.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {ChainReader, createRingMemory, RingReader, RingWriter, word} from './commit-ring.ts';

const step = fc.oneof(
  {weight: 4, arbitrary: fc.record({kind: fc.constant('write' as const), bytes: fc.nat(400)})},
  {weight: 2, arbitrary: fc.constant({kind: 'publish' as const})},
  {weight: 2, arbitrary: fc.constant({kind: 'log' as const})},
  {weight: 2, arbitrary: fc.constant({kind: 'pass' as const})},
);

test('what is written is logged once, in order, and its chain value comes back', () => {
  fc.assert(
    fc.property(fc.array(step, {maxLength: 200}), steps => {
      const memory = createRingMemory(2048);
      const writer = new RingWriter(memory);
      const outside = new Map<number, Buffer>();
      const logger = new RingReader(memory, {source: word.head, own: word.logged}, outside);
      const chains = new ChainReader(memory);
      let written = 0;
      let published = 0;
      let logged = 0;
      let passed = 0;
      const publish = () => {
        writer.publish();
        published = written;
      };
      const log = () => {
        const {records, to} = logger.take(logger.end, 10, 1000);
        for (const record of records) {
          assert.equal(record.payload.readUInt32LE(0), logged);
          logger.writeChain(record, logged++ * 3);
        }
        assert.ok(logged <= published, 'a turn is seen as a whole');
        logger.advance(to);
      };
      const pass = () => {
        chains.pass(chain => assert.equal(chain, passed++ * 3));
        assert.equal(passed, logged);
      };
      for (const next of steps) {
        if (next.kind === 'log') log();
        else if (next.kind === 'pass') pass();
        else if (next.kind === 'publish') publish();
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
        publish();
        log();
        pass();
      }
      assert.deepEqual([logged, passed], [written, written]);
      assert.ok(writer.isEmpty);
    }),
  );
});
