/** How a full-text query that cannot be read is refused. */
import {Refusal} from '#server/base/errors.ts';

const shownUnitsMax = 200;

/** @throws {Refusal} `search.syntax`. */
export function refuseQuery(query: string, why: string): never {
  const shown = query.length > shownUnitsMax ? `${query.slice(0, shownUnitsMax)}...` : query;
  throw new Refusal('search.syntax', `Invalid search query: ${shown} -> ${why}`, {
    detail: {query: shown},
  });
}
