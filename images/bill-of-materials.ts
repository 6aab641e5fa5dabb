/**
 * Writes what an image is made of as a CycloneDX 1.6 document: the runtime, the packages of npm,
 * the libraries of Debian, and RocksDB, which is compiled into the native store.
 *
 * The same image has the same document: its serial number follows from the image's digest.
 * Source: CycloneDX 1.6 JSON schema; package URLs by the purl specification.
 */
import {createHash} from 'node:crypto';
import type {NpmPackage} from './npm-packages.ts';
import type {DebianPackage} from './shared-libraries.ts';

export interface Component {
  readonly type: 'library' | 'platform' | 'framework';
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly license?: string | undefined;
  /** The checksum of what was installed, in hexadecimal. */
  readonly sha512?: string | undefined;
}

export interface Described {
  /** `svc/server`. */
  readonly name: string;
  readonly version: string;
  readonly digest: string;
  readonly created: Date;
  readonly license: string;
}

export function npmComponent({name, version, license, integrity}: NpmPackage): Component {
  const sha512 = /^sha512-(.+)$/.exec(integrity ?? '')?.[1];
  return {
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    license,
    sha512: sha512 === undefined ? undefined : Buffer.from(sha512, 'base64').toString('hex'),
  };
}

export function debianComponent({name, version, architecture}: DebianPackage): Component {
  const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
  return {type: 'library', name, version, purl};
}

/** The document as text; components that are named twice stand once. */
export function billOfMaterials(image: Described, components: readonly Component[]): string {
  const distinct = new Map(components.map(component => [component.purl, component]));
  const ordered = [...distinct.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
  const reference = `pkg:oci/${image.name.split('/').at(-1)}@${encodeURIComponent(image.digest)}`;
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(image.digest)}`,
    version: 1,
    metadata: {
      timestamp: image.created.toISOString(),
      component: {
        type: 'container',
        'bom-ref': reference,
        name: image.name,
        version: image.version,
        purl: reference,
        licenses: [{license: {id: image.license}}],
      },
    },
    components: ordered.map(({purl, license, sha512, ...plain}) => ({
      ...plain,
      'bom-ref': purl,
      purl,
      ...(license !== undefined && {licenses: [licenseOf(license)]}),
      ...(sha512 !== undefined && {hashes: [{alg: 'SHA-512', content: sha512}]}),
    })),
    dependencies: [
      {ref: reference, dependsOn: ordered.map(({purl}) => purl)},
      ...ordered.map(({purl}) => ({ref: purl})),
    ],
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** One identifier of SPDX, or an expression over several. */
function licenseOf(license: string): object {
  return /^[\w.+-]+$/.test(license) ? {license: {id: license}} : {expression: license};
}

/** A UUID of version 8 (RFC 9562): a hash, with the two fields that the standard demands. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
