/**
 * `make docs`: writes the pages of the manual that are made from tables of the code, and says
 * which of them changed.
 */
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {manualPages} from './manual.ts';
import {readerCode} from './reader-code.ts';

const root = join(import.meta.dirname, '../../..');

for (const [path, text] of manualPages(readerCode(root))) {
  const full = join(root, path);
  const isCurrent = existsSync(full) && readFileSync(full, 'utf8') === text;
  if (!isCurrent) writeFileSync(full, text);
  console.log(`${isCurrent ? 'current' : 'written'} ${path}`);
}
