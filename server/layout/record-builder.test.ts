/** The builder of records where properties are many: as fast as it must be, and bounded. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {RecordBuilder} from './record-builder.ts';
import {writeValue} from './stored-value.ts';

function add(builder: RecordBuilder, id: number, value: number): void {
  builder.open(id);
  builder.close(writeValue(builder.bodies, value, undefined));
}

test('a property is found among many, also after the builder starts over', () => {
  const builder = new RecordBuilder();
  for (const count of [3, 40, 1_000, 20]) {
    builder.clear();
    for (let at = 0; at < count; at++) {
      assert.equal(builder.has(at * 7), false);
      add(builder, at * 7, at);
    }
    for (let at = 0; at < count; at++) assert.equal(builder.read(at * 7), at);
    assert.equal(builder.has(count * 7), false);
  }
});

test('65,535 properties are taken in time, and no more', () => {
  const builder = new RecordBuilder();
  const begun = process.cpuUsage().user;
  for (let id = 0; id < 65_535; id++) if (!builder.has(id)) add(builder, id, id);
  assert.ok((process.cpuUsage().user - begun) / 1_000 < 1_000);
  assert.throws(() => builder.open(65_535), {code: 'limit.record'});
});
