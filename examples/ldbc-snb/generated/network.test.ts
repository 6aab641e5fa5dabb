/** The generated network: the same for a seed, whole, in the order of time, and skewed. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {type DataSet, numberCell} from '../data-set.ts';
import {generatedNetwork} from './network.ts';

/** The table of the vertices that a word in the name of an edge table means. */
const vertexTables = [
  'static/place',
  'static/organisation',
  'static/tag',
  'static/tagclass',
  'dynamic/person',
  'dynamic/forum',
  'dynamic/post',
  'dynamic/comment',
];

const edgeTables = [
  'static/place_isPartOf_place',
  'static/organisation_isLocatedIn_place',
  'static/tagclass_isSubclassOf_tagclass',
  'static/tag_hasType_tagclass',
  'dynamic/person_isLocatedIn_place',
  'dynamic/person_hasInterest_tag',
  'dynamic/person_studyAt_organisation',
  'dynamic/person_workAt_organisation',
  'dynamic/person_knows_person',
  'dynamic/forum_hasModerator_person',
  'dynamic/forum_hasMember_person',
  'dynamic/forum_hasTag_tag',
  'dynamic/forum_containerOf_post',
  'dynamic/post_hasCreator_person',
  'dynamic/post_isLocatedIn_place',
  'dynamic/post_hasTag_tag',
  'dynamic/comment_hasCreator_person',
  'dynamic/comment_isLocatedIn_place',
  'dynamic/comment_hasTag_tag',
  'dynamic/comment_replyOf_post',
  'dynamic/comment_replyOf_comment',
  'dynamic/person_likes_post',
  'dynamic/person_likes_comment',
];

const anyNetwork = fc
  .record({seed: fc.integer({min: 1, max: 1_000_000}), persons: fc.integer({min: 40, max: 90})})
  .map(options => generatedNetwork(options));

const runs = {numRuns: 15};

test('a seed gives one network, another seed another', () => {
  const tablesOf = (seed: number): unknown => {
    const data = generatedNetwork({seed, persons: 60});
    return [...vertexTables, ...edgeTables].map(table => data.rows(table));
  };
  assert.deepEqual(tablesOf(7), tablesOf(7));
  assert.notDeepEqual(tablesOf(7), tablesOf(8));
});

test('every table of LDBC is there, and no other is answered', () => {
  const data = generatedNetwork({seed: 1, persons: 40});
  for (const table of [...vertexTables, ...edgeTables]) assert.ok(data.rows(table).length > 0);
  assert.throws(() => data.rows('dynamic/person_hates_person'), /no table/);
});

test('an id names one vertex, and both ends of every edge are there', () => {
  fc.assert(
    fc.property(anyNetwork, data => {
      const idsOf = new Map<string, ReadonlySet<number>>();
      for (const table of vertexTables) {
        const ids = data.rows(table).map(cells => numberCell(cells, 0));
        assert.equal(new Set(ids).size, ids.length, table);
        idsOf.set(table.replace(/.*\//, ''), new Set(ids));
      }
      for (const table of edgeTables) {
        const [from = '', , to = ''] = table.replace(/.*\//, '').split('_');
        for (const cells of data.rows(table)) {
          assert.ok(idsOf.get(from)?.has(numberCell(cells, 0)), `${table}: ${cells.join('|')}`);
          assert.ok(idsOf.get(to)?.has(numberCell(cells, 1)), `${table}: ${cells.join('|')}`);
        }
      }
      for (const id of idsOf.get('comment') ?? []) {
        assert.ok(!idsOf.get('post')?.has(id), 'posts and comments share one space of ids');
      }
    }),
    runs,
  );
});

test('no pair of persons is acquainted twice, and nobody with oneself', () => {
  fc.assert(
    fc.property(anyNetwork, data => {
      const pairs = data
        .rows('dynamic/person_knows_person')
        .map(cells => [numberCell(cells, 0), numberCell(cells, 1)] as const);
      const keys = pairs.map(([one, other]) => `${Math.min(one, other)} ${Math.max(one, other)}`);
      assert.equal(new Set(keys).size, pairs.length);
      for (const [one, other] of pairs) assert.notEqual(one, other);
    }),
    runs,
  );
});

test('time runs forwards: persons, then friendship, messages, answers and likes', () => {
  fc.assert(
    fc.property(anyNetwork, data => {
      const persons = dates(data, 'dynamic/person', 5);
      const messages = new Map([
        ...dates(data, 'dynamic/post', 2),
        ...dates(data, 'dynamic/comment', 1),
      ]);
      const forums = dates(data, 'dynamic/forum', 2);
      const later = (table: string, from: Dates, to: Dates, own: 'from' | number): void => {
        for (const cells of data.rows(table)) {
          const before = to.get(numberCell(cells, 1)) ?? Number.NaN;
          const date = own === 'from' ? from.get(numberCell(cells, 0)) : numberCell(cells, own);
          assert.ok((date ?? Number.NaN) >= before, `${table}: ${cells.join('|')}`);
        }
      };
      later('dynamic/person_knows_person', persons, persons, 2);
      later('dynamic/forum_hasModerator_person', forums, persons, 'from');
      later('dynamic/forum_hasMember_person', forums, persons, 2);
      later('dynamic/post_hasCreator_person', messages, persons, 'from');
      later('dynamic/comment_hasCreator_person', messages, persons, 'from');
      later('dynamic/comment_replyOf_post', messages, messages, 'from');
      later('dynamic/comment_replyOf_comment', messages, messages, 'from');
      later('dynamic/person_likes_post', persons, messages, 2);
      later('dynamic/person_likes_comment', persons, messages, 2);
    }),
    runs,
  );
});

for (const [table, column] of [
  ['dynamic/person_knows_person', 0],
  ['dynamic/forum_hasMember_person', 0],
  ['dynamic/post_hasCreator_person', 1],
  ['dynamic/comment_replyOf_post', 1],
  ['dynamic/person_likes_post', 1],
] as const) {
  test(`few have the most of ${table}: the greatest degree is many times the middle one`, () => {
    const counts = new Map<number, number>();
    for (const cells of generatedNetwork({seed: 1, persons: 300}).rows(table)) {
      const id = numberCell(cells, column);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    const degrees = [...counts.values()].sort((one, other) => other - one);
    const [greatest = 0] = degrees;
    const middle = degrees[Math.floor(degrees.length / 2)] ?? 0;
    assert.ok(greatest >= 4 * middle, `${greatest} against ${middle}`);
  });
}

type Dates = ReadonlyMap<number, number>;

function dates(data: DataSet, table: string, column: number): Dates {
  const rows = data.rows(table);
  return new Map(rows.map(cells => [numberCell(cells, 0), numberCell(cells, column)]));
}
