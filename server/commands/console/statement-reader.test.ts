/** Where statements end, as somebody types or pipes them. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {StatementReader} from './statement-reader.ts';

/** What the lines and their end complete: `:text` for a command, `line text` for a statement. */
function read(language: string, lines: readonly string[]): string[] {
  const reader = new StatementReader(() => language);
  const inputs = [...lines.flatMap(line => [...reader.feed(line)]), ...reader.end()];
  return inputs.map(({kind, line, text}) => (kind === 'command' ? `:${text}` : `${line} ${text}`));
}

const cases: readonly (readonly [string, string, readonly string[], readonly string[]])[] = [
  ['a semicolon ends', 'sql', ['SELECT 1;'], ['1 SELECT 1']],
  ['several stand in a line', 'sql', ['a; b;', 'c'], ['1 a', '1 b', '2 c']],
  ['one takes several lines', 'sql', ['', 'SELECT', '  1;'], ['2 SELECT\n  1']],
  ['the end of the input ends', 'sql', ['SELECT 1'], ['1 SELECT 1']],
  ['nothing is no statement', 'sql', [';', '', ' ; -- only a comment'], []],
  ['a comment alone is none', 'sql', ['/* a;', 'b */'], []],
  [
    'texts hold semicolons',
    'sql',
    [`SELECT 'a;''b', "c;\\"d", \`e;f\`;`],
    [`1 SELECT 'a;''b', "c;\\"d", \`e;f\``],
  ],
  ['a text may hold lines', 'sql', ["SELECT 'a", ":b;', 1;"], ["1 SELECT 'a\n:b;', 1"]],
  ['comments hold semicolons', 'sql', ['a -- b;', '/* c; */ d;'], ['1 a -- b;\n/* c; */ d']],
  ['two dashes alone are no comment', 'sql', ['a--1;', 'b <-- c;'], ['1 a--1', '2 b <-- c']],
  ['braces hold semicolons', 'sql', ['IF (1) { a; b; }; c;'], ['1 IF (1) { a; b; }', '1 c']],
  ['cypher has comments of its own', 'cypher', ['a // b;', 'c -- d;'], ['1 a // b;\nc -- d']],
  ['cypher quotes names without escapes', 'cypher', ['a `b\\`; c;'], ['1 a `b\\`', '1 c']],
  [
    'a lone semicolon ends a script',
    'sqlscript',
    ['LET a = 1;', 'RETURN $a;', ';', 'b'],
    ['1 LET a = 1;\nRETURN $a;', '4 b'],
  ],
  ['a colon begins a command', 'sql', [' :format csv ', 'a', ':b;'], [':format csv', '2 a\n:b']],
];

for (const [because, language, lines, expected] of cases) {
  test(`${because} (${language})`, () => {
    assert.deepEqual(read(language, lines), expected);
  });
}

test('what is open is told, for the prompt', () => {
  const reader = new StatementReader(() => 'sql');
  const after = (line: string): string | undefined => {
    assert.deepEqual([...reader.feed(line)], []);
    return reader.open;
  };
  assert.equal(after('-- nothing yet'), undefined);
  assert.equal(after('SELECT'), 'statement');
  assert.equal(after("'a"), "'");
  assert.equal(after("b' /* c"), '*');
  reader.clear();
  assert.equal(reader.open, undefined);
});
