/** Writes an image into a folder, and beside each archive what is in it. */
import {mkdirSync, renameSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import type {BuiltImage} from './build-image.ts';

export function writeImage(
  folder: string,
  name: string,
  {archive, billOfMaterials}: Pick<BuiltImage, 'archive' | 'billOfMaterials'>,
): void {
  mkdirSync(folder, {recursive: true});
  write(join(folder, `${name}.cdx.json`), billOfMaterials);
  write(join(folder, `${name}.tar`), archive);
}

/** Whoever reads the file finds the whole old one or the whole new one. */
function write(path: string, content: string | Uint8Array): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}
