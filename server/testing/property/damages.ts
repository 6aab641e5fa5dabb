/**
 * Damages of a stored database, each with a name: bytes changed below the transactions, as a disk
 * or a fault of ours might change them.
 *
 * The database is made of groups that have nothing to do with each other, so that a hundred damages
 * in a hundred groups are a hundred separate ones, and each can be looked for by itself.
 */
import {indexFamilies} from '#server/caches/index-families.ts';
import {assert} from '#server/base/assert.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {decodeCatalog} from '#server/catalog/encode.ts';
import {NameDictionary} from '#server/catalog/names.ts';
import type {FindingKind} from '#server/integrity/finding.ts';
import {declaredParts, type IndexKey, keyWriter} from '#server/indexes/index-parts.ts';
import {adjacencyKey, edgeFlags, incoming, outgoing} from '#server/layout/adjacency-key.ts';
import {externalKey} from '#server/layout/external-key.ts';
import {strayMemberKey} from '#server/layout/stray-member-key.ts';
import {indexRange} from '#server/layout/index-key.ts';
import {idOfNameKey, nameKey} from '#server/layout/name-key.ts';
import {namespace} from '#server/layout/namespace.ts';
import {findProperty, propertyStart} from '#server/layout/record.ts';
import {recordKey, recordKeyBytes, ridOfRecordKey} from '#server/layout/record-key.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import {valueTag} from '#server/layout/value-tag.ts';
import {ridText} from '#server/model/rid.ts';
import {Rid, type Value} from '#server/model/value.ts';
import {createPackedRows, eachRow} from '#server/storage/packed-rows.ts';
import type {Store} from '#server/storage/store.ts';
import {CatalogSchema} from '#server/records/context.ts';
import {catalogKey, counterKey, encodeCounter} from '#server/transactions/system-keys.ts';
import type {SeededRandom} from './seeded-random.ts';

const dumpBytes = 1 << 20;

/** What statements make: the schema, then `count` groups. */
export function groupStatements(count: number, random: SeededRandom): readonly string[] {
  const statements = [
    'CREATE VERTEX TYPE Person BUCKETS 3',
    'CREATE PROPERTY Person.name STRING',
    'CREATE PROPERTY Person.nick STRING',
    'CREATE PROPERTY Person.tags LIST',
    'CREATE PROPERTY Person.code LONG',
    'CREATE INDEX ON Person (name) UNIQUE',
    'CREATE INDEX ON Person (nick COLLATE CI) NOTUNIQUE',
    'CREATE INDEX ON Person (tags BY ITEM) NOTUNIQUE',
    'CREATE INDEX ON Person (code) UNIQUE_HASH NULL_STRATEGY SKIP',
    'CREATE VERTEX TYPE Other',
    'CREATE EDGE TYPE Knows',
    'CREATE PROPERTY Knows.since INTEGER',
    'CREATE INDEX ON Knows (since) NOTUNIQUE',
    'CREATE EDGE TYPE Once UNIDIRECTIONAL UNIQUE',
    'CREATE EDGE TYPE Light UNIDIRECTIONAL LIGHTWEIGHT',
    'CREATE DOCUMENT TYPE Doc',
    "CREATE PROPERTY Doc.far STRING (external true, compression 'auto')",
    "CREATE PROPERTY Doc.dense STRING (compression 'lz4')",
  ];
  for (let group = 0; group < count; group++) {
    statements.push(
      `CREATE DOCUMENT TYPE Bare${group}`,
      `CREATE PROPERTY Bare${group}.declared${group} STRING`,
      `INSERT INTO Bare${group} SET n = 1`,
      `INSERT INTO Bare${group} SET n = 2`,
    );
    const tags = Array.from({length: 1 + random.below(4)}, () => random.below(1_000_000));
    for (const end of ['a', 'b']) {
      statements.push(
        `INSERT INTO Person SET name = 'p${group}${end}', nick = 'Nick${group}${end}', ` +
          `tags = [${tags.join()}], code = ${group * 10 + (end === 'a' ? 1 : 2)}`,
      );
    }
    const [a, b] = ['a', 'b'].map(end => `(SELECT FROM Person WHERE name = 'p${group}${end}')`);
    statements.push(
      `CREATE EDGE Knows FROM ${a} TO ${b} SET since = ${random.below(50)}, group = ${group}`,
      `CREATE EDGE Once FROM ${a} TO ${b} SET group = ${group}`,
      `CREATE EDGE Light FROM ${a} TO ${b}`,
      `INSERT INTO Other SET group = ${group}`,
      `MOVE VERTEX (SELECT FROM Other WHERE group = ${group}) TO TYPE:Person ` +
        `SET name = 'moved${group}'`,
      `INSERT INTO Doc SET group = ${group}, text = 'some text ${random.below(1_000)}', ` +
        `number = ${100_000 + random.below(900_000)}, only${group} = true, ` +
        `far = 'far away ${group}', dense = '${'dense'.repeat(60)}', ` +
        `link = (SELECT FROM Person WHERE name = 'p${group}a')[0]`,
    );
  }
  return statements;
}

