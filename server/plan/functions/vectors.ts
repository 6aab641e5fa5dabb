/**
 * Signatures of `vector.*`: functions of dense and sparse vectors, of scores, and of ranked rows.
 *
 * Each has its name in camel case as an alias: `vectorAdd` is `vector.add`. Vectors are lists of
 * numbers and count as 32-bit floats. The search of a sparse index stands in search.ts.
 */
import type {FunctionSignature} from '../functions.ts';
import {aggregateRow, handled, scalarRow, type SignatureOptions} from '../signature.ts';

const searching: SignatureOptions = {nulls: 'handled', needs: 'graph', cost: 200_000};
const ranked: SignatureOptions = {nulls: 'handled', needs: 'graph', cost: 20_000};

const dense: readonly FunctionSignature[] = [
  scalarRow('vector.add(left, right)', 'The sum of two vectors.', [
    'vector.add([1, 2], [3, 4])',
    '[4.0,6.0]',
  ]),
  scalarRow('vector.subtract(left, right)', 'The difference of two vectors.', [
    'vector.subtract([1, 2], [3, 4])',
    '[-2.0,-2.0]',
  ]),
  scalarRow('vector.multiply(left, right)', 'The products of the elements of two vectors.', [
    'vector.multiply([1, 2], [3, 4])',
    '[3.0,8.0]',
  ]),
  scalarRow('vector.scale(vector, factor)', 'Every element times a number.', [
    'vector.scale([1, 2], 2)',
    '[2.0,4.0]',
  ]),
  scalarRow(
    'vector.clip(vector, least, most)',
    'With every element brought between two numbers.',
    ['vector.clip([5, -5], -1, 1)', '[1.0,-1.0]'],
    {aliases: ['vector.clamp', 'vectorClamp']},
  ),
  scalarRow('vector.normalize(vector)', 'The vector of length 1 in the same direction.', [
    'vector.normalize([3, 4])',
    '[0.6,0.8]',
  ]),
  scalarRow('vector.dotProduct(left, right)', 'The sum of the products of the elements.', [
    'vector.dotProduct([1, 2], [3, 4])',
    '11.0',
  ]),
  scalarRow('vector.cosineSimilarity(left, right)', 'The cosine of the angle between vectors.', [
    'vector.cosineSimilarity([1, 0], [1, 1])',
    '0.70710677',
  ]),
  scalarRow('vector.l2Distance(left, right)', 'The straight distance of two vectors.', [
    'vector.l2Distance([0, 0], [3, 4])',
    '5.0',
  ]),
  scalarRow('vector.l1Distance(left, right)', 'The sum of the distances in each dimension.', [
    'vector.l1Distance([0, 0], [3, 4])',
    '7.0',
  ]),
  scalarRow(
    'vector.magnitude(vector)',
    'The length of a vector.',
    ['vector.magnitude([3, 4])', '5.0'],
    {aliases: ['vector.l2Norm', 'vectorL2Norm']},
  ),
  scalarRow('vector.l1Norm(vector)', 'The sum of the absolute elements.', [
    'vector.l1Norm([1, -2])',
    '3.0',
  ]),
  scalarRow('vector.lInfNorm(vector)', 'The greatest absolute element.', [
    'vector.lInfNorm([1, -2])',
    '2.0',
  ]),
  scalarRow('vector.variance(vector)', 'The variance of all elements.', [
    'vector.variance([1, 3])',
    '1.0',
  ]),
  scalarRow('vector.stdDev(vector)', 'The standard deviation of all elements.', [
    'vector.stdDev([1, 3])',
    '1.0',
  ]),
  scalarRow('vector.dimension(vector)', 'How many elements a vector has.', [
    'vector.dimension([1, 2, 3])',
    '3',
  ]),
  scalarRow(
    'vector.isNormalized(vector, tolerance?)',
    'Whether its length is 1, within a tolerance (0.001).',
    ['vector.isNormalized([0.6, 0.8])', 'true'],
  ),
  scalarRow('vector.hasNaN(vector)', 'Whether an element is no number.', [
    'vector.hasNaN([1])',
    'false',
  ]),
  scalarRow('vector.hasInf(vector)', 'Whether an element is infinite.', [
    'vector.hasInf([1])',
    'false',
  ]),
  scalarRow('vector.hasNull(vector)', 'Whether an element is null.', [
    'vector.hasNull([1, null])',
    'true',
  ]),
  scalarRow(
    'vector.sparsity(vector, threshold?, measure?)',
    'The share of small elements; L0: how many are not; GMEAN: their geometric mean.',
    ["vector.sparsity([0, 1], 0.1, 'FRACTION')", '0.5'],
    handled,
  ),
  aggregateRow(
    'vector.sum(vector)',
    'The sum of the vectors of a group.',
    ['vector.sum([age, 1])', '[94.0,3.0]'],
    handled,
  ),
  aggregateRow(
    'vector.avg(vector)',
    'The mean of the vectors of a group.',
    ['vector.avg([w, 1])', '[4.0,1.0]'],
    handled,
  ),
  aggregateRow(
    'vector.min(vector)',
    'The least elements of the vectors of a group.',
    ['vector.min([age, 1])', '[17.0,1.0]'],
    handled,
  ),
  aggregateRow(
    'vector.max(vector)',
    'The greatest elements of the vectors of a group.',
    ['vector.max([age, 1])', '[41.0,1.0]'],
    handled,
  ),
];

