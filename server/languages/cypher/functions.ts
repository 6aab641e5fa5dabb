/**
 * The names that Cypher gives to functions of the one table, with what is known of their
 * arguments and results before anything runs.
 *
 * Names ignore case. A name that is not here is looked up in the table itself, so that every
 * function of the server can be called under its own name.
 */
import {functionRows, functionSignature} from '#server/plan/function-table.ts';
import type {Kind} from './value-kind.ts';

export interface CypherFunction {
  /** The name that plan/function-table.ts gives the function. */
  readonly name: string;
  readonly kind: 'scalar' | 'aggregate';
  readonly min: number;
  readonly max: number;
  /** Kinds that each argument may have; the last entry holds for those behind it. */
  readonly takes: readonly (readonly Kind[])[];
  readonly result: Kind;
  /** What the last argument may be said as without quotes. */
  readonly words?: readonly string[];
}

function scalar(
  name: string,
  [min, max]: readonly [number, number],
  result: Kind = 'any',
  takes: readonly (readonly Kind[])[] = [],
): CypherFunction {
  return {name, kind: 'scalar', min, max, takes, result};
}

function aggregate(
  name: string,
  [min, max]: readonly [number, number],
  result: Kind = 'any',
): CypherFunction {
  return {name, kind: 'aggregate', min, max, takes: [], result};
}

const none = [0, 0] as const;
const one = [1, 1] as const;
const two = [2, 2] as const;
const upToOne = [0, 1] as const;

const normalForms = ['NFC', 'NFD', 'NFKC', 'NFKD'];

