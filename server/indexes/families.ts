/** The server's own families of indexes: their declarations with what their entries are. */
import {declared, FamilyTable} from '#server/catalog/index-families.ts';
import {denseEntries} from './dense-entries.ts';
import type {IndexFamilies, IndexFamily} from './index-family.ts';
import {keyedEntries} from './index-parts.ts';
import {sparseEntries} from './sparse-entries.ts';
import {textEntries} from './text-entries.ts';

export const families = {
  ordered: {...declared.ordered, entriesOf: keyedEntries},
  hash: {...declared.hash, entriesOf: keyedEntries},
  text: {...declared.text, entriesOf: textEntries},
  dense: {...declared.dense, entriesOf: denseEntries},
  sparse: {...declared.sparse, entriesOf: sparseEntries},
} as const satisfies Record<string, IndexFamily>;

export const indexFamilies: IndexFamilies = new FamilyTable<IndexFamily>(Object.values(families));
