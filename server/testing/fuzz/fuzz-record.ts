/**
 * Stored bytes that are not what was written, through every decoder: records, entries of the log,
 * segment files. Each gives a Corruption or a clean result; nothing else, and in little time.
 */
import fc from 'fast-check';
import {ByteWriter} from '#server/base/byte-writer.ts';
import {Corruption} from '#server/base/errors.ts';
import {encodeRecord} from '#server/layout/record-encoding.ts';
import {RecordJson} from '#server/layout/record-json.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import {SegmentLog, type SegmentLogOptions} from '#server/log/segment-log.ts';
import {jsonText} from '#server/model/json.ts';
import {Rid} from '#server/model/value.ts';
import {Machine} from '#server/simulation/machine.ts';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {
  decodeEntry,
  decodeServerBody,
  eachOperation,
  EntryEncoder,
  type EntryOperation,
} from '#server/transactions/entry.ts';
import {anyValue} from '../property/any-value.ts';
import {type Fuzzer, spoilt} from './fuzzer.ts';

const millisecondsMax = 1_000;
const rid = new Rid(3, 4);
const logId = '0123456789abcdef0123456789abcdef';
const schema: RecordSchema = {
  typeName: id => `T${id}`,
  propertyName: id => `p${id}`,
  propertyId: name => Number(name.slice(1)),
};

export function recordFuzzer(seed: number): Fuzzer {
  const random = createSeededRandom(seed);
  const values = fc.sample(anyValue(), {numRuns: 400, seed});
  const json = new RecordJson(schema);
  const encoder = new EntryEncoder();
  const tally = {records: 0, entries: 0, segments: 0, corrupt: 0};

  function record(): void {
    const ids = new Set(Array.from({length: random.below(6)}, () => 1 + random.below(300)));
    const fields = [...ids].map(id => ({id, value: random.pick(values)}));
    const header = {kind: 'document', typeId: 7, schemaVersion: 1, recordVersion: 1} as const;
    const bytes = spoilt(random, encodeRecord(header, fields));
    // In the middle of others, as scans give it: what is read beyond it must not be told.
    const framed = Buffer.concat([Buffer.alloc(64, 0x41), bytes, Buffer.alloc(64, 0x41)]);
    tally.records++;
    const stored = new StoredRecord(rid, framed, schema, {offset: 64, length: bytes.length});
    jsonText(stored);
    for (const name of stored.propertyNames()) stored.get(name);
    json.append(new ByteWriter(64), framed, 64, bytes.length, rid);
  }

  function entry(): void {
    tally.entries++;
    spoiltEntry(random, encoder);
  }

  function segment(): void {
    tally.segments++;
    spoiltSegment(random);
  }

  return {
    step() {
      const begun = performance.now();
      const work = random.pick([record, record, record, record, entry, entry, entry, segment]);
      try {
        work();
      } catch (error) {
        if (!(error instanceof Corruption)) throw error;
        tally.corrupt++;
      }
      const milliseconds = performance.now() - begun;
      if (milliseconds > millisecondsMax) throw new Error(`${work.name} took ${milliseconds} ms`);
    },
    summary: () =>
      `${tally.records} records, ${tally.entries} entries, ${tally.segments} segments, ` +
      `${tally.corrupt} found to be corrupt`,
  };
}

function spoiltEntry(random: SeededRandom, encoder: EntryEncoder): void {
  const operations: EntryOperation[] = Array.from({length: random.below(4)}, () =>
    random.below(2) === 0
      ? {kind: 'put', key: randomBytes(random), value: randomBytes(random)}
      : {kind: 'delete', key: randomBytes(random)},
  );
  const head = {
    kind: 'transaction',
    databaseId: 1,
    schemaVersion: 2,
    clock: 3,
    newSchemaVersion: undefined,
    requestId: 'r',
    counters: [{kind: 'count', bucketId: 3, value: 4}],
  } as const;
  const isServer = random.below(3) === 0;
  const body = {head: {name: 'n', id: 1}, bytes: randomBytes(random)};
  const whole = isServer
    ? encoder.encodeServer('create-database', 5, body)
    : encoder.encode(head, operations);
  const decoded = decodeEntry(spoilt(random, whole));
  if (isServer) decodeServerBody(decoded);
  else for (const operation of eachOperation(decoded)) void operation;
}

function spoiltSegment(random: SeededRandom): void {
  const disk = new SimulatedDisk(new Machine());
  disk.makeDirectory('/log');
  const options: SegmentLogOptions = {disk, directory: '/log', segmentBytes: 8 << 10};
  const log = SegmentLog.create(options, logId, 1);
  for (let left = random.below(6); left >= 0; left--) {
    const payloads = Array.from({length: 1 + random.below(3)}, () => randomBytes(random));
    log.append(payloads, new Uint32Array(payloads.length), true);
  }
  log.close();
  const path = `/log/${random.pick(disk.list('/log'))}`;
  const file = disk.open(path, 'write');
  const bytes = Buffer.alloc(file.size());
  file.readAt(bytes, 0);
  const used = bytes.subarray(0, 2_048);
  file.writeAt(spoilt(random, used).subarray(0, used.length), 0);
  file.sync();
  file.close();
  const again = SegmentLog.open(options);
  if (again === undefined) return;
  for (const {payload} of again.read(again.firstIndex)) void payload;
  again.close();
}

function randomBytes(random: SeededRandom): Buffer {
  const bytes = Buffer.alloc(random.below(200));
  random.fill(bytes);
  return bytes;
}
