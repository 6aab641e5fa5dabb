/**
 * Statements that write records: INSERT, UPDATE, DELETE, CREATE VERTEX, CREATE EDGE.
 *
 * Each becomes rows that are written one by one: a source (values, a query, the matching
 * records), the write, and what is answered of it: the new records, the changed ones before or
 * after, or a count. Values are computed in the scope of the row, so `UPDATE ... SET a = b` reads
 * the record it changes.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {Assignment, Column, PlanNode} from '#server/plan/node.ts';
import type {Retry} from '#server/plan/statement.ts';
import type * as Ast from './ast.ts';
import type * as Sql from './ast-statement.ts';
import {bindAssignments, bindOperation} from './bind-assignment.ts';
import {
  type BindContext,
  type BoundQuery,
  literal,
  makeScope,
  operator,
  type Scope,
  type Shape,
  slotOf,
  type WriteSteps,
  type Source,
} from './bind-context.ts';
import {bindExpression, bindItems, elementOf} from './bind-expression.ts';
import {assignedParts, bindManualRecords, manualIndexAt} from './bind-manual-index.ts';
import {bindMoveVertex} from './bind-move.ts';
import {bindBounds, bindProjected} from './bind-projection.ts';
import {countOf} from './bind-constant.ts';
import {bindTarget} from './bind-target.ts';

const waitMsMax = 60_000;
const noVariables: ReadonlyMap<string, Expression> = new Map();

/** @param parent - Scope of the statement around; undefined for the outermost. */
export function bindWrite(
  context: BindContext,
  ast: Sql.Write,
  parent: Scope | undefined,
): BoundQuery {
  switch (ast.kind) {
    case 'insert':
      return bindInsert(context, ast, parent);
    case 'create-vertex':
      return bindCreateVertex(context, ast, parent);
    case 'create-edge':
      return bindCreateEdge(context, ast, parent);
    case 'update':
    case 'delete':
    case 'move-vertex':
      return atOnce(context, bindSteps(context, ast, parent));
    case 'truncate-record':
      return bindTruncateRecord(context, ast, parent);
    default:
      return ast satisfies never;
  }
}

/** The write of records that are there, in its steps. */
export function bindSteps(
  context: BindContext,
  ast: Sql.Update | Sql.Delete | Sql.MoveVertex,
  parent: Scope | undefined,
): WriteSteps {
  switch (ast.kind) {
    case 'update':
      return bindUpdate(context, ast, parent);
    case 'delete':
      return bindDelete(context, ast, parent);
    case 'move-vertex':
      return bindMoveVertex(context, ast, parent);
    default:
      return ast satisfies never;
  }
}

/** All rows in one transaction. */
function atOnce(context: BindContext, {rows, write, answer}: WriteSteps): BoundQuery {
  const written = write(rows);
  return answer === undefined ? total(context, written, 'count', []) : answer(written);
}

/** Where new records go; see the node `create`. */
type TargetBucket = Pick<Extract<PlanNode, {readonly kind: 'create'}>, 'type' | 'bucket'>;

interface Making extends TargetBucket {
  readonly what: 'vertex' | 'any';
  readonly at: number;
}

function bindInsert(context: BindContext, ast: Sql.Insert, parent: Scope | undefined): BoundQuery {
  const making: Making = {...insertTarget(context, ast), what: 'any', at: ast.at};
  const index = manualIndexAt(context, ast.target);
  if (index !== undefined && ast.target.kind === 'index-target') {
    const {target} = ast;
    const {plan, assignments} = bindBody(context, ast.body, parent);
    const parts = assignedParts(context, target, index, assignments);
    const entries = createPlan(context, making, {plan, assignments: parts}, parent);
    return returned(context, entries, ast.returning);
  }
  const made = bindCreation(context, making, ast.body, parent);
  return returned(context, made, ast.returning);
}

