/**
 * The names that a user of the reference system may call (its functions, methods and library):
 * each is in the table, and those of later work say what they wait for.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import {cypherFunction} from '#server/languages/cypher/functions.ts';
import {proceduresWith} from '#server/languages/cypher/procedures.ts';
import {functionSignature} from './function-table.ts';

/** Prefix of a family, and the names in it. */
const available: readonly (readonly [prefix: string, names: string])[] = [
  ['.', 'out in both outE inE bothE outV inV bothV'],
  ['', 'shortestPath dijkstra astar bellmanFord duanSSSP cypherRID expand'],
  ['', 'count sum avg min max median mode percentile stddev stddevp variance variancep first last'],
  ['', 'list set map distinct bool_and bool_or difference intersect symmetricDifference unionAll'],
  ['', 'abs pow sqrt randomInt eval concat format strcmpci encode decode date sysdate duration'],
  ['', 'coalesce if ifnull ifempty uuid version'],
  [
    'math_',
    'abs acos asin atan atan2 cbrt ceil copySign cos cosh exp expm1 floor floorDiv floorMod',
  ],
  [
    'math_',
    'hypot IEEEremainder log log10 log1p max min pow random rint round signum sin sinh sqrt',
  ],
  ['math_', 'tan tanh toDegrees toRadians'],
  ['.', 'append asBoolean asByte asShort asInteger asLong asFloat asDouble asDecimal asDate'],
  [
    '.',
    'asDateTime asString asJSON asList asSet asMap asRID asRecord asCypherRID capitalize charAt',
  ],
  [
    '.',
    'convert exclude include field format hash ifempty ifnull indexOf lastIndexOf javaType type',
  ],
  ['.', 'join keys values left right length size normalize precision prefix remove removeAll'],
  ['.', 'replace sort split subString toJSON toLowerCase toUpperCase transform trim trimPrefix'],
  ['.', 'trimSuffix'],
  ['coll.', 'avg distinct flatten indexOf insert max min pairsMin remove sort sum toSet union'],
  ['coll.', 'unionAll'],
  ['text.', 'byteCount camelCase upperCamelCase snakeCase capitalize capitalizeAll decapitalize'],
  ['text.', 'decapitalizeAll charAt code format hexValue indexOf join split lpad rpad random'],
  ['text.', 'regexReplace replace slug levenshteinDistance levenshteinSimilarity'],
  ['text.', 'jaroWinklerDistance hammingDistance sorensenDiceSimilarity'],
  ['map.', 'clean flatten unflatten fromLists fromPairs groupBy merge mergeList removeKey'],
  ['map.', 'removeKeys setKey sortedProperties submap values'],
  ['math.', 'round sinh cosh tanh sigmoid sigmoidPrime maxLong minLong maxDouble'],
  ['convert.', 'toJson toMap toList toSet toString toInteger toFloat toBoolean fromJsonMap'],
  ['convert.', 'fromJsonList'],
  ['number.', 'format'],
  ['date.', 'add convert currentTimestamp field fields format parse fromISO8601 toISO8601'],
  ['date.', 'systemTimezone'],
  ['util.', 'md5 sha1 sha256 sha512 compress decompress sleep validate'],
  ['agg.', 'first last nth slice median percentiles product statistics minItems maxItems'],
  ['node.', 'degree degree.in degree.out id labels relationship.exists relationship.types'],
  ['rel.', 'id type startNode endNode'],
  ['path.', 'create combine elements slice'],
  ['create.', 'uuid uuidBase64 vNode vRelationship'],
  [
    'vector.',
    'fuse rrfscore multiscore hybridscore normalizescores scoretransform rerank mmr boost',
  ],
  ['vector.', 'add subtract multiply scale clip clamp sum avg min max dotProduct cosineSimilarity'],
  ['vector.', 'l2Distance l1Distance magnitude l2Norm l1Norm lInfNorm normalize isNormalized'],
  ['vector.', 'variance stdDev dimension hasNaN hasInf hasNull sparsity quantizeInt8'],
  ['vector.', 'dequantizeInt8 quantizeBinary dequantizeBinary approxDistance sparseCreate'],
  ['vector.', 'denseToSparse sparseToDense sparseDot toString'],
  ['vector.', 'neighbors sparseNeighbors recommend discover'],
  ['fulltext.', 'searchIndex searchFields searchIndexMore searchFieldsMore'],
  ['', 'SEARCH_INDEX SEARCH_FIELDS SEARCH_INDEX_MORE SEARCH_FIELDS_MORE'],
  ['.', 'asVector asSparse'],
];

const later: readonly (readonly [what: string, prefix: string, names: string])[] = [
  ['geospatial data', 'geo.', 'point lineString polygon geomFromText buffer envelope area asText'],
  ['geospatial data', 'geo.', 'asGeoJson x y distance within intersects contains equals crosses'],
  ['geospatial data', 'geo.', 'overlaps touches disjoint dWithin'],
  ['geospatial data', '', 'circle rectangle point lineString polygon'],
  ['geospatial data', '.', 'intersectsWith isWithin'],
  ['time series', 'ts.', 'timeBucket first last rate delta movingAvg interpolate percentile'],
  ['time series', 'ts.', 'correlate lag lead rank rowNumber'],
  ['time series', '', 'promql'],
];

test('every name of the reference is in the table, and works unless its work comes later', () => {
  const waiting = (prefix: string, names: string): (readonly [string, string | undefined])[] =>
    names.split(' ').map(name => {
      const row = functionSignature(prefix + name);
      return [prefix + name, row === undefined ? 'is not in the table' : row.later];
    });
  assert.deepEqual(
    available
      .flatMap(([prefix, names]) => waiting(prefix, names))
      .filter(([, what]) => what !== undefined),
    [],
  );
  assert.deepEqual(
    later.flatMap(([what, prefix, names]) =>
      waiting(prefix, names).filter(([, found]) => found !== what),
    ),
    [],
  );
});

test('procedures of search are known to CALL', () => {
  const known = proceduresWith([]);
  const names =
    'db.index.vector.queryNodes vector.neighbors ' +
    'db.index.fulltext.queryNodes db.index.fulltext.queryRelationships';
  for (const name of names.split(' ')) {
    const called = known.get(name.toLowerCase());
    assert.equal(functionSignature(called?.name ?? '')?.kind, 'table', name);
  }
});

test('every vector function has its name in camel case, and Cypher knows both', () => {
  const names = available
    .filter(([prefix]) => prefix === 'vector.' || prefix === 'fulltext.')
    .flatMap(([prefix, list]) => list.split(' ').map(name => [prefix, name] as const));
  assert.ok(names.length > 50);
  for (const [prefix, name] of names) {
    const row = functionSignature(prefix + name);
    const alias = `vector${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    if (prefix === 'vector.') assert.equal(functionSignature(alias), row, alias);
    for (const spelt of [prefix + name, ...(row?.aliases ?? [])]) {
      assert.equal(cypherFunction(spelt)?.name, row?.name, spelt);
    }
  }
});
