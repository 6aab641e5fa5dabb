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

const numberSigns: Readonly<Record<string, (value: number, constant: number) => boolean>> = {
  'op:equal': (value, constant) => value === constant,
  'op:notEqual': (value, constant) => value !== constant,
  'op:less': (value, constant) => value < constant,
  'op:lessOrEqual': (value, constant) => value <= constant,
  'op:greater': (value, constant) => value > constant,
  'op:greaterOrEqual': (value, constant) => value >= constant,
  'op:same': (value, constant) => value === constant,
  'op:differs': (value, constant) => value !== constant,
  'op:before': (value, constant) => value < constant,
  'op:notAfter': (value, constant) => value <= constant,
  'op:after': (value, constant) => value > constant,
  'op:notBefore': (value, constant) => value >= constant,
};

const equalities = new Set(['op:equal', 'op:same']);
const inequalities = new Set(['op:notEqual', 'op:differs']);

/** A maker for terms of the form `property <sign> constant` over the record in `slot`. */
export function packedTerm(term: Expression, slot: Slot): PackedTestMaker | undefined {
  if (term.kind !== 'call') return undefined;
  const [left, right] = term.args;
  const test = numberSigns[term.name];
  if (test === undefined || left === undefined || right === undefined) return undefined;
  if (left.kind !== 'property' || left.of.kind !== 'slot' || left.of.slot !== slot)
    return undefined;
  if (right.kind !== 'literal' && right.kind !== 'parameter') return undefined;
  const {name} = left;
  return context => {
    const constant = constantOf(right, context);
    if (typeof constant === 'number' && Number.isFinite(constant)) {
      return numberTest(name, constant, test);
    }
    if (typeof constant !== 'string') return undefined;
    if (equalities.has(term.name)) return textTest(name, constant, true);
    return inequalities.has(term.name) ? textTest(name, constant, false) : undefined;
  };
}

function constantOf(
  expression: Expression & {readonly kind: 'literal' | 'parameter'},
  context: ExecutionContext,
): Value {
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
