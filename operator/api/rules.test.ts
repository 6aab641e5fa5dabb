/**
 * The rules in CEL and the rules in TypeScript are one: both are evaluated over the same cases. The
 * evaluator is not the API server's, but knows the same language.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Environment} from '@marcbachmann/cel-js';
import fc from 'fast-check';
import {check} from './check.ts';
import {clusterRules} from './cluster-rules.ts';
import {at, type JsonMap} from './kube-object.ts';
import {quantityValue} from './quantity.ts';
import type {Rule} from './rules.ts';
import {scheduleRules, scheduleSpec} from './svc-backup.ts';
import {type ClusterSpec, clusterSpec} from './svc-cluster.ts';

class Quantity {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

const environment = new Environment({unlistedVariablesAreDyn: true})
  .registerType('Quantity', Quantity)
  .registerFunction(
    'quantity(string): Quantity',
    (text: string) => new Quantity(quantityValue(text)),
  )
  .registerFunction('Quantity.compareTo(Quantity): int', (a: Quantity, b: Quantity) =>
    BigInt(Math.sign(a.value - b.value)),
  );

/** JSON as CEL sees it: whole numbers are ints. */
function celValue(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) return value.map(celValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, celValue(item)]));
}

function celHolds(rule: Rule<never>, spec: unknown, old: unknown): boolean {
  const path = rule.path.split('.').slice(1);
  const self = celValue(at({spec}, 'spec', ...path));
  // The API server evaluates a rule only where its field is, and one of change only with both.
  if (self === undefined) return true;
  if (!rule.cel.includes('oldSelf')) return environment.evaluate(rule.cel, {self}) === true;
  const oldSelf = celValue(at({spec: old}, 'spec', ...path));
  if (oldSelf === undefined) return true;
  return environment.evaluate(rule.cel, {self, oldSelf}) === true;
}

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, {nil: undefined, freq: 3});
const size = fc.constantFrom('1Gi', '1024Mi', '2G', '10Gi');

const specs: fc.Arbitrary<JsonMap> = fc.record({
  version: fc.constantFrom('26.9.9', '26.10.0', '26.11.1', '27.1.0'),
  clusterName: maybe(fc.constantFrom('a', 'b')),
  bootstrap: maybe(
    fc.record(
      {
        initialize: fc.record({databases: fc.constantFrom<string[]>([], ['a'])}),
        recovery: fc.record(
          {
            url: fc.constant('https://a'),
            backupName: fc.constant('b'),
            claim: fc.constant({name: 'c'}),
          },
          {requiredKeys: []},
        ),
      },
      {requiredKeys: []},
    ),
  ),
  ha: fc.record({
    raftPort: fc.constantFrom(2434, 2435),
    priorities: fc.constantFrom<Record<string, number>>({}, {0: 1}, {9: 1}, {a: 1}),
    electionTimeoutMs: fc.record({min: fc.constantFrom(50, 100), max: fc.constantFrom(50, 100)}),
  }),
  storage: fc.record({
    size,
    storageClass: maybe(fc.constantFrom('a', 'b')),
    raft: fc.record({separate: fc.boolean(), size: maybe(size)}),
  }),
  backups: maybe(
    fc.record({volume: fc.record({size: maybe(size), sharedClaim: maybe(fc.constant('c'))})}),
  ),
  settings: fc.constantFrom<Record<string, string>>(
    {},
    {'svc.txRetries': '1'},
    {'svc.ha.enabled': 'true'},
    {txRetries: '1'},
  ),
  tls: fc.record({
    mode: fc.constantFrom('Disabled', 'Secret'),
    secretName: maybe(fc.constant('s')),
  }),
});

/** What the API server holds: defaults in place, nothing that is undefined. */
function stored<T>(schema: Parameters<typeof check>[0], value: unknown): T {
  return check(schema, JSON.parse(JSON.stringify(value)), 'spec').value as T;
}

for (const rule of clusterRules) {
  test(`CEL and function agree: ${rule.message.slice(0, 70)}`, () => {
    const verdicts = new Set<boolean>();
    fc.assert(
      fc.property(specs, specs, (one, other) => {
        const spec = stored<ClusterSpec>(clusterSpec, one);
        const old = stored<ClusterSpec>(clusterSpec, other);
        const holds = rule.holds(spec, old);
        verdicts.add(holds);
        assert.equal(celHolds(rule as Rule<never>, spec, old), holds, rule.cel);
      }),
      {numRuns: 300, seed: 30},
    );
    assert.deepEqual(verdicts, new Set([true, false]), 'the cases show both sides of the rule');
  });
}

const schedules: readonly (readonly [JsonMap, JsonMap])[] = ['a', 'b'].flatMap(name =>
  [{maxFiles: 3}, {tiered: {}}, {maxFiles: 3, tiered: {}}, {}].map(
    retention =>
      [
        {clusterRef: {name}, schedule: '0 0 * * *', retention},
        {clusterRef: {name: 'a'}, schedule: '0 0 * * *'},
      ] as const,
  ),
);

test('CEL and function agree on schedules', () => {
  for (const [one, other] of schedules) {
    const spec = stored<never>(scheduleSpec, one);
    const old = stored<never>(scheduleSpec, other);
    for (const rule of scheduleRules) {
      assert.equal(celHolds(rule as Rule<never>, spec, old), rule.holds(spec, old), rule.cel);
    }
  }
});
