/**
 * The words and symbols that the grammar knows.
 *
 * Words are case-insensitive, and none of them is reserved by itself: a word stands as a name
 * wherever the grammar has no other use for it, and in backquotes always. A rule of the parser can
 * ask for no other word, since the compiler holds every question against this table.
 */
import {words} from '#server/base/words.ts';

/** Every word that some rule of the grammar asks for, in its printed form. */
export const keywords = [
  ...words('ACYCLIC ALL ALLSHORTESTPATHS ALTER AND ANY AS ASC ASCENDING ASSERT'),
  ...words('BREAK BY'),
  ...words('CALL CASE CHANGE CLOSE COLLECT COMMIT CONSTRAINT CONSTRAINTS CONTAINS CONTINUE'),
  ...words('COUNT CREATE CSV CURRENT'),
  ...words('DEFINE DELETE DESC DESCENDING DETACH DIFFERENT DISTINCT DROP'),
  ...words('EACH ELEMENT ELEMENTS ELSE END ENDS ERROR EXISTS EXPLAIN'),
  ...words('FAIL FALSE FIELDTERMINATOR FILTER FINISH FOR FOREACH FROM FULLTEXT FUNCTION'),
  ...words('GROUP GROUPS'),
  ...words('HEADERS'),
  ...words('IF IN INDEX INDEXES INSERT IS'),
  ...words('KEY'),
  ...words('LET LIMIT LOAD LOCAL LOOKUP'),
  ...words('MATCH MERGE'),
  ...words('NEXT NODE NODETACH NONE NOT NULL'),
  ...words('OF OFFSET ON OPTIONAL OPTIONS OR ORDER'),
  ...words('PASSWORD PATH PATHS PLAINTEXT POINT PROFILE'),
  ...words('RANGE REDUCE RELATIONSHIP RELATIONSHIPS REMOVE REPEATABLE REPLACE REPORT REQUIRE'),
  ...words('REQUIRED RESET RETRY RETURN ROLLBACK ROW ROWS'),
  ...words('SEC SECOND SECONDS SESSION SET SHORTEST SHORTESTPATH SHOW SINGLE SKIP START STARTS'),
  ...words('STATUS'),
  ...words('TEXT THEN TO TRAIL TRANSACTION TRANSACTIONS TRUE TYPED'),
  ...words('UNION UNIQUE UNWIND USE USER USERS'),
  ...words('VECTOR'),
  ...words('WALK WHEN WHERE WITH'),
  ...words('XOR'),
  ...words('YIELD'),
  ...words('ZONED'),
];

export type Keyword = (typeof keywords)[number];

/** Symbols that are one token although their characters are symbols too. */
const joinedSymbols = ['<=', '>=', '<>', '=~', '||', '+=', '..'] as const;

const loneSymbols = words('( ) [ ] { } , ; : . = < > + - * / % ^ | & ! $');

type SymbolText = (typeof joinedSymbols)[number] | (typeof loneSymbols)[number];

/** What the parser may ask a token to be: a word in upper case or a symbol. */
export type Lexeme = Keyword | SymbolText;

const byText: ReadonlyMap<string, Lexeme> = new Map(
  [...keywords, ...joinedSymbols, ...loneSymbols].map(lexeme => [lexeme, lexeme]),
);

/** The keyword that a bare word spells in any case, or the symbol; undefined for a mere name. */
export function lexemeOf(text: string): Lexeme | undefined {
  return byText.get(text) ?? byText.get(text.toUpperCase());
}
