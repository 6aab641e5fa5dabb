/**
 * Clients that write records with compressed values (docs/design/0025-compressed-values.md):
 * external ones, compressed ones, and both. A record and what lies beside it are several rows of
 * one commit, and a crash must leave all of them or none.
 *
 * The records are real ones, made by the writer that statements use, in a database of their own
 * whose schema is never stored. What a transaction has done is what its snapshot and its end differ
 * by; the ledger replays that, and CHECK DATABASE judges what the rows mean.
 */
import {indexFamilies} from '#server/caches/index-families.ts';
import {Catalog} from '#server/catalog/catalog.ts';
import {createProperty, type PropertyAttributes} from '#server/catalog/change-property.ts';
import {createType} from '#server/catalog/change-type.ts';
import {NameDictionary} from '#server/catalog/names.ts';
import {nameKey} from '#server/layout/name-key.ts';
import {namespace} from '#server/layout/namespace.ts';
import {ridOfRecordKey} from '#server/layout/record-key.ts';
import type {Value} from '#server/model/value.ts';
import type {Database} from '#server/engine/database.ts';
import {RecordWriter} from '#server/records/records.ts';
import {CatalogSchema, type RecordContext, RecordWorkspace} from '#server/records/context.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import {assertIntegrity} from './integrity.ts';
import {type Attempt, type Effect, Ledger, readAll} from './ledger.ts';
import type {ClientOptions} from './workload.ts';

const typeName = 'Doc';
const properties: Readonly<Record<string, PropertyAttributes>> = {
  name: {},
  far: {external: true},
  dense: {compression: 'lz4'},
  both: {external: true, compression: 'auto'},
};
const foldedNames = ['far', 'dense', 'both'] as const;
/** Ids of names that no property has: rows that say which transactions happened. */
const markersFrom = 1_000_000;

export class FoldedRecords {
  readonly #ledger = new Ledger();
  readonly #context = contextOf(properties);
  readonly #bucketId = this.#context.catalog.requireType(typeName).bucketIds[0] ?? 0;
  /** Values beside records that the checks have found. */
  besideSeen = 0;

  /** Stores what statements would have stored with the schema: the names of the properties. */
  async prepare({database, nextNumber}: Omit<ClientOptions, 'ledger'>): Promise<void> {
    const transaction = database.begin('REPEATABLE_READ');
    const before = readAll(transaction);
    for (const name of Object.keys(properties)) {
      const {id} = this.#context.names.idOf(name);
      transaction.put(nameKey(id), Buffer.from(name));
    }
    await this.#commit(transaction, {number: nextNumber(), before, bucketId: this.#bucketId});
  }

  /** Does `operations` operations, one after another, pausing between them. */
  async runClient(options: Omit<ClientOptions, 'ledger'>, operations: number): Promise<void> {
    const {database, random, scheduler} = options;
    for (let count = 0; count < operations; count++) {
      await scheduler.sleep(random.below(4));
      if (random.chance(8)) this.#checkSnapshot(database);
      else await this.#write(options);
    }
  }

  endOfLife(): void {
    this.#ledger.endOfLife();
  }

  /** @throws Violation or AssertionError when the database is not what its clients were told. */
  check(database: Database): void {
    const session = database.read();
    try {
      this.#ledger.check(session, bucketId => session.recordCount(bucketId));
      const [from, to] = [namespace.externals, namespace.externals + 1];
      this.besideSeen += readAll(session, Buffer.from([from]), Buffer.from([to])).size;
    } finally {
      session.close();
    }
    this.#checkSnapshot(database);
  }

  #checkSnapshot(database: Database): void {
    const session = database.read();
    try {
      // Before the names are stored there is nothing.
      if (readAll(session).size > 0) assertIntegrity(session, this.#context);
    } finally {
      session.close();
    }
  }

