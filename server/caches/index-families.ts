/**
 * The server's own families of indexes, whole: the table that a server is started with.
 *
 * How to add one: docs/design/0057-how-to-add-a-command-a-family-a-language.md.
 */
import {FamilyTable} from '#server/catalog/index-families.ts';
import {families} from '#server/indexes/families.ts';
import type {CachedFamilies, CachedFamily} from './index-caches.ts';
import {postingLists} from './posting-list-cache.ts';
import {vectorGraphs} from './vector-graph.ts';

export const indexFamilies: CachedFamilies = new FamilyTable<CachedFamily>([
  families.ordered,
  families.hash,
  {...families.text, cache: postingLists},
  {...families.dense, cache: vectorGraphs},
  {...families.sparse, cache: postingLists},
]);