function bindCreateVertex(
  context: BindContext,
  ast: Sql.CreateVertex,
  parent: Scope | undefined,
): BoundQuery {
  const {type, bucket} = typeAndBucket(context, ast.type?.text ?? 'V', ast.bucket, ast.at);
  const made = bindCreation(context, {type, bucket, what: 'vertex', at: ast.at}, ast.body, parent);
  return returned(context, made, ast.returning);
}

function insertTarget(context: BindContext, ast: Sql.Insert): TargetBucket {
  const {target} = ast;
  const index = manualIndexAt(context, target);
  if (index !== undefined) return {type: index.name, bucket: undefined};
  if (target.kind === 'type-target') {
    return typeAndBucket(context, target.name, ast.bucket, target.at);
  }
  const [reference, ...more] = target.kind === 'bucket-target' ? target.buckets : [];
  if (reference === undefined || more.length > 0) {
    return context.refuse(target.at, 'INSERT INTO takes a type or one bucket');
  }
  const bucket = bucketOf(context, reference);
  if (typeof bucket === 'object') return {type: undefined, bucket};
  const known = (): {readonly id: number} => context.catalog.requireBucket(bucket);
  const {id} = context.located(reference.at, known, 'sql.syntax');
  const type = context.catalog.typeOfBucket(id);
  if (type === undefined) {
    return context.refuse(reference.at, `bucket '${bucket}' belongs to no type`);
  }
  return {type: type.name, bucket};
}

function typeAndBucket(
  context: BindContext,
  typeName: string,
  bucket: Ast.BucketReference | undefined,
  at: number,
): TargetBucket & {readonly type: string} {
  const {name} = context.located(at, () => context.catalog.requireType(typeName));
  return {type: name, bucket: bucket && bucketOf(context, bucket)};
}

/** Its name, or the parameter that will tell. */
function bucketOf(context: BindContext, reference: Ast.BucketReference): string | Expression {
  if (!('kind' in reference)) return reference.text;
  if (reference.kind === 'parameter') {
    return bindExpression(context, makeScope(undefined, undefined), reference);
  }
  return context.catalog.bucketById(Number(reference.value))?.name ?? String(reference.value);
}

interface Made {
  readonly plan: PlanNode;
  readonly slot: Slot;
  readonly parent: Scope | undefined;
}

/** The rows that a body describes, each made into a record. */
function bindCreation(
  context: BindContext,
  making: Making,
  body: Sql.Body,
  parent: Scope | undefined,
): Made {
  return createPlan(context, making, bindBody(context, body, parent), parent);
}

function createPlan(
  context: BindContext,
  making: Making,
  {plan: input, assignments}: BoundBody,
  parent: Scope | undefined,
): Made {
  const slot = context.newSlot();
  const plan: PlanNode = {
    kind: 'create',
    input,
    what: making.what,
    type: making.type,
    bucket: making.bucket,
    from: undefined,
    to: undefined,
    ifNotExists: false,
    unidirectional: false,
    assignments,
    slot,
    place: context.place(making.at),
  };
  return {plan, slot, parent};
}

export interface BoundBody {
  readonly plan: PlanNode;
  readonly assignments: readonly Assignment[];
}

export function bindBody(
  context: BindContext,
  body: Sql.Body,
  parent: Scope | undefined,
): BoundBody {
  const start: PlanNode = parent === undefined ? {kind: 'unit'} : {kind: 'argument'};
  const scope = makeScope(undefined, parent);
  switch (body.kind) {
    case 'nothing':
      return {plan: start, assignments: []};
    case 'set':
      return {plan: start, assignments: bindAssignments(context, scope, body.items)};
    case 'values':
      return bindValues(context, body, scope, start);
    case 'merge':
    case 'content':
      return bindContent(context, body.value, scope, start);
    case 'from': {
      const {plan, slot} = elementOf(context, context.bindQuery(body.query, parent, body.at));
      return {plan, assignments: [content(slotOf(slot))]};
    }
    default:
      return body satisfies never;
  }
}

function content(value: Expression): Assignment {
  return {kind: 'content', value, replace: true};
}

