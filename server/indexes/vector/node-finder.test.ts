/** The table of nodes answers as a map does, whatever comes and goes. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {NodeFinder} from './node-finder.ts';
import {randomNumbers} from './testing-vectors.ts';

interface Record {
  readonly bucket: number;
  readonly position: number;
}

test('nodes are found as in a map, through many that come and go', () => {
  const {share} = randomNumbers(5);
  const records: Record[] = [];
  const finder = new NodeFinder({
    bucketOf: node => records[node]?.bucket ?? -1,
    positionOf: node => records[node]?.position ?? -1,
  });
  const twin = new Map<string, number>();
  const nameOf = ({bucket, position}: Record): string => `${bucket}:${position}`;
  for (let turn = 0; turn < 30_000; turn++) {
    // Few positions, so that one comes again; some are beyond 32 bits.
    const far = share() < 0.2 ? 2 ** 40 : 0;
    const record = {bucket: Math.floor(share() * 3), position: far + Math.floor(share() * 2_000)};
    const node = twin.get(nameOf(record));
    assert.equal(finder.nodeOf(record.bucket, record.position), node);
    if (node === undefined) {
      records.push(record);
      finder.add(records.length - 1);
      twin.set(nameOf(record), records.length - 1);
    } else {
      finder.remove(node);
      finder.remove(node);
      twin.delete(nameOf(record));
    }
  }
  for (const record of records) {
    assert.equal(finder.nodeOf(record.bucket, record.position), twin.get(nameOf(record)));
  }
  for (let bucket = 0; bucket < 4; bucket++) {
    const held = [...twin.keys()].filter(name => name.startsWith(`${bucket}:`)).length;
    assert.equal(finder.countIn(bucket), held);
  }
  assert.ok(finder.byteLength <= 16 * twin.size, `${finder.byteLength} bytes of ${twin.size}`);
});
