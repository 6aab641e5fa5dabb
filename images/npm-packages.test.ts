/** The closure over a lockfile is found as Node.js finds modules, and listed by its licences. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {billOfMaterials, npmComponent} from './bill-of-materials.ts';
import {type Lockfile, packageClosure} from './npm-packages.ts';

const lockfile: Lockfile = {
  'node_modules/web': {version: '1.0.0', license: 'MIT', dependencies: {bytes: '1', route: '2'}},
  'node_modules/bytes': {version: '1.1.0', license: 'MIT'},
  'node_modules/route': {version: '2.0.0', license: '(MIT OR ISC)', dependencies: {bytes: '3'}},
  'node_modules/route/node_modules/bytes': {version: '3.0.0', integrity: 'sha512-AAEC'},
  'node_modules/@scope/tool': {version: '4.0.0', dependencies: {web: '1'}},
  'node_modules/unused': {version: '9.0.0'},
};

test('a package gets the nearest version of what it needs, and nothing unused', () => {
  const closure = packageClosure(lockfile, ['@scope/tool']);
  assert.deepEqual(
    closure.map(({path, name, version}) => [path, name, version]),
    [
      ['node_modules/@scope/tool', '@scope/tool', '4.0.0'],
      ['node_modules/bytes', 'bytes', '1.1.0'],
      ['node_modules/route', 'route', '2.0.0'],
      ['node_modules/route/node_modules/bytes', 'bytes', '3.0.0'],
      ['node_modules/web', 'web', '1.0.0'],
    ],
  );
});

test('a package that the lockfile lacks is named', () => {
  const torn: Lockfile = {'node_modules/web': {version: '1.0.0', dependencies: {gone: '1'}}};
  assert.throws(() => packageClosure(torn, ['web']), /no gone, which node_modules\/web needs/);
});

test('a bill of materials lists each component once, and is the same for the same image', () => {
  const components = packageClosure(lockfile, ['@scope/tool']).map(npmComponent);
  const image = {
    name: 'svc/server',
    version: '1.2.3',
    digest: `sha256:${'ab'.repeat(32)}`,
    created: new Date(0),
    license: 'Apache-2.0',
  };
  const text = billOfMaterials(image, [...components, ...components]);
  assert.equal(text, billOfMaterials(image, [...components].reverse()));
  const bill = JSON.parse(text) as {
    serialNumber: string;
    components: {purl: string; licenses?: unknown; hashes?: unknown}[];
  };
  assert.match(bill.serialNumber, /^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-/);
  assert.deepEqual(
    bill.components.map(({purl}) => purl),
    [
      'pkg:npm/%40scope/tool@4.0.0',
      'pkg:npm/bytes@1.1.0',
      'pkg:npm/bytes@3.0.0',
      'pkg:npm/route@2.0.0',
      'pkg:npm/web@1.0.0',
    ],
  );
  assert.deepEqual(bill.components[2]?.hashes, [{alg: 'SHA-512', content: '000102'}]);
  assert.deepEqual(bill.components[3]?.licenses, [{expression: '(MIT OR ISC)'}]);
});
