/**
 * The pages of the manual that are made from tables of the code: settings, errors, functions, forms
 * of statements, what a check finds.
 *
 * Pure: tables in, Markdown out. `make docs` writes the pages, documents.test.ts compares them with
 * what stands in docs/, so that a page cannot fall behind its table.
 */
import type {Argument} from '#server/administration/arguments.ts';
import type {AdministrativeCommand} from '#server/administration/command.ts';
import {administrativeCommands} from '#server/administration/commands.ts';
import {syntaxOf} from '#server/administration/spelling.ts';
import {refusals, type Retry} from '#server/base/errors.ts';
import {resolveSettings, type SettingReport} from '#server/base/setting-values.ts';
import type {SettingRow} from '#server/base/setting-row.ts';
import {type SettingKey, settingKeys, settingRows} from '#server/base/settings.ts';
import {settingsWithoutMeaning} from '#server/base/settings-without-meaning.ts';
import {type FindingKind, findingKinds, isWarning, remedyOf} from '#server/integrity/finding.ts';
import {parts, statementForms} from '#server/languages/sql/grammar.ts';
import {families, type Family} from '#server/monitoring/families.ts';
import {functionRows} from '#server/plan/function-table.ts';
import type {FunctionSignature} from '#server/plan/functions.ts';
import {callText} from '#server/plan/signature.ts';
import agents from '../conformance/mcp-baseline.json' with {type: 'json'};
import recorded from '../conformance/http-baseline.json' with {type: 'json'};
import {type Tolerance, tolerances} from '../conformance/suite.ts';
import {type StatusRow, statusOf} from '#server/protocols/http/message/status.ts';
import {contentsOf, linkTo} from './contents.ts';
import {familiesWithoutMeaning} from './families-elsewhere.ts';
import {httpReference} from './http-reference.ts';
import {type SettingArea, settingAreas} from './setting-areas.ts';

/** The generated pages by their path; `code` is every source but the table of settings itself. */
export function manualPages(code: string): ReadonlyMap<string, string> {
  return new Map([
    ['docs/settings.md', settingsPage(code)],
    ['docs/errors.md', errorsPage()],
    ['docs/functions.md', functionsPage()],
    ['docs/metrics.md', metricsPage()],
    ['docs/sql-grammar.md', grammarPage()],
    ['docs/check.md', checkPage()],
    ['docs/administration.md', administrationPage()],
    ['docs/differences.md', differencesPage()],
    ['docs/http-reference.md', httpReferencePage()],
  ]);
}

const generated = '<!-- Made by `make docs` from the tables of the code; edit those. -->';

function httpReferencePage(): string {
  return page('HTTP reference', [
    'Every route, as the OpenAPI document of a server describes it (`GET /api/v1/openapi.json`). ' +
      '[HTTP](http.md) tells with examples how they are used together, [errors](errors.md) what ' +
      'each status and class means.',
    ...httpReference(),
  ]);
}

/** What nearly every server has to be told, or is asked about first. */
const firstSettings = [
  'svc.server.name',
  'svc.server.rootPath',
  'svc.server.rootPasswordPath',
  'svc.server.mode',
  'svc.server.httpIncomingPort',
  'svc.ssl.enabled',
  'svc.storage.blockCacheSize',
  'svc.queryMemoryTotalMax',
  'svc.command.timeout',
  'svc.ha.serverList',
] as const satisfies readonly SettingKey[];