/** A map is one record; a list, or a parameter that may be one, is a record an item. */
function bindContent(
  context: BindContext,
  value: Ast.Expression,
  scope: Scope,
  start: PlanNode,
): BoundBody {
  const bound = bindExpression(context, scope, value);
  if (bound.kind === 'map') return {plan: start, assignments: [content(bound)]};
  const slot = context.newSlot();
  const plan: PlanNode = {kind: 'unnest', input: start, list: bound, slot, keepEmpty: false};
  return {plan, assignments: [content(slotOf(slot))]};
}

/** `(a, b) VALUES (1, 2), (3, 4)`. */
function bindValues(
  context: BindContext,
  body: Extract<Sql.Body, {kind: 'values'}>,
  scope: Scope,
  start: PlanNode,
): BoundBody {
  for (const row of body.rows) {
    if (row.length === body.columns.length) continue;
    const [first] = row;
    context.impossible(
      first?.at ?? body.at,
      `VALUES has ${row.length} values for ${body.columns.length} columns`,
    );
  }
  const rows = body.rows.map(row => row.map(value => bindExpression(context, scope, value)));
  const [only, ...more] = rows;
  if (only !== undefined && more.length === 0) {
    const assignments = body.columns.map(
      ({text}, i): Assignment => ({kind: 'set', name: text, value: only[i] ?? literal(null)}),
    );
    return {plan: start, assignments};
  }
  const slots = body.columns.map(() => context.newSlot());
  const assignments = body.columns.map(
    ({text}, i): Assignment => ({kind: 'set', name: text, value: slotOf(slots[i] ?? 0)}),
  );
  return {plan: {kind: 'values', slots, rows}, assignments};
}

/** The new records, or a projection of each. */
function returned(
  context: BindContext,
  {plan, slot, parent}: Made,
  items: readonly Ast.ProjectionItem[] | undefined,
): BoundQuery {
  const shape: Shape = {kind: 'element', slot};
  if (items === undefined) return {plan, shape, variables: noVariables};
  return projected(context, {plan, scope: makeScope(slotOf(slot), parent), shape}, items);
}

function projected(
  context: BindContext,
  source: Source,
  items: readonly Ast.ProjectionItem[],
): BoundQuery {
  return bindProjected(context, source, {
    distinct: false,
    items,
    groupBy: [],
    having: undefined,
    orderBy: [],
    unwind: [],
    skip: undefined,
    limit: undefined,
    timeout: undefined,
  });
}

function bindCreateEdge(
  context: BindContext,
  ast: Sql.CreateEdge,
  parent: Scope | undefined,
): BoundQuery {
  const {type, bucket} = typeAndBucket(context, ast.type?.text ?? 'E', ast.bucket, ast.at);
  const scope = makeScope(undefined, parent);
  const {plan: input, assignments} = bindBody(context, ast.body, parent);
  const slot = context.newSlot();
  const plan: PlanNode = {
    kind: 'create',
    input,
    what: 'edge',
    type,
    bucket,
    from: bindItems(context, scope, ast.from),
    to: bindItems(context, scope, ast.to),
    ifNotExists: ast.ifNotExists,
    unidirectional: ast.unidirectional,
    assignments,
    slot,
    place: context.place(ast.at),
  };
  return {plan, shape: {kind: 'element', slot}, variables: noVariables};
}

/** RETRY and WAIT; WAIT alone says nothing about how often, so it needs RETRY. */
export function retryOf(context: BindContext, ast: Sql.CreateEdge): Retry | undefined {
  const times = countOf(context, ast.retry);
  const waitMs = countOf(context, ast.wait);
  if (ast.wait !== undefined && (waitMs ?? 0) > waitMsMax) {
    return context.refuse(ast.wait.at, `WAIT takes at most ${waitMsMax} ms`);
  }
  if (times !== undefined) return {times, waitMs};
  return ast.wait && context.refuse(ast.wait.at, 'WAIT stands only beside RETRY');
}

