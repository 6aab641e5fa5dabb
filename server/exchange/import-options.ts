/**
 * The options of an import, by the names that the reference has for them. One that is unknown is
 * refused, and so is one that this server could not honour.
 * Source: docs/import-export.md.
 */
import {Refusal} from '#server/base/errors.ts';
import {Double, type Value} from '#server/model/value.ts';

export interface ImportOptions {
  /** As somebody named it; undefined: by the content. */
  readonly format: string | undefined;
  readonly commitEvery: number;
  readonly trimText: boolean;
  /** Says what there is and changes nothing. */
  readonly probeOnly: boolean;
  readonly onRowError: 'abort' | 'skip';
  readonly analysisLimitBytes: number;
  readonly analysisLimitEntries: number;
  /** Undefined: no bound. */
  readonly parsingLimitBytes: number | undefined;
  readonly parsingLimitEntries: number | undefined;
  readonly documentType: string;
  readonly vertexType: string;
  readonly edgeType: string;
  /** Names the property whose values edges and links refer to. */
  readonly typeIdProperty: string | undefined;
  readonly idProperty: string | undefined;
  readonly edgeFromField: string;
  readonly edgeToField: string;
  /** What rows of CSV become. */
  readonly rows: 'document' | 'vertex' | 'edge';
  readonly delimiter: string;
  readonly header: readonly string[] | undefined;
  readonly skipEntries: number;
  readonly propertiesInclude: ReadonlySet<string> | undefined;
  readonly maxProperties: number;
  readonly maxPropertySize: number;
}

type Read<T> = (value: Value, name: string) => T;

const flag: Read<boolean> = (value, name) => {
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw refused(name, 'must be true or false');
};

function whole(least: number, most = Number.MAX_SAFE_INTEGER): Read<number> {
  return (value, name) => {
    const text = typeof value === 'string' && value !== '' ? Number(value) : value;
    const number = text instanceof Double ? text.value : text;
    if (typeof number === 'number' && Number.isInteger(number) && number >= least) {
      if (number <= most) return number;
    }
    throw refused(name, `must be a whole number from ${least}`);
  };
}

const text: Read<string> = (value, name) => {
  if (typeof value === 'string' && value !== '') return value;
  throw refused(name, 'must be a text');
};

function word<T extends string>(...words: readonly T[]): Read<T> {
  return (value, name) => {
    const found = words.find(known => known === value);
    if (found !== undefined) return found;
    throw refused(name, `must be ${words.join(' or ')}`);
  };
}

const names: Read<readonly string[]> = (value, name) => {
  const list = Array.isArray(value) ? value.map(String) : text(value, name).split(',');
  return list.map(item => item.trim());
};

const readers = {
  format: text,
  commitEvery: whole(1, 1_000_000),
  trimText: flag,
  probeOnly: flag,
  onRowError: word('abort', 'skip'),
  analysisLimitBytes: whole(1),
  analysisLimitEntries: whole(1),
  parsingLimitBytes: whole(1),
  parsingLimitEntries: whole(1),
  documentType: text,
  vertexType: text,
  edgeType: text,
  typeIdProperty: text,
  idProperty: text,
  edgeFromField: text,
  edgeToField: text,
  rows: word('document', 'vertex', 'edge'),
  delimiter: (value, name) => {
    const given = text(value, name);
    if (given === '\\t' || given === 'tab') return '\t';
    if (given.length === 1 && given !== '"') return given;
    throw refused(name, 'must be one character, or tab');
  },
  header: names,
  skipEntries: whole(0),
  propertiesInclude: names,
  maxProperties: whole(1, 100_000),
  maxPropertySize: whole(1, 64 << 20),
} as const satisfies Record<string, Read<unknown>>;

type Given = {readonly [K in keyof typeof readers]?: ReturnType<(typeof readers)[K]>};

/** @throws {Refusal} `argument`, naming the option. */
export function readImportOptions(given: ReadonlyMap<string, Value>): ImportOptions {
  const read: Record<string, unknown> = {};
  for (const [name, value] of given) {
    const reader = Object.hasOwn(readers, name) ? readers[name as keyof Given] : undefined;
    if (reader === undefined) {
      const known = Object.keys(readers).join(', ');
      throw refused(name, `is no option of an import: ${known} are known`);
    }
    read[name] = (reader as Read<unknown>)(value, name);
  }
  const own = read as Given;
  const included = own.propertiesInclude;
  return {
    format: own.format,
    commitEvery: own.commitEvery ?? 5_000,
    trimText: own.trimText ?? true,
    probeOnly: own.probeOnly ?? false,
    onRowError: own.onRowError ?? 'abort',
    analysisLimitBytes: own.analysisLimitBytes ?? 100_000,
    analysisLimitEntries: own.analysisLimitEntries ?? 10_000,
    parsingLimitBytes: own.parsingLimitBytes,
    parsingLimitEntries: own.parsingLimitEntries,
    documentType: own.documentType ?? 'Document',
    vertexType: own.vertexType ?? 'Node',
    edgeType: own.edgeType ?? 'Relationship',
    typeIdProperty: own.typeIdProperty,
    idProperty: own.idProperty,
    edgeFromField: own.edgeFromField ?? 'from',
    edgeToField: own.edgeToField ?? 'to',
    rows: own.rows ?? 'document',
    delimiter: own.delimiter ?? ',',
    header: own.header,
    skipEntries: own.skipEntries ?? 0,
    propertiesInclude:
      included === undefined || included[0] === '*' ? undefined : new Set(included),
    maxProperties: own.maxProperties ?? 512,
    maxPropertySize: own.maxPropertySize ?? 4_096,
  };
}

function refused(name: string, what: string): Refusal {
  return new Refusal('argument', `the option '${name.slice(0, 80)}' ${what}`, {detail: {name}});
}