const encodings: readonly FunctionSignature[] = [
  scalarRow('vector.quantizeInt8(vector)', 'With 8 bits an element, and how to read them back.', [
    'vector.quantizeInt8([0, 1]).quantized',
    '[-128,127]',
  ]),
  scalarRow(
    'vector.dequantizeInt8(quantized, min?, max?)',
    'The vector again, of a quantized one or of its bytes.',
    ['vector.dequantizeInt8(vector.quantizeInt8([0.1, 0.5, -0.5]))', '[0.1,0.5,-0.5]'],
  ),
  scalarRow(
    'vector.quantizeBinary(vector)',
    'With 1 bit an element: whether it is below the median.',
    ['vector.quantizeBinary([0.1, 0.5, -0.5]).packed', '[3]'],
  ),
  scalarRow(
    'vector.dequantizeBinary(quantized, length?)',
    'A vector of 1 and -1, of a quantized one or of its bytes.',
    ['vector.dequantizeBinary(vector.quantizeBinary([0.1, 0.5, -0.5]))', '[1.0,1.0,-1.0]'],
  ),
  scalarRow(
    'vector.approxDistance(left, right, quantization?)',
    'Of INT8 the distance of the bytes, of BINARY the share of bits that differ.',
    [
      'vector.approxDistance(vector.quantizeInt8([0, 1]), vector.quantizeInt8([1, 0]))',
      '360.62445',
    ],
    handled,
  ),
  scalarRow(
    'vector.sparseCreate(indices, values, dimensions?)',
    'A sparse vector of its indices and values.',
    [
      'vector.sparseCreate([0, 3], [0.5, 2], 4)',
      '{"dimensions":4,"indices":[0,3],"values":[0.5,2.0]}',
    ],
    handled,
  ),
  scalarRow(
    'vector.denseToSparse(vector, threshold?)',
    'A sparse vector of the elements above a threshold (0).',
    ['vector.denseToSparse([0.5, 0, 2])', '{"dimensions":3,"indices":[0,2],"values":[0.5,2.0]}'],
    handled,
  ),
  scalarRow('vector.sparseToDense(vector, dimensions?)', 'A dense vector of a sparse one.', [
    'vector.sparseToDense(vector.sparseCreate([1], [2]), 3)',
    '[0.0,2.0,0.0]',
  ]),
  scalarRow('vector.sparseDot(left, right)', 'The sum of the products of common indices.', [
    'vector.sparseDot(vector.sparseCreate([0, 3], [1, 2]), vector.sparseCreate([3], [4]))',
    '8.0',
  ]),
  scalarRow(
    'vector.toString(vector, format?)',
    'As text: COMPACT, PRETTY, PYTHON, MATLAB, MATLAB_COLUMN, JULIA or NUMPY.',
    ["vector.toString([0.5, 2], 'MATLAB')", '"[0.5 2.0]"'],
  ),
];

