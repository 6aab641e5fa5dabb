/** What procedures take: records, maps and options, with a clear refusal of everything else. */
import {Refusal} from '#server/base/errors.ts';
import {isIntegerValue} from '#server/model/number.ts';
import {type MapValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {ExecutionContext} from '../context.ts';
import {itemsOf, mapOf} from '../expressions/access.ts';
import {describe} from '../expressions/arithmetic.ts';

export function refuse(what: string): never {
  throw new Refusal('argument', what);
}

export function vertexAt(
  args: readonly Value[],
  at: number,
  name: string,
  context: ExecutionContext,
): RecordValue {
  const value = args[at] ?? null;
  const record = value instanceof Rid ? context.graph.record(value) : value;
  if (record instanceof RecordValue && record.kind === 'vertex') return record;
  return refuse(`${name} is a node, not ${describe(value)}`);
}

export function verticesAt(
  args: readonly Value[],
  at: number,
  name: string,
  context: ExecutionContext,
): readonly RecordValue[] {
  const value = args[at] ?? null;
  const items = itemsOf(value);
  if (items === undefined) return refuse(`${name} is a list of nodes, not ${describe(value)}`);
  return items.map((_, item) => vertexAt(items, item, `an item of ${name}`, context));
}

/** Absent or null: an empty map. */
export function mapAt(
  args: readonly Value[],
  at: number,
  name: string,
  context: ExecutionContext,
): MapValue {
  const value = args[at] ?? null;
  if (value === null) return new Map();
  return mapOf(value, context.graph) ?? refuse(`${name} is a map, not ${describe(value)}`);
}

/** Absent or null: an empty text. */
export function textAt(args: readonly Value[], at: number, name: string): string {
  const value = args[at] ?? null;
  if (value === null || typeof value === 'string') return value ?? '';
  return refuse(`${name} is a text, not ${describe(value)}`);
}

export function textsAt(args: readonly Value[], at: number, name: string): readonly string[] {
  const value = args[at] ?? null;
  const items = typeof value === 'string' ? [value] : itemsOf(value);
  const texts = items?.filter(item => typeof item === 'string');
  if (texts !== undefined && texts.length === items?.length) return texts;
  return refuse(`${name} is a list of texts, not ${describe(value)}`);
}

/** A whole number that is not negative; `otherwise` when it is absent, null or -1. */
export function countAt(
  value: Value | undefined,
  name: string,
  otherwise: number | undefined,
): number | undefined {
  if (value === undefined || value === null || value === -1) return otherwise;
  if (isIntegerValue(value) && Number(value) >= 0) return Number(value);
  return refuse(`${name} is a whole number from 0 on, not ${describe(value)}`);
}

/** @throws {Refusal} `argument` for an option that nobody knows. */
export function checkOptions(options: MapValue, known: readonly string[], name: string): void {
  for (const option of options.keys()) {
    if (!known.includes(option)) {
      refuse(`'${option}' is no option of ${name}: there are ${known.join(', ')}`);
    }
  }
}