function settingsPage(code: string): string {
  const {settings} = resolveSettings([]);
  const reports = new Map(settings.report().map(report => [report.key, report]));
  const rowsOf = ({rows}: SettingArea): readonly (readonly string[])[] =>
    settingKeys.flatMap(key => {
      const report = key in rows ? reports.get(key) : undefined;
      if (report === undefined) return [];
      const isRead = code.includes(`'${key}'`);
      const says = isRead ? report.description : `${report.description} *Has no effect yet.*`;
      return [
        [
          `\`${key}\``,
          typeOf(settingRows[key]),
          defaultOf(report),
          report.scope,
          report.dynamic ? 'no' : 'yes',
          says,
        ],
      ];
    });
  const heads = ['setting', 'type', 'default', 'scope', 'needs a restart', 'what it does'];
  return page('Settings', [
    'Every setting there is. Where a value comes from, the first of these that names it wins:',
    list([
      '`svc start --set key=value`',
      'the environment variable in upper case with underscores (`SVC_SERVER_ROOTPATH`)',
      'the environment variable named exactly as the key',
      '`-Dkey=value` in `SVC_OPTS`, `SVC_SETTINGS` or `JAVA_OPTS`',
      '`config/changed-settings.json`: what was set while the server ran; not with `--config`',
      '`config/server-configuration.json` under the root path, or the file of `svc start --config`',
      'the default',
    ]),
    'An unknown key, a wrong type or a value out of range stops the start and says what is ' +
      'allowed. Sizes may be written as `64MB` (binary multiples), durations as `500ms`, `30s`, ' +
      '`5m`, `1h`; a bare number counts in bytes, or in the unit of the column. `svc settings ' +
      '--all` prints this page with the values in force. A setting of scope database may be set ' +
      'for one database by the server command `set database setting`; elsewhere the value of ' +
      'the server counts.',
    `Most servers need no more than these: ${firstSettings.map(key => `\`${key}\``).join(', ')}.`,
    table(
      ['area', 'settings', 'what it is about'],
      [
        ...settingAreas.map(area => [linkTo(area.title), String(rowsOf(area).length), area.says]),
        [linkTo(withoutMeaning), '', 'Names of other systems that are passed over.'],
      ],
    ),
    ...settingAreas.flatMap(area => [`## ${area.title}`, area.says, table(heads, rowsOf(area))]),
    `## ${withoutMeaning}`,
    'Names of other systems that have no meaning here are passed over; the log warns of each ' +
      'once, as `setting.without-meaning`. A command that sets one is refused:',
    list(passedOver()),
  ]);
}

const withoutMeaning = 'Without meaning';

/** Names with one and the same reason stand together. */
function passedOver(): readonly string[] {
  const byReason = Map.groupBy(Object.entries(settingsWithoutMeaning), ([, reason]) => reason);
  return Array.from(
    byReason,
    ([reason, rows]) => `${rows.map(([key]) => `\`${key}\``).join(', ')}: ${reason}`,
  );
}

function typeOf(row: SettingRow): string {
  switch (row.type) {
    case 'enum':
      return row.values.map(value => `\`${value}\``).join(', ');
    case 'duration':
      return `duration in ${row.unit}`;
    case 'integer':
      return row.range.join(' to ');
    case 'ports':
      return 'port or range';
    default:
      return row.type;
  }
}

function defaultOf({default: value}: SettingReport): string {
  return value === '' ? 'none' : `\`${String(value)}\``;
}

function metricsPage(): string {
  const all = Object.entries<Family>(families);
  const rows = all.map(([name, {kind, labels, unit, help, when}]) => [
    `\`${name}\``,
    kind,
    labels.map(label => `\`${label}\``).join(', '),
    unit === '1' ? '' : unit,
    when === undefined ? help : `${help} *${when[0]?.toUpperCase()}${when.slice(1)}.*`,
  ]);
  return page('Metrics', [
    'Every metric family of `GET /prometheus`, and of the metrics that are pushed. What to watch ' +
      'of them and how to scrape them: [monitoring](monitoring.md). A histogram `x` is told as ' +
      '`x_bucket`, `x_sum`, `x_count`. Names and labels stay as they are once they are released.',
    table(['family', 'kind', 'labels', 'unit', 'what it is'], rows),
    '## Names of other systems',
    'Svc keeps its data in RocksDB and a log, without pages of its own. Families of other ' +
      'systems that speak of such things do not exist here; look at these instead:',
    table(['family', 'look at'], familiesElsewhere()),
  ]);
}

/** Names with one and the same answer stand together. */
function familiesElsewhere(): readonly (readonly string[])[] {
  const byAnswer = Map.groupBy(Object.entries(familiesWithoutMeaning), ([, answer]) => answer);
  return Array.from(byAnswer, ([answer, rows]) => [
    rows.map(([name]) => `\`${name}\``).join(', '),
    answer.replaceAll(/svc_\w+/g, '`$&`'),
  ]);
}

