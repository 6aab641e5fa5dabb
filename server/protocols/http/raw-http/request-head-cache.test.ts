/**
 * What the raw HTTP path remembers of a body reads every other body as the parser does.
 * Holds invariant H4.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {JsonParser} from '#server/model/json-parser.ts';
import type {RunRequest} from '#server/session/session.ts';
import {CachedRequestHead} from './request-head-cache.ts';
import {parseBody} from '../message/json-body.ts';
import {statementOfBody} from '../routes/statement.ts';

const parser = new JsonParser(64);
const {signal} = new AbortController();
const statementHead = {
  database: 'db',
  isStream: false,
  transactionId: undefined,
  consistency: undefined,
  tag: undefined,
  connection: {},
  signal,
};
const headBytes = Buffer.from('head\r\n\r\n');

function knownHead(bytes = headBytes): CachedRequestHead {
  const head = {route: 'query', database: 'db', caller: 'x', bodyBytes: 0} as const;
  const names = {sessionId: undefined, conversation: undefined};
  const words = {requested: undefined, coding: undefined, traceParent: undefined};
  return new CachedRequestHead({...head, ...names, ...words}, bytes);
}

/** The long way; undefined when the body is refused. */
function whole(body: string): RunRequest | undefined {
  try {
    return statementOfBody(statementHead, parseBody(parser, Buffer.from(body)), 'read-only')
      .request;
  } catch {
    return undefined;
  }
}

function remembered(known: CachedRequestHead, body: string): RunRequest | undefined {
  return known.statement(Buffer.concat([headBytes, Buffer.from(body)]), parser, statementHead);
}

function learn(known: CachedRequestHead, body: string): void {
  const request = whole(body);
  if (request !== undefined)
    known.learn(Buffer.concat([headBytes, Buffer.from(body)]), parser, request);
}

test('the leader is told the place in a trace of this server, else that of the client', () => {
  const client = 'traceparent: client';
  const known = knownHead(Buffer.from(`POST /api/v1/query/db HTTP/1.1\r\n${client}\r\n\r\n`));
  const words = {user: 'ann', token: 'secret'};
  const linesFrom = (place: string | undefined): readonly string[] =>
    known.forwarded(words, place).toString().split('\r\n');
  for (const place of [undefined, 'first', 'second', undefined]) {
    const told = linesFrom(place).filter(line => line.startsWith('traceparent'));
    assert.deepEqual(told, [`traceparent: ${place ?? 'client'}`]);
    assert.deepEqual(linesFrom(place).slice(-2), ['', '']);
  }
});

const start = '{"language":"sql","command":"SELECT 1","params":';

test('a statement that came twice is remembered, with other parameters each time', () => {
  const known = knownHead();
  learn(known, `${start}{"a":1}}`);
  assert.equal(remembered(known, `${start}{"a":2}}`), undefined, 'once is not enough');
  learn(known, `${start}{"a":2}}`);
  const request = remembered(known, `${start}{"a":3,"b":["x"]}}`);
  assert.deepEqual(request, whole(`${start}{"a":3,"b":["x"]}}`));
  assert.equal(request?.text, 'SELECT 1');
});

const bodies = [
  `${start}{"a":1}}`,
  `${start}{"a":2} }`,
  `${start}[1,2]}`,
  `${start}null}`,
  `${start} {"$bytes":"AQ=="}}`,
  `${start}{"a":{"$bytes":"AQ=="}}}`,
  `${start}{"a":{"$bytes":"?"}}}`,
  `${start}{"a":${'['.repeat(33)}${']'.repeat(33)}}}`,
  `${start}{"a":${'['.repeat(64)}${']'.repeat(64)}}}`,
  `${start}5}`,
  `${start}}`,
  `${start}{"a":1}} `,
  `${start}{"a":1},"limit":5}`,
  `${start}{"a":1},"command":"SELECT 2"}`,
  `${start}{"a":1},"params":{"a":2}}`,
  `${start}{"a":1}`,
  `${start}{"a":1}}}`,
  `${start}"}"}`,
  '{"params":{"a":1},"language":"sql","command":"SELECT 1"}',
  '{"params":{"a":1},"language":"sql","command":"SELECT 1","params":{"a":2}}',
  '{"x":{"params":1},"language":"sql","command":"SELECT 1","params":{"a":2}}',
  '{"x":{"params":{"language":"sql","command":"SELECT 1"}},"language":"sql","command":"SELECT 1"}',
  '{"x":{"params":1},"language":"sql","command":"SELECT 1"}',
  '{"language":"sql","command":"SELECT \\"params\\":{}","params":{"a":1}}',
  '{"language":"sql","command":"SELECT 1","par\\u0061ms":{"a":1}}',
  '{"language":"sql","command":"SELECT 1","par\\u0061ms":{"a":1},"params":{"a":2}}',
  '{"language":"sql","command":"SELECT 1","params" :{"a":1}}',
  '{"language":"SQL","limit":3,"typeHints":true,"command":" SELECT 1 ","params":{"a":1}}',
  '{"language":"sql","command":"SELECT 1"}',
];

test('what is remembered of any body reads any other as the parser does', () => {
  let used = 0;
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...bodies), {maxLength: 6}), fc.nat(400), (path, at) => {
      const known = knownHead();
      for (const body of path) {
        // Learnt is what came twice; a byte changed or cut must not be taken for it.
        learn(known, body);
        learn(known, body);
        for (const next of [...bodies, body.slice(0, at % body.length), changed(body, at)]) {
          const request = remembered(known, next);
          if (request === undefined) continue;
          used++;
          assert.deepEqual(request, whole(next), `${body} then ${next}`);
        }
      }
    }),
    {numRuns: 300},
  );
  assert.ok(used > 300, `${used} bodies were read from memory`);
});

function changed(body: string, at: number): string {
  const place = at % body.length;
  return `${body.slice(0, place)}${'{}[]":,x5 '.charAt(at % 10)}${body.slice(place + 1)}`;
}
