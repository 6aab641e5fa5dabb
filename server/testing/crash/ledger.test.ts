/** The books themselves: each way a server could cheat is found. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Ledger, type Write} from './ledger.ts';

const write = (key: string, state: number | undefined): Write => ({key, state});

function booked(how: 'acknowledged' | 'refused' | 'unknown', ...writes: Write[]): Ledger {
  const ledger = new Ledger();
  ledger.began(writes);
  if (how === 'acknowledged') ledger.wasAcknowledged(writes);
  else if (how === 'refused') ledger.wasRefused(writes);
  else ledger.becameUnknown(writes);
  return ledger;
}

const cases = [
  // how           stored                     finding
  ['acknowledged', {a: [1], b: [1]}, []],
  ['acknowledged', {a: [1]}, ['lost']],
  ['acknowledged', {a: [1, 1], b: [1]}, ['doubled']],
  ['acknowledged', {a: [2], b: [1]}, ['lost']],
  ['refused', {}, []],
  ['refused', {a: [1]}, ['resurrected']],
  ['unknown', {}, []],
  ['unknown', {a: [1], b: [1]}, []],
  ['unknown', {a: [1]}, ['torn', 'resurrected']],
  ['unknown', {a: [1, 1], b: [1]}, ['doubled']],
  ['unknown', {c: [1]}, ['resurrected']],
] as const;

for (const [how, stored, expected] of cases) {
  const verdict = expected.join(', ') || 'fine';
  test(`two ${how} writes, stored ${JSON.stringify(stored)}: ${verdict}`, () => {
    const ledger = booked(how, write('a', 1), write('b', 1));
    const findings = ledger.audit(new Map(Object.entries(stored)));
    assert.deepEqual(
      findings.map(({kind}) => kind),
      expected,
    );
  });
}

test('what an audit finds of an unknown write is certain afterwards', () => {
  const ledger = booked('unknown', write('a', 1));
  assert.deepEqual(ledger.audit(new Map([['a', [1]]])), []);
  assert.equal(ledger.state('a'), 1);
  const [finding] = ledger.audit(new Map());
  assert.equal(finding?.kind, 'lost');
});

test('a deleted record that comes back is found', () => {
  const ledger = booked('acknowledged', write('a', 1));
  ledger.began([write('a', undefined)]);
  ledger.wasAcknowledged([write('a', undefined)]);
  assert.equal(ledger.liveKeys, 0);
  assert.deepEqual(
    ledger.audit(new Map([['a', [1]]])).map(({kind}) => kind),
    ['resurrected'],
  );
});

test('an acknowledged update that is lost while the old value stands is found', () => {
  const ledger = booked('acknowledged', write('a', 1));
  ledger.began([write('a', 2)]);
  ledger.becameUnknown([write('a', 2)]);
  assert.deepEqual(ledger.audit(new Map([['a', [1]]])), []);
  assert.equal(ledger.state('a'), 1);
});