const retries: Readonly<Record<Retry, string>> = {
  never: 'no',
  retryable: 'yes',
  'only-if-idempotent': 'only what may happen twice',
};

function errorsPage(): string {
  const rows = Object.entries(refusals).map(([code, {category, retry, exception, says}]) => {
    const {status, retryAfter}: StatusRow = statusOf[code as keyof typeof statusOf];
    const wait = retryAfter === undefined ? '' : `, after ${retryAfter} s`;
    const again = retries[retry] + wait;
    return [`\`${code}\``, category, String(status), `\`${exception}\``, again, says];
  });
  return page('Errors', [
    'Every reason to decline a request. Over HTTP the body of an error is `{"error": label, ' +
      '"requestId": id, "exception": class, "exceptionArgs": data, "detail": sentence}`; branch ' +
      'on the status and on `exception`, never on a sentence. Codes are never renamed and never ' +
      'reused.',
    '**Again** says whether the same request may be sent again. *yes*: nothing happened, try ' +
      'again. *only what may happen twice*: the outcome is not known, so read first, or send ' +
      'again with the same `X-Request-Id`. *no*: it would be refused again. Where a ' +
      'time stands beside it, the answer names it as `Retry-After`.',
    table(['code', 'kind', 'HTTP status', 'exception', 'again', 'when'], rows),
    'What is in no row is a defect of the server: it answers 500 with `InternalException` and is ' +
      'logged. Damaged stored bytes answer 503 with `DatabaseNotAvailableException`.',
  ]);
}

/** What a baseline of the recorded exchanges says of differences. */
interface RecordedDifferences {
  readonly differing: Readonly<Partial<Record<Tolerance, Readonly<Record<string, string>>>>>;
  readonly tolerated: Readonly<Partial<Record<Tolerance, number>>>;
}

function differencesPage(): string {
  return page('Differences', [
    'Answers are compared with recorded ones of the system whose drivers this one serves: `make ' +
      'conformance SUITE=http` and `SUITE=mcp` send the same requests in the same order, compare ' +
      'status, headers, members and classes of exceptions, and print how many are equal. Those ' +
      'that are not stand here by class. The first classes are proven by the comparison: ' +
      'everything else of such an answer is compared and equal. Those that are called different ' +
      'have a reason instead. A difference that does not stand here fails the run, and so does ' +
      'an entry that is none any more.',
    '## HTTP',
    ...differenceTables(recorded),
    'These are of parts that are not there, or of another product, and are passed over:',
    table(['exchange', 'why'], exchangeRows(recorded.skipped)),
    'What no exchange records: `disconnect cluster` takes the server out of its cluster, as ' +
      '`POST /cluster/leave` does. There it stops consensus on that server alone, which stays a ' +
      'member that the others count, and comes back with its next start; here it stays out until ' +
      '`connect cluster` adds it, so that those who stay need one vote less. A database of ' +
      '`svc.server.defaultDatabases` with `{restore:..}` is restored where it is missing; there ' +
      'each start throws away what was written since.',
    '## Agents (MCP)',
    'What differs for a client tells [the page of the tool server](mcp.md#what-differs-elsewhere).',
    ...differenceTables(agents),
  ]);
}

function differenceTables({differing, tolerated}: RecordedDifferences): readonly string[] {
  return (Object.keys(tolerances) as Tolerance[]).flatMap(kind => {
    const named = differing[kind];
    const title = `**${tolerances[kind][0]?.toUpperCase()}${tolerances[kind].slice(1)}**`;
    if (named !== undefined) {
      const rows = exchangeRows(named);
      return [`${title} (${rows.length}):`, table(['exchange', 'what or why'], rows)];
    }
    const count = tolerated[kind];
    return count === undefined ? [] : [`${title}: ${count}, each proven by its shape.`];
  });
}

function exchangeRows(reasons: Readonly<Record<string, string>>): readonly string[][] {
  return Object.entries(reasons).map(([name, reason]) => [`\`${name}\``, reason]);
}

