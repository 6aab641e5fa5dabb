/** The cache gives back what it made, forgets at a new version, and stays bounded. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {StatementCache} from './statement-cache.ts';

test('prepares once per text and version', () => {
  const cache = new StatementCache<object>({entriesMax: 4, textLengthMax: 10});
  const first = cache.get(1, 'a', () => ({}));
  assert.equal(
    cache.get(1, 'a', () => ({})),
    first,
  );
  assert.notEqual(
    cache.get(2, 'a', () => ({})),
    first,
  );
});

test('drops the least recently used beyond its size and never keeps long texts', () => {
  const cache = new StatementCache<string>({entriesMax: 2, textLengthMax: 3});
  const made: string[] = [];
  const get = (text: string): string =>
    cache.get(1, text, () => {
      made.push(text);
      return text;
    });
  for (const text of ['a', 'b', 'a', 'c', 'a', 'b', 'long!', 'long!']) get(text);
  assert.deepEqual(made, ['a', 'b', 'c', 'b', 'long!', 'long!']);
  assert.equal(cache.size, 2);
});
