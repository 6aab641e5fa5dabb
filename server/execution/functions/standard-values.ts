/** `std.*` of graphs, lists and conversions; `plan/functions/standard.ts` says what each does. */
import {Refusal} from '#server/base/errors.ts';
import {labelsOf as labels} from '#server/model/labels.ts';
import {jsonText} from '#server/model/json.ts';
import {
  isIntegerValue,
  isNumberValue,
  makeDouble,
  makeInteger,
  numberOf,
  numberText,
} from '#server/model/number.ts';
import {ridNumber, ridText} from '#server/model/rid.ts';
import {
  EmbeddedValue,
  PathValue,
  PointValue,
  RecordValue,
  Rid,
  type Value,
} from '#server/model/value.ts';
import type {CallContext} from '../context.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';
import {mapOf} from '../expressions/access.ts';
import {describe} from '../expressions/arithmetic.ts';
import {typeNameOf} from '../expressions/record-operators.ts';
import {isSame, itemsOfList, typeError} from '../expressions/strict-operators.ts';
import {isTemporal} from '../expressions/temporal-parts.ts';

/** What one call may build. */
const itemsMax = 4_000_000;
/** A list of more items takes longer to make than other requests should wait. */
const longRange = 200_000;

function recordOf(value: Value, call: CallContext, wanted: string): RecordValue {
  const record = value instanceof Rid ? call.graph.record(value) : value;
  if (record instanceof RecordValue) return record;
  throw typeError(`${wanted} is needed, not ${describe(value)}`, 'InvalidArgumentValue');
}

function edgeOf(value: Value, call: CallContext): RecordValue {
  const record = recordOf(value, call, 'an edge');
  if (record.kind === 'edge') return record;
  throw typeError('an edge is needed, not a vertex', 'InvalidArgumentValue');
}

function idOf(value: Value, call: CallContext): Value {
  return makeInteger(ridNumber(recordOf(value, call, 'a record').rid));
}

function labelsOf(value: Value, call: CallContext): Value {
  const record = recordOf(value, call, 'a vertex');
  if (record.kind !== 'vertex') throw typeError('an edge has no labels', 'InvalidArgumentValue');
  // It is found under its type and under all that this extends.
  const lineage = call.catalog.type(record.typeName)?.lineage ?? [];
  const names = [record.typeName, ...lineage.map(type => type.name)].flatMap(labels);
  return [...new Set(names)].sort();
}

function propertiesOf(value: Value, call: CallContext): ReadonlyMap<string, Value> {
  const isMap = value instanceof Map || value instanceof EmbeddedValue;
  if (!isMap && !(value instanceof RecordValue) && !(value instanceof Rid)) {
    throw typeError(`${describe(value)} has no properties`, 'InvalidArgumentValue');
  }
  return mapOf(value, call.graph) ?? new Map();
}

function endOf(side: 'from' | 'to'): ScalarFunction {
  return ([value = null], call) => {
    const end = edgeOf(value, call)[side];
    return end === undefined ? null : (call.graph.record(end) ?? end);
  };
}

function elementsOf(wanted: 0 | 1): ScalarFunction {
  return ([value = null], call) => {
    if (!(value instanceof PathValue)) throw typeError(`a path is needed, not ${describe(value)}`);
    return value.elements
      .filter((_, at) => at % 2 === wanted)
      .map(element => (element instanceof Rid ? (call.graph.record(element) ?? element) : element));
  };
}

function listOf(value: Value): readonly Value[] {
  const items = itemsOfList(value);
  if (items === undefined) throw typeError(`a list is needed, not ${describe(value)}`);
  return items;
}

function sizeOf(value: Value): Value {
  if (typeof value === 'string') return characterCount(value);
  if (value instanceof Map) return value.size;
  return listOf(value).length;
}

/** Counts the two units of a character beyond 16 bits once. */
function characterCount(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at += 1) {
    if ((text.codePointAt(at) as number) <= 0xffff) continue;
    count -= 1;
    at += 1;
  }
  return count;
}

