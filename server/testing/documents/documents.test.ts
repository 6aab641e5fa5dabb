/**
 * Holds the documents against the code: generated pages are current, links lead somewhere, the
 * invariants, folders and dependencies of ARCHITECTURE.md and the routes of the manual are those
 * of the sources, and every statement of docs/sql.md runs and answers what the page says.
 *
 * What needs a server and a shell is in the slow tests beside it.
 */
import assert from 'node:assert/strict';
import {existsSync, globSync, readdirSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {SettingRow} from '#server/base/setting-row.ts';
import {isSettingKey, type SettingKey, settingRows} from '#server/base/settings.ts';
import {settingsWithoutMeaning} from '#server/base/settings-without-meaning.ts';
import {dataTypes} from '#server/model/data-type.ts';
import {functionRows} from '#server/plan/function-table.ts';
import {routeTable} from '#server/protocols/http/server.ts';
import {alertIds} from '#server/cluster/alerts.ts';
import {families} from '#server/monitoring/families.ts';
import type {ResultCursor} from '#server/session/session.ts';
import {type Block, blocksOf, examplesOf, printsAs} from './blocks.ts';
import {contentsOf} from './contents.ts';
import {familiesWithoutMeaning} from './families-elsewhere.ts';
import {exampleStatement, manualPages, peopleOfExamples} from './manual.ts';
import {readerCode} from './reader-code.ts';
import {readFolderTable} from '../conventions/folder-table.ts';
import {wordViolations} from '../conventions/plain-words.ts';
import {sourceFiles} from '../conventions/tree.ts';
import {root as principal, ServiceWorld, type TestDatabase} from '../worlds/service-world.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const documents = globSync(['*.md', 'docs/**/*.md', 'examples/*/*.md'], {cwd: root}).sort();
const architecture = read('ARCHITECTURE.md');

for (const [path, text] of manualPages(readerCode(root))) {
  test(`${path} says what the code says: make docs`, () => {
    assert.equal(existsSync(join(root, path)) ? read(path) : '', text);
  });
}

test('links within the repository lead to files', () => {
  const broken = documents.flatMap(path =>
    [...read(path).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
      .map(([, target = '']) => target)
      .filter(target => !/^[a-z]+:/.test(target))
      .filter(target => !existsSync(join(root, dirname(path), target)))
      .map(target => `${path}: ${target}`),
  );
  assert.deepEqual(broken, []);
});

test('pages have no words that were replaced', () => {
  const found = documents.flatMap(path =>
    wordViolations(read(path)).map(({line, message}) => `${path}:${line}: ${message}`),
  );
  assert.deepEqual(found, []);
});

test('long pages name their sections before the first one', () => {
  for (const path of documents.filter(document => /^docs\/(?!design)/.test(document))) {
    const text = read(path);
    const contents = contentsOf(text) ?? '';
    assert.ok(text.slice(0, text.indexOf('\n## ')).includes(contents), `${path}: ${contents}`);
  }
});

test('every page of the manual is linked from README.md', () => {
  const readme = read('README.md');
  const pages = documents.filter(path => /^docs\/[^/]+\.md$/.test(path));
  assert.deepEqual(
    pages.filter(path => !readme.includes(`](${path})`)),
    [],
  );
});

test('files that the documents name exist', () => {
  const missing = documents.flatMap(path =>
    [...read(path).matchAll(/`((?:server|bench|examples|images|e2e|bin|docs)\/[\w./-]+\.\w+)`/g)]
      .map(([, file = '']) => file)
      .filter(file => !existsSync(join(root, file)))
      .map(file => `${path}: ${file}`),
  );
  assert.deepEqual(missing, []);
});

test('files of server/ that ARCHITECTURE.md names without their folder exist', () => {
  const paths = [...architecture.matchAll(/`((?:[a-z][\w-]*\/)+[\w.-]+\.ts)`/g)].map(
    ([, path]) => path ?? '',
  );
  const missing = paths.filter(
    path => !['', 'server', 'operator'].some(folder => existsSync(join(root, folder, path))),
  );
  assert.ok(paths.length > 50);
  assert.deepEqual(missing, []);
});

/** What the first file of each row of "Where is it" has to hold. */
const whereItIs: readonly (readonly [string, string])[] = [
  ['the fsync of a commit', 'this.#sync()'],
  ['the vote of a member, on its disk', 'class VoteFile'],
  ['the cache of plans', 'class StatementCache'],
  ['the rule that picks an index', 'chooseIndex: Rule'],
  ['the limit on open connections', 'maxConnections'],
  ['the alert of a stalled replica', "'stalled-behind-leader'"],
];

test('what a reader looks for is in the file that ARCHITECTURE.md names', () => {
  const rows = [...architecture.matchAll(/^\| (the [^|]+) \| `(server\/[^`]+)`/gm)];
  assert.deepEqual(
    rows.map(([, question]) => question),
    whereItIs.map(([question]) => question),
  );
  for (const [at, [, held]] of whereItIs.entries()) {
    const path = rows[at]?.[2] ?? '';
    assert.ok(read(path).includes(held), `${path} has ${held}`);
  }
});

test('design notes that the sources name exist, and every note is named', () => {
  const named = new Set(
    [architecture, ...sourceFiles(root).map(({text}) => text)].flatMap(
      text => text.match(/docs\/design\/\d{4}[a-z-]*\.md/g) ?? [],
    ),
  );
  const notes = globSync('docs/design/[0-9]*.md', {cwd: root});
  assert.deepEqual([...named].sort(), notes.sort());
  const numbers = notes.map(path => path.slice('docs/design/'.length).slice(0, 4));
  assert.equal(new Set(numbers).size, notes.length, 'a number stands for one note');
});

test('a design note begins with its date and what it decides, and so does its index', () => {
  const rows = globSync('docs/design/[0-9]*.md', {cwd: root})
    .sort()
    .map(path => {
      const head = /^# (\d+)\. .+\n\n\*Decided \d{4}-\d{2}-\d{2}: (.+)\.\*\n/.exec(read(path));
      const [, number = '', decided = ''] = head ?? assert.fail(`${path}: no date or decision`);
      const sentence = `${decided.slice(0, 1).toUpperCase()}${decided.slice(1)}`;
      return `| [${number}](${path.slice('docs/design/'.length)}) | ${sentence} |`;
    });
  const listed = read('docs/design/README.md').match(/^\| \[\d.*?\|.*?\|/gm);
  assert.deepEqual(listed, rows);
});

test('documents that the sources name exist', () => {
  const sources = globSync(['{server,operator,bench,e2e}/**/*.{ts,cc,h}'], {cwd: root});
  const missing = sources.flatMap(path =>
    (read(path).match(/\bdocs\/[\w./-]+\.md\b/g) ?? [])
      .filter(document => !existsSync(join(root, document)))
      .map(document => `${path}: ${document}`),
  );
  assert.deepEqual(missing, []);
});

test('docs/sql.md names every data type', () => {
  const page = read('docs/sql.md');
  assert.deepEqual(
    dataTypes.filter(type => !page.includes(`\`${type}\``)),
    [],
  );
});

