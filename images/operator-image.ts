/**
 * The image of the operator: one bundle with everything it loads, on the same runtime as the
 * server's.
 */
import {join} from 'node:path';
import {build} from 'esbuild';
import {npmComponent} from './bill-of-materials.ts';
import {packageClosure, readLockfile} from './npm-packages.ts';
import {copied, type ImageFile} from './image-file.ts';
import {installation, nodeProgram, type Part} from './runtime-files.ts';
import type {ImageRow} from './image-row.ts';

const entry = 'operator/main.ts';
const requireBanner =
  "import {createRequire} from 'node:module';\nconst require = createRequire(import.meta.url);";

export const operatorImage: ImageRow = {
  name: 'operator',
  title: 'Svc operator',
  description: 'Runs clusters of Svc on Kubernetes',
  sources: [entry],
  native: [],
  application: operatorFiles,
  config: {
    entrypoint: [nodeProgram, '--enable-source-maps', `${installation}/operator/main.mjs`],
    cmd: [],
    ports: [],
    env: {},
    volumes: [],
    workingDir: '/',
  },
};

async function operatorFiles(root: string): Promise<Part> {
  const {outputFiles, metafile} = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile: 'main.mjs',
    write: false,
    metafile: true,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    conditions: ['source'],
    sourcemap: 'linked',
    legalComments: 'none',
    logLevel: 'silent',
    // CommonJS packages in the bundle call `require`, which a module has to make itself.
    banner: {js: requireBanner},
  });
  const files: ImageFile[] = outputFiles.map(({path, contents}) => ({
    kind: 'file',
    path: `${installation}/operator/${path.slice(path.lastIndexOf('/') + 1)}`,
    bytes: contents,
  }));
  const lockfile = readLockfile(root);
  const names = packagesOf(Object.keys(metafile.inputs));
  const packages = packageClosure(lockfile, names).filter(({name}) => names.includes(name));
  return {
    files: [...files, copied(join(root, 'LICENSE'), `${installation}/LICENSE`)],
    components: packages.map(npmComponent),
  };
}

/** The names of the packages that files of them were taken from. */
function packagesOf(inputs: readonly string[]): string[] {
  const names = inputs.flatMap(
    input => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? [],
  );
  return [...new Set(names)].sort();
}