function bindUpdate(context: BindContext, ast: Sql.Update, parent: Scope | undefined): WriteSteps {
  const source = elementSource(context, bindTarget(context, ast.target, parent));
  const {slot, scope} = source;
  const condition = ast.where && bindExpression(context, scope, ast.where);
  const rows = limited(context, filtered(source.plan, condition), parent, ast.limit);
  const assignments = ast.operations.flatMap(operation => bindOperation(context, scope, operation));
  const before = ast.returning?.what === 'before' ? context.newSlot() : undefined;
  const upsert = ast.upsert && {
    type: upsertType(context, ast),
    seed: upsertSeed(context, ast, scope),
  };
  const write = (input: PlanNode): PlanNode =>
    upsert
      ? {kind: 'upsert', input, slot, before, assignments, ...upsert}
      : {kind: 'change', input, slot, before, assignments, applyDefaults: ast.applyDefaults};
  const isShown = ast.returning !== undefined && ast.returning.what !== 'count';
  const answer = isShown ? updated(context, ast.returning, {slot, before, parent}) : undefined;
  return {rows, slot, condition, write, answer};
}

/** The records as they are, or as they were; or a projection of them. */
function updated(
  context: BindContext,
  {items}: NonNullable<Sql.Update['returning']>,
  of: {readonly slot: Slot; readonly before: Slot | undefined; readonly parent: Scope | undefined},
): (plan: PlanNode) => BoundQuery {
  const shown = of.before ?? of.slot;
  const element: Shape = {kind: 'element', slot: shown};
  if (items.length > 0) {
    const scope = makeScope(slotOf(shown), of.parent);
    return plan => projected(context, {plan, scope, shape: element}, items);
  }
  // What a record was is no record any more: a row with its id, type and properties.
  const was = {spread: slotOf(shown), except: ['@cat'], attributes: true};
  const shape: Shape = of.before === undefined ? element : {kind: 'columns', columns: [was]};
  return plan => ({plan, shape, variables: noVariables});
}

/** A target whose rows are records in a slot. */
/** Records in a slot. */
interface ElementSource extends Pick<Source, 'plan' | 'scope' | 'where'> {
  readonly slot: Slot;
}

function elementSource(context: BindContext, source: Source): ElementSource {
  if (source.shape.kind === 'element') {
    const {plan, scope, shape, where} = source;
    return {plan, slot: shape.slot, scope, where};
  }
  const {plan, slot} = elementOf(context, {...source, variables: noVariables});
  return {plan, slot, scope: makeScope(slotOf(slot), source.scope.parent)};
}

export function filtered(input: PlanNode, condition: Expression | undefined): PlanNode {
  return condition === undefined ? input : {kind: 'filter', input, condition};
}

function limited(
  context: BindContext,
  plan: PlanNode,
  parent: Scope | undefined,
  limit: Ast.Expression | undefined,
): PlanNode {
  const steps = bindBounds(context, parent, {skip: undefined, limit});
  return steps.reduce<PlanNode>((rows, step) => step(rows), plan);
}

function upsertType(context: BindContext, ast: Sql.Update): string {
  if (ast.target.kind === 'type-target') return ast.target.name;
  return context.refuse(ast.target.at, 'UPSERT needs a type to create the record of');
}

/** The equalities of WHERE, which must fix a whole key of a unique index. */
function upsertSeed(context: BindContext, ast: Sql.Update, scope: Scope): readonly Column[] {
  const seed: Column[] = [];
  const terms = ast.where?.kind === 'and' ? ast.where.operands : ast.where ? [ast.where] : [];
  for (const term of terms) {
    if (term.kind !== 'compare' || term.operator !== '=') continue;
    const [name, value] =
      term.left.kind === 'name' ? [term.left, term.right] : [term.right, term.left];
    if (name.kind !== 'name') continue;
    seed.push({name: name.name, value: bindExpression(context, scope, value)});
  }
  const type = context.catalog.requireType(upsertType(context, ast));
  const names = new Set(seed.map(column => column.name));
  const fixed = type.indexes.some(
    index => index.unique && index.properties.every(part => names.has(part.name)),
  );
  if (fixed) return seed;
  return context.syntax(
    ast.where?.at ?? ast.at,
    'UPSERT needs WHERE to fix every property of a unique index by equality',
  );
}

