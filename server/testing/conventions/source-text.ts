/**
 * Looks at TypeScript text just closely enough for tidy.ts: where comments, strings and regular
 * expressions are, and which modules a file imports.
 *
 * A scanner, not a parser. What it must get right is that nothing inside a comment or a string
 * counts as code; positions stay those of the original text.
 */

/** One module that a file names. */
export interface ImportedModule {
  readonly specifier: string;
  readonly line: number;
  /** `import 'x'`, for what it does and not for what it exports. */
  readonly sideEffect: boolean;
  /** Only types are imported: nothing of it is left when the code runs. */
  readonly typeOnly: boolean;
}

/** A text with comments blanked, and one with string contents blanked as well; line breaks stay. */
export interface BlankedText {
  readonly withoutComments: string;
  readonly codeOnly: string;
}

/** Blanks comments, strings, templates (but not the code inside `${}`) and regular expressions. */
export function blankText(text: string): BlankedText {
  const withoutComments = text.split('');
  const codeOnly = text.split('');
  const blank = (into: string[], from: number, to: number): void => {
    for (let at = from; at < to; at++) if (into[at] !== '\n') into[at] = ' ';
  };
  // Depths of braces at which a template literal goes on.
  const templates: number[] = [];
  let depth = 0;
  let at = text.startsWith('#!') ? text.indexOf('\n') : 0;
  while (at < text.length) {
    const character = text[at];
    if (character === '/' && (text[at + 1] === '/' || text[at + 1] === '*')) {
      const end = commentEnd(text, at);
      blank(withoutComments, at, end);
      blank(codeOnly, at, end);
      at = end;
    } else if (character === "'" || character === '"') {
      const end = quotedEnd(text, at, character);
      blank(codeOnly, at + 1, end - 1);
      at = end;
    } else if (character === '`' || (character === '}' && templates.at(-1) === depth)) {
      if (character === '}') templates.pop();
      const {end, substitution} = templateEnd(text, at + 1);
      blank(codeOnly, at + 1, end - 1);
      if (substitution) templates.push(depth);
      at = end;
    } else if (character === '/' && startsRegularExpression(text, at)) {
      const end = regularExpressionEnd(text, at);
      blank(codeOnly, at + 1, end - 1);
      at = end;
    } else {
      if (character === '{') depth++;
      if (character === '}') depth--;
      at++;
    }
  }
  return {withoutComments: withoutComments.join(''), codeOnly: codeOnly.join('')};
}

const FROM = /(?:^|[;}\n])\s*(?:import|export)\b[^'"`;=]*?\bfrom\s*(['"])([^'"\n]+)\1/g;
const DYNAMIC = /\bimport\s*\(\s*(['"])([^'"\n]+)\1/g;
const SIDE_EFFECT = /(?:^|[;}\n])\s*import\s*(['"])([^'"\n]+)\1/g;

/** The modules that a text imports or re-exports, types included. */
export function importedModules(blanked: BlankedText): ImportedModule[] {
  const text = blanked.withoutComments;
  const found: ImportedModule[] = [];
  for (const pattern of [FROM, DYNAMIC, SIDE_EFFECT]) {
    for (const match of text.matchAll(pattern)) {
      const specifier = match[2] ?? '';
      const line = lineAt(text, match.index + match[0].length);
      const typeOnly = /^\W*(?:import|export)\s+type\b/.test(match[0]);
      found.push({specifier, line, sideEffect: pattern === SIDE_EFFECT, typeOnly});
    }
  }
  return found;
}

/** Line number, from 1, of an offset. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

function commentEnd(text: string, at: number): number {
  const block = text[at + 1] === '*';
  const end = block ? text.indexOf('*/', at + 2) : text.indexOf('\n', at);
  return end === -1 ? text.length : block ? end + 2 : end;
}

function quotedEnd(text: string, at: number, quote: string): number {
  let end = at + 1;
  while (end < text.length && text[end] !== quote && text[end] !== '\n') {
    end += text[end] === '\\' ? 2 : 1;
  }
  return Math.min(end + 1, text.length);
}

/** Where a template's text ends, behind its backtick or behind the `${` of a substitution. */
function templateEnd(text: string, at: number): {end: number; substitution: boolean} {
  let end = at;
  while (end < text.length) {
    if (text[end] === '`') return {end: end + 1, substitution: false};
    if (text[end] === '$' && text[end + 1] === '{') return {end: end + 2, substitution: true};
    end += text[end] === '\\' ? 2 : 1;
  }
  return {end: text.length, substitution: false};
}

/** Whether a slash begins a regular expression: it does where a value cannot have just ended. */
function startsRegularExpression(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 40), at).trimEnd();
  if (before === '') return true;
  if (/(?:^|[^\w$.])(?:return|typeof|case|in|of|do|else|yield|await)$/.test(before)) return true;
  return /[(,=:[!&|?{};+\-*%~^<>]$/.test(before);
}

function regularExpressionEnd(text: string, at: number): number {
  let inClass = false;
  let end = at + 1;
  while (end < text.length && text[end] !== '\n') {
    const character = text[end];
    if (character === '\\') end++;
    else if (character === '[') inClass = true;
    else if (character === ']') inClass = false;
    else if (character === '/' && !inClass) return end + 1;
    end++;
  }
  return end;
}
