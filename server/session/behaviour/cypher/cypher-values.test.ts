/** Values that Cypher has beside those of JSON: places, and the names of types. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([]);
});
after(async () => world.close());

const answers: readonly (readonly [expression: string, answer: unknown])[] = [
  ['point({x: 1, y: 2.5})', {x: 1, y: 2.5, crs: 'cartesian', srid: 7203}],
  ['point({x: 1, y: 2, z: 3})', {x: 1, y: 2, z: 3, crs: 'cartesian-3D', srid: 9157}],
  ['point({x: 1, y: null})', null],
  ['point({longitude: 12.5, latitude: 55.7}).srid', 4326],
  ['point({longitude: 12.5, latitude: 55.7, height: 3}).crs', 'WGS-84-3D'],
  ["point({x: 12.5, y: 55.7, crs: 'WGS-84'}).latitude", 55.7],
  ['point({x: 1, y: 2, srid: 7203}).latitude', null],
  ['point({longitude: 190, latitude: 0}).longitude', -170],
  ['point({x: 1, y: 2}) = point({x: 1.0, y: 2.0})', true],
  ['point({x: 1, y: 2}) = point({longitude: 1, latitude: 2})', false],
  ['point({x: 1, y: 2}) < point({x: 2, y: 3})', null],
  ['point.distance(point({x: 0, y: 0}), point({x: 3, y: 4}))', 5],
  ['point.distance(point({x: 0, y: 0, z: 0}), point({x: 1, y: 2, z: 2}))', 3],
  // A quarter of a great circle.
  [
    `round(point.distance(point({longitude: 0, latitude: 0}),
       point({longitude: 0, latitude: 90})))`,
    10_018_759,
  ],
  ['point.distance(point({x: 0, y: 0}), point({x: 0, y: 0, z: 0}))', null],
  [
    `point.withinBBox(point({longitude: 179, latitude: 1}),
       point({longitude: 170, latitude: 0}), point({longitude: -170, latitude: 2}))`,
    true,
  ],
  ['point.withinBBox(point({x: 3, y: 1}), point({x: 0, y: 0}), point({x: 2, y: 2}))', false],
  ['vector.create([1, 2], 2)', [1, 2]],
  ['vector_dimension_count([3, 4])', 2],
  ['vector.norm([3, 4])', 5],
  ['vector.similarity.cosine([1, 0], [0, 1])', 0],
  ['vector.similarity.cosine([2, 0], [3, 0])', 1],
  ['vector.similarity.cosine([1, 0], null)', null],
  ['vector.similarity.euclidean([1, 0], [1, 3])', 0.25],
  ['vector.distance.cosine([1, 0], [-1, 0])', 2],
  ['vector.distance.manhattan([1, 0], [0, 1])', 2],
  ["vector.distance([0, 0], [3, 4], 'euclidean')", 5],
  ["normalize('e\\u0301') = '\\u00e9'", true],
  ["isNormalized('\\u00e9', NFD)", false],
  [
    '[x IN [1, 1.5, "a", date(), point({x: 1, y: 2})] | valueType(x)]'.replaceAll('"', "'"),
    ['INTEGER', 'FLOAT', 'STRING', 'DATE', 'POINT'],
  ],
];

for (const [expression, answer] of answers) {
  test(`${expression.replaceAll(/\s+/g, ' ')} is ${JSON.stringify(answer)}`, async () => {
    const rows = await database.run(`RETURN ${expression} AS value`, {language: 'cypher'});
    assert.deepEqual(rows, [{value: answer}]);
  });
}

test('a place that is stored is found again, and sorted as its coordinates are', async () => {
  await database.run(
    `UNWIND [point({x: 2, y: 1}), point({x: 1, y: 5})] AS at CREATE (:Place {at: at})`,
    {language: 'cypher'},
  );
  assert.deepEqual(
    await database.run('MATCH (p:Place) RETURN p.at.x AS x ORDER BY p.at', {language: 'cypher'}),
    [{x: 1}, {x: 2}],
  );
  assert.deepEqual(
    await database.run('MATCH (p:Place {at: point({x: 2, y: 1})}) RETURN p.at AS at', {
      language: 'cypher',
    }),
    [{at: {x: 2, y: 1, crs: 'cartesian', srid: 7203}}],
  );
});

const refusals: readonly (readonly [expression: string, message: RegExp])[] = [
  ['point({x: 1})', /a point needs x and y/],
  ['point({longitude: 0, latitude: 91})', /a latitude is from -90 to 90, not 91/],
  ["point({x: 1, y: 2, crs: 'moon'})", /no system for a point of 2 .*: cartesian \(7203\)/],
  ["point({x: 'a', y: 2})", /the x of a point is a number/],
  ['vector.norm([])', /a vector is a list of 1 to 65536 numbers/],
  ['vector.create([1, 2], 3)', /3 dimensions is wanted, this one has 2/],
  ['vector.distance.euclidean([1], [1, 2])', /of 1 and of 2 dimensions/],
  ["normalize('a', 'NFX')", /a normal form is one of NFC, NFD, NFKC, NFKD/],
];

for (const [expression, message] of refusals) {
  test(`refused: ${expression}`, async () => {
    const text = `RETURN ${expression}`;
    await assert.rejects(database.run(text, {language: 'cypher'}), {message});
  });
}