/** A group's records as they lay before any damage. */
interface Group {
  readonly number: number;
  readonly a: StoredRecord;
  readonly b: StoredRecord;
  readonly moved: StoredRecord;
  readonly knows: StoredRecord;
  readonly once: StoredRecord;
  readonly doc: StoredRecord;
  readonly bare: StoredRecord;
}

/** What a check must say of a damage. */
export interface Expected {
  readonly kind: FindingKind;
  readonly place: string;
}

type Damage = (image: StoredImage, group: Group) => Expected;

/** Every row of a store, what is changed of it, and what it means. */
export class StoredImage {
  readonly catalog: Catalog;
  readonly names = new NameDictionary();
  readonly groups: readonly Group[];
  readonly random: SeededRandom;
  readonly #rows: ReadonlyMap<string, Buffer>;
  /** Undefined: deleted. */
  readonly #changes = new Map<string, Uint8Array | undefined>();

  constructor(store: Store, random: SeededRandom) {
    this.random = random;
    this.#rows = dump(store);
    const catalog = this.#rows.get(hex(catalogKey));
    assert(catalog !== undefined, 'the database has a catalog');
    this.catalog = decodeCatalog(catalog, indexFamilies);
    for (const [key, value] of this.#rows) {
      const bytes = Buffer.from(key, 'hex');
      if (bytes[0] === namespace.names) this.names.learn(idOfNameKey(bytes, 0), String(value));
    }
    this.groups = this.#readGroups();
  }

  has(key: Uint8Array): boolean {
    return this.#rows.has(hex(key));
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.#changes.set(hex(key), value);
  }

