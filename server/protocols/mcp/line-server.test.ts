/** Messages a line each: how lines are cut, what is too long, and that answers come as ready. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {serveLines} from './line-server.ts';

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function answersTo(text: string, size = 1_000, lineBytesMax = 10): Promise<string[]> {
  const lines: string[] = [];
  await serveLines({
    input: inPieces(text, size),
    write: async line => void lines.push(line),
    answer: async line => Buffer.from(line).toString(),
    tooLong: () => 'too long',
    lineBytesMax,
  });
  return lines;
}

test('lines are the same however their bytes arrive', async () => {
  const text = '{"a":1}\n\n  \r\n{"b":2}\r\n12345678901\n\u00e9\u00e9\n1234567890\nlast';
  const expected = [
    '{"a":1}\n',
    '{"b":2}\r\n',
    'too long\n',
    '\u00e9\u00e9\n',
    '1234567890\n',
    'last\n',
  ];
  for (let size = 1; size <= text.length + 4; size++) {
    assert.deepEqual(await answersTo(text, size), expected, `pieces of ${size} bytes`);
  }
});

test('an input that ends within a line that is too long', async () => {
  assert.deepEqual(await answersTo('x\n12345678901'), ['x\n', 'too long\n']);
  assert.deepEqual(await answersTo(''), []);
});

test('a message that takes long keeps no other from its answer', async () => {
  const slow = Promise.withResolvers<string>();
  const lines: string[] = [];
  const second = Promise.withResolvers<void>();
  async function* input(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('slow\nquick\nsilent\n');
    await second.promise;
    slow.resolve('slow');
  }
  await serveLines({
    input: input(),
    write: async line => {
      lines.push(line);
      second.resolve();
    },
    answer: async line => {
      const text = Buffer.from(line).toString();
      if (text === 'silent') return '';
      return text === 'slow' ? slow.promise : text;
    },
    tooLong: () => 'too long',
    lineBytesMax: 100,
  });
  assert.deepEqual(lines, ['quick\n', 'slow\n']);
});
