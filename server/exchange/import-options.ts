/**
 * The options of an import, by the names that the reference has for them. One that is unknown is
 * refused, and so is one that this server could not honour.
 * Source: docs/import-export.md.
 */
import {Refusal} from '#server/base/errors.ts';
import {type DataType, parseDataType} from '#server/model/data-type.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import {Double, type MapValue, type Value, type RecordKind} from '#server/model/value.ts';

export interface ImportOptions {
  /** The format that somebody named; undefined: the content tells. */
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
  /** Declares that property; undefined: it is not declared, unless `typeIdUnique`. */
  readonly typeIdType: DataType | undefined;
  /** Gives it a unique index. */
  readonly typeIdUnique: boolean;
  readonly edgeFromField: string;
  readonly edgeToField: string;
  /** Which vertices of the database an end may be, and by which of their properties. */
  readonly ends: {readonly from: NamedVertices; readonly to: NamedVertices};
  /** Whether edges are found from the vertices that they lead to. */
  readonly edgeBidirectional: boolean;
  /** What plain objects and rows of CSV become. */
  readonly rows: RecordKind;
  /** Properties by the fields that they are of, where they are called otherwise. */
  readonly mapping: ReadonlyMap<string, string> | undefined;
  readonly delimiter: string;
  readonly header: readonly string[] | undefined;
  readonly skipEntries: number;
  readonly propertiesInclude: ReadonlySet<string> | undefined;
  readonly maxProperties: number;
  readonly maxPropertySize: number;
  readonly vectors: VectorOptions;
  /** The names of the options that were given. */
  readonly given: ReadonlySet<string>;
}

/** Vertices by the values of a property. */
export interface NamedVertices {
  readonly type: string;
  /** Undefined: vertices of the database are not looked for. */
  readonly property: string | undefined;
}

/** Where words and their vectors go, and what their index is like. */
export interface VectorOptions {
  readonly property: string;
  readonly similarity: string;
  /** Undefined: as the index has it. */
  readonly maxConnections: number | undefined;
  readonly beamWidth: number | undefined;
  readonly efSearch: number | undefined;
}

const vertexTypeDefault = 'Node';

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
  typeIdType: (value, name) => {
    const type = parseDataType(text(value, name));
    if (type !== undefined) return type;
    throw refused(name, 'must be a type of properties, such as LONG or STRING');
  },
  typeIdUnique: flag,
  edgeFromField: text,
  edgeToField: text,
  edgeFromType: text,
  edgeToType: text,
  edgeFromProperty: text,
  edgeToProperty: text,
  edgeBidirectional: flag,
  mapping: (value, name) => {
    const map = typeof value === 'string' ? parseMap(value) : value;
    const entries = map instanceof Map ? [...(map as MapValue)] : [];
    if (entries.length > 0 && entries.every(([, to]) => typeof to === 'string' && to !== '')) {
      return new Map(entries as [string, string][]);
    }
    throw refused(name, 'must be an object of texts, such as {"emp_no": "id"}');
  },
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
  vectorProperty: text,
  distanceFunction: word('COSINE', 'DOT_PRODUCT', 'EUCLIDEAN'),
  m: whole(4, 256),
  efConstruction: whole(8, 10_000),
  ef: whole(1, 10_000),
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
    vertexType: own.vertexType ?? vertexTypeDefault,
    edgeType: own.edgeType ?? 'Relationship',
    typeIdProperty: own.typeIdProperty,
    idProperty: own.idProperty,
    typeIdType: own.typeIdType,
    typeIdUnique: own.typeIdUnique ?? false,
    edgeFromField: own.edgeFromField ?? 'from',
    edgeToField: own.edgeToField ?? 'to',
    ends: endsIn(own),
    edgeBidirectional: own.edgeBidirectional ?? true,
    mapping: own.mapping,
    rows: own.rows ?? 'document',
    delimiter: own.delimiter ?? ',',
    header: own.header,
    skipEntries: own.skipEntries ?? 0,
    propertiesInclude:
      included === undefined || included[0] === '*' ? undefined : new Set(included),
    maxProperties: own.maxProperties ?? 512,
    maxPropertySize: own.maxPropertySize ?? 4_096,
    vectors: {
      property: own.vectorProperty ?? 'vector',
      similarity: own.distanceFunction ?? 'COSINE',
      maxConnections: own.m,
      beamWidth: own.efConstruction,
      efSearch: own.ef,
    },
    given: new Set(given.keys()),
  };
}

function endsIn(own: Given): ImportOptions['ends'] {
  const key = own.typeIdProperty ?? own.idProperty;
  const type = own.vertexType ?? vertexTypeDefault;
  return {
    from: {type: own.edgeFromType ?? type, property: own.edgeFromProperty ?? key},
    to: {type: own.edgeToType ?? type, property: own.edgeToProperty ?? key},
  };
}

/** Undefined for what is no JSON. */
function parseMap(json: string): Value | undefined {
  try {
    return parseJsonText(json);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function refused(name: string, what: string): Refusal {
  return new Refusal('argument', `the option '${name.slice(0, 80)}' ${what}`, {detail: {name}});
}
