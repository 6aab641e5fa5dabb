/**
 * Ten questions, each in the way that finds its answer best, and what the server has to answer.
 *
 * Answers by words are fixed names: whoever reads the documents would name them. Answers by vectors
 * are computed here as well, by comparing the question with every document.
 */
import type {Document} from './documents.ts';
import {denseVector, sparseVector} from './features.ts';
import {searchedText} from './load.ts';

export interface Question {
  readonly name: string;
  readonly asks: string;
  readonly language: 'sql' | 'cypher';
  readonly statement: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The names that are answered, best first. */
  readonly expected: (documents: readonly Document[]) => readonly string[];
}

function named(...names: readonly string[]): () => readonly string[] {
  return () => names;
}

const byWords =
  "SELECT name FROM Doc WHERE SEARCH_INDEX('Doc[title,text]', :query) = true " +
  'ORDER BY $score DESC LIMIT 3';
export const questions: readonly Question[] = [
  {
    name: 'words',
    asks: 'what looks up a name in the reverse direction',
    language: 'sql',
    statement: byWords,
    params: {query: 'reverse dns lookup'},
    expected: named('dns.reverse', 'dns.promises.reverse', 'dns.promises.lookup'),
  },
  {
    name: 'phrase',
    asks: 'what is a key derivation function, in these words',
    language: 'sql',
    statement: byWords,
    params: {query: '"key derivation function"'},
    expected: named('crypto.hkdfSync', 'crypto.hkdf', 'crypto.argon2Sync'),
  },
  {
    name: 'typos',
    asks: 'what makes a temporary directory, asked with typing errors',
    language: 'sql',
    statement: byWords,
    params: {query: '+temporry~ +directry~ unique'},
    expected: named('fs.mkdtemp', 'fs.promises.mkdtemp', 'os.tmpdir'),
  },
  {
    name: 'fields',
    asks: 'what watches, if its title does not name a file',
    language: 'sql',
    statement: byWords,
    params: {query: '+title:watch* -title:file'},
    expected: named('fs.promises.watch', 'fs.watch'),
  },
  {
    name: 'marks',
    asks: 'where does it say how to stop a child process',
    language: 'sql',
    statement:
      "SELECT fulltext.highlight('Doc[title,text]', :query, 'text', {length: 60}) AS name " +
      "FROM Doc WHERE SEARCH_INDEX('Doc[title,text]', :query) = true " +
      'ORDER BY $score DESC LIMIT 1',
    params: {query: '+kill child process'},
    expected: named(
      '...<em>killed</em> property does not indicate that the <em>child</em> ' +
        '<em>process</em> has...',
    ),
  },
  {
    name: 'more',
    asks: 'what is like crypto.scrypt',
    language: 'sql',
    statement:
      "SELECT name FROM Doc WHERE SEARCH_INDEX_MORE('Doc[title,text]', " +
      "(SELECT FROM Doc WHERE name = 'crypto.scrypt')) = true ORDER BY $score DESC LIMIT 3",
    params: {},
    expected: named('crypto.hkdf', 'crypto.pbkdf2', 'crypto.argon2'),
  },
  {
    name: 'dense',
    asks: 'what resolves host names, written as people type',
    language: 'sql',
    statement: "SELECT name FROM (SELECT expand(vector.neighbors('Doc[near]', :vector, 3)))",
    params: {vector: denseVector('resolving adresses of hostnames with dns')},
    expected: documents => nearest(documents, 'resolving adresses of hostnames with dns'),
  },
  {
    name: 'sparse',
    asks: 'what ends a server, by rare words',
    language: 'sql',
    statement:
      'SELECT name FROM (SELECT expand(' +
      "vector.sparseNeighbors('Doc[ids,weights]', :ids, :weights, 3)))",
    params: {...sparseVector('stop accepting new connections close server')},
    expected: documents => heaviest(documents, 'stop accepting new connections close server'),
  },
  {
    name: 'hybrid',
    asks: 'what makes random bytes: words and vectors fused',
    language: 'sql',
    statement:
      'SELECT name FROM (SELECT expand(vector.fuse(' +
      '(SELECT @rid, $score AS score, name FROM Doc ' +
      "WHERE SEARCH_INDEX('Doc[title,text]', :query) = true " +
      'ORDER BY $score DESC LIMIT 20), ' +
      "(SELECT expand(vector.neighbors('Doc[near]', :vector, 20))), {fusion: 'RRF', limit: 3})))",
    params: {
      query: 'cryptographically strong random bytes',
      vector: denseVector('cryptographically strong random bytes'),
    },
    expected: named('crypto.getRandomValues', 'crypto.randomBytes', 'tls.ticketKeys'),
  },
  {
    name: 'links',
    asks: 'what do the texts about child processes link to',
    language: 'cypher',
    statement:
      "CALL db.index.fulltext.queryNodes('Doc[title,text]', $query, {limit: 5}) " +
      'YIELD node, score MATCH (node)-[:LinksTo]->(other:Doc) ' +
      'RETURN DISTINCT other.name AS name ORDER BY name',
    params: {query: 'spawn child process'},
    expected: named('child_process.exec', 'child_process.fork', 'child_process.spawn'),
  },
];

/** The three documents with the greatest cosine, each compared. */
function nearest(documents: readonly Document[], text: string): readonly string[] {
  const query = denseVector(text) ?? [];
  return best(documents, document => {
    const vector = denseVector(searchedText(document)) ?? [];
    return query.reduce((sum, element, at) => sum + element * (vector[at] ?? 0), 0);
  });
}

/** The three documents with the greatest product, where a word counts as much as it is rare. */
function heaviest(documents: readonly Document[], text: string): readonly string[] {
  const vectors = documents.map(document => {
    const {ids, weights} = sparseVector(searchedText(document));
    return new Map(ids.map((id, at) => [id, weights[at] ?? 0]));
  });
  const {ids, weights} = sparseVector(text);
  const factors = ids.map((id, at) => {
    const having = vectors.filter(vector => vector.has(id)).length;
    const rarity = Math.log(1 + (documents.length - having + 0.5) / (having + 0.5));
    return (weights[at] ?? 0) * rarity;
  });
  return best(documents, (_document, at) =>
    ids.reduce((sum, id, which) => sum + (factors[which] ?? 0) * (vectors[at]?.get(id) ?? 0), 0),
  );
}

function best(
  documents: readonly Document[],
  scoreOf: (document: Document, at: number) => number,
): readonly string[] {
  const scored = documents.map((document, at) => ({document, score: scoreOf(document, at)}));
  scored.sort((one, other) => other.score - one.score);
  return scored.slice(0, 3).map(({document}) => document.name);
}