const members: Readonly<Record<AdministrativeCommand['at'], string>> = {
  leader: 'the leader',
  fresh: 'any, up to date',
  asked: 'the one asked',
};

function administrationPage(): string {
  const commands: readonly AdministrativeCommand[] = Object.values(administrativeCommands);
  const summary = commands.map(row => [
    `\`${syntaxOf(row)}\``,
    row.right === 'root' ? 'root' : 'any user',
    members[row.at],
    row.says,
  ]);
  const details = commands.flatMap(row => [
    `### ${syntaxOf(row).split(/ ?[<[{]/, 1)[0]}`,
    `\`\`\`text\n${syntaxOf(row)}\n\`\`\``,
    `${row.says} Answers ${row.answer}.`,
    ...argumentLines(row),
    ...refusalLines(row),
  ]);
  return page('Administration', [
    'Everything that an administrator can ask a server for is one table of commands. Every ' +
      'protocol takes them from it, so that rights, the member of a cluster that carries a ' +
      'command out, and refusals are the same everywhere. A statement changes data and schema ' +
      'instead ([SQL](sql.md)).',
    'Over HTTP a command is one line of words, sent by `POST /api/v1/server` as `{"command": ' +
      '"create database music"}`, the keywords in any case. An argument may stand in the words, ' +
      'or by its name beside `command`: a name with blanks, a key, or a password belongs there. ' +
      'The answer is `{"result": ..}`, or `{"result": "ok"}` where there is nothing to say. ' +
      'Long work tells how far it is when the request has `Accept: text/event-stream`. Routes ' +
      'such as `/server/users` stand for commands as well ([HTTP](http.md)).',
    'What a command changed stands in the log as `administration.done`, with who asked for it ' +
      'and its arguments, but for secrets.',
    table(['command', 'who', 'carried out by', 'what it does'], summary),
    '## Each command',
    ...details,
  ]);
}

function argumentLines(row: AdministrativeCommand): readonly string[] {
  const lines = Object.entries(row.arguments).map(([name, argument]) => {
    const {kind, isOptional, says}: Argument = argument;
    const need = isOptional ? 'may be left out' : 'required';
    return `\`${name}\` (${kind}, ${need}): ${says}`;
  });
  return lines.length === 0 ? [] : [list(lines)];
}

