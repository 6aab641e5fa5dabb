/**
 * Bundles the server into dist/, so that a start reads a few files instead of hundreds.
 *
 * Entries are server/node/main.ts and each server/node/*-worker.ts; all of them land side by side
 * in dist/, with packages left outside. `new URL('./x', import.meta.url)` in a source means the
 * file beside that source; it is rewritten here to mean the same file seen from dist/, and a worker
 * becomes its bundle. Packages that a start does without are loaded when they are first used: all
 * of them together would cost every idle server 14 MB.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import {basename, dirname, join, relative, resolve} from 'node:path';
import {filesUnder, isCurrent, stampOf} from './build-stamp.mjs';

/** What a build may be without, and the names by which server/node/modules/ has them. */
const OPTIONAL_MODULES = {mcp: 'mcpModule'};

const RELATIVE_URL = /new URL\(\s*'(\.{1,2}\/[^']+)',\s*import\.meta\.url,?\s*\)/g;

/** Builds dist/ under `root` where its inputs have changed; answers one line about what it did. */
export async function buildBundle(root) {
  const main = join(root, 'server/node/main.ts');
  if (!existsSync(main)) return 'bundle: skipped, the sources are not here';
  const workers = filesUnder(join(root, 'server/node'), name => name.endsWith('-worker.ts'));
  const entries = [main, ...workers];

  const esbuild = await import('esbuild').catch(() => undefined);
  if (!esbuild)
    return 'bundle: skipped, esbuild is not installed; the server runs from its sources';

  const without = modulesLeftOut(process.env.SVC_BUILD_WITHOUT ?? '');
  const dist = join(root, 'dist');
  const stampPath = join(dist, 'stamp');
  const outputs = entries.map(entry => join(dist, bundleName(entry)));
  const sources = filesUnder(
    join(root, 'server'),
    name => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  const stamp = stampOf(
    [...sources, join(root, 'package.json'), join(root, 'bin/build-bundle.mjs')],
    [esbuild.version, ...without],
  );
  if (isCurrent(stampPath, stamp, outputs)) {
    // bin/svc compares times, which a checkout may have moved without changing a byte.
    const now = new Date();
    for (const output of outputs) utimesSync(output, now, now);
    return 'bundle: up to date';
  }

  const fresh = `${dist}.${process.pid}`;
  rmSync(fresh, {recursive: true, force: true});
  mkdirSync(fresh);
  try {
    await esbuild.build(options({root, entries, fresh, dist, without}));
    writeFileSync(join(fresh, 'stamp'), stamp);
    rmSync(dist, {recursive: true, force: true});
    renameSync(fresh, dist);
  } finally {
    rmSync(fresh, {recursive: true, force: true});
  }
  return `bundle: built ${outputs.map(output => relative(root, output)).join(', ')}`;
}

function options({root, entries, fresh, dist, without}) {
  return {
    absWorkingDir: root,
    entryPoints: entries,
    outdir: fresh,
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    outExtension: {'.js': '.mjs'},
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    conditions: ['source'],
    packages: 'external',
    legalComments: 'none',
    logLevel: 'silent',
    plugins: [
      absentModules(without),
      relativeUrls({root, entries, dist}),
      latePackages(),
      plainHttp(),
    ],
  };
}

/**
 * Gets node:http without an `import`, which reads all that the module exports: its `WebSocket` is
 * made when it is read, by loading Node's whole fetch client, which took a tenth of a start.
 */
function plainHttp() {
  return {
    name: 'plain-http',
    setup(build) {
      const filter = /^node:http$/;
      build.onResolve({filter}, ({path}) => ({path, namespace: 'plain'}));
      build.onLoad({filter, namespace: 'plain'}, ({path}) => ({
        contents: `module.exports = process.getBuiltinModule('${path}');`,
      }));
    },
  };
}

/** What is used of the packages that are loaded late. */
const LATE = {
  'cron-parser': ['CronExpressionParser'],
  n3: ['StreamParser'],
  saxes: ['SaxesParser'],
  'tar-stream': ['pack', 'extract'],
  ws: ['WebSocketServer'],
};
const LATE_NAME = /^(cron-parser|n3|saxes|tar-stream|ws|@orama\/stemmers\/[a-z]+)$/;

/** Puts in the place of a package what loads it when it is called, constructed or looked into. */
function latePackages() {
  return {
    name: 'late-packages',
    setup(build) {
      build.onResolve({filter: LATE_NAME}, ({path}) => ({path, namespace: 'late'}));
      build.onLoad({filter: LATE_NAME, namespace: 'late'}, ({path}) => {
        const head = `import {createRequire} from 'node:module';
          let loaded;
          const load = () => (loaded ??= createRequire(import.meta.url)('${path}'));`;
        const names = LATE[path];
        // A stemmer is called for every word: a plain function costs less than a proxy.
        if (!names)
          return {contents: `${head} export const stemmer = word => load().stemmer(word);`};
        const late = names.map(name => `export const ${name} = late('${name}');`);
        return {
          contents: `${head}
            const late = name => new Proxy(function () {}, {
              apply: (_, self, values) => Reflect.apply(load()[name], self, values),
              construct: (_, values) => new (load()[name])(...values),
              get: (_, key) => load()[name][key],
            });
            ${late.join('\n')}`,
        };
      });
    },
  };
}

/** Names of modules between commas, sorted. */
function modulesLeftOut(text) {
  const names = text.split(',').map(name => name.trim().toLowerCase());
  const without = [...new Set(names)]
    .filter(name => name !== '')
    .toSorted((one, other) => (one < other ? -1 : 1));
  const unknown = without.find(name => !Object.hasOwn(OPTIONAL_MODULES, name));
  if (unknown === undefined) return without;
  const known = Object.keys(OPTIONAL_MODULES).join(', ');
  throw new Error(`SVC_BUILD_WITHOUT names '${unknown}', which is no optional module: ${known}`);
}

/** Puts nothing in the place of a module that is left out, and the list of them where it is read. */
function absentModules(without) {
  return {
    name: 'absent-modules',
    setup(build) {
      build.onLoad({filter: /\/server\/node\/modules\/[a-z-]+\.ts$/}, ({path}) => {
        const file = bundleName(path).replace(/\.mjs$/, '');
        if (file === 'optional-modules') {
          return {
            contents: `export const builtWithout = ${JSON.stringify(without)};`,
            loader: 'js',
          };
        }
        if (!without.includes(file)) return undefined;
        return {contents: `export const ${OPTIONAL_MODULES[file]} = undefined;`, loader: 'js'};
      });
    },
  };
}

/** Keeps URLs that are relative to a source pointing at the same file when seen from dist/. */
function relativeUrls({root, entries, dist}) {
  return {
    name: 'relative-urls',
    setup(build) {
      build.onLoad({filter: /\/server\/.*\.ts$/}, ({path}) => {
        const text = readFileSync(path, 'utf8');
        if (/import\.meta\.(dirname|filename)/.test(text)) {
          const where = relative(root, path);
          return {errors: [{text: `${where}: import.meta.dirname is not that of the source here`}]};
        }
        const contents = text.replace(RELATIVE_URL, (_, target) => {
          const file = resolve(dirname(path), target);
          const seen = entries.includes(file) ? `./${bundleName(file)}` : relative(dist, file);
          return `new URL('${seen}', import.meta.url)`;
        });
        return {contents, loader: 'ts'};
      });
    },
  };
}

function bundleName(entry) {
  return basename(entry).replace(/\.ts$/, '.mjs');
}
