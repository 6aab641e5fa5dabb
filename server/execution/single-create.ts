/**
 * Plans that make one record of literals and parameters, known by their shape and carried out
 * without operators: of the usual write of an application, batches, row cursors and slices of time
 * would cost as much as the record.
 *
 * What comes out, and what is refused, is what the plan itself (operators/create.ts) comes to.
 * Why: docs/design/0036-single-records-without-a-plan.md.
 */
import {assert} from '#server/base/assert.ts';
import {ByteWriter} from '#server/base/byte-writer.ts';
import type {RecordJson} from '#server/layout/record-json.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {Assignment, PlanNode} from '#server/plan/node.ts';
import type {GraphWriter} from './graph-writer.ts';
import {type ContentRules, setContent, setProperty} from './operators/writes/assignments.ts';

/** What is there before the statement runs. */
type Given = Extract<Expression, {readonly kind: 'literal' | 'parameter'}>;

type Step =
  | {
      readonly kind: 'set';
      readonly name: string;
      readonly value: Given;
      readonly dropsNull: boolean;
    }
  | ({readonly kind: 'content'; readonly value: Given} & Required<ContentRules>);

export type SingleRecord = StoredRecord;

export interface SingleCreate {
  readonly what: 'document' | 'vertex' | 'any';
  readonly type: string;
  readonly bucket: string | undefined;
  readonly steps: readonly Step[];
}

/** Undefined for a plan that does more, or less, than to make one record and answer it. */
export function singleCreateOf(plan: PlanNode): SingleCreate | undefined {
  if (plan.kind !== 'project' || plan.output.kind !== 'element') return undefined;
  const {input: create} = plan;
  if (create.kind !== 'create' || create.slot !== plan.output.slot) return undefined;
  const {input, what, type, bucket, from, rid} = create;
  if (from !== undefined || rid !== undefined) return undefined;
  // CONTENT makes a record of each item of a list; what is no list is its only item.
  const row = input.kind === 'unnest' && !input.keepEmpty ? input : undefined;
  if ((row?.input ?? input).kind !== 'unit') return undefined;
  if (what === 'edge' || type === undefined || typeof bucket === 'object') return undefined;
  const steps: Step[] = [];
  for (const [at, assignment] of create.assignments.entries()) {
    const isRow = row !== undefined && at === 0;
    const more = isRow ? rowSteps(assignment, row) : stepsOf(assignment);
    if (more === undefined) return undefined;
    steps.push(...more);
  }
  return row !== undefined && steps.length === 0 ? undefined : {what, type, bucket, steps};
}

/** Plans a row that is the whole content of the record. */
function rowSteps(
  assignment: Assignment,
  {slot, list}: {readonly slot: Slot; readonly list: Expression},
): readonly Step[] | undefined {
  if (assignment.kind !== 'content') return undefined;
  const {value} = assignment;
  const isRow = value.kind === 'slot' && value.slot === slot;
  return isRow ? stepsOf({...assignment, value: list}) : undefined;
}

function stepsOf(assignment: Assignment): readonly Step[] | undefined {
  if (assignment.kind !== 'set' && assignment.kind !== 'content') return undefined;
  const dropsNull = assignment.dropsNull === true;
  const {value} = assignment;
  if (assignment.kind === 'set') {
    return isGiven(value) ? [{kind: 'set', name: assignment.name, value, dropsNull}] : undefined;
  }
  const {replace} = assignment;
  if (isGiven(value)) return [{kind: 'content', value, dropsNull, replace}];
  if (value.kind !== 'map') return undefined;
  const steps: Step[] = [{kind: 'content', value: nothing, dropsNull, replace}];
  for (const entry of value.entries) {
    if (!('key' in entry) || !isGiven(entry.value)) return undefined;
    if (entry.key.startsWith('@')) continue;
    steps.push({kind: 'set', name: entry.key, value: entry.value, dropsNull});
  }
  return steps;
}

const nothing: Given = {kind: 'literal', value: new Map()};

function isGiven(expression: Expression): expression is Given {
  return expression.kind === 'literal' || expression.kind === 'parameter';
}

/**
 * The properties of the record; undefined where something given is none, which the plan refuses in
 * words.
 */
export function singleProperties(
  {steps}: SingleCreate,
  parameters: ReadonlyMap<string, Value>,
): ReadonlyMap<string, Value> | undefined {
  const properties = new Map<string, Value>();
  for (const step of steps) {
    const given =
      step.value.kind === 'literal' ? step.value.value : (parameters.get(step.value.name) ?? null);
    if (step.kind === 'set') setProperty(properties, step.name, given, step.dropsNull);
    else if (given instanceof Map) setContent(properties, given, step);
    else return undefined;
  }
  return properties;
}

/** @throws {Refusal} what stands in the way of such a record. */
export function createSingle(
  {what, type, bucket}: SingleCreate,
  properties: ReadonlyMap<string, Value>,
  writes: GraphWriter,
): SingleRecord {
  const record = writes.create({what, type, bucket, properties});
  assert(record instanceof StoredRecord, 'an edge has ends, which nothing here gives it');
  return record;
}

/** Holds one record at a time. */
const answer = new ByteWriter(Buffer.allocUnsafeSlow(1 << 10));
const answerBytesMax = 16 << 10;

/** The record as JSON, in bytes that are the caller's until the next call. */
export function singleJson(record: SingleRecord, json: RecordJson): Buffer {
  const {bytes, offset, length, rid} = record.whole();
  const out = length > answerBytesMax ? new ByteWriter(Buffer.allocUnsafe(2 * length)) : answer;
  out.clear();
  json.append(out, bytes, offset, length, rid);
  return Buffer.from(out.bytes.buffer, out.bytes.byteOffset, out.length);
}
