/**
 * The resource definitions are current in `crds/`, structural, and bounded so that the cost of
 * their rules stays inside the API server's budget.
 */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {resourceFiles} from './resource-files.ts';
import {resourceDefinitions} from './resource-definitions.ts';
import {at, listAt} from '#operator/api/kube-object.ts';
import type {JsonSchema} from '#operator/api/schema.ts';

const root = join(import.meta.dirname, '../..');

for (const {path, text} of resourceFiles()) {
  test(`${path} is current`, () => {
    assert.equal(readFileSync(join(root, path), 'utf8'), text, 'run make resources');
  });
}

/** Every schema inside a schema, with its path. */
function* schemasIn(schema: JsonSchema, path: string): Generator<readonly [string, JsonSchema]> {
  yield [path, schema];
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
  for (const [name, property] of Object.entries(properties)) {
    yield* schemasIn(property, `${path}.${name}`);
  }
  for (const inner of ['items', 'additionalProperties']) {
    const found = schema[inner] as JsonSchema | undefined;
    if (found !== undefined) yield* schemasIn(found, `${path}.${inner}`);
  }
}

for (const {file, definition} of resourceDefinitions()) {
  const [version] = listAt(definition, 'spec', 'versions');
  const whole = at(version, 'schema', 'openAPIV3Schema') as JsonSchema;

  test(`${file}: every field has a type and what it says, texts and lists a limit`, () => {
    for (const [path, schema] of schemasIn(whole, '')) {
      assert.equal(typeof schema['type'], 'string', `${path} has no type`);
      if (!path.startsWith('.spec') && !path.startsWith('.status')) continue;
      assert.equal(typeof schema['description'], 'string', `${path} says nothing`);
      const needs = {string: 'maxLength', array: 'maxItems'}[String(schema['type'])];
      const isBounded = schema['enum'] !== undefined || needs === undefined || needs in schema;
      assert.ok(isBounded, `${path} has no ${needs}`);
      if (schema['additionalProperties'] !== undefined) {
        assert.ok('maxProperties' in schema, `${path} has no maxProperties`);
      }
    }
  });

  test(`${file}: defaults satisfy their own schema`, () => {
    for (const [path, schema] of schemasIn(whole, '')) {
      const value = schema['default'];
      if (value === undefined) continue;
      const type = Array.isArray(value) ? 'array' : typeof value;
      assert.equal(type === 'number' ? 'integer' : type, schema['type'], path);
      const words = schema['enum'] as readonly unknown[] | undefined;
      if (words !== undefined) assert.ok(words.includes(value), path);
    }
  });

  test(`${file}: every rule says what is wrong`, () => {
    for (const [path, schema] of schemasIn(whole, '')) {
      for (const rule of listAt(schema, 'x-kubernetes-validations')) {
        assert.ok(String(at(rule, 'message')).length > 20, path);
        assert.ok(String(at(rule, 'rule')).includes('self'), path);
      }
    }
  });
}

test('names, short names, category and subresources are those of the documents', () => {
  const told = resourceDefinitions().map(({definition}) => {
    const [version] = listAt(definition, 'spec', 'versions');
    return [
      at(definition, 'metadata', 'name'),
      listAt(definition, 'spec', 'names', 'shortNames'),
      listAt(definition, 'spec', 'names', 'categories'),
      Object.keys(at(version, 'subresources') as object),
    ];
  });
  assert.deepEqual(told, [
    ['svcclusters.svc.io', ['svcc'], ['svc'], ['status', 'scale']],
    ['svcbackupschedules.svc.io', ['svcbs'], ['svc'], ['status']],
    ['svcbackups.svc.io', ['svcb'], ['svc'], ['status']],
  ]);
});
