/**
 * The image of the server: the start bundle, the native store with RocksDB inside, and the packages
 * that the bundle loads.
 *
 * The fallback store is left out, since the native one is always there; so is the code that V8
 * compiled for a first start (docs/design/0033-code-of-the-first-start.md), whose bytes differ from
 * one build to the next, while those of an image must not.
 */
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {type Component, npmComponent} from './bill-of-materials.ts';
import {copied, copiedTree, directory, programMode, text} from './image-file.ts';
import {packageClosure, packageFiles, readLockfile} from './npm-packages.ts';
import {installation, nodeProgram, type Part, userId} from './runtime-files.ts';
import type {ImageRow} from './image-row.ts';

const dataRoot = '/data';
const addon = 'build/svc-rocksdb-release.node';
/** Stands in the place of `bin/svc`: the image has no shell to run that. */
const launcher = 'bin/launch.mjs';

export const serverImage: ImageRow = {
  name: 'server',
  title: 'Svc server',
  description: 'A Kubernetes-native multi-model database',
  sources: ['server/node/main.ts'],
  native: [addon],
  application: serverFiles,
  config: {
    entrypoint: [nodeProgram, `${installation}/${launcher}`],
    cmd: ['start'],
    // HTTP, HTTPS, and what the other members speak to.
    ports: [2480, 2490, 2434],
    env: {SVC_SERVER_ROOTPATH: dataRoot, SVC_STORAGE_ENGINE: 'native'},
    volumes: [dataRoot],
    workingDir: dataRoot,
  },
};

function serverFiles(root: string): Part {
  const dist = join(root, 'dist');
  if (!existsSync(join(dist, 'main.mjs'))) throw new Error('dist/main.mjs is not there');
  const packages = packageClosure(readLockfile(root), importedPackages(root, dist));
  return {
    files: [
      ...copiedTree(dist, `${installation}/dist`, name => name.endsWith('.mjs')),
      copied(join(root, addon), `${installation}/${addon}`),
      ...packageFiles(root, packages, installation),
      copied(join(root, launcher), `${installation}/${launcher}`),
      copied(join(root, 'LICENSE'), `${installation}/LICENSE`),
      text('/usr/local/bin/svc', command, programMode),
      directory(dataRoot, {owner: userId}),
    ],
    components: [...packages.map(npmComponent), rocksdbComponent(root)],
  };
}

/** The dependencies that the bundle imports: the checkout has others, of other programs. */
function importedPackages(root: string, dist: string): string[] {
  const {dependencies} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  const texts = readdirSync(dist)
    .filter(name => name.endsWith('.mjs'))
    .map(name => readFileSync(join(dist, name), 'utf8'));
  const imported = new Set(
    texts.flatMap(text =>
      [...text.matchAll(/\b(?:from|import)\s*\(?["']((?:@[^/"']+\/)?[^./"'][^/"']*)/g)].map(
        ([, name = '']) => name,
      ),
    ),
  );
  return Object.keys(dependencies).filter(name => imported.has(name));
}

/** `kubectl exec POD -- svc cluster status` runs this: the system reads its first line. */
const command = `#!${nodeProgram}\nimport('${installation}/dist/main.mjs');\n`;

/** RocksDB as the package of npm brings its sources, by the version that they state. */
function rocksdbComponent(root: string): Component {
  const sources = 'node_modules/rocksdb/deps/rocksdb/rocksdb';
  const header = readFileSync(join(root, sources, 'include/rocksdb/version.h'), 'utf8');
  const parts = ['MAJOR', 'MINOR', 'PATCH'].map(
    part => new RegExp(`#define ROCKSDB_${part} (\\d+)`).exec(header)?.[1],
  );
  const version = parts.join('.');
  const purl = `pkg:github/facebook/rocksdb@v${version}`;
  return {type: 'library', name: 'rocksdb', version, purl, license: 'Apache-2.0'};
}
