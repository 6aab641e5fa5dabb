/**
 * E27: a new password of root and a new token of the cluster are written into their Secrets: the
 * servers take them over beside a client, the old ones are worth nothing, and no entry is lost.
 */
import assert from 'node:assert/strict';
import {setTimeout as sleep} from 'node:timers/promises';
import {eventually} from '../../eventually.ts';
import {type Cluster, isReady} from '../../svc/cluster.ts';
import {compareBooks, Ledger} from '../../svc/ledger.ts';
import {Operated, secretValue} from '../../svc/operated.ts';
import {RefusedByServer, type ServerClient} from '../../svc/server-client.ts';
import {ports} from '../../svc/stateful-set.ts';
import type {Scenario, World} from '../scenario.ts';

const lagMax = 10_000;

export const secretsRotated: Scenario = {
  id: 'E27',
  title: 'a new password and a new token take over, and the old ones are refused',
  operator: 'shared',
  async run(world) {
    const {note} = world;
    const operated = await Operated.begin(world);
    await operated.untilSettled();
    const {cluster} = operated;
    const service = await operated.writer();
    // With a user of its own: what root is called changes under it.
    const own = {name: 'keeper', password: 'keeper-of-books', databases: {'*': ['admin']}};
    await service.server(`create user ${JSON.stringify(own)}`);

    const {rootPassword} = cluster.names;
    await write(world, 'db-root', 'password', 'another-password');
    const began = performance.now();
    const renewed = operated.as({rootPassword: 'another-password'});
    await eventually('the new password', async () => {
      await renewed.cluster.client(await cluster.pod('db-0')).cluster();
      return true;
    });
    note(`the new password of root counts after ${seconds(began)} s`);
    await assertRefused(cluster.client(await cluster.pod('db-0')), rootPassword);
    const available = await operated.condition('Available');
    assert.equal(available?.status, 'True', available?.message);

    const ledger = await Ledger.open(await renewed.writer(), {writers: 2});
    const oldToken = await secretValue(world, 'db-token', 'token');
    const lags = new LagWatch(renewed);
    const turned = performance.now();
    await write(world, 'db-token', 'token', 'another-token-of-the-cluster');
    await eventually(
      'the new token alone',
      async () =>
        (await secretValue(world, 'db-tokens', 'token')).trim() === 'another-token-of-the-cluster',
      {seconds: 300, everyMs: 1_000},
    );
    // What the Secret says last is read by members that start, and the operator is still to begin.
    await eventually('the end of the old token', () => isRefused(renewed.cluster, oldToken), {
      seconds: 300,
      everyMs: 1_000,
    });
    await renewed.untilSettled();
    note(`three rounds of restarts in ${seconds(turned)} s`);
    const worst = await lags.end();
    note(`no member lacked more than ${worst} entries`);
    assert.ok(worst <= lagMax, `${worst} entries`);
    assert.ok(await isRefused(renewed.cluster, oldToken), 'the old token');
    const {longestGapMs} = await ledger.close();
    await compareBooks(renewed.cluster, ledger);
    note(`${ledger.acknowledged} entries, once; longest gap ${longestGapMs} ms`);
  },
};

async function assertRefused(client: ServerClient, password: string): Promise<void> {
  assert.ok(password !== '');
  await assert.rejects(
    client.cluster(),
    (error: unknown) => error instanceof RefusedByServer && [401, 403].includes(error.status),
  );
}

/** Whether every member says so. */
async function isRefused(cluster: Cluster, token: string): Promise<boolean> {
  const headers = {'x-svc-cluster-token': token, 'x-svc-forwarded-user': 'root'};
  const pods = await cluster.pods();
  const answers = await Promise.all(
    pods.map(async ({status: {podIP}}) => {
      const address = `http://${podIP}:${ports.http}/api/v1/cluster`;
      return (await fetch(address, {headers, signal: AbortSignal.timeout(5_000)})).status;
    }),
  );
  return answers.length === cluster.names.replicas && answers.every(status => status === 401);
}

async function write({lab, namespace}: World, name: string, key: string, value: string) {
  const data = {[key]: Buffer.from(value).toString('base64')};
  await lab.kubernetes.patch({apiVersion: 'v1', kind: 'Secret', namespace, name}, {data});
}

/** The most that a ready member lacked, as it says itself. */
class LagWatch {
  #worst = 0;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(operated: Operated) {
    this.#running = this.#watch(operated);
  }

  async end(): Promise<number> {
    this.#isOver = true;
    await this.#running;
    return this.#worst;
  }

  async #watch({cluster}: Operated): Promise<void> {
    while (!this.#isOver) {
      try {
        for (const pod of (await cluster.pods()).filter(isReady)) {
          const {localReplicationLag} = await cluster.client(pod).cluster();
          this.#worst = Math.max(this.#worst, localReplicationLag);
        }
      } catch {
        // One that is asked stops in this moment.
      }
      await sleep(250);
    }
  }
}

function seconds(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(1);
}
