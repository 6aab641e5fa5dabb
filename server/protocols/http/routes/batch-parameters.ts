/**
 * The words behind `?` of a batch (docs/http.md): each has a type, and a wrong word is refused.
 *
 * Those that steer how another engine lays out its pages are checked and change nothing here;
 * neither does `wal`, since every load is logged.
 */
import {Refusal} from '#server/base/errors.ts';

export interface BatchParameters {
  readonly lightEdges: boolean;
  readonly bidirectional: boolean;
  readonly commitEvery: number;
  readonly commitRetries: number;
  readonly commitRetryDelayMs: number;
  readonly vertexBatchSize: number;
  readonly idMapping: 'auto' | 'all' | 'none';
  readonly refMode: 'id' | 'ordinal';
  readonly ordinalBase: number;
  readonly expectedRecords: number | undefined;
}

type Reader<T> = (name: string, text: string) => T;

const countMax = 1_000_000_000;
const retryDelayMsMax = 600_000;

const boolean: Reader<boolean> = (name, text) => {
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw wrong(name, text, 'true or false');
};

function count(min: number, max = countMax): Reader<number> {
  return (name, text) => {
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    const code = /\d/.test(text) ? 'argument' : 'number.format';
    throw wrong(name, text, `a whole number from ${min} to ${max}`, code);
  };
}

function oneOf<W extends string>(words: Readonly<Record<string, W>>): Reader<W> {
  return (name, text) => {
    const word = words[text];
    if (word !== undefined && Object.hasOwn(words, text)) return word;
    throw wrong(name, text, Object.keys(words).join(', '));
  };
}

const readers = {
  batchSize: count(1),
  lightEdges: boolean,
  wal: boolean,
  parallelFlush: boolean,
  preAllocateEdgeChunks: boolean,
  edgeListInitialSize: count(1),
  bidirectional: boolean,
  commitEvery: count(1),
  expectedEdgeCount: count(0),
  expectedVertexCount: count(0),
  commitRetries: count(0),
  commitRetryDelayMs: count(0, retryDelayMsMax),
  vertexBatchSize: count(1),
  idMapping: oneOf<BatchParameters['idMapping']>({
    auto: 'auto',
    true: 'all',
    all: 'all',
    false: 'none',
    none: 'none',
  }),
  refMode: oneOf<BatchParameters['refMode']>({id: 'id', ordinal: 'ordinal'}),
  ordinalBase: count(0),
  expectedRecords: count(0, Number.MAX_SAFE_INTEGER),
} satisfies Record<string, Reader<unknown>>;

/** Unknown names are passed over. @throws {Refusal} `argument`, `number.format`. */
export function batchParameters(query: string): BatchParameters {
  const search = new URLSearchParams(query);
  const read = <T>(name: keyof typeof readers, reader: Reader<T>): T | undefined => {
    const text = search.getAll(name).at(-1);
    return text === undefined ? undefined : reader(name, text);
  };
  // The others are only checked.
  for (const [name, reader] of Object.entries(readers)) {
    read(name as keyof typeof readers, reader as Reader<unknown>);
  }
  return {
    lightEdges: read('lightEdges', readers.lightEdges) ?? false,
    bidirectional: read('bidirectional', readers.bidirectional) ?? true,
    commitEvery: read('commitEvery', readers.commitEvery) ?? 50_000,
    commitRetries: read('commitRetries', readers.commitRetries) ?? 10,
    commitRetryDelayMs: read('commitRetryDelayMs', readers.commitRetryDelayMs) ?? 1_000,
    vertexBatchSize: read('vertexBatchSize', readers.vertexBatchSize) ?? 10_000,
    idMapping: read('idMapping', readers.idMapping) ?? 'auto',
    refMode: read('refMode', readers.refMode) ?? 'id',
    ordinalBase: read('ordinalBase', readers.ordinalBase) ?? 0,
    expectedRecords: read('expectedRecords', readers.expectedRecords),
  };
}

function wrong(
  name: string,
  text: string,
  expected: string,
  code: 'argument' | 'number.format' = 'argument',
): Refusal {
  const shown = text.slice(0, 80);
  return new Refusal(code, `Parameter '${name}' cannot be '${shown}': give ${expected}`);
}
