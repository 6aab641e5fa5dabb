/** Places in a text, and how a parser's first run ends at one. */
import type {SourceLocation} from '#server/base/errors.ts';

/** Ends the first run; never leaves a language's parser.ts. */
export class ParseStop extends Error {
  readonly index: number;
  constructor(index: number) {
    super();
    this.index = index;
  }
}

/** Line and column from 1 of an offset in `text`. Cost: linear in the offset. */
export function placeOf(text: string, offset: number): SourceLocation {
  let line = 1;
  let lineStart = 0;
  for (let i = text.indexOf('\n'); i !== -1 && i < offset; i = text.indexOf('\n', i + 1)) {
    line++;
    lineStart = i + 1;
  }
  return {line, column: offset - lineStart + 1};
}
