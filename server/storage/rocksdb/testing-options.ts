/** What RocksDB works with, as it says itself in the directory of a store. */
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

/** The value of an option in the newest file of options; undefined when it is not in there. */
export function rocksOption(path: string, name: string): string | undefined {
  const files = readdirSync(path).filter(file => /^OPTIONS-\d+$/.test(file));
  const newest = files.sort().at(-1) ?? '';
  const text = readFileSync(join(path, newest), 'utf8');
  return new RegExp(`\\b${name}=(\\S+)\\n`).exec(text)?.[1];
}
