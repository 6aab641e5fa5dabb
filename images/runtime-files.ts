/**
 * What every image of Svc stands on: the pinned Node.js, the shared libraries that it and native
 * code load, and the few files of `/etc` by which a C library finds users and hosts.
 *
 * There is no shell and no program beside Node.js.
 */
import {join} from 'node:path';
import {type Component, debianComponent} from './bill-of-materials.ts';
import {copied, directory, type ImageFile, text} from './image-file.ts';
import {readLockfile} from './npm-packages.ts';
import {libraryFiles, licenseFiles, sharedLibraries} from './shared-libraries.ts';

export interface Part {
  readonly files: readonly ImageFile[];
  readonly components: readonly Component[];
}

/** The user without rights that images run as; a pod that names another one works as well. */
export const userId = 65_532;

export const installation = '/opt/svc';
export const nodeProgram = `${installation}/bin/node`;

export interface Machine {
  /** The root of the checkout. */
  readonly root: string;
  readonly architecture: 'x64' | 'arm64';
}

/** @param native - Files of this machine whose libraries the image has to hold, too. */
export function baseFiles({root, architecture}: Machine, native: readonly string[]): Part {
  const libraries = sharedLibraries([pinnedNode({root, architecture}), ...native]);
  return {
    files: [
      ...libraryFiles(libraries),
      ...licenseFiles(libraries),
      text('/etc/passwd', passwd),
      text('/etc/group', group),
      text('/etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n'),
      {...directory('/tmp'), kind: 'directory', mode: 0o1777},
    ],
    components: libraries.map(({from}) => debianComponent(from)),
  };
}

const passwd = [
  'root:x:0:0:root:/:/sbin/nologin',
  `svc:x:${userId}:${userId}:svc:/:/sbin/nologin`,
  'nobody:x:65534:65534:nobody:/:/sbin/nologin',
  '',
].join('\n');

const group = ['root:x:0:', `svc:x:${userId}:`, 'nogroup:x:65534:', ''].join('\n');

export function nodeFiles(machine: Machine): Part {
  const {version = '', integrity} = readLockfile(machine.root)[packageOfNode(machine)] ?? {};
  const sha512 = /^sha512-(.+)$/.exec(integrity ?? '')?.[1];
  return {
    files: [
      copied(pinnedNode(machine), nodeProgram),
      copied(join(machine.root, packageOfNode(machine), 'LICENSE'), `${installation}/bin/LICENSE`),
    ],
    components: [
      {
        type: 'platform',
        name: 'node',
        version,
        purl: `pkg:generic/node@${version}`,
        license: 'MIT',
        sha512: sha512 === undefined ? undefined : Buffer.from(sha512, 'base64').toString('hex'),
      },
    ],
  };
}

function pinnedNode(machine: Machine): string {
  return join(machine.root, packageOfNode(machine), 'bin/node');
}

function packageOfNode({architecture}: Machine): string {
  return `node_modules/node-linux-${architecture}`;
}
