/** The forms of grammar.ts as trees, and the words that statements begin with. */
import {assert} from '#server/base/assert.ts';
import {statementForms} from './grammar.ts';

export type Form =
  /** A keyword, a symbol, or the name of a part. */
  | {readonly kind: 'word'; readonly text: string}
  | {readonly kind: 'sequence' | 'choice'; readonly forms: readonly Form[]}
  | {readonly kind: 'optional'; readonly form: Form};

export function formOf(text: string): Form {
  const tokens =
    text.match(/'.'|, \.\.\.|[a-z]+(?=\b)|[[\]()|]|`[^`]*`|[A-Z_]+|[^\s\w[\]()|']/g) ?? [];
  let at = 0;
  const choice = (end: string | undefined): Form => {
    const alternatives: Form[] = [sequence(end)];
    while (tokens[at] === '|') {
      at++;
      alternatives.push(sequence(end));
    }
    assert(tokens[at] === end, text);
    at++;
    return {kind: 'choice', forms: alternatives};
  };
  const sequence = (end: string | undefined): Form => {
    const list: Form[] = [];
    for (let token = tokens[at]; token !== end && token !== '|'; token = tokens[at]) {
      assert(token !== undefined, text);
      at++;
      if (token === '[') list.push({kind: 'optional', form: choice(']')});
      else if (token === '(') list.push(choice(')'));
      else if (token !== ', ...') list.push({kind: 'word', text: token.replace(/^'(.)'$/, '$1')});
    }
    return {kind: 'sequence', forms: list};
  };
  return choice(undefined);
}

/**
 * The keywords that statements begin with, up to the first thing that is no keyword: `SELECT`,
 * `CREATE VERTEX`, `CREATE VERTEX TYPE`, ... in order, each once.
 */
export const beginnings: readonly string[] = [
  ...new Set(
    Object.values(statementForms)
      .flat()
      .flatMap(text => {
        const {ended, open} = after({ended: [], open: ['']}, formOf(text));
        return [...ended, ...open];
      })
      .map(words => words.trim()),
  ),
].sort();

/** Words so far: of what ends there, and of what may go on. */
interface Begun {
  readonly ended: readonly string[];
  readonly open: readonly string[];
}

function after(begun: Begun, form: Form): Begun {
  const {ended, open} = begun;
  switch (form.kind) {
    case 'word':
      return /^[A-Z_]{2,}$/.test(form.text)
        ? {ended, open: open.map(words => `${words} ${form.text}`)}
        : {ended: [...ended, ...open], open: []};
    case 'optional': {
      const inner = after({ended: [], open}, form.form);
      // What follows an optional part that is more than words is no beginning any more.
      if (inner.ended.length > 0) return {ended: [...ended, ...inner.ended, ...open], open: []};
      return {ended, open: [...open, ...inner.open]};
    }
    case 'choice': {
      const all = form.forms.map(one => after({ended: [], open}, one));
      return {
        ended: [...ended, ...all.flatMap(one => one.ended)],
        open: all.flatMap(one => one.open),
      };
    }
    default:
      return form.forms.reduce(after, begun);
  }
}
