/**
 * Terms of a scan's condition that are decided on a record's packed bytes.
 *
 * Comparisons of a property with a constant (a literal or a parameter): equality of texts byte
 * by byte, order of numbers without a closure a step. Whatever else a term is, or a value turns
 * out to be, is left to the compiled condition: a packed test answers undefined then.
 */
import {utf8Bytes} from '#server/base/utf8.ts';
import {
  findProperty,
  propertyEnd,
  propertyStart,
  propertyTag,
  readSlot,
} from '#server/layout/record.ts';
import {valueTag} from '#server/layout/value-tag.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {ExecutionContext} from '../context.ts';
import type {ScannedRecord} from './scanned-record.ts';

/** Undefined: not decided here. */
export type PackedTest = (record: ScannedRecord) => boolean | undefined;

/** Made once a run, since it knows the parameters. */
export type PackedTestMaker = (context: ExecutionContext) => PackedTest | undefined;

/** What a sign says of two numbers, or (the first two) of two texts. */
export type Comparison =
  | 'equal'
  | 'unequal'
  | 'less'
  | 'lessOrEqual'
  | 'greater'
  | 'greaterOrEqual';

const numberTests: Readonly<Record<Comparison, (value: number, constant: number) => boolean>> = {
  equal: (value, constant) => value === constant,
  unequal: (value, constant) => value !== constant,
  less: (value, constant) => value < constant,
  lessOrEqual: (value, constant) => value <= constant,
  greater: (value, constant) => value > constant,
  greaterOrEqual: (value, constant) => value >= constant,
};

const signs: Readonly<Record<string, Comparison>> = {
  'op:equal': 'equal',
  'op:notEqual': 'unequal',
  'op:less': 'less',
  'op:lessOrEqual': 'lessOrEqual',
  'op:greater': 'greater',
  'op:greaterOrEqual': 'greaterOrEqual',
  'op:same': 'equal',
  'op:differs': 'unequal',
  'op:before': 'less',
  'op:notAfter': 'lessOrEqual',
  'op:after': 'greater',
  'op:notBefore': 'greaterOrEqual',
};

/** What the function says of two numbers and of two texts, neither null; undefined for others. */
export function comparisonOf(name: string): Comparison | undefined {
  return signs[name];
}

/** A maker for terms of the form `property <sign> constant` over the record in `slot`. */
export function packedTerm(term: Expression, slot: Slot): PackedTestMaker | undefined {
  if (term.kind !== 'call') return undefined;
  const [left, right] = term.args;
  const comparison = comparisonOf(term.name);
  if (comparison === undefined || left === undefined || right === undefined) return undefined;
  if (left.kind !== 'property' || left.of.kind !== 'slot' || left.of.slot !== slot)
    return undefined;
  if (!isConstant(right)) return undefined;
  const {name} = left;
  const test = numberTests[comparison];
  return context => {
    const constant = constantOf(right, context);
    if (typeof constant === 'number' && Number.isFinite(constant)) {
      return numberTest(name, constant, test);
    }
    if (typeof constant !== 'string') return undefined;
    if (comparison === 'equal') return textTest(name, constant, true);
    return comparison === 'unequal' ? textTest(name, constant, false) : undefined;
  };
}

type Constant = Expression & {readonly kind: 'literal' | 'parameter'};

/** Whether the expression has one value in a run. */
export function isConstant(expression: Expression): expression is Constant {
  return expression.kind === 'literal' || expression.kind === 'parameter';
}

export function constantOf(expression: Constant, context: ExecutionContext): Value {
  if (expression.kind === 'literal') return expression.value;
  return context.parameters.get(expression.name) ?? null;
}

function numberTest(
  name: string,
  constant: number,
  test: (value: number, constant: number) => boolean,
): PackedTest {
  const id = nameId(name);
  return record => {
    const {bytes, start, end} = record;
    const slot = findProperty(bytes, start, id(record));
    if (slot < 0) return false;
    if (propertyTag(bytes, start, slot) === valueTag.compressed) return undefined;
    const value = readSlot(bytes, start, end - start, slot);
    // The signs of the language know no order of NaN, but the order of numbers has one.
    if (typeof value !== 'number' || Number.isNaN(value)) return undefined;
    return test(value, constant);
  };
}

function textTest(name: string, text: string, wanted: boolean): PackedTest {
  const id = nameId(name);
  const constant = utf8Bytes(text);
  return record => {
    const {bytes, start, end} = record;
    const slot = findProperty(bytes, start, id(record));
    if (slot < 0) return false;
    const tag = propertyTag(bytes, start, slot);
    if (tag !== valueTag.text && tag !== valueTag.textToEscape) return undefined;
    const from = propertyStart(bytes, start, slot);
    if (propertyEnd(bytes, start, end - start, slot) - from !== constant.length) return !wanted;
    for (let at = 0; at < constant.length; at++) {
      if (bytes[from + at] !== constant[at]) return !wanted;
    }
    return wanted;
  };
}

/** The name's id, looked up at the first record; no name has the id -1. */
function nameId(name: string): (record: ScannedRecord) => number {
  let id: number | undefined;
  return record => {
    id ??= record.schema.propertyId(name) ?? -1;
    return id;
  };
}
