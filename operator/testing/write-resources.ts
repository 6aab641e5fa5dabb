/**
 * `make resources`: writes the resource definitions to `crds/` and into the chart of the operator.
 * With `--check` it writes nothing and fails when a file is not what it would write.
 */
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {resourceFiles} from './resource-files.ts';

const root = join(import.meta.dirname, '../..');
const isCheck = process.argv.includes('--check');

for (const {path, text} of resourceFiles()) {
  const file = join(root, path);
  const present = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  if (present === text) continue;
  if (isCheck) {
    console.error(`${path} is stale: run make resources`);
    process.exitCode = 1;
    continue;
  }
  mkdirSync(dirname(file), {recursive: true});
  writeFileSync(file, text);
  console.log(`wrote ${path}`);
}
