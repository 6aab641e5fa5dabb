/** Names of the types of values, as queries write them, and the check that a value has one. */
import {isListValue} from '#server/model/compare.ts';
import {isIntegerValue, isNumberValue} from '#server/model/number.ts';
import {
  DateTimeValue,
  DateValue,
  DurationValue,
  PathValue,
  PointValue,
  RecordValue,
  TimeValue,
  type Value,
} from '#server/model/value.ts';
import {describe, plainText} from './arithmetic.ts';
import {typeError} from './strict-operators.ts';

export function typeNameOf(value: Value): string {
  if (value === null) return 'NULL';
  if (typeof value === 'boolean') return 'BOOLEAN';
  if (typeof value === 'string') return 'STRING';
  if (isIntegerValue(value)) return 'INTEGER';
  if (isNumberValue(value)) return 'FLOAT';
  if (isListValue(value)) return 'LIST';
  if (value instanceof PathValue) return 'PATH';
  if (value instanceof PointValue) return 'POINT';
  if (value instanceof DateValue) return 'DATE';
  if (value instanceof DurationValue) return 'DURATION';
  if (value instanceof DateTimeValue) return value.local ? 'LOCAL DATETIME' : 'ZONED DATETIME';
  if (value instanceof TimeValue)
    return value.offsetSeconds === undefined ? 'LOCAL TIME' : 'ZONED TIME';
  if (value instanceof RecordValue) return value.kind === 'edge' ? 'RELATIONSHIP' : 'NODE';
  return value instanceof Map ? 'MAP' : 'ANY';
}

/** @throws {Refusal} `query.execution` when the value is none of the type. */
export function typed(value: Value, type: Value, notNull: Value): Value {
  const isOfType = value === null ? notNull !== true : type === 'ANY' || typeNameOf(value) === type;
  if (isOfType) return value;
  const wanted = `${plainText(type)}${notNull === true ? ' NOT NULL' : ''}`;
  throw typeError(`a value of the type ${wanted} is needed, not ${describe(value)}`);
}
