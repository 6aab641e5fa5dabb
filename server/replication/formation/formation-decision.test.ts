/** Who begins a cluster, and who waits to be taken in. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {decideFormation, type PeerReport} from './formation-decision.ts';

type Counts = Readonly<Record<string, number>>;

function report(counts: Counts, standing: PeerReport['standing'] = 'new'): PeerReport {
  const databases = Object.entries(counts).map(([name, transactions]) => ({name, transactions}));
  return {standing, data: {databases, documents: databases.length > 0 ? 1 : 0}};
}

function decide(reports: Readonly<Record<string, PeerReport>>, isLate = false): string {
  const decision = decideFormation({
    self: 'a',
    declared: '0' in reports ? ['0', 'a', 'b'] : ['a', 'b', 'c'],
    reports: new Map(Object.entries(reports)),
    isLate,
  });
  return decision.kind === 'refuse' ? `refuse: ${decision.reason}` : decision.kind;
}

const none = report({});
const member = (counts: Counts): PeerReport => report(counts, 'member');

const cases = [
  [{a: none, b: none, c: none}, 'together', 'nobody has anything'],
  [{a: none, b: none}, 'wait', 'the third may have data'],
  [{a: none, b: member({})}, 'join', 'one member is a cluster'],
  [{a: none, b: report({}, 'formed')}, 'wait', 'the third was not heard'],
  [{a: none, b: report({}, 'formed'), c: none}, 'together', 'the others began just now'],
  [{a: none, b: report({}, 'formed'), c: member({})}, 'join', 'something has happened already'],
  [{a: report({m: 5}), b: none, c: none}, 'source', 'only this one has data'],
  [{a: report({m: 5}), b: report({m: 4}), c: none}, 'source', 'it is the newest'],
  [{a: report({m: 4}), b: report({m: 5}), c: none}, 'join', 'another one is newer'],
  [{a: report({m: 4, n: 1}), b: report({m: 4}), c: none}, 'source', 'it has more databases'],
  [{a: report({m: 4}), b: report({m: 4}), c: none}, 'source', 'the first of equals'],
  [{a: report({m: 4}), b: member({m: 9, n: 1})}, 'join', 'what it has is old'],
] as const;

for (const [reports, expected, because] of cases) {
  test(`${JSON.stringify(reports)} is ${expected}: ${because}`, () => {
    assert.equal(decide(reports), expected);
  });
}

test('what only this server has is never given up silently', () => {
  assert.match(decide({a: report({own: 1}), b: member({m: 9})}), /refuse: .*'own' is not in/);
  assert.match(decide({a: report({m: 9}), b: member({m: 8})}), /refuse: .*'m' is newer .* 9 .* 8/);
  const other = report({m: 4, n: 4});
  assert.match(decide({a: report({own: 1}), b: other, c: none}), /refuse: .*'own'/);
});

test('late, a majority is enough, and less is not', () => {
  assert.equal(decide({a: none, b: none}, true), 'together');
  assert.equal(decide({a: none}, true), 'wait');
});

/** `content` stands for everything that is in there. */
function holding(content: string, standing: PeerReport['standing'] = 'new'): PeerReport {
  const {data} = report({m: 4});
  const baseline = {index: 9, term: 1, nextDatabaseId: 2, documents: ['users'], content};
  if (standing === 'member') return {standing, data, baseline};
  return {standing, data: {...data, content, documentNames: ['users']}};
}

test('who holds what the cluster begins with waits until it has begun, and goes on with it', () => {
  const same = holding('x');
  assert.equal(decide({a: same, b: same, c: same}), 'source', 'the first of equals begins');
  assert.equal(decide({b: same, a: same, '0': same}), 'wait');
  assert.equal(decide({a: same, b: holding('x', 'member')}), 'adopt');
  assert.equal(decide({a: same, c: member({m: 9}), b: holding('x', 'member')}), 'adopt');
});

test('data that only looks like it gets a copy of the other', () => {
  assert.equal(decide({a: holding('y'), b: holding('x'), '0': holding('x')}), 'join');
  assert.equal(decide({a: holding('y'), b: holding('x', 'member')}), 'join');
  assert.equal(decide({a: report({m: 4}), b: holding('x', 'member')}), 'join', 'not told apart');
  assert.equal(decide({a: none, b: holding('x', 'member')}), 'join', 'nothing of its own');
  const own = holding('x');
  const more = {...own, data: {...own.data, documentNames: ['users', 'tokens']}};
  assert.equal(decide({a: more, b: holding('x', 'member')}), 'join', 'a document of its own');
});

test('only servers with equal lists begin together, so that there is one majority', () => {
  const list = (...declared: string[]): PeerReport => ({...none, declared});
  const formed = (...declared: string[]): PeerReport => ({...report({}, 'formed'), declared});
  const equal = {a: list('a', 'b', 'c'), b: list('c', 'b', 'a'), c: list('a', 'b', 'c')};
  assert.equal(decide(equal), 'together');
  // What another list names may be a majority that this one does not know.
  assert.equal(decide({...equal, b: list('a', 'b')}), 'wait');
  assert.equal(decide({...equal, b: list('a', 'b')}, true), 'together', 'two of three agree');
  assert.equal(decide({...equal, b: list('b', 'c'), c: list('b', 'c')}, true), 'wait');
  assert.equal(decide({...equal, b: formed('b', 'c'), c: formed('b', 'c')}), 'join');
  // A stranger counts for nothing.
  assert.equal(decide({a: none, b: none, x: none}, true), 'together');
  assert.equal(decide({a: none, x: none, y: none}, true), 'wait');
});

test('a server beyond its own list never begins a cluster', () => {
  const reports = new Map([
    ['x', none],
    ['a', none],
    ['b', none],
  ]);
  const beyond = {self: 'x', declared: ['a', 'b'], isLate: true};
  assert.equal(decideFormation({...beyond, reports}).kind, 'wait');
  reports.set('a', report({}, 'formed'));
  assert.equal(decideFormation({...beyond, reports}).kind, 'join');
});