  delete(key: Uint8Array): void {
    assert(this.#rows.has(hex(key)), 'what is deleted was there');
    this.#changes.set(hex(key), undefined);
  }

  write(store: Store): void {
    const batch = store.batch();
    for (const [key, value] of this.#changes) {
      if (value === undefined) batch.delete(Buffer.from(key, 'hex'));
      else batch.put(Buffer.from(key, 'hex'), value);
    }
    store.write(batch, {sync: true});
  }

  /** Puts every row that was changed back, as a restore of it does; new ones stay. */
  restore(store: Store): void {
    const batch = store.batch();
    for (const key of this.#changes.keys()) {
      const value = this.#rows.get(key);
      if (value !== undefined) batch.put(Buffer.from(key, 'hex'), value);
    }
    store.write(batch, {sync: true});
  }

  bucketName({rid}: StoredRecord): string {
    return this.catalog.bucketById(rid.bucket)?.name ?? '';
  }

  /** The record's first entry under the index. */
  entry(index: string, record: StoredRecord, change?: ReadonlyMap<string, Value>): IndexKey {
    const definition = this.catalog.requireIndex(index);
    const type = this.catalog.typeById(definition.typeId);
    assert(type !== undefined, 'an index has a type');
    const {from, to, rid} = record;
    const get = (name: string): Value | undefined => change?.get(name) ?? record.get(name);
    const {entriesOf} = indexFamilies.of(definition);
    const declared = declaredParts(definition, type);
    const [key] = entriesOf(definition, declared, rid, {from, to, get}, keyWriter());
    assert(key !== undefined, 'the record has an entry');
    return key;
  }

  /** Where the body of a property begins in the record's bytes. */
  bodyAt(record: StoredRecord, name: string): number {
    const slot = findProperty(record.bytes, 0, this.names.knownId(name) ?? 0);
    return propertyStart(record.bytes, 0, slot);
  }

  #readGroups(): readonly Group[] {
    const schema = new CatalogSchema(this.catalog, this.names);
    const found: Partial<Record<keyof Group, StoredRecord>>[] = [];
    for (const [key, value] of this.#rows) {
      const bytes = Buffer.from(key, 'hex');
      if (bytes[0] !== namespace.records) continue;
      const record = new StoredRecord(ridOfRecordKey(bytes, 0), value, schema);
      const name = textOf(record.get('name'));
      const number = Number(
        record.get('group') ??
          /\d+/.exec(record.typeName.startsWith('Bare') ? record.typeName : name),
      );
      const group = (found[number] ??= {});
      const role = /^p.*a$/.test(name) ? 'a' : name.startsWith('p') ? 'b' : 'moved';
      const others = {Knows: 'knows', Once: 'once', Doc: 'doc'} as const;
      const {typeName} = record;
      if (typeName === 'Person') group[role] = record;
      else if (typeName.startsWith('Bare')) group.bare = record;
      else group[others[typeName as keyof typeof others]] = record;
    }
    return found.map((group, number) => ({...(group as Omit<Group, 'number'>), number}));
  }
}

/** Every row by its key in hexadecimal. */
export function dump(store: Store): Map<string, Buffer> {
  const rows = new Map<string, Buffer>();
  const scanner = store.scan([{start: new Uint8Array()}]);
  const packed = createPackedRows(dumpBytes);
  do {
    scanner.next(packed);
    for (const {key, value} of eachRow(packed)) rows.set(hex(key), Buffer.from(value ?? []));
  } while (!packed.done);
  scanner.close();
  return rows;
}

function textOf(value: Value | undefined): string {
  return typeof value === 'string' ? value : '';
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function changed(bytes: Uint8Array, at: number, ...to: readonly number[]): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy.set(to, at);
  return copy;
}

function edgeKeys(edge: StoredRecord): {readonly out: Uint8Array; readonly in: Uint8Array} {
  const {from, to, rid, typeId: edgeTypeId} = edge;
  assert(from !== undefined && to !== undefined, 'an edge has ends');
  return {
    out: adjacencyKey({vertex: from, direction: outgoing, edgeTypeId, other: to, edge: rid}),
    in: adjacencyKey({vertex: to, direction: incoming, edgeTypeId, other: from, edge: rid}),
  };
}

/** Both keys of the light edge of a group: the one edge of its type that leaves `a`. */
function lightKeys(image: StoredImage, {a, b}: Group): readonly [Uint8Array, Uint8Array] {
  const type = image.catalog.requireType('Light');
  const [bucket = 0] = type.bucketIds;
  for (let serial = 0; serial < image.groups.length; serial++) {
    const edge = new Rid(bucket, -1 - serial);
    const ends = {edgeTypeId: type.id, edge};
    const out = adjacencyKey({...ends, vertex: a.rid, direction: outgoing, other: b.rid});
    if (!image.has(out)) continue;
    return [out, adjacencyKey({...ends, vertex: b.rid, direction: incoming, other: a.rid})];
  }
  throw new Error('the group has a light edge');
}

