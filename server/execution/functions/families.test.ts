/** Signatures and implementations name the same functions; every family's answers as a table. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {functionRows} from '#server/plan/function-table.ts';
import {FunctionRegistry} from '../function-registry.ts';
import {families} from './families.ts';

test('every function has a signature and an implementation', () => {
  const registry = new FunctionRegistry(families);
  const signed = functionRows
    .filter(row => row.later === undefined && !['operator', 'construct'].includes(row.kind))
    .map(row => row.name.toLowerCase());
  assert.deepEqual([...registry.names()].sort(), [...new Set(signed)].sort());
});

test('a name has one row, and its kind has an implementation', () => {
  const registry = new FunctionRegistry(families);
  const names = functionRows.flatMap(row => [row.name, ...(row.aliases ?? [])]);
  const lower = names.map(name => name.toLowerCase());
  assert.deepEqual(
    lower.filter((name, at) => lower.indexOf(name) !== at),
    [],
  );
  for (const row of functionRows) {
    if (row.later !== undefined || row.kind === 'operator' || row.kind === 'construct') continue;
    const found =
      row.kind === 'aggregate'
        ? registry.aggregate(row.name)
        : row.kind === 'table'
          ? registry.table(row.name)
          : registry.scalar(row.name);
    assert.ok(found, `${row.name} is a ${row.kind}`);
    const many = row.kind === 'aggregate' && (row.argsMax ?? 3) > 2 && row.name !== 'percentile';
    if (many) assert.ok(registry.scalar(row.name), `${row.name} of several arguments`);
  }
});
