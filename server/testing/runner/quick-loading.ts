/**
 * Is loaded before a test file, since most of a small one's time is the loading of sources, and
 * most files load the same ones. What was compiled of a source is kept for the files after it, and
 * imports among our own sources are resolved by their names alone, without a look at the disk or at
 * the maps of package.json. What each of the two spares is measured in
 * docs/design/0048-what-keeps-the-house-in-order.md.
 *
 * The runner loads it by a line of JavaScript that calls `noteTo` as well (test-file.ts). Had it
 * the file to note in from an address of its own, no two test files would share what was compiled
 * of it, and each, and each of its threads, would load the compiler of types for it alone.
 */
import {enableCompileCache, registerHooks} from 'node:module';
import {join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {isMainThread} from 'node:worker_threads';
import {noteInputs} from './inputs.ts';
import {trackLightly} from './light-tracking.ts';

const root = join(import.meta.dirname, '../../..');
// Of a thread; its process was started with it. Servers that it starts have one of their own.
enableCompileCache(join(root, '.cache/tests'));
delete process.env['NODE_COMPILE_CACHE'];

if (isMainThread) trackLightly();

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

let noteSource: ((path: string) => void) | undefined;

/** Has what is loaded and read from now on noted in the file at `path`. */
export function noteTo(path: string): void {
  noteSource = noteInputs(path, process.cwd());
}

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