function at(kind: FindingKind, record: StoredRecord): Expected {
  return {kind, place: ridText(record.rid)};
}

function rewritten(
  image: StoredImage,
  record: StoredRecord,
  bytes: Uint8Array,
  kind: FindingKind,
): Expected {
  image.put(recordKey(record.rid), bytes);
  return at(kind, record);
}

/** The key of the document's value that lies beside it. */
function beside(image: StoredImage, {rid}: StoredRecord): Uint8Array {
  return externalKey(rid, image.names.knownId('far') ?? 0);
}

/** Damages whose right bytes follow from others: FIX leaves no trace of them. */
export const derivable: Readonly<Record<string, Damage>> = {
  'the key of an edge at its start is lost': (image, {knows}) => {
    image.delete(edgeKeys(knows).out);
    return at('edge-key-missing-out', knows);
  },
  'the key of an edge at its end is lost': (image, {knows}) => {
    image.delete(edgeKeys(knows).in);
    return at('edge-key-missing-in', knows);
  },
  'both keys of an edge are lost': (image, {once}) => {
    const keys = edgeKeys(once);
    image.delete(keys.out);
    image.delete(keys.in);
    return at('edge-key-missing-in', once);
  },
  'an earlier release gave an edge a key at its start only': (image, {once}) => {
    const keys = edgeKeys(once);
    image.put(keys.out, Uint8Array.of(edgeFlags(false, true)));
    image.delete(keys.in);
    return at('edge-key-missing-in', once);
  },
  'an earlier release gave a light edge a key at its start only': (image, group) => {
    const [atStart, atEnd] = lightKeys(image, group);
    image.put(atStart, Uint8Array.of(edgeFlags(true, true)));
    image.delete(atEnd);
    return at('light-edge-half', group.a);
  },
  'the flags of an edge are changed': (image, {knows}) => {
    image.put(edgeKeys(knows).out, Uint8Array.of(0x91));
    return at('edge-key-missing-out', knows);
  },
  'a key tells of an edge that is not there': (image, {knows, a}) => {
    const edge = new Rid(knows.rid.bucket, 1_000_000 + image.random.below(1_000_000));
    const {typeId: edgeTypeId, from, to} = knows;
    assert(from !== undefined && to !== undefined, 'an edge has ends');
    const parts = {vertex: from, direction: outgoing, edgeTypeId, other: to, edge} as const;
    image.put(adjacencyKey(parts), Uint8Array.of(0));
    return at('edge-key-dangling', a);
  },
  'the start of a light edge is lost': (image, group) => {
    image.delete(lightKeys(image, group)[0]);
    return at('light-edge-half', group.b);
  },
  'the end of a light edge is lost': (image, group) => {
    image.delete(lightKeys(image, group)[1]);
    return at('light-edge-half', group.a);
  },
  'an entry of a unique index is lost': (image, {a}) => {
    image.delete(image.entry('Person[name]', a).key);
    return at('index-entry-missing', a);
  },
  'an entry of one of several items is lost': (image, {b}) => {
    image.delete(image.entry('Person[tagsbyitem]', b).key);
    return at('index-entry-missing', b);
  },
  'an entry of a hash index is lost': (image, {b}) => {
    image.delete(image.entry('Person[code]', b).key);
    return at('index-entry-missing', b);
  },
  'an entry of an edge is lost': (image, {knows}) => {
    image.delete(image.entry('Knows[since]', knows).key);
    return at('index-entry-missing', knows);
  },
  'an index has a second entry of a record': (image, {a, number}) => {
    const {key, value} = image.entry('Person[name]', a, new Map([['name', `never${number}`]]));
    image.put(key, value);
    return {kind: 'index-entry-stray', place: hex(key)};
  },
  'an index has an entry of no record': (image, {knows, number}) => {
    const ghost = new StoredRecord(new Rid(knows.rid.bucket, 9_000_000), knows.bytes, knows.schema);
    const {key, value} = image.entry('Knows[since]', ghost, new Map([['since', 100 + number]]));
    image.put(key, value);
    return {kind: 'index-entry-stray', place: hex(key)};
  },
  'an entry forgets the case of a text': (image, {a}) => {
    image.put(image.entry('Person[nick]', a).key, new Uint8Array());
    return at('index-entry-wrong', a);
  },
  'an entry names another record': (image, {a, b}) => {
    const {value} = image.entry('Person[name]', b);
    image.put(image.entry('Person[name]', a).key, value);
    return at('index-entry-wrong', a);
  },
  'entries are left of an index that is gone': (image, {number}) => {
    const {start} = indexRange(5_000 + number);
    image.put(Uint8Array.from([...start, 1, 2, 3]), Uint8Array.of(4));
    return {kind: 'index-unknown', place: `index ${5_000 + number}`};
  },
  'the key of a record in another bucket is lost': (image, {moved}) => {
    image.delete(strayMemberKey(moved.typeId, moved.rid));
    return at('member-key-missing', moved);
  },
  'a type has the key of a record that is its own': (image, {a}) => {
    image.put(strayMemberKey(a.typeId, a.rid), new Uint8Array());
    return at('member-key-stray', a);
  },
  'a bucket counts too many': (image, {bare}) => {
    const more = encodeCounter(2 + image.random.below(100) + 1);
    image.put(counterKey('count', bare.rid.bucket), more);
    return {kind: 'count-wrong', place: image.bucketName(bare)};
  },
  'a count is lost': (image, {bare}) => {
    image.delete(counterKey('count', bare.rid.bucket));
    return {kind: 'count-wrong', place: image.bucketName(bare)};
  },
  'a count is no number': (image, {bare}) => {
    image.put(counterKey('count', bare.rid.bucket), Uint8Array.of(1, 2, 3));
    return {kind: 'count-wrong', place: image.bucketName(bare)};
  },
  'new records would get ids of old ones': (image, {bare}) => {
    image.put(counterKey('position', bare.rid.bucket), encodeCounter(1));
    return {kind: 'position-low', place: image.bucketName(bare)};
  },
  'the mark of positions is no number': (image, {bare}) => {
    image.put(counterKey('position', bare.rid.bucket), Buffer.alloc(8, 0xff));
    return {kind: 'position-low', place: image.bucketName(bare)};
  },
  'the name of a declared property is lost': (image, {number}) => {
    const name = `declared${number}`;
    image.delete(nameKey(image.names.knownId(name) ?? 0));
    return {kind: 'name-declared', place: `Bare${number}.${name}`};
  },
};

