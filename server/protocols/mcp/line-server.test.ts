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

test('so many are carried out at once, and a word about them is heard all the same', async () => {
  const atOnce = 32;
  const release = Promise.withResolvers<void>();
  let begun = 0;
  let most = 0;
  async function* input(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('slow\n'.repeat(100));
    yield Buffer.from('release\n');
  }
  const lines: string[] = [];
  await serveLines({
    input: input(),
    write: async line => void lines.push(line),
    answer: async (line, begin) => {
      if (Buffer.from(line).toString() === 'release') {
        release.resolve();
        return '';
      }
      const end = await begin();
      most = Math.max(most, ++begun);
      await release.promise;
      begun--;
      end();
      return 'done';
    },
    tooLong: () => 'too long',
    lineBytesMax: 1_000,
  });
  assert.deepEqual([lines.length, most, begun], [100, atOnce, 0]);
});

test('lines that are not answered have a bound together', async () => {
  const line = `${'x'.repeat(100)}\n`;
  const held: (() => void)[] = [];
  let read = 0;
  async function* input(): AsyncGenerator<Uint8Array> {
    for (; read < 50; read++) {
      yield Buffer.from(line);
      // Nothing more is asked for until one of those that fill the bound is answered.
      if (held.length > 10) for (const settle of held.splice(0)) settle();
    }
  }
  let most = 0;
  let waiting = 0;
  await serveLines({
    input: input(),
    write: async () => {},
    answer: () => {
      most = Math.max(most, ++waiting);
      return new Promise(resolve => {
        const settle = (): void => {
          waiting--;
          resolve('');
        };
        if (waiting > 10 || read === 49) for (const one of [...held.splice(0), settle]) one();
        else held.push(settle);
      });
    },
    tooLong: () => 'too long',
    lineBytesMax: 1_000,
  });
  assert.equal(most, 11);
});
