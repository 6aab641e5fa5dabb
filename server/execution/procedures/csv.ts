/** `load.csv`: the rows of a CSV from outside, as lists or as maps by the names of its header. */
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {CallContext} from '../context.ts';
import {describe} from '../expressions/arithmetic.ts';
import {typeError} from '../expressions/strict-operators.ts';
import type {FunctionFamily} from '../function-registry.ts';
import {csvRows} from './csv-rows.ts';

function* rows(
  [source = null, withHeaders = null, separator = null]: readonly Value[],
  {sources}: CallContext,
): Generator<readonly Value[], void, undefined> {
  if (typeof source !== 'string') {
    throw typeError(`a file or address is a text, not ${describe(source)}`, 'InvalidArgumentValue');
  }
  if (typeof separator !== 'string' || separator.length !== 1 || separator === '"') {
    throw new Refusal('argument', `a field ends with one character, not ${describe(separator)}`);
  }
  if (sources === undefined) {
    throw new Refusal('source.refused', 'nothing from outside is read here');
  }
  let header: readonly (string | null)[] | undefined;
  for (const {fields, line} of csvRows(sources.open(source), separator)) {
    if (withHeaders === true && header === undefined) header = fields;
    else yield [header === undefined ? fields : named(header, fields), source, line];
  }
}

/** Fields beyond the header have no name and are left out. */
function named(
  header: readonly (string | null)[],
  fields: readonly (string | null)[],
): ReadonlyMap<string, Value> {
  return new Map(
    header.flatMap((name, at) => (name === null ? [] : [[name, fields[at] ?? null] as const])),
  );
}

export const loadCsv: FunctionFamily = {
  tables: {'load.csv': {outputs: ['row', 'file', 'line'], rows}},
};
