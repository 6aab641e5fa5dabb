/**
 * Is loaded before a test file, since most of a small one's time is the loading of sources, and
 * most files load the same ones. What was compiled of a source is kept for the files after it, and
 * imports among our own sources are resolved by their names alone, without a look at the disk or at
 * the maps of package.json. What each of the two spares is measured in
 * docs/design/0048-what-keeps-the-house-in-order.md.
 *
 * Where the address that it is loaded by names a file (`?notes=`), what is loaded and read is noted
 * there.
 */
import {enableCompileCache, registerHooks} from 'node:module';
import {join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {noteInputs} from './inputs.ts';

const root = join(import.meta.dirname, '../../..');
// Of a thread; its process was started with it. Servers that it starts have one of their own.
enableCompileCache(join(root, '.cache/tests'));
delete process.env['NODE_COMPILE_CACHE'];

const rootUrl = `${pathToFileURL(root).href}/`;
const packagesUrl = `${rootUrl}node_modules/`;
/** The rows of `imports` in package.json. */
const mapped = /^#(?=(?:server|operator|examples|images)\/)/;

/** Whose importer is one of our sources, and names a source by its whole path. */
function urlOf(specifier: string, importer: string | undefined): string | undefined {
  if (!specifier.endsWith('.ts') || importer === undefined) return undefined;
  if (!importer.startsWith(rootUrl) || importer.startsWith(packagesUrl)) return undefined;
  if (mapped.test(specifier)) return rootUrl + specifier.slice(1);
  return specifier.startsWith('.') ? new URL(specifier, importer).href : undefined;
}

const notes = new URL(import.meta.url).searchParams.get('notes');
const noteSource = notes === null ? undefined : noteInputs(notes, process.cwd());

registerHooks({
  resolve(specifier, context, next) {
    const own = urlOf(specifier, context.parentURL);
    const resolved: ReturnType<typeof next> =
      own === undefined
        ? next(specifier, context)
        : {url: own, format: 'module-typescript', shortCircuit: true};
    if (resolved.url.startsWith('file:')) noteSource?.(fileURLToPath(resolved.url));
    return resolved;
  },
});
