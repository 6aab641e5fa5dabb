/**
 * The documents: what Node.js says of its own functions and classes.
 *
 * They are the comments of the package `@types/node` (MIT), which `npm ci` installs with this
 * repository: some two thousand texts of technical English, one for each name that is declared. A
 * text that links to another name leads there.
 */
import {globSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

export interface Document {
  /** `zlib.createGzip`: also the order of the documents. */
  readonly name: string;
  readonly module: string;
  /** Its words, `create gzip`. */
  readonly title: string;
  readonly text: string;
  /** Names of documents that the text links to. */
  readonly links: readonly string[];
}

const folder = join(import.meta.dirname, '../../node_modules/@types/node');
const comment = String.raw`/\*\*((?:(?!\*/)[\s\S])*)\*/\s*`;
const beforeName =
  'export|declare|abstract|readonly|static|function|class|interface|const|var|let|type|' +
  'namespace|get|set';
/** A comment, and the name that is declared behind it. */
const declared = new RegExp(String.raw`${comment}(?:(?:${beforeName})\s+)*([A-Za-z_$][\w$]*)`, 'g');
const textUnitsMin = 60;

/** All documents, each name once, by name. */
export function readDocuments(): readonly Document[] {
  const found = new Map<string, Omit<Document, 'links'> & {readonly linked: readonly string[]}>();
  // What is in the folders of older compilers stands in the others as well.
  const paths = globSync('**/*.d.ts', {cwd: folder}).filter(path => !path.startsWith('ts'));
  for (const path of paths.toSorted()) {
    const module = path.replace(/\.d\.ts$/, '').replaceAll('/', '.');
    for (const [, says = '', name = ''] of readFileSync(join(folder, path), 'utf8').matchAll(
      declared,
    )) {
      const text = textOf(says);
      const full = `${module}.${name}`;
      const known = found.get(full);
      // Of overloads the one that says most.
      if (text.length < textUnitsMin || (known && known.text.length >= text.length)) continue;
      const linked = [...says.matchAll(/\{@link (?:\w+\.)?(\w+)/g)].map(([, to = '']) => to);
      found.set(full, {name: full, module, title: wordsOf(name), text, linked});
    }
  }
  const documents = [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  return documents.map(({linked, ...document}) => {
    const links = linked
      .map(to => `${document.module}.${to}`)
      .filter(to => to !== document.name && found.has(to));
    return {...document, links: [...new Set(links)]};
  });
}

/** What is said, without code, tags and marks. */
function textOf(comment: string): string {
  const plain = comment.replaceAll(/^\s*\* ?/gm, '');
  const [said = ''] = plain.split(/^@\w+/m);
  return said
    .replaceAll(/```[\s\S]*?```/g, ' ')
    .replaceAll(/\{@link ([^}]*)\}/g, '$1')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** `create gzip` of `createGzip`. */
function wordsOf(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}
