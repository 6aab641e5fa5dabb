/**
 * The console as a person meets it: `bin/svc console` on a real pseudo-terminal, and as scripts
 * use it: in a pipe.
 */
import assert from 'node:assert/strict';
import {readFileSync, rmSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  program,
  type Ran,
  rootPassword,
  runSvc,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';
import {keys, missingTerminal, PseudoTerminal} from '#server/testing/terminal/pseudo-terminal.ts';

const skip = missingTerminal();
const endless = 'UNWIND range(1, 30000) AS a UNWIND range(1, 30000) AS b RETURN count(*) AS n;';

let server: ServerProcess;
let folder: string;
let environment: Readonly<Record<string, string>>;

before(async () => {
  folder = temporaryRoot('console');
  server = await startServer({root: temporaryRoot('console-server'), port: await freePort()});
  environment = {SVC_URL: server.url, SVC_PASSWORD: rootPassword, XDG_STATE_HOME: folder};
  const client = server.client();
  try {
    for (const name of ['music', 'empty']) await client.createDatabase(name);
    for (const statement of [
      'CREATE VERTEX TYPE Artist',
      'CREATE PROPERTY Artist.name STRING',
      'CREATE PROPERTY Artist.nationality STRING',
      'CREATE EDGE TYPE InspiredBy',
      "INSERT INTO Artist (name, founded) VALUES ('Ada', 1998), ('Bo', 2006)",
    ]) {
      await client.command('music', statement);
    }
  } finally {
    client.close();
  }
});

after(async () => {
  await server.dispose();
  rmSync(folder, {recursive: true});
});

/** Opens a console on a terminal, at its first prompt, and ends it after `work`. */
async function onTerminal(
  words: readonly string[],
  work: (terminal: PseudoTerminal) => Promise<void>,
): Promise<void> {
  const terminal = new PseudoTerminal([program, 'console', ...words], environment);
  try {
    await shows(terminal, `${words[0] ?? 'svc'}>`);
    await work(terminal);
  } finally {
    terminal.dispose();
  }
}

/** Waits until the line of the cursor is `line`. */
async function shows(terminal: PseudoTerminal, line: string): Promise<void> {
  await terminal.sees(() => terminal.current === line, `'${line}' in the line of the cursor`);
}

/** Types text, then Tab, and waits for what the line becomes. */
async function completes(terminal: PseudoTerminal, typed: string, line: string): Promise<void> {
  terminal.press(typed);
  // A tab that comes together with text is part of what was pasted.
  await terminal.sees(() => terminal.current.endsWith(typed), typed);
  terminal.press(keys.tab);
  await shows(terminal, line);
}

async function leaves(terminal: PseudoTerminal): Promise<void> {
  terminal.press(keys.ctrlD);
  assert.equal(await terminal.ended(), 0);
}

test('statements are typed, edited and answered', {skip}, () =>
  onTerminal(['music'], async terminal => {
    assert.match(terminal.text, /^Svc \S+ at http:\S+; :help lists the commands/);
    const rows = await terminal.enter('SELECT name FROM Artist ORDER BY name;', 'music> ');
    assert.match(rows, /^name\n────\nAda\nBo\n2 rows \([\d.]+ ms\)$/);

    terminal.press('SELECT 12 AS ne;');
    terminal.press(keys.left, keys.left, 'o', keys.home, keys.end, keys.backspace);
    await shows(terminal, 'music> SELECT 12 AS noe');
    terminal.press(keys.backspace, keys.enter);
    await shows(terminal, '    ->');
    assert.match(await terminal.enter(';', 'music> '), /^no\n──\n12\n1 row /);
    await leaves(terminal);
  }),
);

test('a statement takes several lines, and the prompt says what is open', {skip}, () =>
  onTerminal(['music'], async terminal => {
    await terminal.enter("SELECT 'a", "    '> ");
    await terminal.enter("b' AS text,", '    -> ');
    await terminal.enter('/* one', '    *> ');
    await terminal.enter('two */ 7 AS seven', '    -> ');
    assert.match(await terminal.enter(';', 'music> '), /^text {2}seven\n.*\na⏎b {7}7\n/);
    assert.match(
      await terminal.enter('SELECT 1 AS a; SELECT 2 AS b;', 'music> '),
      /1 row[^]*1 row/,
    );
    await leaves(terminal);
  }),
);

test('what was typed comes back in the next start, without passwords', {skip}, async () => {
  await onTerminal(['music'], async terminal => {
    await terminal.enter('SELECT', '    -> ');
    await terminal.enter('  41 + 1 AS answer;', 'music> ');
    await terminal.enter(":param password='hidden'", 'music> ');
    await terminal.enter(':language cypher', 'music:cypher> ');
    await terminal.enter("CREATE USER ada SET PASSWORD 'hidden-too';", 'music:cypher> ');
    await leaves(terminal);
  });
  const file = join(folder, 'svc/console-history');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.doesNotMatch(readFileSync(file, 'utf8'), /hidden/);
  await onTerminal(['music'], async terminal => {
    terminal.press(keys.up);
    await shows(terminal, 'music> :language cypher');
    terminal.press(keys.up);
    await terminal.sees(() => terminal.text.endsWith('41 + 1 AS answer;'), 'the older statement');
    terminal.press(keys.enter);
    await terminal.sees(() => /answer\n─+\n +42\n1 row/.test(terminal.text), 'its answer');
    await shows(terminal, 'music>');
    assert.match(await terminal.enter(':history', 'music> '), /SELECT\n {2}41 \+ 1 AS answer;/);
    await leaves(terminal);
  });
});

test('Tab completes keywords, types, properties, functions and commands', {skip}, () =>
  onTerminal(['music'], async terminal => {
    await completes(terminal, 'SEL', 'music> SELECT');
    await completes(terminal, 'rando', 'music> SELECT randomInt(');
    await completes(terminal, '5) fro', 'music> SELECT randomInt(5) from');
    await completes(terminal, 'Art', 'music> SELECT randomInt(5) from Artist');
    await completes(terminal, 'wher', 'music> SELECT randomInt(5) from Artist where');
    await completes(terminal, 'nat', 'music> SELECT randomInt(5) from Artist where nationality');
    terminal.press(keys.ctrlC);
    await shows(terminal, 'music>');
    await completes(terminal, ':for', 'music> :format');
    await completes(terminal, 'nd', 'music> :format ndjson');
    terminal.press(keys.enter);
    await terminal.sees(() => terminal.text.includes('\nformat ndjson\nmusic>'), 'the new format');
    await completes(terminal, ':use emp', 'music> :use empty');
    terminal.press(keys.enter);
    await shows(terminal, 'empty>');
    await terminal.enter(':use music', 'music> ');
    await terminal.enter('CREATE VERTEX TYPE Zither;', 'music> ');
    await completes(terminal, 'cre', 'music> create');
    await completes(terminal, 'ver', 'music> create vertex');
    await completes(terminal, 'ty', 'music> create vertex type');
    terminal.press(keys.ctrlC);
    await shows(terminal, 'music>');
    await completes(terminal, 'DROP MATER', 'music> DROP MATERIALIZED');
    terminal.press(keys.tab);
    await shows(terminal, 'music> DROP MATERIALIZED VIEW');
    terminal.press(keys.ctrlC);
    await shows(terminal, 'music>');
    await completes(terminal, 'SELECT FROM zi', 'music> SELECT FROM Zither');
    terminal.press(keys.ctrlC);
    await shows(terminal, 'music>');
    await completes(terminal, "SELECT out('Ins", "music> SELECT out('InspiredBy");
    terminal.press(keys.ctrlC);
    await shows(terminal, 'music>');
    await terminal.enter(':language cypher', 'music:cypher> ');
    await completes(terminal, 'MATCH (a:Insp', 'music:cypher> MATCH (a:InspiredBy');
    terminal.press(keys.ctrlC);
    await shows(terminal, 'music:cypher>');
    await completes(terminal, 'RETURN toInt', 'music:cypher> RETURN toInteger');
    terminal.press(keys.tab);
    await terminal.sees(() => terminal.text.includes('toIntegerOrNull('), 'the list of names');
  }),
);

test('Ctrl-C ends the statement on the server and leaves the console', {skip}, () =>
  onTerminal(['music'], async terminal => {
    await terminal.enter(':language cypher', 'music:cypher> ');
    terminal.press(endless, keys.enter);
    await terminal.sees(() => terminal.text.includes('running for 2 s; Ctrl-C stops it'), 'time');
    terminal.press(keys.ctrlC);
    await shows(terminal, 'music:cypher>');
    assert.match(terminal.text, /\nerror: .*terminated/);
    const client = server.client();
    try {
      assert.deepEqual((await client.serverCommand('list queries'))['result'], []);
    } finally {
      client.close();
    }
    // It clears what is typed, and half a statement too.
    await terminal.enter('MATCH', '           -> ');
    terminal.press('(n', keys.ctrlC);
    await shows(terminal, 'music:cypher>');
    assert.match(terminal.text, /-> \(n\^C\nmusic:cypher>$/);
    assert.match(await terminal.enter('RETURN 1 AS one;', 'music:cypher> '), /^one\n/);
    await leaves(terminal);
  }),
);

test('a second Ctrl-C stops waiting for a server that does not answer', {skip}, () =>
  onTerminal(['music'], async terminal => {
    await terminal.enter(':begin', 'music*> ');
    process.kill(server.pid, 'SIGSTOP');
    try {
      terminal.press("INSERT INTO Artist SET name = 'Eve';", keys.enter);
      await terminal.sees(() => terminal.text.includes('; Ctrl-C stops it'), 'that it runs');
      terminal.press(keys.ctrlC);
      await terminal.sees(() => terminal.text.includes('Ctrl-C again stops waiting'), 'the offer');
      terminal.press(keys.ctrlC);
      await shows(terminal, 'music!>');
      assert.match(terminal.text, /carried out is not known/);
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    await terminal.enter(':rollback', 'music> ');
    await leaves(terminal);
  }),
);

test('what is typed while a statement runs is carried out after it', {skip}, () =>
  onTerminal(['music'], async terminal => {
    terminal.press('SELECT 1 AS one;', keys.enter, 'SELECT 2 AS two;', keys.enter, 'SEL');
    await terminal.sees(
      () => /one[^]*1 row[^]*two[^]*1 row[^]*music> SEL$/.test(terminal.text),
      '',
    );
    terminal.press(keys.ctrlC);
    await shows(terminal, 'music>');
    await leaves(terminal);
  }),
);

test('a password is asked for without showing it', {skip}, async () => {
  const {SVC_PASSWORD: _, ...others} = environment;
  const unset = ['-u', 'SVC_PASSWORD', '-u', 'SVC_PASSWORD_FILE'];
  const words = ['env', ...unset, program, 'console', 'music'];
  const terminal = new PseudoTerminal(words, others);
  try {
    await shows(terminal, 'Password of root:');
    terminal.press(rootPassword, keys.enter);
    await shows(terminal, 'music>');
    assert.match(await terminal.enter('SELECT 1 AS one;', 'music> '), /^one\n/);
    assert.ok(!terminal.text.includes(rootPassword));
    await leaves(terminal);
  } finally {
    terminal.dispose();
  }
});

test('the prompt shows an open transaction, and leaving asks what becomes of it', {skip}, () =>
  onTerminal(['music'], async terminal => {
    const count = 'SELECT count(*) AS n FROM Artist WHERE name = "Cleo";';
    await terminal.enter(':begin', 'music*> ');
    await terminal.enter("INSERT INTO Artist SET name = 'Cleo';", 'music*> ');
    assert.match(await terminal.enter(count, 'music*> '), /\n1\n/);
    await terminal.enter(':rollback', 'music> ');
    assert.match(await terminal.enter(count, 'music> '), /\n0\n/);

    // A failed statement ends it on the server: nothing more is carried out, inside or outside.
    await terminal.enter('BEGIN;', 'music*> ');
    await terminal.enter('SELECT FROM Nowhere;', 'music!> ');
    const refused = await terminal.enter("INSERT INTO Artist SET name = 'Cleo';", 'music!> ');
    assert.match(refused, /^error: .*rolled back after a failed statement/);
    assert.match(await terminal.enter(':commit', 'music!> '), /^error: .*:rollback/);
    await terminal.enter(':rollback', 'music> ');

    await terminal.enter(':begin REPEATABLE_READ', 'music*> ');
    await terminal.enter("INSERT INTO Artist SET name = 'Cleo';", 'music*> ');
    assert.match(await terminal.enter(':use empty', 'music*> '), /^error: a transaction is open/);
    terminal.press(keys.ctrlD);
    await shows(terminal, 'A transaction is open. Commit it, roll it back, or stay? [c/r/s]');
    terminal.press('s', keys.enter);
    await shows(terminal, 'music*>');
    terminal.press(':quit', keys.enter);
    await shows(terminal, 'A transaction is open. Commit it, roll it back, or stay? [c/r/s]');
    terminal.press('c', keys.enter);
    assert.equal(await terminal.ended(), 0);
    assert.deepEqual(await script(['music', '-e', count]), {code: 0, out: '{"n":1}\n', error: ''});
  }),
);

test('an error is marked at its place in the statement', {skip}, () =>
  onTerminal(['music'], async terminal => {
    await terminal.enter('SELECT name', '    -> ');
    assert.equal(
      await terminal.enter('FROM Artists;', 'music> '),
      "error: Type with name 'Artists' was not found (did you mean 'Artist'?)\n" +
        '  FROM Artists\n' +
        '       ^',
    );
    const refused = await terminal.enter("SELECT '山田', foo(1);", 'music> ');
    assert.match(refused, /^error: Unknown function name 'foo'[^]*\n {17}\^$/);
    const mistyped = await terminal.enter(':fromat csv', 'music> ');
    assert.equal(mistyped, "error: there is no command ':fromat': did you mean :format?");
    await leaves(terminal);
  }),
);

test('formats, parameters, limits and the schema', {skip}, () =>
  onTerminal(['music'], async terminal => {
    await terminal.enter(':timing off', 'music> ');
    await terminal.enter(':param least=2000', 'music> ');
    await terminal.enter(':format csv', 'music> ');
    const select = 'SELECT name FROM Artist WHERE founded > :least;';
    assert.equal(await terminal.enter(select, 'music> '), 'name\nBo');
    await terminal.enter(':format json', 'music> ');
    assert.equal(await terminal.enter(select, 'music> '), '[\n  {\n    "name": "Bo"\n  }\n]');
    await terminal.enter(':format table', 'music> ');
    await terminal.enter(':limit 1', 'music> ');
    assert.match(
      await terminal.enter('SELECT name FROM Artist ORDER BY name;', 'music> '),
      /Ada\n1 row, and there are more: :limit N shows N$/,
    );
    assert.match(await terminal.enter(':schema', 'music> '), /\nArtist +vertex +\d+/);
    assert.match(await terminal.enter(':schema Artist', 'music> '), /\nnationality +STRING/);
    assert.match(await terminal.enter(':schema Artst', 'music> '), /did you mean Artist\?$/);
    assert.match(await terminal.enter(':help', 'music> '), /:rollback +forgets/);
    await leaves(terminal);
  }),
);

/** Runs `svc console` without a terminal. */
function script(words: readonly string[], input = ''): Promise<Ran> {
  return runSvc(['console', ...words], environment, input);
}

test('a pipe gives statements and commands, and takes rows alone', async () => {
  const input = `
    SELECT name FROM Artist WHERE name < 'B'; -- the first
    :format csv
    :param n=5
    SELECT :n AS n;
    :language sqlscript
LET a = SELECT 1 AS one;
RETURN $a;
;
    :language cypher
    RETURN 'a;b' AS text`;
  assert.deepEqual(await script(['music'], input), {
    code: 0,
    out: '{"name":"Ada"}\nn\r\n5\r\none\r\n1\r\ntext\r\na;b\r\n',
    error: '',
  });
});

test('the first failure ends a script, says its line and rolls back', async () => {
  const insert = "INSERT INTO Artist SET name = 'Dov';";
  const failed = await script(['music'], `:begin\n${insert}\nSELECT FORM Artist;\n:commit\n`);
  assert.equal(failed.code, 1);
  assert.match(failed.error, /^svc console: line 3: SQL syntax error at line 1, column 13: /);
  assert.match(failed.error, /\n {2}SELECT FORM Artist\n {14}\^\n$/);
  const forgotten = await script(['music', '-e', ':begin', '-e', insert]);
  assert.equal(forgotten.code, 1);
  assert.match(forgotten.error, /ended without :commit: its transaction was rolled back\n$/);
  const count = 'SELECT count(*) AS n FROM Artist WHERE name = "Dov"';
  assert.equal((await script(['music', '-e', count])).out, '{"n":0}\n');
  const kept = await script(['music', '-e', ':begin', '-e', insert, '-e', ':commit', '-e', count]);
  assert.match(kept.out, /\{"n":1\}\n$/);
});

test('what cannot be begun is one sentence and an exit code', async () => {
  const missing = await script(['musik', '-e', 'SELECT 1']);
  assert.deepEqual(missing, {
    code: 1,
    out: '',
    error: "svc console: there is no database 'musik': did you mean music?\n",
  });
  const nameless = await script(['-e', 'SELECT 1']);
  assert.equal(nameless.code, 1);
  assert.match(nameless.error, /no database is chosen: ':use NAME', there are empty, music\n$/);
  const speechless = await script(['music', '--language', 'sqk', '-e', 'SELECT 1']);
  assert.equal(speechless.code, 2);
  assert.match(speechless.error, /no language 'sqk': choose one of sql, sqlscript, cypher/);
});
