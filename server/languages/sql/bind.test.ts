/**
 * Binding by scripts (`testdata/bind*.txt`): statements and the plans they mean, unoptimized,
 * over a small schema of persons, cities and items.
 */

import {test} from 'node:test';
import assert from 'node:assert/strict';
import {Refusal} from '#server/base/errors.ts';
import {Catalog} from '#server/catalog/catalog.ts';
import {createIndex} from '#server/catalog/change-index.ts';
import {createProperty} from '#server/catalog/change-property.ts';
import {createType} from '#server/catalog/change-type.ts';
import {expressionText} from '#server/plan/expression-text.ts';
import {planText} from '#server/plan/printer.ts';
import type {Statement} from '#server/plan/statement.ts';
import {boundSlots, expressionsOf, inputsOf, slotsOf} from '#server/plan/tree.ts';
import {testScript} from '#server/testing/script.ts';
import {SqlGenerator} from '#server/testing/property/sql-generator.ts';
import {bindSql} from './bind-statement.ts';

function makeCatalog(): Catalog {
  const vertex =
    (name: string, superTypes: readonly string[] = []) =>
    (catalog: Catalog) =>
      createType(catalog, {name, kind: 'vertex', superTypes}).catalog;
  const edge = (name: string) => (catalog: Catalog) =>
    createType(catalog, {name, kind: 'edge'}).catalog;
  const steps: readonly ((catalog: Catalog) => Catalog)[] = [
    vertex('Person'),
    vertex('Worker', ['Person']),
    vertex('City'),
    edge('Knows'),
    edge('Home'),
    catalog => createType(catalog, {name: 'Item', kind: 'document'}).catalog,
    catalog =>
      createProperty(catalog, {typeName: 'Person', name: 'name', nameId: 0, type: 'STRING'})
        .catalog,
    catalog =>
      createIndex(catalog, {
        typeName: 'Person',
        properties: [{name: 'name', ignoreCase: false}],
        kind: 'ordered',
        unique: true,
      }).catalog,
  ];
  return steps.reduce((catalog, step) => step(catalog), new Catalog());
}

const catalog = makeCatalog();

function statementText(statement: Statement): string {
  if (statement.kind === 'explain') {
    return `${statement.execute ? 'profile' : 'explain'}\n${statementText(statement.statement)}`;
  }
  if (statement.kind !== 'query') return statement.kind;
  const timeout =
    statement.timeoutMs === undefined
      ? ''
      : `timeout ${expressionText(statement.timeoutMs)} ${statement.onTimeout}\n`;
  const {retry} = statement;
  const retries = retry === undefined ? '' : `retry ${retry.times} wait ${retry.waitMs}\n`;
  return timeout + retries + planText(statement.plan);
}

function boundText(text: string): string {
  try {
    return statementText(bindSql(text, catalog));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const {place} = error;
    return `${error.code} at ${place?.line}:${place?.column}: ${error.message}`;
  }
}

for (const file of ['bind.txt', 'bind-match.txt', 'bind-errors.txt']) {
  testScript(new URL(`testdata/${file}`, import.meta.url), ({input}) => boundText(input));
}

test('generated statements are bound or refused with a place, and read only bound slots', () => {
  const generator = new SqlGenerator(11);
  for (let i = 0; i < 5_000; i++) {
    const text = generator.statement().replace(/\bx1\b/g, 'Item');
    try {
      const statement = bindSql(text, catalog);
      if (statement.kind === 'query') assertSlotsBound(statement, text);
    } catch (error) {
      assert(error instanceof Refusal, `${text}\n${String(error)}`);
      assert(error.place !== undefined, `${text}\n${error.message}`);
    }
  }
});

function assertSlotsBound(statement: Statement & {kind: 'query'}, text: string): void {
  const visit = (node: Parameters<typeof inputsOf>[0]): void => {
    for (const expression of expressionsOf(node)) {
      for (const slot of slotsOf(expression)) {
        assert(slot >= 0 && slot < statement.slotCount, `${text}: slot ${slot}`);
      }
    }
    for (const slot of boundSlots(node)) assert(slot < statement.slotCount, text);
    inputsOf(node).forEach(visit);
  };
  visit(statement.plan);
}
