/**
 * Looks whether stored records keep rules that a change of the schema is about to bring.
 *
 * The records are read in one snapshot, and the transaction commits only if nobody wrote among them
 * since: so a rule that is in force holds for every record. Rules that were there before are not
 * looked at again.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {PropertyDefinition} from '#server/catalog/definition.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {strayMembers} from '#server/layout/stray-member-key.ts';
import {bucketRange, ridOfRecordKey} from '#server/layout/record-key.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import {ridText} from '#server/model/rid.ts';
import type {Value} from '#server/model/value.ts';
import {CompressedValueReader} from './compressed-values.ts';
import type {RecordContext} from './context.ts';
import {StrayMembers} from './members.ts';
import {loadMany} from './read.ts';
import {checkComplete, checkRules, convertProperties} from './rules.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

/** A type of the new schema and those of its properties whose rules or data types are new. */
interface NewRules extends Pick<CatalogType, 'id' | 'name' | 'bucketIds' | 'ruledProperties'> {
  /** The new schema, in which values are to fit into the data types. */
  readonly catalog: Catalog;
  readonly type: CatalogType;
  readonly retyped: readonly PropertyDefinition[];
}

/**
 * Reads all records that get a new rule, so many in one step; iterate to the end.
 *
 * @param transaction - REPEATABLE_READ; it gets the conditions under which the result holds.
 * @throws {Refusal} `query.execution` for the first record that breaks one.
 */
export function* checkRecords(
  transaction: Transaction,
  context: RecordContext,
  next: Catalog,
  recordsOfStep: number,
): Generator<void, void> {
  for (const rules of newRules(context.catalog, next)) {
    for (const bucket of rules.bucketIds) {
      const range = bucketRange(bucket);
      transaction.require({kind: 'range-untouched', ...range});
      const walker = new RowWalker(transaction, [range]);
      const compressed = new CompressedValueReader(transaction);
      try {
        for (let seen = 1; walker.next(); seen += 1) {
          const rid = ridOfRecordKey(walker.bytes, walker.keyStart);
          const place = {offset: walker.keyEnd, length: walker.end - walker.keyEnd};
          requireKept(
            rules,
            new StoredRecord(rid, walker.bytes, context.schema, place, compressed),
          );
          if (seen % recordsOfStep === 0) yield;
        }
      } finally {
        walker.close();
      }
    }
    yield* checkForeign(transaction, context, rules, recordsOfStep);
  }
}

/** Records that lie in the buckets of other types. */
function* checkForeign(
  transaction: Transaction,
  context: RecordContext,
  rules: NewRules,
  recordsOfStep: number,
): Generator<void, void> {
  transaction.require({kind: 'range-untouched', ...strayMembers});
  const members = new StrayMembers(transaction, [rules.id], rules.bucketIds);
  try {
    const next = (): ReturnType<typeof members.next> => members.next(recordsOfStep);
    for (let rids = next(); rids !== undefined; rids = next()) {
      for (const {bucket} of rids) {
        transaction.require({kind: 'range-untouched', ...bucketRange(bucket)});
      }
      for (const record of loadMany(transaction, context.schema, rids)) {
        if (record !== undefined) requireKept(rules, record);
      }
      yield;
    }
  } finally {
    members.close();
  }
}

function newRules(before: Catalog, after: Catalog): readonly NewRules[] {
  return [...after.types].flatMap(type => {
    const old = before.typeById(type.id);
    if (old === undefined) return [];
    const {id, name, bucketIds} = type;
    const ruledProperties = type.ruledProperties.filter(property =>
      isStricter(property, old.properties.get(property.name)),
    );
    const retyped = [...type.properties.values()].filter(property =>
      isRetyped(property, old.properties.get(property.name), before, after),
    );
    if (ruledProperties.length === 0 && retyped.length === 0) return [];
    return [{id, name, bucketIds, ruledProperties, catalog: after, type, retyped}];
  });
}

/**
 * One that is declared for the first time takes the values that are there as they are, and so does
 * one that is declared OF nothing any more, or of a type that has another name now.
 */
function isRetyped(
  next: PropertyDefinition,
  old: PropertyDefinition | undefined,
  before: Catalog,
  after: Catalog,
): boolean {
  if (old === undefined) return false;
  if (next.type !== old.type) return true;
  if (next.ofType === undefined || next.ofType === old.ofType) return false;
  const id = after.type(next.ofType)?.id;
  return id === undefined || before.type(old.ofType ?? '')?.id !== id;
}

function isStricter(next: PropertyDefinition, old: PropertyDefinition | undefined): boolean {
  if (next === old) return false;
  return (
    (next.mandatory && old?.mandatory !== true) ||
    (next.notNull && old?.notNull !== true) ||
    (next.min !== undefined && next.min !== old?.min) ||
    (next.max !== undefined && next.max !== old?.max) ||
    (next.regexp !== undefined && next.regexp !== old?.regexp)
  );
}

function requireKept(rules: NewRules, record: StoredRecord): void {
  // Those of other types that lie in the bucket are not concerned.
  if (record.typeId !== rules.id) return;
  const valuesOf = (properties: readonly PropertyDefinition[]): Map<string, Value> =>
    new Map(
      properties.flatMap(({name}) => {
        const value = record.get(name);
        return value === undefined ? [] : [[name, value] as const];
      }),
    );
  try {
    convertProperties(rules.catalog, rules.type, valuesOf(rules.retyped));
    const properties = valuesOf(rules.ruledProperties);
    checkRules(rules, properties);
    checkComplete(rules, properties);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const rid = ridText(record.rid);
    throw new Refusal(
      'query.execution',
      `the record ${rid} breaks the rule: ${error.message}; correct or delete such records first`,
      {detail: {...error.detail, rid}},
    );
  }
}
