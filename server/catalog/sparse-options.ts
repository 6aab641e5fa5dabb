/**
 * Options of sparse vector indexes. Source: reference, section 3.7.
 *
 * Weights are kept as they are unless `weightQuantization` says INT8: the recorded exchanges, made
 * with the defaults, show scores that are exact.
 */
import {conflictRefusal} from './change.ts';
import type {CatalogType} from './catalog-type.ts';
import type {IndexDefinition, IndexProperty} from './definition.ts';
import type {OptionTable} from './option-table/option-table.ts';

export const sparseOptionTable: OptionTable = new Map([
  ['dimensions', {kind: 'whole', default: 0, min: 0, max: 0xffff_ffff}],
  ['modifier', {kind: 'word', default: 'NONE', words: ['NONE', 'IDF']}],
  ['weightQuantization', {kind: 'word', default: 'NONE', words: ['NONE', 'INT8']}],
]);

export interface SparseOptions {
  /** Dimensions are less; 0: any. */
  readonly dimensionCount: number;
  readonly modifier: 'NONE' | 'IDF';
  readonly isQuantized: boolean;
}

export function sparseOptionsOf({options}: IndexDefinition): SparseOptions {
  return {
    dimensionCount: (options?.get('dimensions') as number | undefined) ?? 0,
    modifier: options?.get('modifier') === 'IDF' ? 'IDF' : 'NONE',
    isQuantized: options?.get('weightQuantization') === 'INT8',
  };
}

const listTypes: ReadonlySet<string> = new Set([
  'LIST',
  'ARRAY_OF_SHORTS',
  'ARRAY_OF_INTEGERS',
  'ARRAY_OF_LONGS',
  'ARRAY_OF_FLOATS',
  'ARRAY_OF_DOUBLES',
]);

/** The dimensions, then their weights. */
export function sparseProperties(type: CatalogType, properties: readonly IndexProperty[]): void {
  const isPair =
    properties.length === 2 &&
    properties.every(({name, by, ignoreCase}) => {
      const property = type.properties.get(name);
      const isList = property !== undefined && listTypes.has(property.type);
      return isList && by === undefined && !ignoreCase;
    });
  if (isPair) return;
  throw conflictRefusal(
    'an LSM_SPARSE_VECTOR index is on two properties: the dimensions (a list or array of whole ' +
      'numbers) and their weights (a list or array of numbers)',
  );
}
