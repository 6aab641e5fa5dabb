/** The process of the operator against an API server behind a socket, from start to SIGTERM. */
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {setTimeout as pause} from 'node:timers/promises';
import {textAt} from '#operator/api/kube-object.ts';
import {clusterObject} from '#operator/api/testing-cluster.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {serveFakeApi} from '#operator/simulation/fake-api/http-server.ts';
import {ObjectStore} from '#operator/simulation/fake-api/object-store.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';

const root = join(import.meta.dirname, '../..');

/** Waits until it holds; what never does fails the test by its own time limit. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(50);
}

function configFile(folder: string, server: string): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{name: 'fake', cluster: {server, 'insecure-skip-tls-verify': true}}],
    users: [{name: 'someone', user: {token: 'secret'}}],
    contexts: [
      {name: 'fake', context: {cluster: 'fake', user: 'someone', namespace: 'svc-system'}},
    ],
    'current-context': 'fake',
  };
  const file = join(folder, 'config');
  writeFileSync(file, JSON.stringify(config));
  return file;
}

test('the process makes the objects of a cluster, tells of itself and ends', {
  timeout: 60_000,
}, async () => {
  const store = new ObjectStore({now: () => new Date().toISOString(), admit: object => object});
  const server = await serveFakeApi(store);
  const folder = mkdtempSync(join(tmpdir(), 'svc-operator-'));
  const port = await freePort();
  const env = {
    ...process.env,
    KUBECONFIG: configFile(folder, server.url),
    PORT: String(port),
    POD_NAMESPACE: 'svc-system',
  };
  const main = join(root, 'operator/main.ts');
  const child = spawn(process.execPath, ['--conditions=source', main], {env, stdio: 'pipe'});
  let log = '';
  child.stderr.on('data', chunk => (log += String(chunk)));
  const told = async (path: string): Promise<Response | undefined> => {
    try {
      return await fetch(`http://127.0.0.1:${port}${path}`);
    } catch {
      return undefined;
    }
  };
  try {
    await until(async () => (await told('/readyz'))?.status === 204);
    assert.equal((await told('/healthz'))?.status, 204);
    store.create(kinds.cluster, clusterObject());
    const ref = {kind: kinds.statefulSet, namespace: 'shop', name: 'db'};
    await until(() => store.find(ref) !== undefined);
    const cluster = {kind: kinds.cluster, namespace: 'shop', name: 'db'};
    await until(() => textAt(store.get(cluster).status, 'phase') === 'Creating');
    const text = (await (await told('/metrics'))?.text()) ?? '';
    assert.match(text, /^svc_operator_leader\S* 1/m);
    assert.match(text, /^svc_operator_reconcile_total\{[^}]*controller="cluster"/m);
    assert.match(text, /^svc_operator_cluster_condition\{[^}]*type="Available"[^}]*\} 0/m);
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number | null];
    assert.equal(code, 0, log);
    const lease = store.get({kind: kinds.lease, namespace: 'svc-system', name: 'svc-operator'});
    assert.equal(textAt(lease, 'spec', 'holderIdentity'), '');
  } finally {
    child.kill('SIGKILL');
    await server.close();
    rmSync(folder, {recursive: true, force: true});
  }
});
