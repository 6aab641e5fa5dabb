/**
 * Compiles the native store server/storage/rocksdb/native/*.cc, the addon of the server.
 *
 * Where RocksDB was built from its sources (bin/build-rocksdb.mjs) the addon holds it:
 * build/svc-rocksdb-release.node. Else it is build/svc-rocksdb.node and links against the prebuilt
 * library of the package `rocksdb`, whose binding must be loaded first at run time. That library
 * is stripped, so a symbol may be missing that the headers promise: every `rocksdb::` symbol the
 * result needs is looked up here, and a missing one is a build error instead of a crash at first
 * use. One of the two is there at a time.
 */
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {join, relative} from 'node:path';
import {releaseLibrary, runs} from './build-rocksdb.mjs';
import {filesUnder, isCurrent, stampOf} from './build-stamp.mjs';

const FLAGS = ['-std=c++20', '-O2', '-fPIC', '-shared', '-fno-rtti', '-DNDEBUG', '-Wall'];

/**
 * Builds the store under `root` where its inputs have changed; answers one line about what it did.
 *
 * Throws an Error with the compiler's own words when the code does not compile or link.
 */
export function buildNative(root) {
  const folder = join(root, 'server/storage/rocksdb/native');
  const sources = filesUnder(folder, name => name.endsWith('.cc'));
  if (sources.length === 0) return 'native store: skipped, its sources are not here';

  const rocksdb = join(root, 'node_modules/rocksdb');
  const headers = join(root, 'node_modules/node-api-headers/include');
  const libraries = join(rocksdb, `prebuilds/linux-${process.arch}`);
  const library = join(libraries, '@nxtedition+rocksdb.node');
  if (process.platform !== 'linux' || !existsSync(library)) {
    return `native store: skipped, no prebuilt library for ${process.platform} ${process.arch}`;
  }
  if (!existsSync(headers)) return 'native store: skipped, node-api-headers is not installed';

  const outputs = {
    shared: join(root, 'build/svc-rocksdb.node'),
    release: join(root, 'build/svc-rocksdb-release.node'),
  };
  const archive = releaseLibrary(root);
  const output = archive === undefined ? outputs.shared : outputs.release;
  const stampPath = `${output}.stamp`;
  const inputs = filesUnder(folder, name => /\.(cc|h)$/.test(name));
  const version = JSON.parse(readFileSync(join(rocksdb, 'package.json'), 'utf8')).version;
  const stamp = stampOf([...inputs, join(root, 'bin/build-native.mjs')], [version, ...FLAGS]);
  if (isCurrent(stampPath, stamp, [output])) return 'native store: up to date';

  const compiler = process.env.CXX || 'g++';
  if (!runs(compiler)) {
    return `native store: skipped, no C++ compiler (${compiler}); the server takes its fallback store`;
  }
  mkdirSync(join(root, 'build'), {recursive: true});
  const fresh = `${output}.${process.pid}`;
  // A store of older sources must not outlive a failed build, nor one of the other kind this.
  for (const path of Object.values(outputs)) rmSync(path, {force: true});
  try {
    compile(compiler, [
      ...FLAGS,
      `-I${headers}`,
      `-I${join(rocksdb, 'deps/rocksdb/rocksdb/include')}`,
      ...sources,
      '-o',
      fresh,
      ...(archive === undefined
        ? [`-L${libraries}`, '-l:@nxtedition+rocksdb.node']
        : [archive, '-Wl,--exclude-libs,ALL', '-Wl,--gc-sections']),
      '-pthread',
    ]);
    const missing = missingSymbols(fresh, archive === undefined ? library : fresh);
    if (missing.length > 0) {
      throw new Error(
        `the library of rocksdb ${version} does not export:\n  ${missing.join('\n  ')}`,
      );
    }
    renameSync(fresh, output);
    writeFileSync(stampPath, stamp);
  } finally {
    rmSync(fresh, {force: true});
  }
  return `native store: built ${relative(root, output)}`;
}

function compile(compiler, args) {
  try {
    execFileSync(compiler, args, {stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 << 20});
  } catch (error) {
    throw new Error(`${compiler} failed:\n${error.stderr || error.message}`);
  }
}

/**
 * Symbols of the library's namespace that `object` needs and `library` lacks, demangled. `_ZTH` is
 * none: what initializes a variable of a thread is looked for, and need not be there.
 */
function missingSymbols(object, library) {
  const exported = new Set(symbols(['-D', '--defined-only', library]));
  const missing = symbols(['-D', '--undefined-only', object]).filter(
    symbol => /^_Z(?!TH).*7rocksdb/.test(symbol) && !exported.has(symbol),
  );
  if (missing.length === 0) return [];
  return execFileSync('c++filt', {input: missing.join('\n'), encoding: 'utf8'})
    .trim()
    .split('\n');
}

function symbols(args) {
  const text = execFileSync('nm', args, {encoding: 'utf8', maxBuffer: 256 << 20});
  return text
    .split('\n')
    .map(line => line.trim().split(/\s+/).at(-1) ?? '')
    .map(symbol => symbol.replace(/@.*$/, ''))
    .filter(symbol => symbol !== '');
}
