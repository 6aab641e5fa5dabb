/**
 * npm's `prepare`: what an installation needs beyond its packages, the start bundle and the native
 * store. Runs under any Node.js from 20 and is quick when nothing has changed.
 *
 * An installation never fails here: without the bundle the server runs from its sources, without
 * the native store on its fallback. `--strict` is for our own gates: there a failed build fails.
 */
import {dirname} from 'node:path';
import {fileURLToPath} from 'node:url';
import {buildBundle} from './build-bundle.mjs';
import {buildNative} from './build-native.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const strict = process.argv.includes('--strict');

for (const build of [buildNative, buildBundle]) {
  try {
    console.log(await build(root));
  } catch (error) {
    console.error(`${build.name} failed: ${error.message}`);
    if (strict) process.exitCode = 1;
  }
}
