/** Messages to bytes and back, old bytes that must stay readable, and bytes that mean harm. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {ordered} from './membership.ts';
import type {Entry, Message} from './message.ts';
import {decodeMessage, encodeMessage, UnreadableMessage} from './message-encoding.ts';

/** Objects like those of the sources, with a prototype. */
function plain<Fields>(fields: {readonly [Name in keyof Fields]: fc.Arbitrary<Fields[Name]>}) {
  return fc.record<Fields>(fields, {noNullPrototype: true});
}

const number = fc.maxSafeNat();
const position = plain({index: number, term: number});
const granted = fc.boolean();
const id = fc.string({unit: 'grapheme', maxLength: 20});
const round = number;

const membership = fc
  .uniqueArray(plain({id, role: fc.constantFrom('voter', 'joining'), priority: number}), {
    maxLength: 5,
    selector: member => member.id,
  })
  .map(ordered);

const entry: fc.Arbitrary<Entry> = fc.oneof(
  plain({kind: fc.constant('data'), term: number, data: fc.uint8Array({maxLength: 300})}),
  plain({kind: fc.constant('membership'), term: number, membership}),
  plain({kind: fc.constant('empty'), term: number}),
);

/** A message of a kind, with its fields. */
function of<Kind extends Message['kind'], Fields>(
  kind: Kind,
  fields: {readonly [Name in keyof Fields]: fc.Arbitrary<Fields[Name]>},
): fc.Arbitrary<{kind: Kind; term: number} & Fields> {
  return fc.tuple(number, plain(fields)).map(([term, rest]) => ({kind, term, ...(rest as Fields)}));
}

const message: fc.Arbitrary<Message> = fc.oneof(
  of('pre-vote', {last: position}),
  of('pre-vote-reply', {granted}),
  of('vote', {last: position, transfer: fc.boolean()}),
  of('vote-reply', {granted}),
  of('append', {
    round,
    previous: position,
    commit: number,
    entries: fc.array(entry, {maxLength: 4}),
  }),
  of('append-reply', {round, accepted: fc.constant(true as const), match: number}),
  of('append-reply', {
    round,
    accepted: fc.constant(false as const),
    refused: number,
    hint: position,
  }),
  of('snapshot', {round, atLeast: position}),
  of('timeout-now', {}),
  of('read', {id}),
  of('read-reply', {id, index: fc.option(fc.nat(), {nil: undefined})}),
);

test('every message comes back from its bytes', () => {
  fc.assert(
    fc.property(message, sent => assert.deepEqual(decodeMessage(encodeMessage(sent)), sent)),
    {numRuns: 1000},
  );
});

test('the bytes of version 1 stay what they are', () => {
  const data = Uint8Array.of(1, 2, 3);
  const append: Message = {
    kind: 'append',
    term: 300,
    round: 7,
    previous: {index: 9, term: 2},
    commit: 8,
    entries: [
      {kind: 'data', term: 300, data},
      {kind: 'membership', term: 300, membership: [{id: 'a', role: 'joining', priority: 4}]},
      {kind: 'empty', term: 300},
    ],
  };
  const bytes = Buffer.from(encodeMessage(append)).toString('hex');
  assert.equal(bytes, '0104ac020709020803' + '00ac0203010203' + '01ac020101610104' + '02ac02');
});

test('what is cut short, changed or made up is refused, or is another message', () => {
  const change = fc.record({at: fc.nat(), to: fc.nat(255), keep: fc.nat()});
  let refused = 0;
  fc.assert(
    fc.property(message, change, (sent, {at, to, keep}) => {
      const bytes = encodeMessage(sent);
      bytes[at % bytes.length] = to;
      try {
        decodeMessage(bytes.subarray(0, keep % 2 === 0 ? bytes.length : keep % bytes.length));
      } catch (error) {
        assert.ok(error instanceof UnreadableMessage, String(error));
        refused++;
      }
    }),
    {numRuns: 3000},
  );
  assert.ok(refused > 1000, `${refused} refused`);
});

const hostile = [
  ['', /ends too early/],
  ['02', /version 2/],
  ['0163', /code 99/],
  ['0100ffffffffffffffffff7f', /beyond 2\^53/],
  ['010401010101' + '01' + 'ffffffff0f', /list without end/],
  ['010801ffff7f', /length beyond the end/],
  ['01070100', /behind a message/],
  ['010401010101010101' + '01' + '020161000001610000', /twice/],
] as const;

for (const [hex, expected] of hostile) {
  test(`refused: ${hex}`, () => {
    assert.throws(() => decodeMessage(Buffer.from(hex, 'hex')), expected);
  });
}
