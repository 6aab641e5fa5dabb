/** The demo's data is consistent in itself; the tour of the README runs it on a server. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {demoQueries, demoStatements} from './demo.ts';

test('every edge names vertices that a statement before it creates', () => {
  const created = new Set<string>();
  for (const statement of demoStatements) {
    const [, type, name] =
      /^CREATE VERTEX (\w+) SET (?:name|title) = '([^']*)'/.exec(statement) ?? [];
    if (type !== undefined) created.add(`${type} ${name}`);
    for (const [, of, , names = ''] of statement.matchAll(
      /SELECT FROM (\w+) WHERE (name|title) (?:IN|=) (\[[^\]]*\]|'[^']*')/g,
    )) {
      for (const [, wanted] of names.matchAll(/'([^']*)'/g)) {
        assert(created.has(`${of} ${wanted}`), `${of} ${wanted} is not created before it is used`);
      }
    }
  }
  assert.equal(created.size, 30);
});

test('the sample queries survive double quotes in sh', () => {
  for (const {statement} of demoQueries) assert.doesNotMatch(statement, /["$`\\!]/);
});
