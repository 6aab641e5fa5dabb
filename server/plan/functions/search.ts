/**
 * Signatures of searches in full-text and sparse vector indexes (docs/search.md).
 * That `fulltext.searchIndex` takes an index of any family that is searched is an addition of Svc.
 *
 * SQL gives the predicates the current record by itself.
 */
import type {FunctionSignature} from '../functions.ts';
import {scalarRow, type SignatureOptions} from '../signature.ts';

const search: SignatureOptions = {needs: 'graph', nulls: 'handled', cost: 1_000};

export const searchFunctions: readonly FunctionSignature[] = [
  scalarRow(
    'fulltext.searchIndex(index, query, record?)',
    'Whether a record matches a query of a full-text index; SQL asks the current record.',
    [
      "SELECT text FROM Note WHERE fulltext.searchIndex('Note[text]', '+verse -numbers') = true",
      '{"text":"Verse and prose"}',
    ],
    {...search, aliases: ['SEARCH_INDEX']},
  ),
  scalarRow(
    'fulltext.searchFields(fields, query, record?)',
    "As `fulltext.searchIndex`, of the full-text index on these properties of the record's type.",
    [
      "SELECT text FROM Note WHERE fulltext.searchFields(['text'], 'numb*') = true",
      '{"text":"Numbers in verse"}',
    ],
    {...search, aliases: ['SEARCH_FIELDS']},
  ),
  scalarRow(
    'fulltext.searchIndexMore(index, records, options?, record?)',
    'Whether a record is like others, by the words that say most about them: more like this.',
    [
      "SELECT text FROM Note WHERE fulltext.searchIndexMore('Note[text]', " +
        "(SELECT FROM Note WHERE text LIKE 'V%'), {minTermFreq: 1, minDocFreq: 1}) = true",
      '{"text":"Numbers in verse"}',
    ],
    {...search, aliases: ['SEARCH_INDEX_MORE']},
  ),
  scalarRow(
    'fulltext.searchFieldsMore(fields, records, options?, record?)',
    "As `fulltext.searchIndexMore`, of these properties of the record's type.",
    [
      "SELECT $similarity AS s FROM Note WHERE fulltext.searchFieldsMore(['text'], " +
        "(SELECT FROM Note WHERE text LIKE 'V%'), {minTermFreq: 1, minDocFreq: 1}) = true",
      '{"s":1.0}',
    ],
    {...search, aliases: ['SEARCH_FIELDS_MORE']},
  ),
  scalarRow(
    'fulltext.similarity(record)',
    'How like those compared with a record is, `$similarity`: its score as a share of the best.',
    [
      "SELECT fulltext.similarity(@this) AS s FROM Note WHERE SEARCH_INDEX_MORE('Note[text]', " +
        "(SELECT FROM Note WHERE text LIKE 'V%'), {minTermFreq: 1, minDocFreq: 1}) = true",
      '{"s":1.0}',
    ],
    search,
  ),
  scalarRow(
    'fulltext.highlight(index, query, property, options?, record?)',
    'The text of a property with what is looked for marked: {before, after, length}; null if none.',
    [
      "SELECT fulltext.highlight('Note[text]', 'prose', 'text') AS t FROM Note " +
        "WHERE SEARCH_INDEX('Note[text]', 'prose') = true",
      '{"t":"Verse and <em>prose</em>"}',
    ],
    search,
  ),
  scalarRow(
    'fulltext.containsText(property, text, record)',
    'Whether a property has all words of a text, by its full-text index; without one, the text.',
    [
      "SELECT text FROM Note WHERE fulltext.containsText('text', 'prose verse', @this) = true",
      '{"text":"Verse and prose"}',
    ],
    search,
  ),
  scalarRow(
    'fulltext.score(record)',
    'How well a record fits the searches of the statement: `$score`; 0 without one.',
    [
      'SELECT fulltext.score(@this) AS s FROM Note ' +
        "WHERE SEARCH_INDEX('Note[text]', 'prose') = true",
      '{"s":0.6931472}',
    ],
    search,
  ),
  scalarRow(
    'vector.sparseNeighbors(index, indices, values, k, options?)',
    'The k records with the greatest dot product: maps of the record, its properties and `score`.',
    [
      'SELECT text, score FROM (SELECT expand(' +
        "vector.sparseNeighbors('Note[topics,weights]', [5], [1.0], 1)))",
      '{"text":"Numbers in verse","score":3.0}',
    ],
    {...search, aliases: ['vectorSparseNeighbors']},
  ),
];
