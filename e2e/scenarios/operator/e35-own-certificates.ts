/**
 * E35: members talk to each other by the certificates of a Secret that a person made. The cluster
 * takes writes, and at the port between members answers who holds that certificate.
 */
import assert from 'node:assert/strict';
import {X509Certificate} from 'node:crypto';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Authority} from '../../lab/identities.ts';
import {clusterDomain} from '../../lab/layout.ts';
import {Ledger, settleBooks} from '../../svc/ledger.ts';
import {Operated} from '../../svc/operated.ts';
import {ports} from '../../svc/stateful-set.ts';
import {installOperator} from '../../svc/operator.ts';
import type {Scenario} from '../scenario.ts';

const secretName = 'own-certificates';

interface Files {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export const ownCertificates: Scenario = {
  id: 'E35',
  title: 'members believe each other by the certificates of a Secret that a person made',
  operator: 'shared',
  async run(world) {
    const {lab, namespace, note} = world;
    const domain = `db-headless.${namespace}.svc.${clusterDomain}`;
    const files = await certificate(`*.${domain}`);
    await lab.kubernetes.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {name: secretName, namespace},
      stringData: {'tls.crt': files.cert, 'tls.key': files.key, 'ca.crt': files.ca},
    });
    await installOperator(lab);
    const operated = await Operated.apply(world, {tls: {mode: 'Secret', secretName}});
    await operated.untilSettled();
    const {cluster} = operated;
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});
    const {serialNumber} = new X509Certificate(files.cert);
    const names = (await cluster.pods()).map(({metadata}) => metadata.name);
    for (const [at, name] of names.entries()) {
      // Nobody but members is let in at that port.
      const from = names[(at + 1) % names.length] ?? '';
      const script = askFor(`${name}.${domain}`);
      const node = ['--', '/opt/svc/bin/node', '-e', script];
      const said = await lab.kubectl('exec', '-n', namespace, from, ...node);
      assert.equal(said.trim(), serialNumber, name);
    }
    note(`three members answer with the certificate; ${await settleBooks(cluster, ledger)}`);
  },
};

/** Prints the number of the certificate with which a host answers, once it was believed. */
function askFor(host: string): string {
  const read = (name: string): string => `fs.readFileSync('/etc/svc/tls/${name}')`;
  const keys = `ca: ${read('ca.crt')}, cert: ${read('tls.crt')}, key: ${read('tls.key')}`;
  return [
    `const place = {host: '${host}', port: ${ports.raft}, servername: '${host}', ${keys}};`,
    'const socket = tls.connect(place, () => {',
    '  console.log(socket.getPeerCertificate().serialNumber);',
    '  socket.destroy();',
    '});',
  ].join(' ');
}

async function certificate(name: string): Promise<Files> {
  const folder = mkdtempSync(join(tmpdir(), 'own-certificates-'));
  try {
    const authority = new Authority(folder);
    await authority.make();
    await authority.sign('tls', '/CN=members', [`DNS:${name}`]);
    const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
    return {ca: read('ca.crt'), cert: read('tls.crt'), key: read('tls.key')};
  } finally {
    rmSync(folder, {recursive: true});
  }
}