test('commands of make that the documents name exist', () => {
  const targets = new Set(
    [...read('Makefile').matchAll(/^([a-z0-9 -]+):/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    ),
  );
  const named = documents.flatMap(path =>
    [...read(path).matchAll(/(?:`|^)make ([a-z0-9-]+)/gm)].map(([, target = '']) => target),
  );
  assert.deepEqual(
    named.filter(target => !targets.has(target)),
    [],
  );
});

test('the invariants of ARCHITECTURE.md are those that the sources state, each once', () => {
  const stated = sourceFiles(root)
    .filter(({path}) => !path.endsWith('.test.ts'))
    .flatMap(({path, text}) =>
      [...text.matchAll(/\bInvariant ([A-Z]\d+):/g)].map(([, name = '']) => `${name} ${path}`),
    );
  const rows = [...architecture.matchAll(/^\| ([A-Z]\d+) \| .* \| `([^`]+)` \| `([^`]+)`.*\|$/gm)];
  const listed = rows.map(([, name = '', path = '']) => `${name} ${path}`);
  assert.deepEqual(listed.sort(), stated.sort());
  assert.equal(new Set(rows.map(([, name]) => name)).size, rows.length);
  const isHeld = (name: string, holder: string): boolean =>
    holder.endsWith('.test.ts') &&
    existsSync(join(root, holder)) &&
    new RegExp(`\\b${name}\\b`).test(read(holder));
  assert.deepEqual(
    rows.filter(([, name = '', , holder = '']) => !isHeld(name, holder)).map(([row]) => row),
    [],
    'each is held by a test that names it',
  );
});

test('every promise of docs/durability.md names a test that is there', () => {
  const page = read('docs/durability.md');
  const named = [...page.matchAll(/`(server\/[\w./-]+\.test\.ts)`: \*([^*]+)\*/g)];
  const missing = named.filter(([, path = '', name = '']) => {
    const text = existsSync(join(root, path)) ? read(path) : '';
    return !text.includes(name);
  });
  assert.deepEqual(
    missing.map(([, path, name]) => `${path}: ${name}`),
    [],
  );
  const rows = page
    .split('\n')
    .filter(line => line.startsWith('| ') && !/^\| (statement|bytes) /.test(line));
  assert.ok(rows.length > 15);
  assert.deepEqual(
    rows.filter(row => !/\.test\.ts`: \*/.test(row)),
    [],
    'rows without a test',
  );
});

test('the folders of server/ and operator/ are those of the table', () => {
  const foldersIn = (top: string): string[] =>
    readdirSync(join(root, top), {withFileTypes: true})
      .filter(entry => entry.isDirectory())
      .map(({name}) => name);
  const present = [
    ...foldersIn('server'),
    ...foldersIn('operator').map(name => `operator/${name}`),
  ];
  const listed = [...readFolderTable(architecture).keys()].filter(
    name => !['bench', 'examples', 'operator', 'images', 'e2e'].includes(name),
  );
  assert.deepEqual(present.sort(), listed.sort());
});

test('the limits of README.md are the defaults of their settings', () => {
  const shown = (key: SettingKey): string => {
    const row: SettingRow = settingRows[key];
    if (row.type === 'size') return `${row.default / 1024 / 1024} MB`;
    if (row.type === 'duration') return `${row.default / 1000} s`;
    return Number(row.default).toLocaleString('en');
  };
  const rows = [...read('README.md').matchAll(/^\| [^|]+ \| ([^|]+) \| `(svc\.[\w.]+)` \|$/gm)];
  assert.ok(rows.length > 10);
  for (const [, limit, key = ''] of rows) {
    assert.ok(isSettingKey(key), key);
    assert.equal(limit, shown(key), key);
  }
});

test('settings that the documents name exist', () => {
  const unknown = documents.flatMap(path =>
    // `svc.io` is the group of the resources of Kubernetes.
    [...read(path).matchAll(/\bsvc\.(?!io\b)[a-z]\w*(?:\.\w+)*/g)]
      .map(([key]) => key)
      .filter(
        key => !isSettingKey(key) && !(key in settingsWithoutMeaning) && !key.endsWith('.key'),
      )
      .map(key => `${path}: ${key}`),
  );
  assert.deepEqual(unknown, []);
});

test('families that have no meaning here are none of ours, and what they point at is', () => {
  for (const [name, answer] of Object.entries(familiesWithoutMeaning)) {
    assert.ok(!(name in families), name);
    for (const [family] of answer.matchAll(/\bsvc_\w+/g)) {
      assert.ok(family.replace(/_count$/, '') in families, `${name} points at ${family}`);
    }
  }
});

test('the alerts of docs/cluster.md are those of the server', () => {
  const page = read('docs/cluster.md');
  const told = page.slice(page.indexOf('## Alerts')).matchAll(/^\| `([a-z-]+)` \|/gm);
  assert.deepEqual(
    Array.from(told, ([, id]) => id),
    [...alertIds],
  );
});

test('every dependency has its sentence', () => {
  const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
  const names = ['dependencies', 'optionalDependencies', 'devDependencies']
    .flatMap(group => Object.keys(manifest[group] ?? {}))
    .filter(name => !name.startsWith('@types/'));
  const section = architecture.slice(architecture.indexOf('## What we depend on'));
  assert.deepEqual(
    names.filter(name => !section.includes(`\`${name}\``)),
    [],
  );
});

test('the routes of the manual are the routes of the server', () => {
  const routes = routeTable(() => Promise.reject(new Error('not asked')))
    .flatMap(({path, operations}) => Object.keys(operations).map(method => `${method} ${path}`))
    .sort();
  const rows = read('docs/http.md').matchAll(/^\| `([A-Z]+) ([^`]+)` \|/gm);
  const documented = [...rows].map(([, method = '', path = '']) => `${method} ${path}`).sort();
  assert.deepEqual(documented, routes);
});

for (const path of ['docs/sql.md', 'docs/cypher.md', 'docs/search.md']) {
  test(`every statement of ${path} runs and answers what the page says`, async t => {
    // How long a call of JavaScript takes is not what the pages are about.
    const world = await ServiceWorld.open({'svc.javascript.networkCallTimeout': '60000'});
    const database = await world.database([]);
    try {
      for (const {block, output} of examplesOf(read(path), 'sql', 'sqlscript', 'cypher')) {
        const answer = await answerOf(database, block);
        await t.test(`${path}:${block.line}`, () => {
          assert.ok(
            printsAs(output ?? '...', answer),
            `${block.text}\nis said to answer\n${output}\nbut answers\n${answer}`,
          );
        });
      }
    } finally {
      await world.close();
    }
  });
}

test('every function does what its example says', async t => {
  const world = await ServiceWorld.open();
  try {
    const database = await world.database(peopleOfExamples);
    for (const {kind, name, example, later} of functionRows) {
      if (example === undefined) {
        const isCalled = !['operator', 'table'].includes(kind) && later === undefined;
        assert.ok(!isCalled || (kind === 'aggregate' && name.startsWith('std.')), name);
        continue;
      }
      const [text, expected] = exampleStatement(kind, example);
      await t.test(name, async () => {
        const cursor = await database.service.run(principal, database.request(text));
        assert.equal(await rowsOf(cursor), expected, text);
      });
    }
  } finally {
    await world.close();
  }
});

/** What the section "Not yet" of docs/sql.md says, and a statement that shows it; its language. */
const notYet: readonly (readonly [string, string, string?])[] = [
  ['`ALTER DATABASE`', 'ALTER DATABASE `svc.command.timeout` 60000'],
  ['`CHECK DATABASE`', 'CHECK DATABASE'],
  ['`CHECK DATABASE COMPRESS`', 'CHECK DATABASE COMPRESS'],
  ['`ALIGN DATABASE`', 'ALIGN DATABASE'],
  ['`IMPORT DATABASE`', 'IMPORT DATABASE file://x'],
  ['`EXPORT DATABASE`', 'EXPORT DATABASE'],
  ['`BACKUP DATABASE`', 'BACKUP DATABASE'],
  ['`MOVE VERTEX`', 'MOVE VERTEX (SELECT FROM City) TO TYPE:Town'],
  ['`MOVE VERTEX ... TO BUCKET`', 'MOVE VERTEX (SELECT FROM City) TO BUCKET:Town_0'],
  ['`TRUNCATE RECORD`', 'TRUNCATE RECORD #1:2'],
  ['`FIND REFERENCES`', 'FIND REFERENCES #1:2'],
  ['`RESTORE`', 'RESTORE EDGE K RID #1:2 FROM #1:3 TO #1:4'],
  ['`REBUILD TYPE ... WITH repartition = true`', 'REBUILD TYPE City WITH repartition = true'],
  ['`ALTER TYPE ... WITH`', 'ALTER TYPE City ALIASES town WITH repartition = true'],
  ['`external`', 'CREATE PROPERTY City.text STRING (external true)'],
  ['`compression`', "CREATE PROPERTY City.text STRING (compression 'auto')"],
  ['`COMPACT INDEX`', 'COMPACT INDEX *'],
  ['`TRAVERSE *`', 'TRAVERSE * FROM City'],
  ['`LOCK`', 'LOCK TYPE City'],
  ['`SET GLOBAL`', 'SET GLOBAL $v = 5', 'sqlscript'],
  ['`DEFINE FUNCTION`', 'DEFINE FUNCTION lib.one "SELECT 1" LANGUAGE sql'],
  ['triggers', "CREATE TRIGGER t BEFORE CREATE ON TYPE City EXECUTE SQL 'SELECT 1'"],
  ['materialized views', 'CREATE MATERIALIZED VIEW v AS SELECT FROM City'],
  ['time series types', 'CREATE TIMESERIES TYPE C TIMESTAMP ts'],
  ['`NEAR`', 'SELECT FROM City WHERE name NEAR 1'],
  ['`WITHIN`', 'SELECT FROM City WHERE name WITHIN 1'],
  ['dense vector', 'CREATE INDEX ON City (name) LSM_VECTOR'],
  ['geospatial', 'CREATE INDEX ON City (name) GEOSPATIAL'],
];

test('docs/sql.md says what is not there yet, and nothing else', async t => {
  const page = read('docs/sql.md');
  const section = page.slice(page.indexOf('## Not yet'), page.indexOf('## Differences'));
  const world = await ServiceWorld.open();
  try {
    const schema = ['CREATE VERTEX TYPE City', 'CREATE PROPERTY City.name STRING'];
    const database = await world.database([...schema, 'CREATE VERTEX TYPE Town']);
    for (const [name, text, language = 'sql'] of notYet) {
      const answer = await answerOf(database, {language, text, line: 0});
      await t.test(name, () => {
        assert.equal(section.includes(name), answer.startsWith('not-available: '), answer);
      });
    }
  } finally {
    await world.close();
  }
});

/** The rows of the last statement as lines, or its plan, or the code and sentence of a refusal. */
async function answerOf(database: TestDatabase, {language, text}: Block): Promise<string> {
  const statements = language === 'sqlscript' ? [text] : text.split(/;\s*$/m);
  let answer = '';
  try {
    for (const statement of statements.filter(one => one.trim() !== '')) {
      const request = {...database.request(statement.trim()), language};
      const cursor = await database.service.run(principal, request);
      const rows = await rowsOf(cursor);
      answer = cursor.summary.explain ?? linesOf(rows);
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return `${error.code}: ${error.message}`;
  }
  return answer;
}

/** All rows, with commas between them. */
async function rowsOf(cursor: ResultCursor): Promise<string> {
  let rows = '';
  for (let piece = await cursor.next(); piece; piece = await cursor.next()) {
    rows += piece.toString('utf8');
  }
  cursor.close();
  return rows;
}

/** Rows with commas between them, as a row a line. */
function linesOf(rows: string): string {
  const parsed = JSON.parse(`[${rows}]`) as readonly unknown[];
  return parsed.map(row => JSON.stringify(row)).join('\n');
}

test('blocks are read with their output, and dots stand for anything', () => {
  const markdown = '```sh\nls\n```\ntext\n```text\na\n```\n\n```sh\npwd\n```\n';
  assert.deepEqual(
    examplesOf(markdown, 'sh').map(({block, output}) => [block.text, block.line, output]),
    [
      ['ls', 2, 'a'],
      ['pwd', 10, undefined],
    ],
  );
  assert.equal(blocksOf(markdown).length, 3);
  assert.ok(printsAs('a ... c', 'a b c\n'));
  assert.ok(printsAs('a\n...\nd', 'a\nb\nc\nd'));
  assert.ok(printsAs('a\n...\nd', 'a\nd'));
  assert.ok(!printsAs('a\nd', 'a\nb\nd'));
  assert.ok(!printsAs('a.c', 'abc'));
});
