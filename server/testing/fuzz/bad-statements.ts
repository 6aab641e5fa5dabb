/**
 * Statements that are wrong, too deep or too much: what each must answer. Bombs are bounded by the
 * parser, by functions, or by the budget of a statement; nothing here may take long.
 */

/** A statement, what must come back, and its parameters. */
export interface BadStatement {
  readonly command: string;
  readonly status: number;
  readonly says: RegExp;
  readonly params?: unknown;
}

type Row = readonly [command: string, status: number, says: RegExp, params?: unknown];

/** The schema that they are written for. */
export const schema: readonly string[] = [
  'CREATE DOCUMENT TYPE D',
  'CREATE PROPERTY D.i INTEGER',
  'CREATE PROPERTY D.s STRING',
  'CREATE PROPERTY D.d DATETIME',
  'CREATE PROPERTY D.b BOOLEAN',
  'CREATE PROPERTY D.l LONG',
  'CREATE VERTEX TYPE V',
  'CREATE PROPERTY V.k LONG',
  'CREATE INDEX ON V (k) UNIQUE',
  'CREATE EDGE TYPE E',
  'CREATE VERTEX V SET k = 1',
  'CREATE DOCUMENT TYPE Many',
];

const rows: readonly Row[] = [
  ["INSERT INTO D SET i = 'abc'", 400, /IllegalArgument.*D\.i/],
  ['INSERT INTO D SET i = 99999999999', 400, /IllegalArgument.*D\.i/],
  ["INSERT INTO D SET d = 'nodate'", 400, /IllegalArgument.*D\.d/],
  ["INSERT INTO D SET b = 'maybe'", 400, /IllegalArgument.*D\.b/],
  ['INSERT INTO D SET l = 1e30', 400, /IllegalArgument.*D\.l/],
  ['INSERT INTO D SET i = [1]', 400, /a list does not fit/],
  ['INSERT INTO D SET s = {a:1}', 400, /a map does not fit/],
  ['INSERT INTO Nope SET a = 1', 404, /SchemaException.*Nope/],
  ['SELECT FROM Nope', 404, /SchemaException.*Nope/],
  ['CREATE VERTEX V SET k = 1', 409, /DuplicatedKeyException.*V\[k\]\|\[1\]\|#/],
  ['CREATE EDGE E FROM #9:9 TO #9:8', 404, /RecordNotFound.*#9:9/],
  ['CREATE EDGE E FROM (SELECT FROM V) TO #99999:0', 404, /RecordNotFound/],
  ['CREATE DOCUMENT TYPE `../x`', 400, /cannot be the name/],
  ['CREATE DOCUMENT TYPE `a\u0000b`', 400, /cannot be the name/],
  [`CREATE DOCUMENT TYPE \`${'x'.repeat(300)}\``, 400, /cannot be the name/],
  ['CREATE BUCKET `../../x`', 400, /cannot be the name/],
  ['CREATE PROPERTY D.q NOPE', 400, /data type 'NOPE'/],
  ['CREATE INDEX ON D (nope) UNIQUE', 404, /D\.nope/],
  ['DROP TYPE Nope', 404, /Nope/],
  ['CREATE VERTEX D', 400, /no vertex type/],
  ['INSERT INTO E SET a = 1', 400, /FROM and TO/],
  ['INSERT INTO D (a, b) VALUES (1)', 400, /./],
  ['SELECT nope(1)', 400, /Unknown function name 'nope'/],
  ['SELECT 1 FROM D WHERE', 400, /line 1, column 22/],
  ['SELECT\n1 +\n\u0000', 400, /line 3, column 1: the character U\+0000/],
  ['SELECT 1/0', 400, /ArithmeticError/],
  ['SELECT 9223372036854775807 + 1', 400, /ArithmeticError/],
  ['DELETE FROM #1', 400, /line 1, column 13/],
  ["SELECT :a.replace('a', :a)", 400, /characters/, {a: 'a'.repeat(100_000)}],
  ["SELECT format('%1000000000d', 1)", 400, /width/],
  [`SELECT sysdate('${'y'.repeat(1_000)}')`, 400, /pattern/],
  ['INSERT INTO D SET s = :s', 400, /svc\.recordSizeMax/, {s: 'x'.repeat(17_000_000)}],
  [`SELECT ${'('.repeat(1_000_000)}`, 400, /deeper than 500 levels/],
  [`SELECT ${'('.repeat(1_000_000)}1${')'.repeat(1_000_000)}`, 400, /deeper than 500 levels/],
  [`SELECT ${'['.repeat(1_000_000)}`, 400, /deeper than 500 levels/],
  [`SELECT ${'-'.repeat(1_000_001)}1`, 400, /./],
  [`SELECT ${'NOT '.repeat(1_000_000)}true`, 400, /deeper than 500 levels/],
  [`SELECT 1${'+1'.repeat(1_000_000)}`, 400, /deeper than 500 levels/],
  [`SELECT a${'.a'.repeat(1_000_000)}`, 400, /deeper than 500 levels/],
  [`SELECT FROM (${'SELECT FROM ('.repeat(200_000)}`, 400, /deeper than 500 levels/],
  [`SELECT '${'x'.repeat(5_000_000)}'`, 400, /at most 4194304/],
];

const bombs: readonly Row[] = [
  ["SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' MATCHES '(a+)+$' AS m", 200, /"m":false/],
  ['SELECT :a MATCHES :b AS m', 200, /"m":false/, {a: 'a'.repeat(300_000), b: '(a*)*b'}],
  ['SELECT :a MATCHES :b AS m', 200, /"m":false/, {a: 'a'.repeat(30_000), b: '(a?){1000}b'}],
  ["SELECT 'x' MATCHES '((((x{1000}){1000}){1000}){1000})' AS m", 200, /"m":false/],
  [
    'SELECT :a LIKE :b AS m',
    200,
    /"m":false/,
    {a: 'a'.repeat(100_000), b: `${'%a'.repeat(1_000)}b`},
  ],
  ['SELECT ?', 200, /"returned":1/, Array.from({length: 1_000_000}, (_, at) => at)],
  ['SELECT ?', 413, /more than 2000000 values/, Array.from({length: 2_000_000}, () => 0)],
];

function statementOf([command, status, says, params]: Row): BadStatement {
  return {command, status, says, ...(params === undefined ? {} : {params})};
}

/** Each refused, and nothing stored. */
export const badStatements: readonly BadStatement[] = rows.map(statementOf);

/** Each answered within the bound, and others hardly kept waiting. */
export const bombStatements: readonly BadStatement[] = bombs.map(statementOf);

/** A batch, its query string, and what must come back. */
export interface BadBatch {
  readonly body: string | Uint8Array;
  readonly query: string;
  readonly type: string;
  readonly status: number;
  readonly says: RegExp;
}

const vertex = '{"@type":"vertex","@class":"V"';
const edge = '{"@type":"edge","@class":"E"';
const json = 'application/x-ndjson';

/** None of them stores anything. */
export const badBatches: readonly BadBatch[] = (
  [
    ['{"@type":"vertex"', '', json, 400, /line 1.*byte 17/],
    ['{"@type":"vertex","@id":"a"}\n', '', json, 400, /@class at line 1/],
    ['{"@type":"vertex","@class":"Nope"}\n', '', json, 400, /Nope.*line 1/],
    [`${edge},"@from":"x","@to":"y"}\n`, '', json, 400, /Unknown temporary ID 'x' at line 1/],
    [`${edge},"@from":"#1:1","@to":"#2:2"}\n`, '', json, 400, /line 1/],
    [`${vertex},"k":"abc"}\n`, '', json, 400, /V\.k.*line 1/],
    [`${vertex},"x":${'['.repeat(1_000_000)}}\n`, '', json, 400, /64 levels/],
    [`${vertex},"k":1}\n`, '', json, 409, /DuplicatedKey/],
    ['[]\n', '', json, 400, /line 1/],
    ['1\n', '', json, 400, /line 1/],
    [Buffer.from(`${vertex},"s":"\xff"}\n`, 'latin1'), '', json, 400, /line 1.*not UTF-8/],
    ['x'.repeat(40_000_000), '', json, 400, /line/],
    [`${vertex},${manyProperties(100_000)}}\n`, '', json, 400, /65535 properties/],
    ['', '?batchSize=x', json, 400, /batchSize/],
    ['', '?commitEvery=-1', json, 400, /commitEvery/],
    ['', '?idMapping=maybe', json, 400, /idMapping/],
    ['', '?expectedRecords=5', json, 408, /Expected 5/],
    ['1,2,3\n', '', 'text/csv', 400, /line 1/],
    ['@type,@class,s\nvertex,V,"x', '', 'text/csv', 400, /line 2.*quote/],
    ['@type,@class,s\nvertex,V,1,2\n', '', 'text/csv', 400, /line 2.*4 cells/],
    [`@type,@class,${'a,'.repeat(300_000)}b\n`, '', 'text/csv', 400, /line 1/],
  ] as const
).map(([body, query, type, status, says]) => ({body, query, type, status, says}));

function manyProperties(count: number): string {
  return Array.from({length: count}, (_, at) => `"p${at}":1`).join(',');
}
