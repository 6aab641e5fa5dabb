/** Lines of a text that comes in pieces of any size, and its UTF-8 as text. */
import {StringDecoder} from 'node:string_decoder';
import {malformed} from './exchanged-record.ts';

/** Longer ones are no lines of a sane source. */
const lineCharactersMax = 64 << 20;

/** Lines without what ends them, LF or CR LF. A mark of the byte order is left out. */
export async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let isFirst = true;
  let count = 0;
  for await (const piece of bytes) {
    let text = decoder.write(piece);
    if (isFirst && text !== '') {
      isFirst = false;
      if (text.startsWith('\ufeff')) text = text.slice(1);
    }
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = rest === '' ? text.slice(from, end) : rest + text.slice(from, end);
      rest = '';
      from = end + 1;
      count += 1;
      yield line.endsWith('\r') ? line.slice(0, -1) : line;
    }
    rest += text.slice(from);
    if (rest.length > lineCharactersMax) throw malformed(count + 1, 'the line does not end');
  }
  rest += decoder.end();
  if (rest !== '') yield rest.endsWith('\r') ? rest.slice(0, -1) : rest;
}

/** The text in pieces, each whole in its characters. */
export async function* textOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  for await (const piece of bytes) yield decoder.write(piece);
  yield decoder.end();
}