  async #write(options: Omit<ClientOptions, 'ledger'>): Promise<void> {
    const {database, random, scheduler, nextNumber} = options;
    // One snapshot for the whole transaction, so that what it changes is a difference of two
    // states.
    const transaction = database.begin('REPEATABLE_READ');
    const writer = new RecordWriter(transaction, this.#context);
    const number = nextNumber();
    const before = readAll(transaction);
    const keys = recordKeysIn(before);
    const key = keys[random.below(Math.max(keys.length, 1))];
    const chosen = key === undefined ? undefined : ridOfRecordKey(Buffer.from(key, 'latin1'), 0);
    const dice = random.below(100);
    const values = valuesOf(options, number);
    if (chosen === undefined || dice < 45) writer.createDocument({typeName, properties: values});
    else if (dice < 60) writer.change(chosen, {set: values, remove: []});
    else if (dice < 70) writer.change(chosen, {set: new Map([['name', `n${number}`]]), remove: []});
    else if (dice < 80) {
      writer.change(chosen, {set: new Map(), remove: [random.pick(foldedNames)]});
    } else writer.delete(chosen);
    if (random.chance(60)) await scheduler.sleep(random.below(3));
    if (random.chance(5)) return transaction.rollback();
    const begun = {number, before, bucketId: this.#bucketId};
    if (await this.#commit(transaction, begun)) writer.committed();
  }

  /** Whether it is known to be committed. */
  async #commit(transaction: Transaction, begun: Begun): Promise<boolean> {
    const attempt = attemptOf(transaction, begun);
    this.#ledger.add(attempt);
    const outcome = await transaction.commit();
    this.#ledger.settle(attempt, outcome);
    return outcome.kind === 'committed';
  }
}

/** A schema in memory, with one type that has these properties, all texts. */
function contextOf(attributes: Readonly<Record<string, PropertyAttributes>>): RecordContext {
  const names = new NameDictionary();
  let {catalog} = createType(new Catalog(), {name: typeName, kind: 'document', bucketCount: 1});
  for (const [name, given] of Object.entries(attributes)) {
    const nameId = names.idOf(name).id;
    const property = {typeName, name, nameId, type: 'STRING', attributes: given} as const;
    catalog = createProperty(catalog, property).catalog;
  }
  return {
    catalog,
    names,
    schema: new CatalogSchema(catalog, names),
    defaults: text => text,
    recordBytesMax: 1 << 20,
    bucketTurns: new Map(),
    families: indexFamilies,
    workspace: new RecordWorkspace(catalog, indexFamilies),
  };
}

/** New values for some of the properties, one at least; few are long. */
function valuesOf({random}: Pick<ClientOptions, 'random'>, number: number): Map<string, Value> {
  const values = new Map<string, Value>([['name', `n${number}`]]);
  for (const name of foldedNames) {
    if (random.chance(30)) continue;
    const words = random.below(random.chance(5) ? 400 : 40);
    values.set(name, `${name} of ${number} `.repeat(words));
  }
  return values;
}

interface Begun {
  readonly number: number;
  /** What its snapshot held. */
  readonly before: ReadonlyMap<string, string>;
  readonly bucketId: number;
}

/** Ends a transaction with its marker. */
function attemptOf(transaction: Transaction, {number, before, bucketId}: Begun): Attempt {
  const marker = Buffer.from(nameKey(markersFrom + number));
  transaction.put(marker, Buffer.from(`transaction ${number}`));
  const after = readAll(transaction);
  const effects: Effect[] = [];
  const seen = new Map<string, string | undefined>();
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const value = after.get(key);
    if (before.get(key) === value) continue;
    effects.push(value === undefined ? {kind: 'delete', key} : {kind: 'put', key, value});
    // A name may be stored by several transactions, each as if it were the first.
    if (key.charCodeAt(0) !== namespace.names) seen.set(key, before.get(key));
  }
  const records = {before: recordKeysIn(before), after: recordKeysIn(after)};
  return {
    number,
    marker: marker.toString('latin1'),
    effects,
    seen,
    countDeltas: new Map([[bucketId, records.after.length - records.before.length]]),
    created: records.after.filter(key => !before.has(key)),
    repeats: undefined,
    outcome: 'pending',
  };
}

function recordKeysIn(rows: ReadonlyMap<string, string>): string[] {
  return [...rows.keys()].filter(key => key.charCodeAt(0) === namespace.records);
}
