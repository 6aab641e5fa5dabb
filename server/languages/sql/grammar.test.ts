/** The forms of the manual and the parser agree: what they make is read, and none is missing. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {withoutPlaces} from '#server/testing/property/sql-round-trip.ts';
import {parts, statementForms} from './grammar.ts';
import {beginnings, type Form, formOf} from './grammar-form.ts';
import {keywords} from './keyword.ts';
import {parseScript} from './parser.ts';
import {printScript} from '#server/testing/property/print-sql.ts';

/** An example of each part. */
const samples: Readonly<Record<string, string>> = {
  expression: 'x + 1',
  condition: 'x > 1',
  projection: 'x AS y',
  target: 'T',
  pattern: '{type: T, as: a}-E->{as: b}',
  assignment: 'x = 1',
  rid: '#1:2',
  query: 'SELECT FROM T',
  statement: 'SELECT FROM T',
  map: '{"x": 1}',
  datatype: 'STRING',
  name: 'n',
  text: "'t'",
  number: '3',
};

/** Words of expressions and patterns, which no form of a statement has. */
const elsewhere = new Set(
  (
    'BETWEEN CASE CONTAINS CONTAINSALL CONTAINSANY CONTAINSKEY CONTAINSTEXT CONTAINSVALUE ' +
    'DEFINED END FALSE FOR ILIKE INSTANCEOF IS LIKE MATCHES NEAR NULL OR THEN TRUE WHEN WITHIN ' +
    'DAY SECONDS'
  ).split(' '),
);

const forms = Object.values(statementForms).flat();

test('every sentence that the forms make is read, and reads again as it is printed', () => {
  for (const text of forms) {
    for (const sentence of sentencesOf(formOf(text))) {
      assert.doesNotThrow(() => {
        const script = parseScript(sentence);
        const again = parseScript(printScript(script));
        assert.deepEqual(withoutPlaces(again), withoutPlaces(script));
      }, `${sentence}\nof the form ${text}`);
    }
  }
});

test('every word of the grammar stands in a form', () => {
  const words = new Set(forms.flatMap(text => text.match(/[A-Z][A-Z_]+/g) ?? []));
  const missing = keywords.filter(word => !words.has(word) && !elsewhere.has(word));
  assert.deepEqual(missing, []);
});

test('a statement begins with the words that its form begins with', () => {
  for (const words of ['CREATE VERTEX TYPE', 'CREATE VERTEX', 'DROP MATERIALIZED VIEW', 'SELECT']) {
    assert.ok(beginnings.includes(words), words);
  }
  // A word alone is none where another must follow.
  for (const words of ['CREATE', 'INSERT', 'DROP']) assert.ok(!beginnings.includes(words), words);
  assert.deepEqual(beginnings, [...new Set(beginnings)].sort());
});

test('every part has its explanation', () => {
  assert.deepEqual(Object.keys(samples).sort(), Object.keys(parts).sort());
});

/** All that can be left out left out; all of it there; and each choice once. */
function sentencesOf(form: Form): readonly string[] {
  const choices = Math.max(1, widest(form));
  return [false, true].flatMap(whole =>
    Array.from({length: choices}, (_, at) => joined(sentence(form, whole, at))),
  );
}

/** Words apart, but for what stands at its neighbour: `$n`, `a.b`, `TYPE:n`. */
function joined(text: string): string {
  return text
    .replace(/ +/g, ' ')
    .replaceAll('$ ', '$')
    .replace(/ ([.:]) /g, '$1');
}

function widest(form: Form): number {
  if (form.kind === 'word') return 0;
  if (form.kind === 'optional') return widest(form.form);
  const inner = Math.max(0, ...form.forms.map(widest));
  return form.kind === 'choice' ? Math.max(inner, form.forms.length) : inner;
}

function sentence(form: Form, whole: boolean, choice: number): string {
  switch (form.kind) {
    case 'word':
      return samples[form.text] ?? form.text;
    case 'optional':
      return whole ? sentence(form.form, whole, choice) : '';
    case 'choice': {
      const chosen = form.forms[choice % form.forms.length];
      return chosen === undefined ? '' : sentence(chosen, whole, choice);
    }
    default:
      return form.forms.map(part => sentence(part, whole, choice)).join(' ');
  }
}
