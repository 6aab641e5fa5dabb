/** What holds of every image of the table: size, labels, and what lies beside its archive. */
import assert from 'node:assert/strict';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {buildImage} from './build-image.ts';
import {imageTable} from './image-table.ts';
import {openArchive} from './testing-archive.ts';
import {writeImage} from './write-image.ts';

const root = join(import.meta.dirname, '..');
/** On its way, in bytes. */
const largest: Readonly<Record<string, number>> = {server: 60e6, operator: 55e6};
const architecture = process.arch === 'arm64' ? 'arm64' : 'x64';
const release = {version: '1.2.3', revision: 'abc', created: new Date('2026-11-01T00:00:00Z')};

for (const row of imageTable) {
  const isMissing = row.native.some(path => !existsSync(join(root, path)));
  const skip = isMissing ? 'make rocksdb has not run here' : false;

  test(`svc/${row.name} is small, labelled, and has its bill beside it`, {skip}, async () => {
    const built = await buildImage(row, {root, architecture}, release);
    const max = largest[row.name] ?? 0;
    assert.ok(built.compressedBytes <= max, `${built.compressedBytes} of ${max} bytes`);

    const folder = mkdtempSync(join(tmpdir(), 'svc-images-'));
    try {
      writeImage(folder, row.name, built);
      const written = [`${row.name}.cdx.json`, `${row.name}.tar`];
      assert.deepEqual(readdirSync(folder).toSorted(), written);
      const {read} = await openArchive({bytes: readFileSync(join(folder, `${row.name}.tar`))});
      const [saved] = read('manifest.json') as [{Config: string}];
      const {config} = read(saved.Config) as {config: Record<string, unknown>};
      const label = 'org.opencontainers.image';
      assert.deepEqual(config['Labels'], {
        [`${label}.title`]: row.title,
        [`${label}.description`]: row.description,
        [`${label}.version`]: '1.2.3',
        [`${label}.revision`]: 'abc',
        [`${label}.created`]: '2026-11-01T00:00:00.000Z',
        [`${label}.licenses`]: 'Apache-2.0',
        [`${label}.vendor`]: 'Svc',
      });
      assert.equal(config['User'], '65532:65532');
      assert.equal(config['StopSignal'], 'SIGTERM');

      const bill = JSON.parse(readFileSync(join(folder, `${row.name}.cdx.json`), 'utf8')) as {
        readonly bomFormat: string;
        readonly specVersion: string;
        readonly metadata: {readonly component: {readonly name: string; readonly purl: string}};
        readonly components: readonly {readonly name: string}[];
      };
      assert.deepEqual([bill.bomFormat, bill.specVersion], ['CycloneDX', '1.6']);
      const {component} = bill.metadata;
      assert.equal(component.name, `svc/${row.name}`);
      const {manifests} = read('index.json') as {manifests: [{digest: string}]};
      assert.ok(component.purl.endsWith(encodeURIComponent(manifests[0].digest)), component.purl);
      assert.ok(bill.components.some(({name}) => name === 'node'));
    } finally {
      rmSync(folder, {recursive: true, force: true});
    }
  });
}