const scores: readonly FunctionSignature[] = [
  scalarRow(
    'vector.rrfScore(ranks...)',
    'Reciprocal rank fusion of ranks; {k} or a last number of 60 or more is its constant.',
    ['vector.rrfScore(1, 2)', '0.032522473'],
    handled,
  ),
  scalarRow(
    'vector.multiScore(scores, method, weights?)',
    'The MAX, AVG, MIN or WEIGHTED mean of scores.',
    ["vector.multiScore([0.5, 0.25], 'AVG')", '0.375'],
  ),
  scalarRow(
    'vector.hybridScore(vectorScore, textScore, alpha)',
    'A share alpha of one score and the rest of the other.',
    ['vector.hybridScore(0.5, 1, 0.5)', '0.75'],
  ),
  scalarRow('vector.normalizeScores(scores)', 'The scores, moved to 0 to 1.', [
    'vector.normalizeScores([1, 2, 3])',
    '[0.0,0.5,1.0]',
  ]),
  scalarRow(
    'vector.scoreTransform(score, method)',
    'The score by LINEAR, SIGMOID, TANH, LOG (LN) or EXP.',
    ["vector.scoreTransform(0, 'SIGMOID')", '0.5'],
  ),
];

const rankings: readonly FunctionSignature[] = [
  scalarRow(
    'vector.fuse(sources...)',
    'Rows of two or more ranked sources as one, by RRF, DBSF or LINEAR; the last may be options.',
    [
      'vector.fuse((SELECT FROM Person WHERE age > 20), (SELECT FROM Person WHERE w < 3)).name[0]',
      '"Ada"',
    ],
    ranked,
  ),
  scalarRow(
    'vector.interleave(sources...)',
    'Record ids of ranked sources, of one and the next in turn, each once; the last: how many.',
    ["vector.interleave(['#1:0', '#1:1'], ['#1:1', '#1:2'], 2)", '["#1:0","#1:1"]'],
    handled,
  ),
  scalarRow(
    'vector.rerank(rows, query, property, count)',
    'The rows whose vector in a property has the greatest cosine with the query.',
    ["vector.rerank((SELECT FROM Person), [1, 0], 'place', 2)", '[]'],
    ranked,
  ),
  scalarRow(
    'vector.mmr(rows, property, options?)',
    'The rows by score and by how unlike they are those before: {lambda 0.5, k}.',
    ["vector.mmr((SELECT @rid, age AS score FROM Person), 'place', {lambda: 1})", '[]'],
    ranked,
  ),
  scalarRow(
    'vector.boost(rows, options)',
    'The rows by score and weighted fields: {boosts: [{field, weight}], limit}.',
    [
      'vector.boost((SELECT @rid, age AS score, w FROM Person), ' +
        "{boosts: [{field: 'w', weight: 10}], limit: 1}).score",
      '[81.0]',
    ],
    ranked,
  ),
];

const searches: readonly FunctionSignature[] = [
  scalarRow(
    'vector.neighbors(index, vectorOrKey, count, options?)',
    'The nearest rows: {efSearch, filter, groupBy, groupSize, maxDistance} or an efSearch.',
    ["vector.neighbors('Note[place]', [1, 0.25], 1).text", '["Verse and prose"]'],
    searching,
  ),
  scalarRow(
    'vector.recommend(index, positives, negatives, count, options?)',
    'Rows near to the mean of good examples and away from bad ones.',
    [
      "vector.recommend('Note[place]', (SELECT FROM Note WHERE text LIKE 'V%'), [], 1).text",
      '["Numbers in verse"]',
    ],
    searching,
  ),
  scalarRow(
    'vector.discover(index, pairs, count, options?)',
    'Rows nearer to the first than to the second of each pair: {efSearch, overfetch 5}.',
    ["vector.discover('Note[place]', [['#1:0', '#1:1']], 1)", '[]'],
    searching,
  ),
];

export const vectorFunctions: readonly FunctionSignature[] = [
  ...searches,
  ...dense,
  ...encodings,
  ...scores,
  ...rankings,
].map(row => ({...row, aliases: [camelCase(row.name), ...(row.aliases ?? [])]}));

/** `vectorAdd` of `vector.add`. */
function camelCase(name: string): string {
  const [, short = ''] = name.split('.');
  return `vector${short.charAt(0).toUpperCase()}${short.slice(1)}`;
}