const rangeOf: ScalarFunction = ([from = null, to = null, step = 1], {budget}) => {
  if (!isIntegerValue(from) || !isIntegerValue(to) || !isIntegerValue(step)) {
    throw argumentError('range needs whole numbers', 'InvalidArgumentType');
  }
  const [start, end, by] = [Number(from), Number(to), Number(step)];
  if (by === 0) throw argumentError('the step of range cannot be zero', 'NumberOutOfRange');
  const count = Math.max(0, Math.floor((end - start) / by) + 1);
  if (count > itemsMax) {
    throw new Refusal('query.memory', `range would have ${count} items, at most ${itemsMax}`);
  }
  if (count > longRange) budget.moveIfItMay();
  return Array.from({length: count}, (_, at) => start + at * by);
};

export function argumentError(message: string, reason: string): Refusal {
  return new Refusal('query.execution', message, {detail: {type: 'ArgumentError', reason}});
}

function toInteger(value: Value): Value | undefined {
  if (isIntegerValue(value)) return value;
  if (isNumberValue(value)) return integerOf(numberOf(value));
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (/^[+-]?\d+$/.test(text)) {
    const whole = BigInt(text);
    return BigInt.asIntN(64, whole) === whole ? makeInteger(whole) : null;
  }
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? integerOf(Number(text)) : null;
}

function integerOf(float: number): Value {
  return Number.isFinite(float) ? makeInteger(BigInt(Math.trunc(float))) : null;
}

function toFloat(value: Value): Value | undefined {
  if (isNumberValue(value)) return makeDouble(numberOf(value));
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? makeDouble(Number(text)) : null;
}

function toBoolean(value: Value): Value | undefined {
  if (typeof value === 'boolean') return value;
  if (isIntegerValue(value)) return Number(value) !== 0;
  if (typeof value !== 'string') return undefined;
  const text = value.trim().toLowerCase();
  return text === 'true' ? true : text === 'false' ? false : null;
}

function toText(value: Value): Value | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (isNumberValue(value)) return numberText(value);
  if (isTemporal(value) || value instanceof PointValue)
    return JSON.parse(jsonText(value)) as string;
  return undefined;
}

type Conversion = (value: Value) => Value | undefined;

function conversions(name: string, convert: Conversion): Record<string, ScalarFunction> {
  const orNull = (value: Value): Value => (value === null ? null : (convert(value) ?? null));
  return {
    [`std.${name}`]: ([value = null]) => {
      const converted = convert(value);
      if (converted !== undefined) return converted;
      throw typeError(`${name} cannot convert ${describe(value)}`, 'InvalidArgumentValue');
    },
    [`std.${name}OrNull`]: ([value = null]) => orNull(value),
    [`std.${name}List`]: ([value = null]) => listOf(value).map(orNull),
  };
}

export const standardValues: FunctionFamily = {
  scalars: {
    'std.id': ([value = null], call) => idOf(value, call),
    'std.elementId': ([value = null], call) => ridText(recordOf(value, call, 'a record').rid),
    'std.labels': ([value = null], call) => labelsOf(value, call),
    'std.type': ([value = null], call) => edgeOf(value, call).typeName,
    'std.keys': ([value = null], call) => [...propertiesOf(value, call).keys()],
    'std.properties': ([value = null], call) => new Map(propertiesOf(value, call)),
    'std.startNode': endOf('from'),
    'std.endNode': endOf('to'),
    'std.nodes': elementsOf(0),
    'std.relationships': elementsOf(1),
    'std.length': ([value = null]) =>
      value instanceof PathValue ? (value.elements.length - 1) / 2 : sizeOf(value),
    'std.size': ([value = null]) => sizeOf(value),
    'std.head': ([value = null]) => listOf(value)[0] ?? null,
    'std.last': ([value = null]) => listOf(value).at(-1) ?? null,
    'std.tail': ([value = null]) => listOf(value).slice(1),
    'std.range': rangeOf,
    'std.reverse': ([value = null]) =>
      typeof value === 'string' ? [...value].reverse().join('') : [...listOf(value)].reverse(),
    'std.isEmpty': ([value = null]) => sizeOf(value) === 0,
    'std.nullIf': ([left = null, right = null]) => (isSame(left, right) === true ? null : left),
    'std.valueType': ([value = null]) => typeNameOf(value),
    ...conversions('toInteger', toInteger),
    ...conversions('toFloat', toFloat),
    ...conversions('toBoolean', toBoolean),
    ...conversions('toString', toText),
  },
};
