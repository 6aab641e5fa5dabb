/**
 * Looks whether stored records keep rules that a change of the schema is about to bring.
 *
 * The records are read in one view, and the transaction commits only if nobody wrote among them
 * since: so a rule that is in force holds for every record. Rules that were there before are not
 * looked at again.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {PropertyDefinition} from '#server/catalog/definition.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {foreignMembers} from '#server/layout/foreign-member-key.ts';
import {bucketRange, ridOfRecordKey} from '#server/layout/record-key.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import {ridText} from '#server/model/rid.ts';
import type {RecordContext} from './records-context.ts';
import {ForeignMembers} from './records-members.ts';
import {loadMany} from './records-read.ts';
import {checkComplete, checkRules} from './records-rules.ts';
import type {Transaction} from './transaction-contract.ts';

/** A type of the new schema and those of its properties whose rules are new. */
type NewRules = Pick<CatalogType, 'id' | 'name' | 'bucketIds' | 'ruledProperties'>;

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
      try {
        for (let seen = 1; walker.next(); seen += 1) {
          const rid = ridOfRecordKey(walker.bytes, walker.keyStart);
          const place = {offset: walker.keyEnd, length: walker.end - walker.keyEnd};
          requireKept(rules, new StoredRecord(rid, walker.bytes, context.schema, place));
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
  transaction.require({kind: 'range-untouched', ...foreignMembers});
  const members = new ForeignMembers(transaction, [rules.id], rules.bucketIds);
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
    return ruledProperties.length === 0 ? [] : [{id, name, bucketIds, ruledProperties}];
  });
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
  try {
    const properties = new Map(
      rules.ruledProperties.flatMap(({name}) => {
        const value = record.get(name);
        return value === undefined ? [] : [[name, value] as const];
      }),
    );
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
