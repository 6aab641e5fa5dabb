/**
 * The words and symbols that the grammar knows, and their quick recognition.
 *
 * Words are case-insensitive. None of them is reserved by itself: a word stands as a name wherever
 * the grammar has no other use for it, and in backquotes always. The lexer folds a word into a
 * hash while it scans and asks `keywordOf` only for the words whose hash and length agree, so no
 * string is made for a word that is merely a name.
 */
import {words} from '#server/base/words.ts';

/** Every word that some rule of the grammar asks for, in its printed form. */
export const keywords = [
  ...words('ADD AFTER AGGREGATE ALIASES ALIGN ALTER ANALYTICAL AND APPLY AS ASC ASCENDING'),
  ...words('ASYNCHRONOUS'),
  ...words('BACKUP BATCH BEFORE BEGIN BETWEEN BREAK BREADTH_FIRST BUCKET BUCKETS'),
  ...words('BUCKETSELECTIONSTRATEGY BY'),
  ...words('CASE CHECK COLLATE COMMIT COMPACT COMPACTION COMPACTION_INTERVAL COMPRESS CONSOLE'),
  ...words('CONTAINS CONTAINSALL CONTAINSANY CONTAINSKEY CONTAINSTEXT CONTAINSVALUE CONTENT'),
  ...words('CONTINUE CONTINUOUS COUNT CREATE CUSTOM'),
  ...words('DATABASE DAY DAYS DEEP DEFAULTS DEFINE DEFINED DELETE DEPTH_FIRST DESC DESCENDING'),
  ...words('DISTINCT DOCUMENT DOWNSAMPLING DROP'),
  ...words('EDGE ELSE END ENGINE EVERY EXCEPTION EXECUTE EXISTS EXPLAIN EXPORT EXTENDS'),
  ...words('FAIL FALSE FIELDS FILES FIND FIX FOR FORCE FOREACH FROM FUNCTION'),
  ...words('GLOBAL GRANULARITY GRAPH GROUP'),
  ...words('HAVING HOUR HOURS'),
  ...words('IF ILIKE IMPORT IN INCREMENT INCREMENTAL INDEX INSERT INSTANCEOF INTO IS ISOLATION'),
  ...words('ITEM'),
  ...words('KEY'),
  ...words('LANGUAGE LET LIGHTWEIGHT LIKE LIMIT LOCK'),
  ...words('MANUAL MATCH MATCHES MATERIALIZED MAXDEPTH MERGE METADATA MICROSECOND MILLISECOND'),
  ...words('MINUTE MINUTES MODE MOVE'),
  ...words('NAME NANOSECOND NEAR NOT NULL NULL_STRATEGY'),
  ...words('OF OFF OFFSET ON OR ORDER ORPHANS'),
  ...words('PAGESIZE PARALLEL PARAMETERS POLICY POLYMORPHIC PRECISION PROFILE PROPERTIES'),
  ...words('PROPERTY PUT'),
  ...words('READ REBUILD RECLAIM RECORD REFERENCES REFRESH REMOVE RESTORE RETENTION RETRY'),
  ...words('RETURN RID ROLLBACK'),
  ...words('SECOND SECONDS SELECT SET SHARDS SKIP SLEEP STRATEGY SUPERTYPE SYNCHRONOUS'),
  ...words('TAGS THEN THRESHOLD TIMEOUT TIMESERIES TIMESTAMP TO TRAVERSE TRIGGER TRUE TRUNCATE'),
  ...words('TYPE TYPES'),
  ...words('UNIDIRECTIONAL UNIQUE UNREFERENCED UNSAFE UNWIND UPDATE UPSERT'),
  ...words('VALUE VALUES VERTEX VIEW'),
  ...words('WAIT WHEN WHERE WHILE WITH WITHIN'),
];

export type Keyword = (typeof keywords)[number];

/** Longest first within a first character, as the lexer tries them. */
export const symbols = [
  ...words('( ) [ ] { } , ; . .. ... : ? ?? = == ! != < <= <=> <> << > >= >> >>>'),
  ...words('+ += - -= * *= / /= % & | || ^ ~'),
];

export type SymbolText = (typeof symbols)[number];

/** What the parser may ask a token to be: a word in upper case or a symbol. */
export type Lexeme = Keyword | SymbolText;

/** Start of the hash that `foldHash` continues. */
export const hashStart = 17;

/** One step of the case-insensitive hash of a word. */
export function foldHash(hash: number, charCode: number): number {
  return (Math.imul(hash, 31) + (charCode | 32)) | 0;
}

const byHash: ReadonlyMap<number, Keyword> = new Map(
  keywords.map(word => {
    let hash = hashStart;
    for (let i = 0; i < word.length; i++) hash = foldHash(hash, word.charCodeAt(i));
    return [hash, word];
  }),
);

/** Keywords whose hashes coincide would hide each other; a test asserts that none do. */
export const keywordHashCount = byHash.size;

/** The keyword spelt at [start, end) of `text`, whose hash is `hash`; undefined for a mere name. */
export function keywordOf(
  text: string,
  start: number,
  end: number,
  hash: number,
): Keyword | undefined {
  const word = byHash.get(hash);
  if (word === undefined || word.length !== end - start) return undefined;
  for (let i = 0; i < word.length; i++) {
    if ((text.charCodeAt(start + i) | 32) !== (word.charCodeAt(i) | 32)) return undefined;
  }
  return word;
}
