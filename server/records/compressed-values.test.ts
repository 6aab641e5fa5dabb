/**
 * What lies beside a record is read by those who ask for it and by nobody else, and is never
 * believed when it is not what the record says.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {crc32} from 'node:zlib';
import {Corruption, Refusal} from '#server/base/errors.ts';
import {createProperty} from '#server/catalog/change-property.ts';
import {createType} from '#server/catalog/change-type.ts';
import {GraphReader} from '#server/execution/graph-reader.ts';
import {externalKey} from '#server/layout/external-key.ts';
import {codecs, compressedOutside, withBodies} from '#server/layout/compressed-value.ts';
import {findProperty} from '#server/layout/record.ts';
import {namespace} from '#server/layout/namespace.ts';
import {recordKey} from '#server/layout/record-key.ts';
import type {RecordValue} from '#server/model/value.ts';
import {type RecordDatabase, RecordWorld} from '#server/testing/worlds/record-world.ts';
import {noCaches} from '#server/caches/derived-caches.ts';
import {loadRecord} from './read.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';

const world = await RecordWorld.open();
after(() => world.close());

const recordCount = 100;
const text = 'a value that is long enough to be told from a name '.repeat(20);

async function filled(): Promise<RecordDatabase> {
  const property = (name: string, attributes: object) => {
    return (
      catalog: Parameters<typeof createProperty>[0],
      names: {idOf(n: string): {id: number}},
    ) =>
      createProperty(catalog, {
        typeName: 'Doc',
        name,
        nameId: names.idOf(name).id,
        type: 'STRING',
        attributes,
      });
  };
  const database = await world.database([
    catalog => createType(catalog, {name: 'Doc', kind: 'document', bucketCount: 1}),
    property('name', {}),
    property('far', {external: true}),
    property('packed', {compression: 'auto'}),
    property('both', {external: true, compression: 'lz4'}),
  ]);
  const {transaction, writer} = database.begin();
  for (let n = 0; n < recordCount; n++) {
    const own = text + n;
    const values = {name: `n${n}`, far: own, packed: own, both: own};
    writer.createDocument({typeName: 'Doc', properties: new Map(Object.entries(values))});
  }
  assert.equal((await transaction.commit()).kind, 'committed');
  return database;
}

/** The reader with a tally of what is read beside records. */
function counted(reader: ReadContext): {reader: ReadContext; calls: number; keys: number} {
  const tally = {reader, calls: 0, keys: 0};
  tally.reader = new Proxy(reader, {
    get(target, name) {
      if (name === 'get') {
        return (key: Uint8Array) => {
          if (key[0] === namespace.externals) {
            tally.calls++;
            tally.keys++;
          }
          return target.get(key);
        };
      }
      if (name === 'getMany') {
        return (...args: Parameters<ReadContext['getMany']>) => {
          if (args[0][4] === namespace.externals) {
            tally.calls++;
            tally.keys += args[1];
          }
          return target.getMany(...args);
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return tally;
}

function scan(graph: GraphReader, test?: (record: RecordValue) => boolean): RecordValue[] {
  const source = graph.scanType('Doc', true, {descending: false, test});
  const found: RecordValue[] = [];
  for (let some = source.next(64); some !== undefined; some = source.next(64)) found.push(...some);
  source.close();
  return found;
}

test('a scan reads what lies beside records only for those who ask for it', async () => {
  const database = await filled();
  const {context} = database;
  const {transaction} = database.begin();
  const graphFor = (asked?: ReadonlySet<string>) => {
    const tally = counted(transaction);
    return {tally, graph: new GraphReader(tally.reader, context, noCaches, asked)};
  };
  const names = graphFor(new Set(['name', 'packed']));
  const found = scan(names.graph);
  assert.deepEqual(new Set(found.map(record => record.get('name'))).size, recordCount);
  assert.equal(found[7]?.get('packed'), `${text}7`);
  assert.equal(names.tally.keys, 0);
  // Asked for nevertheless, it is there.
  assert.equal(found[7]?.get('far'), `${text}7`);
  assert.equal(names.tally.keys, 1);

  const far = graphFor(new Set(['far']));
  assert.equal(scan(far.graph)[9]?.get('far'), `${text}9`);
  assert.ok(far.tally.calls <= 6, `${far.tally.calls} calls`);

  const whole = graphFor();
  const few = scan(whole.graph, record => record.get('name') === 'n5');
  assert.deepEqual(few[0]?.properties().get('both'), `${text}5`);
  assert.equal(whole.tally.keys, 2, 'of the records that are passed over nothing is read');
  transaction.rollback();
});

test('a value that did not change is not written again', async () => {
  const database = await filled();
  const {transaction, writer} = database.begin();
  const bucket = database.context.catalog.requireType('Doc').bucketIds[0] ?? 0;
  const [record] = scan(new GraphReader(transaction, database.context));
  assert.ok(record !== undefined && record.rid.bucket === bucket);
  const before = transaction.writeBytes;
  writer.change(record.rid, {set: new Map([['name', 'other']]), remove: []});
  assert.ok(transaction.writeBytes - before < text.length / 2);
  transaction.rollback();
});

test('what is not the value that belongs to a record is refused', async () => {
  const database = await filled();
  const {schema} = database.context;
  const {transaction} = database.begin();
  const [record] = scan(new GraphReader(transaction, database.context));
  assert.ok(record !== undefined);
  const id = schema.propertyId('far') ?? 0;
  const key = externalKey(record.rid, id);
  const stored = transaction.get(key);
  assert.ok(stored !== undefined);
  const load = () => loadRecord(transaction, schema, record.rid)?.get('far');
  transaction.put(key, Buffer.concat([stored, Buffer.of(1)]));
  assert.throws(load, Corruption);
  transaction.delete(key);
  assert.throws(load, Corruption);
  // As much as no record may hold, in a few bytes.
  const pack = Uint8Array.of(codecs.zstd, 0x20, 1, 2, 3);
  const bytes = transaction.get(recordKey(record.rid));
  assert.ok(bytes !== undefined);
  const body = compressedOutside(1 << 30, crc32(pack));
  const place = {bytes, offset: 0, length: bytes.length};
  const bomb = withBodies(place, new Map([[findProperty(bytes, 0, id), body]]));
  transaction.put(recordKey(record.rid), bomb);
  transaction.put(key, pack);
  assert.throws(load, (error: unknown) => {
    return error instanceof Refusal && error.code === 'limit.record';
  });
  transaction.rollback();
});
