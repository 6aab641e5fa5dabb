/**
 * The sources of one import: the one that is named, or those that the options `documents`,
 * `vertices` and `edges` name, each with its own format, delimiter, header and columns. They are
 * read in this order, so that edges find what was read before them.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import {type ImportOptions, readImportOptions} from './import-options.ts';

export interface ImportPart<Source> {
  readonly from: Source | string;
  readonly options: ImportOptions;
}

const kinds = [
  ['documents', 'document'],
  ['vertices', 'vertex'],
  ['edges', 'edge'],
] as const;
/** What an option of one source is called among those of all, behind the kind. */
const suffixes = {
  FileType: 'format',
  Delimiter: 'delimiter',
  Header: 'header',
  SkipEntries: 'skipEntries',
  PropertiesInclude: 'propertiesInclude',
} as const;

/**
 * @param from - The source that is named; undefined when the options name them.
 * @throws {Refusal} `argument`, naming the option; or when there is no source, or both ways of
 *   naming one are used.
 */
export function importParts<Source>(
  from: Source | string | undefined,
  given: ReadonlyMap<string, Value>,
): readonly ImportPart<Source>[] {
  const named = kinds.filter(([kind]) => given.has(kind));
  if (named.length === 0) {
    if (from !== undefined) return [{from, options: readImportOptions(given)}];
    throw new Refusal(
      'argument',
      'an import needs a file or address, or vertices and edges as such',
    );
  }
  if (from !== undefined) {
    const [kind] = named[0] ?? [];
    throw new Refusal('argument', `the option '${kind}' names a file beside the one that is named`);
  }
  const ofAll = new Map(given);
  const ofEach = kinds.map(([kind, rows]) => {
    const own = new Map<string, Value>([['rows', rows]]);
    for (const [suffix, name] of Object.entries(suffixes)) {
      const value = given.get(kind + suffix);
      // Without its source it stays among the others, where it is refused.
      if (value === undefined || !given.has(kind)) continue;
      own.set(name, value);
      ofAll.delete(kind + suffix);
    }
    ofAll.delete(kind);
    return {address: given.get(kind), own, kind};
  });
  return ofEach.flatMap(({address, own, kind}) => {
    if (address === undefined) return [];
    if (typeof address !== 'string' || address === '') {
      throw new Refusal('argument', `the option '${kind}' must be a file or address`);
    }
    return [{from: address, options: readImportOptions(new Map([...ofAll, ...own]))}];
  });
}
