/**
 * Builds one image of the table: three layers, of which the first two are those of every image of
 * this release, so that a machine which has one of them fetches only the third of the others.
 *
 * No engine, no daemon, no right of root: an image is files with a description. The same commit on
 * the same machine gives the same bytes. Another machine may have other versions of the C library.
 */
import {join} from 'node:path';
import {type Image, packImage} from './archive.ts';
import {billOfMaterials} from './bill-of-materials.ts';
import {type Layer, packLayer} from './layer.ts';
import {baseFiles, type Machine, nodeFiles, type Part, userId} from './runtime-files.ts';
import type {ImageRow} from './image-row.ts';

export interface Release {
  readonly version: string;
  /** The commit, and when it was made: the time of everything in the image. */
  readonly revision: string;
  readonly created: Date;
}

export interface BuiltImage {
  /** `svc/server:26.11.1`. */
  readonly name: string;
  readonly archive: Uint8Array;
  readonly billOfMaterials: string;
  readonly digest: string;
  readonly compressedBytes: number;
  readonly unpackedBytes: number;
}

const license = 'Apache-2.0';

/** @param packed - The layers of images built before, of which this one may have some. */
export async function buildImage(
  row: ImageRow,
  machine: Machine,
  release: Release,
  packed: Map<string, Layer> = new Map(),
): Promise<BuiltImage> {
  const native = row.native.map(path => join(machine.root, path));
  const parts: readonly Part[] = [
    baseFiles(machine, native),
    nodeFiles(machine),
    await row.application(machine.root),
  ];
  const layers = [];
  for (const {files} of parts) layers.push(await packLayer(files, release.created, packed));
  const name = `svc/${row.name}`;
  const image: Image = {
    name: `${name}:${release.version}`,
    architecture: machine.architecture === 'x64' ? 'amd64' : 'arm64',
    created: release.created,
    config: {
      ...row.config,
      user: `${userId}:${userId}`,
      stopSignal: 'SIGTERM',
      labels: labelsOf(row, release),
    },
    layers,
  };
  const {bytes, digest} = await packImage(image);
  const {version, created} = release;
  const components = parts.flatMap(part => part.components);
  return {
    name: image.name,
    archive: bytes,
    billOfMaterials: billOfMaterials({name, version, digest, created, license}, components),
    digest,
    compressedBytes: layers.reduce((sum, layer) => sum + layer.bytes.length, 0),
    unpackedBytes: layers.reduce((sum, layer) => sum + layer.unpackedBytes, 0),
  };
}

function labelsOf({title, description}: ImageRow, release: Release): Record<string, string> {
  const label = 'org.opencontainers.image';
  return {
    [`${label}.title`]: title,
    [`${label}.description`]: description,
    [`${label}.version`]: release.version,
    [`${label}.revision`]: release.revision,
    [`${label}.created`]: release.created.toISOString(),
    [`${label}.licenses`]: license,
    [`${label}.vendor`]: 'Svc',
  };
}
