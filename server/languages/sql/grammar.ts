/**
 * The forms of all statements, as the manual prints them; a test reads every sentence that they
 * make, and finds every word of the grammar in them.
 *
 * Words in capitals and symbols stand for themselves, other words for what `parts` explains.
 * `[ ]` may be left out, `( | )` is a choice, `, ...` more of the same behind commas; a bracket or
 * brace that is written stands in quotes.
 */

/** Statements by the task that they serve. */
export const statementForms: Readonly<Record<string, readonly string[]>> = {
  Reading: [
    `SELECT [DISTINCT] [projection, ...] [FROM target] [LET $name = expression, ...]
     [WHERE condition] [GROUP BY expression, ...] [HAVING condition]
     [ORDER BY expression [( ASC | ASCENDING | DESC | DESCENDING )], ...]
     [UNWIND expression [AS name], ...] [( SKIP | OFFSET ) number] [LIMIT number]
     [TIMEOUT number [( EXCEPTION | RETURN )]] [PARALLEL]`,
    `MATCH pattern, ... RETURN [DISTINCT] projection, ... [GROUP BY expression, ...]
     [ORDER BY expression, ...] [UNWIND expression] [SKIP number] [LIMIT number]`,
    `TRAVERSE [expression, ...] FROM target [MAXDEPTH number] [WHILE condition] [LIMIT number]
     [STRATEGY ( DEPTH_FIRST | BREADTH_FIRST )] [TIMEOUT number]`,
    'FIND REFERENCES rid',
    '( EXPLAIN | PROFILE ) statement',
  ],
  Writing: [
    `INSERT INTO name [BUCKET name] ( '(' name, ... ')' VALUES '(' expression, ... ')' |
     SET assignment, ... | CONTENT map | query ) [RETURN expression] [UNSAFE]`,
    `UPDATE target ( SET assignment, ... | ADD assignment | PUT name = text, number |
     REMOVE name, ... | INCREMENT name = number | MERGE map | CONTENT map ) [UPSERT]
     [APPLY DEFAULTS] [RETURN ( BEFORE | AFTER | COUNT )] [WHERE condition] [LIMIT number]
     [BATCH number] [TIMEOUT number]`,
    `DELETE [VERTEX] FROM target [RETURN BEFORE] [WHERE condition] [LIMIT number] [BATCH number]
     [UNSAFE]`,
    'CREATE VERTEX name [BUCKET name] ( SET assignment, ... | CONTENT map )',
    `CREATE EDGE name [BUCKET name] FROM rid TO rid [IF NOT EXISTS] [SET assignment, ...]
     [UNIDIRECTIONAL] [RETRY number] [WAIT number]`,
    `MOVE VERTEX rid TO ( TYPE:name | BUCKET:name ) [( SET assignment, ... | MERGE map )]
     [BATCH number]`,
    'TRUNCATE ( TYPE name [POLYMORPHIC] [UNSAFE] | BUCKET name [UNSAFE] | RECORD rid )',
  ],
  Schema: [
    `CREATE ( DOCUMENT | VERTEX | EDGE ) TYPE name [IF NOT EXISTS] [EXTENDS name, ...]
     [( BUCKET name, ... | BUCKETS number )] [PAGESIZE number] [CUSTOM name = expression, ...]`,
    'CREATE EDGE TYPE name [UNIDIRECTIONAL] [LIGHTWEIGHT]',
    `ALTER TYPE name ( NAME name | SUPERTYPE + name | SUPERTYPE - name | BUCKET + name |
     BUCKETSELECTIONSTRATEGY text | CUSTOM name = expression | ALIASES name, ... )`,
    `CREATE PROPERTY name.name [IF NOT EXISTS] datatype [OF name]
     ['(' MANDATORY true, NOTNULL true, MIN number, MAX number, REGEXP text ')']`,
    `ALTER PROPERTY name.name ( NAME name | TYPE datatype | CUSTOM name = expression |
     MANDATORY true | DEFAULT text )`,
    `CREATE INDEX [name] [IF NOT EXISTS] ON [TYPE] name
     '(' name [BY ( KEY | VALUE | ITEM )] [COLLATE CI], ... ')' ( UNIQUE | NOTUNIQUE )
     [NULL_STRATEGY ( SKIP | ERROR | INDEX )] [METADATA map] [ENGINE name]`,
    'CREATE BUCKET name',
    'ALTER BUCKET name ( NAME name | CUSTOM name = expression )',
    `DROP ( TYPE name [IF EXISTS] [UNSAFE] | PROPERTY name.name [IF EXISTS] [FORCE] |
     INDEX name [IF EXISTS] | BUCKET name | TRIGGER name | MATERIALIZED VIEW name |
     CONTINUOUS AGGREGATE name | TIMESERIES TYPE name | GRAPH ANALYTICAL VIEW name )`,
    'REBUILD INDEX ( name | * ) [WITH name = expression]',
    'REBUILD TYPE name [POLYMORPHIC]',
    'COMPACT INDEX ( name | * )',
  ],
  'Triggers, views and functions': [
    `CREATE TRIGGER [IF NOT EXISTS] name ( BEFORE | AFTER ) ( CREATE | READ | UPDATE | DELETE )
     ON [TYPE] name EXECUTE SQL text`,
    `CREATE MATERIALIZED VIEW [IF NOT EXISTS] name AS query
     [REFRESH ( MANUAL | INCREMENTAL | EVERY number ( SECOND | MINUTE | HOUR ) )]
     [BUCKETS number]`,
    'REFRESH MATERIALIZED VIEW name',
    'CREATE CONTINUOUS AGGREGATE [IF NOT EXISTS] name AS query',
    `CREATE TIMESERIES TYPE name [IF NOT EXISTS]
     [TIMESTAMP name [PRECISION ( NANOSECOND | MICROSECOND | MILLISECOND | SECOND )]]
     [TAGS '(' name datatype, ... ')'] [FIELDS '(' name datatype, ... ')'] [SHARDS number]
     [RETENTION number ( DAYS | HOURS | MINUTES )] [COMPACTION_INTERVAL number HOURS]`,
    `ALTER TIMESERIES TYPE name ( ADD DOWNSAMPLING POLICY AFTER number DAYS GRANULARITY
     number HOURS | DROP DOWNSAMPLING POLICY )`,
    `CREATE GRAPH ANALYTICAL VIEW name [IF NOT EXISTS] [VERTEX TYPES '(' name, ... ')']
     [EDGE TYPES '(' name, ... ')'] [PROPERTIES '(' name, ... ')']
     [EDGE PROPERTIES '(' name, ... ')'] [UPDATE MODE ( OFF | SYNCHRONOUS | ASYNCHRONOUS )]
     [COMPACTION THRESHOLD number]`,
    "DEFINE FUNCTION name.name text [PARAMETERS '[' name, ... ']'] [LANGUAGE name]",
    'DELETE FUNCTION name.name',
  ],
  Database: [
    'ALTER DATABASE `svc.command.timeout` expression',
    'ALIGN DATABASE',
    `CHECK DATABASE [TYPE name, ...] [BUCKET name, ...] [RECORD rid, ...] [FIX]
     [DELETE ORPHANS] [RECLAIM UNREFERENCED FILES] [DEEP] [COMPRESS]`,
    '( IMPORT | EXPORT | BACKUP ) DATABASE [text] [WITH name = expression, ...]',
    `RESTORE ( DOCUMENT | VERTEX | EDGE ) name RID rid [FROM rid TO rid]
     [( SET assignment, ... | CONTENT map )]`,
    'LOCK ( TYPE | BUCKET ) name, ...',
  ],
  Scripts: [
    'BEGIN [ISOLATION ( READ_COMMITTED | REPEATABLE_READ )]',
    `COMMIT [RETRY number [ELSE '{' statement; '}' [AND] ( FAIL | CONTINUE )]]`,
    'ROLLBACK',
    'LET $name = ( expression | query )',
    "IF '(' condition ')' '{' statement; '}' [ELSE '{' statement; '}']",
    "FOREACH '(' $name IN expression ')' '{' statement; '}'",
    "WHILE '(' condition ')' '{' statement; BREAK; '}'",
    'RETURN [expression]',
    'SET GLOBAL $name = expression',
    'SLEEP number',
    'CONSOLE.( log | error ) expression',
  ],
};

/** What the words in small letters stand for. */
export const parts: Readonly<Record<string, string>> = {
  expression: 'a value: literal, property, parameter, call, calculation, query in parentheses',
  condition: 'an expression that is true or not',
  projection: 'an expression `[AS name]`, `*`, or `!name` for all but a property',
  target:
    'a type, a record id, a list of ids, `bucket:name`, `index:name`, `schema:types`, ' +
    'a parameter, or a query in parentheses',
  pattern: 'nodes and edges: `{type: T, as: a, where: (x > 1)}-E->{as: b}`',
  assignment: '`name = expression`, `+=`, `-=`, `*=`, `/=`',
  rid: 'a record id `#1:2`, a parameter, or a query in parentheses',
  query: 'a SELECT, MATCH or TRAVERSE',
  statement: 'any statement',
  map: '`{"name": expression, ...}` or a parameter',
  datatype: 'a type of properties, such as `STRING`',
  name: 'a word, or anything in backquotes',
  text: 'a text in quotes',
  number: 'a whole number or a parameter',
};