/** Damages that take something along which nothing else tells. */
export const lossy: Readonly<Record<string, Damage>> = {
  'a record is cut short': (image, {doc}) => {
    return rewritten(image, doc, doc.bytes.subarray(0, doc.length - 7), 'record-damaged');
  },
  'a record is empty': (image, {doc}) => rewritten(image, doc, new Uint8Array(), 'record-damaged'),
  'a record has an unknown format': (image, {doc}) => {
    return rewritten(image, doc, changed(doc.bytes, 0, 0x6a), 'record-damaged');
  },
  'a text is no text': (image, {doc}) => {
    const bytes = changed(doc.bytes, image.bodyAt(doc, 'text'), 0xff, 0xfe);
    return rewritten(image, doc, bytes, 'record-damaged');
  },
  'a number has a letter': (image, {doc}) => {
    const bytes = changed(doc.bytes, image.bodyAt(doc, 'number') + 1, 0x4f);
    return rewritten(image, doc, bytes, 'record-damaged');
  },
  'a value beside a record is lost': (image, {doc}) => {
    image.delete(beside(image, doc));
    return at('external-value-missing', doc);
  },
  'a value beside a record is another one': (image, {doc}) => {
    image.put(beside(image, doc), Uint8Array.of(0, valueTag.text, 0x78));
    return at('external-value-wrong', doc);
  },
  'a compressed value is none': (image, {doc}) => {
    const bytes = changed(doc.bytes, image.bodyAt(doc, 'dense') + 9, 0x6a, 0x6a);
    return rewritten(image, doc, bytes, 'record-damaged');
  },
  'a record is of a type that does not exist': (image, {doc}) => {
    return rewritten(image, doc, changed(doc.bytes, 2, 0xe7, 0x1f), 'record-type-unknown');
  },
  'a document is stored as a vertex': (image, {doc}) => {
    const shape = (doc.bytes[1] ?? 0) | 1;
    return rewritten(image, doc, changed(doc.bytes, 1, shape), 'record-kind-wrong');
  },
  'a link leads nowhere': (image, {doc}) => {
    const bytes = changed(doc.bytes, image.bodyAt(doc, 'link') + 5, 0x7f);
    return rewritten(image, doc, bytes, 'link-dangling');
  },
  'a vertex is lost': (image, {b, knows}) => {
    image.delete(recordKey(b.rid));
    return at('edge-end-missing', knows);
  },
  'the record of an edge is lost': (image, {knows, a}) => {
    image.delete(recordKey(knows.rid));
    return at('edge-key-dangling', a);
  },
  'a unique edge is there twice': (image, {once, a, number}) => {
    const rid = new Rid(once.rid.bucket, 2_000_000 + number);
    const twin = new StoredRecord(rid, once.bytes, once.schema);
    image.put(recordKey(rid), once.bytes);
    const keys = edgeKeys(twin);
    image.put(keys.out, Uint8Array.of(0));
    image.put(keys.in, Uint8Array.of(0));
    return at('edge-duplicate', a);
  },
  'two records have one unique key': (image, {a, b}) => {
    const bytes = changed(b.bytes, image.bodyAt(b, 'name'), ...Buffer.from(textOf(a.get('name'))));
    return rewritten(image, b, bytes, 'index-key-duplicate');
  },
  'a name is no text': (image, {number}) => {
    const id = image.names.knownId(`only${number}`) ?? 0;
    image.put(nameKey(id), Uint8Array.of(0xff, 0xc0));
    return {kind: 'name-damaged', place: `name ${id}`};
  },
  'a name is lost': (image, {doc, number}) => {
    image.delete(nameKey(image.names.knownId(`only${number}`) ?? 0));
    return at('name-missing', doc);
  },
};

