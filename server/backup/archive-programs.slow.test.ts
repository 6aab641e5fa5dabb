/**
 * What the programs of others make of an archive: Info-ZIP, 7-zip, Python, Go, Java and libarchive
 * unpack one stored and one deflated, and every file has its checksum. A program that is not
 * installed is skipped by name.
 */
import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import {createHash, randomBytes} from 'node:crypto';
import {mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {manifestName} from './archive-manifest.ts';
import {deflatePiece} from './archive/deflated-pieces.ts';
import {type ArchiveMeans, writeArchive} from './write-archive.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-archive-programs-'));
after(() => rmSync(root, {recursive: true}));

const content: Readonly<Record<string, Buffer>> = {
  CURRENT: Buffer.from('MANIFEST-000001\n'),
  'EMPTY.log': Buffer.alloc(0),
  '000010.sst': Buffer.from('so it goes, '.repeat(300_000)),
  '000011.sst': randomBytes((1 << 20) + 1),
};
const archives = new Map<string, string>();
/** What is written, and its level. */
const kinds = [
  ['stored', 0],
  ['deflated', 1],
] as const;

before(async () => {
  const directory = join(root, 'database');
  mkdirSync(directory);
  for (const [name, bytes] of Object.entries(content)) writeFileSync(join(directory, name), bytes);
  const manifest = {database: 'music', release: '1.2.3', formatLevel: 1, createdAt: 7, index: 42};
  for (const [kind, level] of kinds) {
    const path = join(root, `${kind}.zip`);
    const order = {directory, path, manifest, level, threads: 2, password: undefined};
    const means: ArchiveMeans = {
      onProgress: () => {},
      monotonic: () => 0,
      pause: async () => {},
      giveWay: async () => {},
      deflate: async piece => deflatePiece(piece),
    };
    await writeArchive({...order, bytesPerSecond: undefined}, means);
    archives.set(kind, path);
  }
});

const python =
  'import sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n' +
  'z.extractall(sys.argv[2])';

const go = `package main
import ("archive/zip"; "io"; "os"; "path/filepath")
func check(err error) { if err != nil { panic(err) } }
func main() {
  archive, err := zip.OpenReader(os.Args[1]); check(err)
  for _, file := range archive.File {
    from, err := file.Open(); check(err)
    to, err := os.Create(filepath.Join(os.Args[2], file.Name)); check(err)
    _, err = io.Copy(to, from); check(err)
    check(to.Close())
  }
}
`;

const java = `import java.io.*; import java.nio.file.*; import java.util.zip.*;
class Unpack {
  public static void main(String[] words) throws Exception {
    try (ZipFile zip = new ZipFile(words[0])) {
      for (ZipEntry entry : java.util.Collections.list(zip.entries())) {
        try (InputStream bytes = zip.getInputStream(entry)) {
          Files.copy(bytes, Path.of(words[1], entry.getName()));
        }
      }
    }
    // A second reader, from the front of the file on.
    try (ZipInputStream zip = new ZipInputStream(new FileInputStream(words[0]))) {
      for (ZipEntry entry; (entry = zip.getNextEntry()) != null; ) {
        byte[] bytes = zip.readAllBytes();
        if (!java.util.Arrays.equals(bytes, Files.readAllBytes(Path.of(words[1], entry.getName()))))
          throw new IOException(entry.getName());
      }
    }
  }
}
`;

interface Program {
  readonly name: string;
  /** Its commands, the first that is installed is taken. */
  readonly commands: readonly string[];
  readonly probe: string;
  readonly words: (archive: string, target: string) => readonly string[];
  /** What it runs, by the name of its file. */
  readonly source?: readonly [string, string];
}

const programs: readonly Program[] = [
  {
    name: 'Info-ZIP',
    commands: ['unzip'],
    probe: '-v',
    words: (archive, target) => ['-qq', archive, '-d', target],
  },
  {
    name: '7-zip',
    commands: ['7zz', '7z', '7za'],
    probe: 'i',
    words: (archive, target) => ['x', '-y', `-o${target}`, archive],
  },
  {
    name: 'Python',
    commands: ['python3'],
    probe: '--version',
    words: (archive, target) => ['-c', python, archive, target],
  },
  {
    name: 'Go',
    commands: ['go'],
    probe: 'version',
    words: (archive, target) => ['run', join(root, 'unpack.go'), archive, target],
    source: ['unpack.go', go],
  },
  {
    name: 'Java',
    commands: ['java'],
    probe: '-version',
    words: (archive, target) => [join(root, 'Unpack.java'), archive, target],
    source: ['Unpack.java', java],
  },
  {
    name: 'libarchive',
    commands: ['bsdtar'],
    probe: '--version',
    words: (archive, target) => ['-xf', archive, '-C', target],
  },
];

for (const {name, commands, probe, words, source} of programs) {
  const command = commands.find(one => spawnSync(one, [probe]).status === 0);
  const skip = command === undefined && `none of ${commands.join(', ')} is installed`;
  test(`${name} unpacks what is written`, {skip}, () => {
    assert.ok(command !== undefined);
    if (source !== undefined) writeFileSync(join(root, source[0]), source[1]);
    for (const [kind, archive] of archives) {
      const target = mkdtempSync(join(root, 'unpacked-'));
      execFileSync(command, words(archive, target), {stdio: 'pipe', env: environment()});
      const names = readdirSync(target).filter(file => file !== manifestName);
      assert.deepEqual(new Set(names), new Set(Object.keys(content)), kind);
      for (const file of names) {
        const found = digest(readFileSync(join(target, file)));
        assert.equal(found, digest(content[file] ?? Buffer.alloc(0)), `${file}, ${kind}`);
      }
    }
  });
}

/** Go is to look for no module; what it compiled of its own library before, it takes again. */
function environment(): NodeJS.ProcessEnv {
  return {...process.env, GOFLAGS: '-mod=mod', GO111MODULE: 'off'};
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
