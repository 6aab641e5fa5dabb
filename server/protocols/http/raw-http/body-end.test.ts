/** The end of a body is found wherever the bytes were cut, and what is no body is told. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {BodyEnd} from './body-end.ts';

const next = 'HTTP/1.1 200 OK';

/** Feeds `text` in pieces of `size`; the bytes that belong to the body, or undefined. */
function taken(end: BodyEnd, text: string, size: number): number | undefined {
  const bytes = Buffer.from(text, 'latin1');
  let count = 0;
  for (let at = 0; at < bytes.length && !end.isReached; at += size) {
    const piece = end.take(bytes.subarray(at, at + size));
    if (piece === undefined) return undefined;
    count += piece;
  }
  return count;
}

const chunked = [
  ['none', '0\r\n\r\n'],
  ['two', '5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n'],
  ['large sizes and ends of lines inside', 'A\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n'],
  ['extensions', '3;a=b\r\nabc\r\n0;last\r\n\r\n'],
  ['trailers', '1\r\nx\r\n0\r\nX-Checksum: 12\r\nX-Other: 0\r\n\r\n'],
] as const;

for (const [name, body] of chunked) {
  test(`chunks: ${name}`, () => {
    for (let size = 1; size <= body.length + next.length; size++) {
      const end = BodyEnd.ofChunks();
      assert.equal(taken(end, body + next, size), body.length, `pieces of ${size}`);
      assert.ok(end.isReached);
    }
    for (let short = 0; short < body.length; short++) {
      const end = BodyEnd.ofChunks();
      assert.equal(taken(end, body.slice(0, short), 3), short);
      assert.ok(!end.isReached, `after ${short} bytes`);
    }
  });
}

test('a length', () => {
  for (const length of [0, 1, 7]) {
    for (let size = 1; size < 12; size++) {
      const end = BodyEnd.after(length);
      assert.ok(end !== undefined);
      assert.equal(taken(end, `${'x'.repeat(length)}${next}`, size), length);
      assert.ok(end.isReached);
    }
  }
});

test('what is no length and no chunk', () => {
  for (const length of [undefined, -1, 0.5, Number.NaN])
    assert.equal(BodyEnd.after(length), undefined);
  for (const body of [
    'x\r\n',
    '\r\n',
    '-1\r\n',
    `${'1'.repeat(40)}\r\n`,
    '0x5\r\n',
    'a'.repeat(2_000),
  ]) {
    assert.equal(taken(BodyEnd.ofChunks(), body, 4_096), undefined, body.slice(0, 20));
  }
});