function refusalLines({right, refusals: codes}: AdministrativeCommand): readonly string[] {
  const all = [...(right === 'root' ? ['security.root-only'] : []), ...codes];
  if (all.length === 0) return [];
  return [`Declined with ${all.map(code => `\`${code}\``).join(', ')} ([errors](errors.md)).`];
}

const remedies: Readonly<Record<ReturnType<typeof remedyOf>, string>> = {
  fix: '`FIX`',
  orphan: '`FIX DELETE ORPHANS`',
  reclaim: '`FIX RECLAIM UNREFERENCED FILES`',
  restore: 'a restore',
  user: 'you',
};

function checkPage(): string {
  const rows = Object.entries(findingKinds).map(([name, {says}]) => {
    const kind = name as FindingKind;
    return [`\`${kind}\``, isWarning(kind) ? 'warning' : 'error', says, remedies[remedyOf(kind)]];
  });
  return page('Checking a database', [
    '`CHECK DATABASE`, or `svc database check NAME`, looks whether everything in a ' +
      'database agrees with everything else: every record can be read, is of a type of the ' +
      'schema and lies in a bucket of it; both ends of every edge know it; every entry of ' +
      'every index has its record and every record its entries; counters count what is ' +
      'there; links lead somewhere; and nothing lies in the store that has no meaning. It ' +
      'sees one committed state, gives way to other statements while it runs, can be ' +
      'terminated, and changes nothing. `GET /api/v1/progress/NAME` tells how far it is. Beside ' +
      '`updateSchema` it needs `readRecord` on the types that it looks at (all, unless some are ' +
      'named), since it tells how many records they have, and with `FIX` `updateRecord`.',
    '```text\nCHECK DATABASE [TYPE name, ..] [BUCKET name, ..] [RECORD #b:p, ..] [FIX] ' +
      '[DELETE ORPHANS] [RECLAIM UNREFERENCED FILES] [DEEP] [COMPRESS]\n```',
    'With `TYPE` or `BUCKET` it looks at the records of those buckets and what belongs to' +
      ' them, with `RECORD` at single records; counters are held against the whole only. ' +
      '`DEEP` asks for what every check does.',
    'The answer is one row in the words of the reference system: `totalErrors`, ' +
      '`totalWarnings`, `autoFix` (how many were mended), lists such as `corruptedRecords` ' +
      'and `corruptedIndexes`, and `findings`: for each finding its kind, its place, a ' +
      'sentence, and under `repair` what was done (`done`) or can be done. Lists show the ' +
      "first 1,000. Members of the reference's row that count pages, chunks and the like " +
      'are left out: there are none here.',
    '`FIX` writes what follows from other bytes, in ordinary transactions that look again' +
      ' before they write, while others go on reading and writing; changes of the schema ' +
      'wait. `FIX DELETE ORPHANS` also removes what nothing refers to. Nothing is ever made' +
      ' up: what only a restore can bring back stays as it is and is found again.',
    '`COMPRESS` then has the store of the server that carries it out (in a cluster the ' +
      'leader) rewritten, whole or what belongs to the buckets that are named, so that the ' +
      'room of deleted and changed rows comes back at once; by itself it does so little by ' +
      'little. That takes its own thread, others read and write meanwhile, and it needs as ' +
      'much free space as the database has files. The row tells `bytesBefore` and ' +
      '`bytesAfter` of the whole database. One database at a time is compressed.',
    table(['kind', '', 'what it is', 'who puts it right'], rows),
    '`svc database check NAME` prints the findings and ends with 1 while an error is ' +
      'left; `--fix` and `--delete-orphans` stand for the words above, `--json` prints the ' +
      'row. To check a copy, copy the root directory of a server that is stopped, and start' +
      ' one on the copy: `svc start --set svc.server.rootPath=COPY --set ' +
      'svc.server.httpIncomingPort=2490`, then `svc database check NAME --url ' +
      'http://127.0.0.1:2490 --fix`.',
  ]);
}

/** What the examples of the functions are asked of. */
export const peopleOfExamples: readonly string[] = [
  'CREATE VERTEX TYPE Person',
  'CREATE EDGE TYPE Knows',
  "CREATE VERTEX Person SET name = 'Ada', age = 36, w = 2, tags = ['maths', 'verse']",
  "CREATE VERTEX Person SET name = 'Bob', age = 41, w = 4, tags = ['verse']",
  "CREATE VERTEX Person SET name = 'Cy', age = 17, w = 6",
  'CREATE DOCUMENT TYPE Note',
  'CREATE PROPERTY Note.text STRING',
  'CREATE PROPERTY Note.topics LIST',
  'CREATE PROPERTY Note.weights LIST',
  'CREATE INDEX ON Note (text) FULL_TEXT',
  'CREATE INDEX ON Note (topics, weights) LSM_SPARSE_VECTOR',
  'CREATE PROPERTY Note.place ARRAY_OF_FLOATS',
  'CREATE INDEX ON Note (place) LSM_VECTOR METADATA {"dimensions": 2}',
  "INSERT INTO Note SET text = 'Verse and prose', topics = [1, 5], weights = [2, 1], " +
    'place = [1, 0]',
  "INSERT INTO Note SET text = 'Numbers in verse', topics = [5], weights = [3], place = [0.5, 1]",
  ...[
    ['Ada', 'Bob', 'since = 2001, w = 3'],
    ['Bob', 'Cy', 'since = 2010, w = 4'],
  ].map(
    ([from, to, properties]) =>
      `CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = '${from}') ` +
      `TO (SELECT FROM Person WHERE name = '${to}') SET ${properties}`,
  ),
];

