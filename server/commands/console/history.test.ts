/** What is remembered from start to start, and what never is. */
import assert from 'node:assert/strict';
import {mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {History, historyMax, historyPath} from './history.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-history-'));
after(() => rmSync(folder, {recursive: true}));

function opened(path: string): History {
  const history = new History();
  history.load(path);
  return history;
}

test('the file is of its owner alone and gives back statements of several lines', () => {
  const path = join(folder, 'a/b/history');
  const history = opened(path);
  for (const text of ['SELECT 1;', 'SELECT\n  2;', 'SELECT\n  2;', ':schema']) history.add(text);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(opened(path).entries, [':schema', 'SELECT\n  2;', 'SELECT 1;']);
});

test('a file that others could read is closed to them', () => {
  const path = join(folder, 'open');
  writeFileSync(path, '"SELECT 1;"\nbroken\n', {mode: 0o644});
  assert.deepEqual(opened(path).entries, ['SELECT 1;']);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('the oldest are dropped beyond the bound', () => {
  const path = join(folder, 'long');
  const history = opened(path);
  for (let n = 1; n <= historyMax + 5; n++) history.add(`SELECT ${n};`);
  const {entries} = opened(path);
  assert.equal(entries.length, historyMax);
  assert.equal(entries.at(-1), 'SELECT 6;');
  assert.equal(readFileSync(path, 'utf8').trim().split('\n').length, historyMax);
});

test('nothing with a password is kept, in memory or in the file', () => {
  const path = join(folder, 'secrets');
  const history = opened(path);
  for (const text of [
    "CREATE USER ada SET PASSWORD 'hidden';",
    "ALTER CURRENT USER SET PASSWORD FROM 'hidden' TO 'other';",
    ':param password="hidden"',
    "LOAD CSV FROM 'https://ada:hidden@example.org/a.csv' AS row RETURN row;",
    "IMPORT DATABASE 'x' WITH token = 'hidden';",
  ]) {
    history.add(text);
  }
  assert.deepEqual(history.entries, []);
  assert.equal(readFileSync(path, 'utf8'), '');
});

test('consoles that run side by side lose nothing', () => {
  const path = join(folder, 'shared');
  const [one, other] = [opened(path), opened(path)];
  one.add('SELECT 1;');
  other.add('SELECT 2;');
  one.add('SELECT 3;');
  assert.deepEqual(opened(path).entries, ['SELECT 3;', 'SELECT 2;', 'SELECT 1;']);
});

test('a place where nothing can be kept is said, and this run remembers', () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const history = new History();
  assert.throws(() => history.load(join(file, 'history')), /ENOTDIR/);
  history.add('SELECT 1;');
  assert.deepEqual(history.entries, ['SELECT 1;']);
});

test('forgetting empties the file', () => {
  const path = join(folder, 'forgotten');
  const history = opened(path);
  history.add('SELECT 1;');
  history.clear();
  history.add('SELECT 2;');
  assert.deepEqual(opened(path).entries, ['SELECT 2;']);
});

test('the file lies where the system keeps such things', () => {
  assert.equal(historyPath({XDG_STATE_HOME: '/s', HOME: '/h'}), '/s/svc/console-history');
  assert.equal(historyPath({XDG_STATE_HOME: 's', HOME: '/h'}), historyPath({HOME: '/h'}));
  assert.equal(historyPath({HOME: '/h'}), '/h/.local/state/svc/console-history');
  assert.equal(historyPath({}), undefined);
});
