/**
 * What is done with single records, as statements that no text was written for: names of types
 * are names here, whatever characters they have.
 *
 * Parameters: `rid` of the record that is meant; `records`, a list of maps of properties, of those
 * that are made or the one that is changed; `from` and `to` of an edge.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Expression} from './expression.ts';
import type {Assignment, PlanNode} from './node.ts';
import type {QueryStatement} from './statement.ts';

export type RecordOperation =
  | {
      /** `merge` keeps the properties that are not given, `replace` drops them. */
      readonly kind: 'get' | 'merge' | 'replace' | 'delete';
    }
  | {readonly kind: 'insert'; readonly type: string};

const parameter = (name: string): Expression => ({kind: 'parameter', name});
const slot = 0;
const item = 1;

/** The operation in words: by which it is kept, listed and recorded. */
export function operationText(operation: RecordOperation): string {
  return operation.kind === 'insert'
    ? `insert records of ${operation.type}`
    : `${operation.kind} record`;
}

/**
 * A statement with a row for each record that it gives, makes, changes or deletes.
 *
 * @throws {Refusal} `schema.unknown-type`.
 */
export function recordStatement(operation: RecordOperation, catalog: Catalog): QueryStatement {
  return {
    kind: 'query',
    plan: {
      kind: 'project',
      input: planOf(operation, catalog),
      output: {kind: 'element', slot},
    },
    slotCount: 2,
    limit: undefined,
    timeoutMs: undefined,
    onTimeout: 'error',
    form: {loneRecords: true, durationsAsSeconds: false},
  };
}

function planOf(operation: RecordOperation, catalog: Catalog): PlanNode {
  if (operation.kind === 'insert') return insertPlan(operation.type, catalog);
  const record: PlanNode = {kind: 'records', ids: parameter('rid'), slot, loose: false};
  if (operation.kind === 'get') return record;
  if (operation.kind === 'delete') return {kind: 'delete', input: record, slot, only: undefined};
  return {
    kind: 'change',
    input: {
      kind: 'unnest',
      input: record,
      list: parameter('records'),
      slot: item,
      keepEmpty: false,
    },
    slot,
    before: undefined,
    assignments: [content(operation.kind === 'replace')],
    applyDefaults: false,
  };
}

function insertPlan(name: string, catalog: Catalog): PlanNode {
  const type = catalog.requireType(name);
  const isEdge = type.kind === 'edge';
  return {
    kind: 'create',
    input: {
      kind: 'unnest',
      input: {kind: 'unit'},
      list: parameter('records'),
      slot: item,
      keepEmpty: false,
    },
    what: isEdge ? 'edge' : 'any',
    type: type.name,
    bucket: undefined,
    from: isEdge ? parameter('from') : undefined,
    to: isEdge ? parameter('to') : undefined,
    ifNotExists: false,
    unidirectional: false,
    assignments: [content(true)],
    slot,
  };
}

function content(replace: boolean): Assignment {
  return {kind: 'content', value: {kind: 'slot', slot: item}, replace};
}
