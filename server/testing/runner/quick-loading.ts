/**
 * Is loaded before a test file, since most of a small one's time is the loading of sources, and
 * most files load the same ones. What was compiled of a source is kept for the files after it, and
 * imports among our own sources are resolved by their names alone, without a look at the disk or at
 * the maps of package.json. What each of the two spares is measured in
 * docs/design/0048-what-keeps-the-house-in-order.md.
 *
 * Node's test runner follows every promise back to the case in which it was made, so that an error
 * that nobody catches fails that case. This takes a tenth of a processor's time where there are
 * many; here such an error fails the file, which ends soon.
 *
 * Where the address that it is loaded by names a file (`?notes=`), what is loaded and read is noted
 * there.
 */
import asyncHooks from 'node:async_hooks';
import {enableCompileCache, registerHooks} from 'node:module';
import {join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {isMainThread} from 'node:worker_threads';
import {noteInputs} from './inputs.ts';

const root = join(import.meta.dirname, '../../..');
const failedGraceMs = 10_000;
// Of a thread; its process was started with it. Servers that it starts have one of their own.
enableCompileCache(join(root, '.cache/tests'));
delete process.env['NODE_COMPILE_CACHE'];

if (isMainThread) {
  // The runner is loaded by the test file, and makes the first of all hooks.
  const {createHook} = asyncHooks;
  asyncHooks.createHook = () => {
    asyncHooks.createHook = createHook;
    const hook = {enable: () => hook, disable: () => hook};
    return hook;
  };
  // No case is told of such an error, and one may wait without end for what has failed.
  process.on('uncaughtExceptionMonitor', () => {
    setTimeout(() => process.exit(1), failedGraceMs).unref();
  });
}

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
