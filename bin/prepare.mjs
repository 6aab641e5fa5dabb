/**
 * npm's `prepare`: what an installation needs beyond its packages, the native store, the start
 * bundle, and what V8 compiles at a start of it. Runs under any Node.js from 20 and is quick when
 * nothing has changed.
 *
 * An installation never fails here: without the bundle the server runs from its sources, without
 * the native store on its fallback, and without compiled code it starts a little later. `--strict`
 * is for our own gates: there a failed build fails. `--quiet` keeps to itself that nothing was to
 * do.
 */
import {dirname} from 'node:path';
import {fileURLToPath} from 'node:url';
import {buildBundle} from './build-bundle.mjs';
import {buildCodeCache} from './build-code-cache.mjs';
import {buildNative} from './build-native.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const strict = process.argv.includes('--strict');
const quiet = process.argv.includes('--quiet');

for (const build of [buildNative, buildBundle, buildCodeCache]) {
  try {
    const line = await build(root);
    if (!quiet || !line.endsWith('up to date')) console.log(line);
  } catch (error) {
    console.error(`${build.name} failed: ${error.message}`);
    if (strict) process.exitCode = 1;
  }
}