const rows: Readonly<Record<string, CypherFunction>> = {
  // Aggregates.
  count: aggregate('count', one, 'integer'),
  sum: aggregate('std.sum', one),
  avg: aggregate('std.avg', one),
  min: aggregate('std.min', one),
  max: aggregate('std.max', one),
  collect: aggregate('std.collect', one, 'list'),
  stdev: aggregate('std.stDev', one, 'float'),
  stdevp: aggregate('std.stDevP', one, 'float'),
  percentilecont: aggregate('std.percentileCont', two),
  percentiledisc: aggregate('std.percentileDisc', two),
  // Graph.
  id: scalar('std.id', one, 'any', [['node', 'relationship']]),
  elementid: scalar('std.elementId', one, 'string', [['node', 'relationship']]),
  labels: scalar('std.labels', one, 'list', [['node']]),
  type: scalar('std.type', one, 'string', [['relationship']]),
  keys: scalar('std.keys', one, 'list', [['node', 'relationship', 'map']]),
  properties: scalar('std.properties', one, 'map', [['node', 'relationship', 'map']]),
  startnode: scalar('std.startNode', one, 'node', [['relationship']]),
  endnode: scalar('std.endNode', one, 'node', [['relationship']]),
  nodes: scalar('std.nodes', one, 'list', [['path']]),
  relationships: scalar('std.relationships', one, 'list', [['path']]),
  length: scalar('std.length', one, 'integer', [['path', 'string', 'list', 'relationships']]),
  // Lists and choices.
  coalesce: scalar('op:coalesce', [1, 255]),
  size: scalar('std.size', one, 'integer', [['string', 'list', 'map', 'relationships']]),
  head: scalar('std.head', one, 'any', [['list', 'relationships']]),
  last: scalar('std.last', one, 'any', [['list', 'relationships']]),
  tail: scalar('std.tail', one, 'list', [['list', 'relationships']]),
  range: scalar('std.range', [2, 3], 'list'),
  reverse: scalar('std.reverse', one, 'any', [['string', 'list', 'relationships']]),
  isempty: scalar('std.isEmpty', one, 'boolean'),
  nullif: scalar('std.nullIf', two),
  valuetype: scalar('std.valueType', one, 'string'),
  // Conversions.
  tointeger: scalar('std.toInteger', one, 'integer'),
  tofloat: scalar('std.toFloat', one, 'float'),
  toboolean: scalar('std.toBoolean', one, 'boolean'),
  tostring: scalar('std.toString', one, 'string'),
  tointegerornull: scalar('std.toIntegerOrNull', one, 'integer'),
  tofloatornull: scalar('std.toFloatOrNull', one, 'float'),
  tobooleanornull: scalar('std.toBooleanOrNull', one, 'boolean'),
  tostringornull: scalar('std.toStringOrNull', one, 'string'),
  tointegerlist: scalar('std.toIntegerList', one, 'list'),
  tofloatlist: scalar('std.toFloatList', one, 'list'),
  tobooleanlist: scalar('std.toBooleanList', one, 'list'),
  tostringlist: scalar('std.toStringList', one, 'list'),
  // Texts.
  substring: scalar('std.substring', [2, 3], 'string'),
  left: scalar('std.left', two, 'string'),
  right: scalar('std.right', two, 'string'),
  replace: scalar('std.replace', [3, 3], 'string'),
  split: scalar('std.split', two, 'list'),
  trim: scalar('std.trim', [1, 2], 'string'),
  btrim: scalar('std.trim', [1, 2], 'string'),
  ltrim: scalar('std.ltrim', [1, 2], 'string'),
  rtrim: scalar('std.rtrim', [1, 2], 'string'),
  toupper: scalar('std.toUpper', one, 'string'),
  tolower: scalar('std.toLower', one, 'string'),
  upper: scalar('std.toUpper', one, 'string'),
  lower: scalar('std.toLower', one, 'string'),
  normalize: {...scalar('std.normalize', [1, 2], 'string'), words: normalForms},
  isnormalized: {...scalar('std.isNormalized', [1, 2], 'boolean'), words: normalForms},
  character_length: scalar('std.size', one, 'integer', [['string']]),
  char_length: scalar('std.size', one, 'integer', [['string']]),
  randomuuid: scalar('uuid', none, 'string'),
  // Numbers.
  abs: scalar('std.abs', one),
  ceil: scalar('std.ceil', one, 'float'),
  floor: scalar('std.floor', one, 'float'),
  round: scalar('std.round', [1, 3], 'float'),
  sign: scalar('std.sign', one, 'integer'),
  rand: scalar('std.rand', none, 'float'),
  sqrt: scalar('std.sqrt', one, 'float'),
  exp: scalar('std.exp', one, 'float'),
  log: scalar('std.log', one, 'float'),
  ln: scalar('std.log', one, 'float'),
  log10: scalar('std.log10', one, 'float'),
  e: scalar('std.e', none, 'float'),
  pi: scalar('std.pi', none, 'float'),
  sin: scalar('std.sin', one, 'float'),
  cos: scalar('std.cos', one, 'float'),
  tan: scalar('std.tan', one, 'float'),
  cot: scalar('std.cot', one, 'float'),
  asin: scalar('std.asin', one, 'float'),
  acos: scalar('std.acos', one, 'float'),
  atan: scalar('std.atan', one, 'float'),
  atan2: scalar('std.atan2', two, 'float'),
  sinh: scalar('std.sinh', one, 'float'),
  cosh: scalar('std.cosh', one, 'float'),
  tanh: scalar('std.tanh', one, 'float'),
  degrees: scalar('std.degrees', one, 'float'),
  radians: scalar('std.radians', one, 'float'),
  haversin: scalar('std.haversin', one, 'float'),
  isnan: scalar('std.isNaN', one, 'boolean'),
  // Places.
  point: scalar('std.point', one),
  'point.distance': scalar('std.point.distance', two),
  'point.withinbbox': scalar('std.point.withinBBox', [3, 3], 'boolean'),
  // Vectors.
  vector: scalar('std.vector', [1, 2], 'list'),
  'vector.create': scalar('std.vector', [1, 2], 'list'),
  vector_dimension_count: scalar('std.vector.dimensions', one, 'integer'),
  'vector.norm': scalar('std.vector.norm', one, 'float'),
  'vector.similarity.cosine': scalar('std.vector.cosineSimilarity', two, 'float'),
  'vector.similarity.euclidean': scalar('std.vector.euclideanSimilarity', two, 'float'),
  'vector.distance': scalar('std.vector.distance', [3, 3], 'float'),
  'vector.distance.cosine': scalar('std.vector.cosineDistance', two, 'float'),
  'vector.distance.euclidean': scalar('std.vector.euclideanDistance', two, 'float'),
  'vector.distance.manhattan': scalar('std.vector.manhattanDistance', two, 'float'),
  // Times.
  date: scalar('std.date', upToOne),
  time: scalar('std.time', upToOne),
  localtime: scalar('std.localTime', upToOne),
  datetime: scalar('std.dateTime', upToOne),
  localdatetime: scalar('std.localDateTime', upToOne),
  duration: scalar('std.duration', one),
  'datetime.fromepoch': scalar('std.dateTime.fromEpoch', two),
  'datetime.fromepochmillis': scalar('std.dateTime.fromEpochMillis', one),
  'duration.between': scalar('std.duration.between', two),
  'duration.inmonths': scalar('std.duration.inMonths', two),
  'duration.indays': scalar('std.duration.inDays', two),
  'duration.inseconds': scalar('std.duration.inSeconds', two),
  timestamp: scalar('std.timestamp', none, 'integer'),
  ...clocks('date', 'std.date'),
  ...clocks('time', 'std.time'),
  ...clocks('localtime', 'std.localTime'),
  ...clocks('datetime', 'std.dateTime'),
  ...clocks('localdatetime', 'std.localDateTime'),
};

/** What every class of times has beside its constructor. */
function clocks(name: string, table: string): Record<string, CypherFunction> {
  return {
    [`${name}.truncate`]: scalar(`${table}.truncate`, [1, 3]),
    [`${name}.statement`]: scalar(table, upToOne),
    [`${name}.transaction`]: scalar(table, upToOne),
    [`${name}.realtime`]: scalar(`${table}.realtime`, upToOne),
  };
}

const byName = new Map(Object.entries(rows));

const callable: ReadonlySet<string> = new Set(['function', 'aggregate']);

/** The function of that name, ignoring case; undefined when there is none. */
export function cypherFunction(name: string): CypherFunction | undefined {
  const own = byName.get(name.toLowerCase());
  if (own !== undefined) return own;
  const signature = functionSignature(name);
  if (signature === undefined || !callable.has(signature.kind)) return undefined;
  // Of the shared families only searches and vectors have names without a dot.
  if (!name.includes('.') && !/^(?:fulltext|vector)\./.test(signature.name)) return undefined;
  const {argsMin: min, argsMax: max = 255} = signature;
  const make = signature.kind === 'aggregate' ? aggregate : scalar;
  return make(signature.name, [min, max]);
}

/** All names, for suggestions. */
export function cypherFunctionNames(): readonly string[] {
  const shared = functionRows.filter(({kind, name}) => callable.has(kind) && name.includes('.'));
  return [...byName.keys(), ...shared.map(({name}) => name)];
}