/** Bytes that nothing refers to. */
export const orphaned: Readonly<Record<string, Damage>> = {
  'a record lies in a bucket that does not exist': (image, {doc, number}) => {
    const rid = new Rid(7_000 + number, 3);
    image.put(recordKey(rid), doc.bytes);
    return {kind: 'record-without-bucket', place: ridText(rid)};
  },
  'a value lies beside a record that does not say so': (image, {a}) => {
    image.put(externalKey(a.rid, 1), Uint8Array.of(0, valueTag.text, 0x78));
    return at('external-value-stray', a);
  },
  'a value lies beside no record': (image, {doc, number}) => {
    const rid = new Rid(doc.rid.bucket, 3_000_000 + number);
    image.put(externalKey(rid, 1), Uint8Array.of(0, valueTag.text, 0x78));
    return {kind: 'external-value-stray', place: ridText(rid)};
  },
  'a key has no meaning': (image, {number}) => {
    const key = Uint8Array.of(0x77, number);
    image.put(key, Uint8Array.of(1));
    return {kind: 'key-unknown', place: hex(key)};
  },
  'a key of a record is too long': (image, {doc}) => {
    const key = Uint8Array.from([...recordKey(doc.rid), 1]);
    assert(key.length > recordKeyBytes, 'it is too long');
    image.put(key, doc.bytes);
    return {kind: 'key-unknown', place: hex(key)};
  },
};
