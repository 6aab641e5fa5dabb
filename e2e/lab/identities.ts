/**
 * Who is who in the lab: an authority with the certificates of the API server, the key of service
 * accounts, and a kubeconfig with a token for everybody who asks the API server.
 */
import {generateKeyPairSync, randomBytes} from 'node:crypto';
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {run} from './commands.ts';
import {addresses, apiServer, clusterDomain, type LabFolder} from './layout.ts';

export interface Identities {
  readonly authority: string;
  /** The bearer token of user `admin`, who may do everything. */
  readonly adminToken: string;
}

interface Identity {
  readonly name: string;
  readonly user: string;
  readonly group?: string;
}

const validDays = '7';
const people: readonly Identity[] = [
  {name: 'admin', user: 'admin', group: 'system:masters'},
  {name: 'controllers', user: 'system:kube-controller-manager'},
  {name: 'scheduler', user: 'system:kube-scheduler'},
  {name: 'proxy', user: 'system:kube-proxy'},
  {name: 'coredns', user: 'system:coredns'},
];

export async function makeIdentities(folder: LabFolder, nodes: number): Promise<Identities> {
  mkdirSync(folder.keys, {recursive: true});
  const authority = new Authority(folder.keys);
  await authority.make();
  await authority.sign('apiserver', '/CN=kube-apiserver', [
    ...['', '.default', '.default.svc', `.default.svc.${clusterDomain}`].map(
      rest => `DNS:kubernetes${rest}`,
    ),
    ...[addresses.apiService, addresses.control, '127.0.0.1'].map(address => `IP:${address}`),
  ]);
  await authority.sign('kubelet-client', '/O=system:masters/CN=kube-apiserver-kubelet-client', []);
  const {privateKey, publicKey} = generateKeyPairSync('rsa', {modulusLength: 2_048});
  const write = (name: string, content: string | Buffer): void =>
    writeFileSync(join(folder.keys, name), content);
  write('service-accounts.key', privateKey.export({type: 'pkcs8', format: 'pem'}));
  write('service-accounts.pub', publicKey.export({type: 'spki', format: 'pem'}));

  const kubelets = Array.from({length: nodes}, (_, index) => ({
    name: `n${index + 1}`,
    user: `system:node:n${index + 1}`,
    group: 'system:nodes',
  }));
  const tokens = [...people, ...kubelets].map(identity => {
    const token = randomBytes(16).toString('hex');
    writeFileSync(folder.kubeconfig(identity.name), kubeconfig(token, authority.certificate));
    return {...identity, token};
  });
  const lines = tokens.map(({token, user, name, group}) =>
    [token, user, name, ...(group === undefined ? [] : [`"${group}"`])].join(','),
  );
  write('tokens.csv', `${lines.join('\n')}\n`);
  return {authority: authority.certificate, adminToken: tokens[0]?.token ?? ''};
}

/** JSON is YAML. */
function kubeconfig(token: string, certificate: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{name: 'lab', cluster: {server: apiServer, 'certificate-authority': certificate}}],
    users: [{name: 'user', user: {token}}],
    contexts: [{name: 'lab', context: {cluster: 'lab', user: 'user'}}],
    'current-context': 'lab',
  });
}

/** It signs certificates for a week, into the folder in which it lies itself. */
export class Authority {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get certificate(): string {
    return join(this.#folder, 'ca.crt');
  }

  async make(): Promise<void> {
    await run(
      'openssl',
      'req',
      '-x509',
      ...newKey(join(this.#folder, 'ca.key')),
      '-out',
      this.certificate,
      '-days',
      validDays,
      '-subj',
      '/CN=lab',
    );
  }

  async sign(name: string, subject: string, alternatives: readonly string[]): Promise<void> {
    const path = (ending: string): string => join(this.#folder, `${name}.${ending}`);
    const names = alternatives.length === 0 ? '' : `subjectAltName=${alternatives.join(',')}\n`;
    const usages = 'keyUsage=digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n';
    writeFileSync(path('ext'), `${usages}${names}`);
    await run('openssl', 'req', ...newKey(path('key')), '-out', path('csr'), '-subj', subject);
    await run(
      'openssl',
      'x509',
      '-req',
      '-in',
      path('csr'),
      '-CA',
      this.certificate,
      '-CAkey',
      join(this.#folder, 'ca.key'),
      '-CAcreateserial',
      '-days',
      validDays,
      '-out',
      path('crt'),
      '-extfile',
      path('ext'),
    );
  }
}

function newKey(path: string): string[] {
  const curve = ['-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  return ['-newkey', 'ec', ...curve, '-nodes', '-keyout', path];
}