/** The statement that an example of a row is run as, and its answer: rows with commas. */
export function exampleStatement(
  kind: FunctionSignature['kind'],
  [expression, answer]: readonly [string, string],
): readonly [statement: string, answer: string] {
  if (expression.startsWith('SELECT ')) return [expression, answer];
  const where = kind === 'aggregate' ? '' : " WHERE name = 'Ada'";
  return [`SELECT ${expression} AS v FROM Person${where}`, `{"v":${answer}}`];
}

const kinds: readonly (readonly [FunctionSignature['kind'], string, string])[] = [
  ['function', 'Functions', 'Called by name.'],
  [
    'method',
    'Methods',
    'Called on a value with a dot: `name.toUpperCase()`. Those that walk the graph, as ' +
      "`out('Knows')`, may stand without a receiver and then start at the current record.",
  ],
  [
    'aggregate',
    'Aggregates',
    'Over the rows of a group, or of the whole result without `GROUP BY`. Those with `std.` ' +
      'are the aggregates of Cypher, which calls them `sum`, `collect`, ....',
  ],
  ['construct', 'Constructs', 'Written as calls; parts of the grammar.'],
  ['table', 'Sources of rows', 'Named behind `FROM`, or called as procedures by Cypher.'],
];

function functionsPage(): string {
  const named = functionRows.filter(({kind}) => kind !== 'operator');
  const sections = kinds.flatMap(([kind, title, says]) => {
    const rows = named
      .filter(row => row.kind === kind && row.later === undefined)
      .sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1))
      .map(row => [`\`${callText(row)}\``, aliasesOf(row), row.says, ...exampleOf(row)]);
    const heads = ['call', 'also', 'answers', 'example', 'its answer'];
    return [`## ${title}`, says, table(kind === 'table' ? heads.slice(0, 3) : heads, rows)];
  });
  const reserved = named
    .filter(({later}) => later !== undefined)
    .map(row => [[row.name, ...(row.aliases ?? [])].map(code).join(', '), row.later ?? '']);
  return page('Functions and methods', [
    'Names ignore case. An argument with `?` may be left out, `...` stands for any number of ' +
      'them. A null argument (or receiver) answers null unless the description says otherwise. ' +
      'A wrong number of arguments or an unknown name is refused with its place.',
    "The examples are asked of Ada, `SELECT ... FROM Person WHERE name = 'Ada'`, those of " +
      'aggregates of all three people here:',
    `\`\`\`sql\n${peopleOfExamples.join(';\n')}\n\`\`\``,
    ...sections,
    '## Not yet',
    'These names are known and refused with `not-available` until what they need is there.',
    table(['name', 'waits for'], reserved),
  ]);
}

function grammarPage(): string {
  const sections = Object.entries(statementForms).flatMap(([task, forms]) => [
    `## ${task}`,
    `\`\`\`text\n${forms.map(form => form.replace(/\n +/g, '\n    ')).join('\n\n')}\n\`\`\``,
  ]);
  const rows = Object.entries(parts).map(([part, says]) => [part, says]);
  return page('The forms of SQL', [
    'All statements that are read, sqlscript included; [SQL](sql.md) shows those that run, with ' +
      'their answers, and says which are not there yet. Words in capitals and symbols stand for ' +
      'themselves (keywords ignore case). `[ ]` may be left out, `( | )` is a choice, `, ...` is ' +
      'more of the same behind commas; a bracket or brace that is written stands in quotes.',
    ...sections,
    '## Parts',
    table(['part', 'is'], rows),
  ]);
}

function aliasesOf({aliases = []}: FunctionSignature): string {
  return aliases.map(code).join(', ');
}

/** Cells for the example and its answer; sources of rows have none. */
function exampleOf({kind, example = ['', '']}: FunctionSignature): readonly string[] {
  return kind === 'table' ? [] : example.map(code);
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

function page(title: string, parts: readonly string[]): string {
  const [first = '', ...more] = parts;
  const contents = contentsOf(parts.join('\n\n'));
  const begun = [`# ${title}`, generated, first, ...(contents === undefined ? [] : [contents])];
  return `${[...begun, ...more].join('\n\n')}\n`;
}

function list(items: readonly string[]): string {
  return items.map((item, index) => `${index + 1}. ${item}`).join('\n');
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}