/** One row with one aggregate, called `count`. */
export function total(
  context: BindContext,
  input: PlanNode,
  name: 'count' | 'std.sum',
  args: readonly Expression[],
): BoundQuery {
  const slot = context.newSlot();
  const aggregates = [{slot, name, args, distinct: false}];
  const plan: PlanNode = {kind: 'aggregate', input, keys: [], aggregates};
  const shape: Shape = {kind: 'columns', columns: [{name: 'count', value: slotOf(slot)}]};
  return {plan, shape, variables: noVariables};
}

function bindDelete(context: BindContext, ast: Sql.Delete, parent: Scope | undefined): WriteSteps {
  const index = manualIndexAt(context, ast.target);
  const source =
    index !== undefined
      ? elementSource(context, bindManualRecords(context, index, parent))
      : ast.from === undefined && ast.to === undefined
        ? elementSource(context, bindTarget(context, ast.target, parent))
        : edgesBetween(context, ast, parent);
  const {slot} = source;
  const condition = ast.where && bindExpression(context, source.scope, ast.where);
  const rows =
    source.where !== undefined && condition !== undefined
      ? source.where(condition)
      : filtered(source.plan, condition);
  const only = ast.what === 'record' ? undefined : ast.what;
  const shape: Shape = {kind: 'element', slot};
  return {
    rows: limited(context, rows, parent, ast.limit),
    slot,
    condition,
    write: input => ({kind: 'delete', input, slot, only}),
    answer: ast.returnBefore ? plan => ({plan, shape, variables: noVariables}) : undefined,
  };
}

function bindTruncateRecord(
  context: BindContext,
  ast: Sql.TruncateRecord,
  parent: Scope | undefined,
): BoundQuery {
  const slot = context.newSlot();
  const ids = bindItems(context, makeScope(undefined, parent), ast.records);
  const input: PlanNode = {kind: 'records', ids, slot, loose: false};
  return total(context, {kind: 'delete', input, slot, only: undefined}, 'count', []);
}

/** Edges of DELETE EDGE [T] FROM x TO y: those of one end, narrowed by the other. */
function edgesBetween(
  context: BindContext,
  ast: Sql.Delete,
  parent: Scope | undefined,
): ElementSource {
  const scope = makeScope(undefined, parent);
  const [start, other] = ast.from === undefined ? [ast.to, ast.from] : [ast.from, ast.to];
  if (start === undefined) return context.refuse(ast.at, 'DELETE EDGE needs FROM or TO');
  const [vertex, edge, to] = [context.newSlot(), context.newSlot(), context.newSlot()];
  const ends: PlanNode = {
    kind: 'records',
    ids: bindItems(context, scope, start),
    slot: vertex,
    loose: false,
  };
  const hop: PlanNode = {
    kind: 'follow',
    input: ends,
    from: vertex,
    direction: ast.from === undefined ? 'in' : 'out',
    types: edgeTypes(context, ast.target),
    to,
    edge,
  };
  const rid = (slot: Slot): Expression => ({kind: 'attribute', of: slotOf(slot), attribute: 'rid'});
  const plan: PlanNode =
    other === undefined
      ? hop
      : {
          kind: 'filter',
          input: hop,
          condition: operator('in', rid(to), bindItems(context, scope, other)),
        };
  return {plan, slot: edge, scope: makeScope(slotOf(edge), parent)};
}

function edgeTypes(context: BindContext, target: Ast.Target | undefined): readonly string[] {
  if (target === undefined) return [];
  if (target.kind !== 'type-target') {
    return context.refuse(target.at, 'DELETE EDGE with FROM or TO takes a type of edges');
  }
  return [context.located(target.at, () => context.catalog.requireType(target.name)).name];
}
