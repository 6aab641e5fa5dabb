/**
 * Writes an image as one file that engines load: an OCI image layout together with the
 * `manifest.json` of `docker save`, which share their blobs.
 *
 * So `docker load`, `podman load`, `ctr images import`, `skopeo copy docker-archive:` and
 * `skopeo copy oci-archive:` all read it. Source: OCI image specification 1.1, image-layout.md,
 * manifest.md, config.md.
 */
import type {ImageFile} from './image-file.ts';
import {digestOf, type Layer, packTar} from './layer.ts';

export interface ImageConfig {
  readonly user: string;
  readonly env: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly workingDir: string;
  readonly ports: readonly number[];
  readonly volumes: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly stopSignal: string;
}

export interface Image {
  /** `svc/server:26.11.1`. */
  readonly name: string;
  readonly architecture: 'amd64' | 'arm64';
  readonly created: Date;
  readonly config: ImageConfig;
  readonly layers: readonly Layer[];
}

export interface PackedImage {
  readonly bytes: Uint8Array;
  /** The digest of the manifest, by which a registry knows the image. */
  readonly digest: string;
}

const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

export async function packImage(image: Image): Promise<PackedImage> {
  const config = json(configOf(image));
  const layers = image.layers.map(({bytes}) => describe(types.layer, bytes));
  const manifest = json({
    schemaVersion: 2,
    mediaType: types.manifest,
    config: describe(types.config, config),
    layers,
    annotations: image.config.labels,
  });
  const manifestBlob = describe(types.manifest, manifest);
  const index = json({
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [
      {
        ...manifestBlob,
        annotations: {
          'io.containerd.image.name': qualified(image.name),
          'org.opencontainers.image.ref.name': image.name.split(':').at(-1),
        },
        platform: {architecture: image.architecture, os: 'linux'},
      },
    ],
  });
  const saved = json([
    {
      Config: blobPath(digestOf(config)),
      RepoTags: [image.name],
      Layers: layers.map(({digest}) => blobPath(digest)),
    },
  ]);
  const blobs = new Map(
    [...image.layers.map(({bytes}) => bytes), config, manifest].map(bytes => [
      blobPath(digestOf(bytes)),
      bytes,
    ]),
  );
  const files: ImageFile[] = [
    ['oci-layout', json({imageLayoutVersion: '1.0.0'})] as const,
    ['index.json', index] as const,
    ['manifest.json', saved] as const,
    ...blobs,
  ].map(([path, bytes]) => ({kind: 'file', path: `/${path}`, bytes}));
  return {bytes: await packTar(files, image.created), digest: manifestBlob.digest};
}

/** A name without a host means the one that engines take for granted. */
function qualified(name: string): string {
  const [host = ''] = name.split('/');
  return host.includes('.') ? name : `docker.io/${name}`;
}

function configOf({architecture, created, config, layers}: Image): unknown {
  const set = (names: readonly string[]): Record<string, object> =>
    Object.fromEntries(names.map(name => [name, {}]));
  return {
    architecture,
    os: 'linux',
    created: created.toISOString(),
    config: {
      User: config.user,
      ExposedPorts: set(config.ports.map(port => `${port}/tcp`)),
      Env: Object.entries(config.env).map(([name, value]) => `${name}=${value}`),
      Entrypoint: config.entrypoint,
      Cmd: config.cmd,
      Volumes: set(config.volumes),
      WorkingDir: config.workingDir,
      Labels: config.labels,
      StopSignal: config.stopSignal,
    },
    rootfs: {type: 'layers', diff_ids: layers.map(({diffId}) => diffId)},
    history: layers.map(() => ({created: created.toISOString(), created_by: 'make images'})),
  };
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

function describe(mediaType: string, bytes: Uint8Array): Descriptor {
  return {mediaType, digest: digestOf(bytes), size: bytes.length};
}

function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
