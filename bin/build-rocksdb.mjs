/**
 * Compiles RocksDB from the sources in the package `rocksdb` into build/rocksdb/librocksdb.a, as a
 * release: the package's own library keeps its assertions and test hooks, which a scan pays for at
 * every row. bin/build-native.mjs links the native store against what is built here.
 *
 * Sources are compiled many to a unit (RocksDB keeps itself fit for that), on all processors. A
 * unit that is done is kept, so a build that was broken off goes on where it was.
 *
 * As a program (`make rocksdb`) it builds under the installation it lies in and shows progress.
 */
import {execFileSync, spawn} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {availableParallelism} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {isCurrent, stampOf} from './build-stamp.mjs';

const SOURCES_PER_UNIT = 12;

const FLAGS = [
  '-std=c++20',
  '-O2',
  '-fPIC',
  '-fno-rtti',
  '-fvisibility=hidden',
  // What nothing refers to is left out when the store is linked.
  '-ffunction-sections',
  '-fdata-sections',
  '-w',
  // What the package's own library asks of a processor, and machine.ts looks for.
  '-march=x86-64-v3',
  '-mpclmul',
  ...[
    'NDEBUG',
    'ROCKSDB_PLATFORM_POSIX',
    'ROCKSDB_LIB_IO_POSIX',
    'OS_LINUX',
    'ROCKSDB_FALLOCATE_PRESENT',
    'ROCKSDB_MALLOC_USABLE_SIZE',
    'ROCKSDB_PTHREAD_ADAPTIVE_MUTEX',
    'ROCKSDB_RANGESYNC_PRESENT',
    'ROCKSDB_SCHED_GETCPU_PRESENT',
    'HAVE_UINT128_EXTENSION',
    'HAVE_ALIGNED_NEW',
    'NPERF_CONTEXT',
    'NIOSTATS_CONTEXT',
  ].map(name => `-D${name}=1`),
];

/** Windows, tools, tests, and the interface for C, which refers to every utility. */
const LEFT_OUT = /^(port\/win|tools|test_util\/(testutil|transaction)|db\/c\.cc)/;

/** Of the utilities what RocksDB itself refers to; the rest (transactions, backups) stays out. */
const UTILITIES = new RegExp(
  `^utilities/(${[
    'checkpoint/',
    'compaction_filters',
    'counted_fs',
    'env_timed',
    'merge_operators',
    'object_registry',
    'options/',
    'table_properties_collectors/',
    'trace/',
    'transactions/snapshot_checker',
    'wal_filter',
  ].join('|')})`,
);

/**
 * Where the release library of the installed package lies under `root`; undefined while it is not
 * built, or was built from another version or with other flags.
 */
export function releaseLibrary(root) {
  const {output, stampPath, stamp} = planOf(root);
  return isCurrent(stampPath, stamp, [output]) ? output : undefined;
}

/**
 * Builds the library where it is not current; answers one line about what it did. Throws an Error
 * with the compiler's own words. Some minutes of every processor.
 */
export async function buildRocksdb(root, say = () => {}) {
  const source = sourceFolder(root);
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return `RocksDB: skipped, the store runs on linux-x64 only`;
  }
  if (!existsSync(source)) return 'RocksDB: skipped, the package rocksdb is not installed';
  if (releaseLibrary(root) !== undefined) return 'RocksDB: up to date';
  const compiler = process.env.CXX || 'g++';
  if (!runs(compiler)) return `RocksDB: skipped, no C++ compiler (${compiler})`;
  const {output, stampPath, stamp, folder} = planOf(root);
  const units = writeUnits(source, join(folder, stamp.slice(0, 12)));
  await compileAll(compiler, source, units, say);
  rmSync(output, {force: true});
  execFileSync('ar', ['crs', output, ...units.map(unit => unit.object)]);
  writeFileSync(stampPath, stamp);
  rmSync(join(folder, stamp.slice(0, 12)), {recursive: true});
  return 'RocksDB: built';
}

function planOf(root) {
  const folder = join(root, 'build/rocksdb');
  const output = join(folder, 'librocksdb.a');
  const manifest = join(root, 'node_modules/rocksdb/package.json');
  const version = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : '';
  const shape = [...FLAGS, String(SOURCES_PER_UNIT), String(LEFT_OUT), String(UTILITIES)];
  const stamp = stampOf([], [version, ...shape]);
  return {folder, output, stampPath: `${output}.stamp`, stamp};
}

function sourceFolder(root) {
  return join(root, 'node_modules/rocksdb/deps/rocksdb/rocksdb');
}

/** Files that include the sources of one folder each, some at a time. */
function writeUnits(source, folder) {
  mkdirSync(folder, {recursive: true});
  const byFolder = Map.groupBy(sourcesOf(source), path => path.split('/')[0]);
  const units = [];
  byFolder.set('version', ['../build_version.cc']);
  for (const [name, paths] of byFolder) {
    for (let at = 0; at < paths.length; at += SOURCES_PER_UNIT) {
      const path = join(folder, `${name}-${at}.cc`);
      const included = paths.slice(at, at + SOURCES_PER_UNIT);
      writeFileSync(path, included.map(one => `#include "${join(source, one)}"\n`).join(''));
      units.push({path, object: path.replace(/\.cc$/, '.o'), bytes: included.length});
    }
  }
  return units;
}

/** What the package compiles on Linux, without tools, tests and the utilities nobody calls. */
function sourcesOf(source) {
  const recipe = readFileSync(join(dirname(source), 'rocksdb.gyp'), 'utf8');
  const listed = [...recipe.matchAll(/^\s*"rocksdb\/([\w/]+\.cc)"/gm)].map(([, path]) => path);
  return [...new Set(listed)]
    .filter(path => !LEFT_OUT.test(path))
    .filter(path => !path.startsWith('utilities/') || UTILITIES.test(path))
    .filter(path => existsSync(join(source, path)))
    .sort((a, b) => (a < b ? -1 : 1));
}

async function compileAll(compiler, source, units, say) {
  const waiting = units.filter(unit => !existsSync(unit.object));
  const total = units.length;
  const startedAt = Date.now();
  let done = total - waiting.length;
  const first = done;
  const worker = async () => {
    for (let unit = waiting.shift(); unit !== undefined; unit = waiting.shift()) {
      await compile(compiler, source, unit);
      done += 1;
      const each = (Date.now() - startedAt) / (done - first);
      const left = Math.ceil(((total - done) * each) / 1000);
      say(`RocksDB: ${done} of ${total} units compiled${done < total ? `, ${left} s left` : ''}`);
    }
  };
  try {
    await Promise.all(Array.from({length: availableParallelism()}, worker));
  } catch (error) {
    waiting.length = 0;
    throw error;
  }
}

function compile(compiler, source, {path, object}) {
  const fresh = `${object}.${process.pid}`;
  const includes = [`-I${source}`, `-I${join(source, 'include')}`];
  const child = spawn(compiler, [...FLAGS, ...includes, '-c', path, '-o', fresh], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr.on('data', piece => {
    if (words.length < 1 << 16) words += piece;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', code => {
      if (code === 0) {
        renameSync(fresh, object);
        resolve();
      } else {
        rmSync(fresh, {force: true});
        reject(new Error(`${compiler} failed at ${path}:\n${words}`));
      }
    });
  });
}

/** Whether there is such a compiler. */
export function runs(compiler) {
  try {
    execFileSync(compiler, ['--version'], {stdio: 'ignore'});
    return true;
  } catch {
    return false;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const line = await buildRocksdb(dirname(import.meta.dirname), words => console.error(words));
    if (!line.endsWith('up to date')) console.error(line);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
