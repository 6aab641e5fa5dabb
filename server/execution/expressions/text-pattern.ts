/**
 * LIKE and ILIKE: `%` stands for any text, `?` for one character, `\` takes the next as it is.
 *
 * A pattern is cut at its `%` into pieces that must follow each other; taking the leftmost place
 * for each is always right, so there is no backtracking. Cost: linear in the text for pieces
 * without `?`, text times piece otherwise.
 */
import type {TextTest} from '#server/model/regular-expression.ts';

/** One piece between two `%`: characters, or undefined where any one fits. */
type Piece = readonly (string | undefined)[];

export function likeTest(pattern: string): TextTest {
  const pieces = splitPattern(pattern);
  const first = pieces[0] ?? [];
  if (pieces.length === 1) {
    return text => {
      const characters = [...text];
      return characters.length === first.length && fits(first, characters, 0);
    };
  }
  const last = pieces[pieces.length - 1] ?? [];
  const middle = pieces.slice(1, -1).filter(piece => piece.length > 0);
  if (pieces.every(isPlain)) return plainTest(first.join(''), middle.map(join), last.join(''));
  return text => {
    const characters = [...text];
    const end = characters.length - last.length;
    if (end < first.length || !fits(first, characters, 0)) return false;
    if (!fits(last, characters, end)) return false;
    let at = first.length;
    for (const piece of middle) {
      while (at + piece.length <= end && !fits(piece, characters, at)) at++;
      if (at + piece.length > end) return false;
      at += piece.length;
    }
    return true;
  };
}

/** Works like `likeTest`, with upper and lower case the same. */
export function ilikeTest(pattern: string): TextTest {
  const test = likeTest(pattern.toLowerCase());
  return text => test(text.toLowerCase());
}

function splitPattern(pattern: string): Piece[] {
  const pieces: (string | undefined)[][] = [[]];
  let escaped = false;
  for (const character of pattern) {
    const piece = pieces[pieces.length - 1] ?? [];
    if (escaped) {
      piece.push(character);
      escaped = false;
    } else if (character === '\\') escaped = true;
    else if (character === '%') pieces.push([]);
    else piece.push(character === '?' ? undefined : character);
  }
  // A backslash at the end stands for itself.
  if (escaped) pieces[pieces.length - 1]?.push('\\');
  return pieces;
}

function isPlain(piece: Piece): boolean {
  return !piece.includes(undefined);
}

function join(piece: Piece): string {
  return piece.join('');
}

function plainTest(first: string, middle: readonly string[], last: string): TextTest {
  return text => {
    const end = text.length - last.length;
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    let at = first.length;
    for (const piece of middle) {
      const found = text.indexOf(piece, at);
      if (found < 0 || found + piece.length > end) return false;
      at = found + piece.length;
    }
    return true;
  };
}

function fits(piece: Piece, characters: readonly string[], at: number): boolean {
  for (let i = 0; i < piece.length; i++) {
    const wanted = piece[i];
    if (wanted !== undefined && wanted !== characters[at + i]) return false;
  }
  return true;
}
