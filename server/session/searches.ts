/**
 * The searches that every protocol offers alike: vectors, full text, and both fused.
 *
 * Arguments come as a map, by the names that all protocols use, and the answer is the text of one
 * JSON object. What is looked for is asked by statements, so that rights, sessions, time and memory
 * are those of any read; names and values reach them as parameters. Arguments that mean nothing are
 * refused before a statement runs, with the same words whoever asks.
 */
import {Refusal} from '#server/base/errors.ts';
import type {MapValue} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import {searchHybrid} from './search/hybrid-search.ts';
import {
  hybridArguments,
  refuseArgument,
  textArguments,
  vectorArguments,
} from './search/search-arguments.ts';
import {quotedName, type SearchCall, searchRows} from './search/search-rows.ts';
import {similarityOf, textIndex} from './search/search-targets.ts';
import {searchVectors} from './search/vector-search.ts';
import type {RequestContext, Service} from './session.ts';

export type SearchKind = 'search' | 'hybrid' | 'fulltext';

export interface SearchRequest extends RequestContext {
  readonly kind: SearchKind;
  readonly database: string;
  readonly given: MapValue;
  /** The transaction that it runs in; undefined: one of its own. */
  readonly transactionId?: string | undefined;
}

const readers = {
  fulltext: textArguments,
  search: vectorArguments,
  hybrid: hybridArguments,
} as const;

/** Checks what can be said of the arguments without a database. @throws {Refusal} `argument`. */
export function readSearchArguments(kind: SearchKind, given: MapValue): void {
  readers[kind](given);
}

/** @throws {Refusal} `argument` and what statements are refused with. */
export async function runSearch(
  service: Service,
  principal: Principal,
  {kind, database, given, transactionId, ...context}: SearchRequest,
): Promise<string> {
  const call: SearchCall = {service, principal, database, given, transactionId, context};
  try {
    return await searches[kind](call);
  } catch (error) {
    if (!(error instanceof Refusal) || !writing.has(error.code)) throw error;
    // Nothing else of a search is written by whoever asks.
    return refuseArgument("'filter' contains write operations: a condition only reads");
  }
}

/** Refusals of statements that write where only reads are, and within other statements. */
const writing: ReadonlySet<string> = new Set(['query.not-idempotent', 'not-available']);

const searches: Readonly<Record<SearchKind, (call: SearchCall) => Promise<string>>> = {
  fulltext: searchText,
  search: searchVectors,
  hybrid: searchHybrid,
};

async function searchText(call: SearchCall): Promise<string> {
  const asked = textArguments(call.given);
  const shown = call.service.schemaOf(call.principal, call.database);
  const {catalog} = shown;
  const index = textIndex(shown, asked);
  const type = catalog.requireType(asked.typeName ?? catalog.typeById(index.typeId)?.name ?? '');
  const {rows, count} = await searchRows(
    call,
    `SELECT @rid AS rid, $score AS score, @this AS properties FROM \`${type.name}\` ` +
      `WHERE SEARCH_INDEX(${quotedName(index.name)}, :query) = true ` +
      'ORDER BY $score DESC LIMIT :limit',
    [
      ['query', asked.queryText],
      ['limit', asked.limit],
    ],
  );
  const head = {indexName: index.name, similarity: similarityOf(index), count};
  return `${JSON.stringify(head).slice(0, -1)},"results":[${rows}]}`;
}
