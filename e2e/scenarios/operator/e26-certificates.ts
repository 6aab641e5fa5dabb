/**
 * E26: certificates that the operator makes are replaced before their end, and their authority when
 * a person asks for it, while clients go on connecting: no handshake fails, and no pod restarts.
 *
 * Kubelets of the lab write a changed Secret into a pod within some seconds, and servers look at
 * their files every minute, so that the times of this scenario are the shortest that are honest.
 */
import assert from 'node:assert/strict';
import {X509Certificate} from 'node:crypto';
import {setTimeout as sleep} from 'node:timers/promises';
import {connect, type ConnectionOptions} from 'node:tls';
import {eventually} from '../../eventually.ts';
import {Ledger, settleBooks} from '../../svc/ledger.ts';
import {Operated, secretValue, uidsOf} from '../../svc/operated.ts';
import {installOperator} from '../../svc/operator.ts';
import type {Scenario, World} from '../scenario.ts';

const tls = {mode: 'Operator', validity: '15m', renewBefore: '10m', settle: '90s'};
const httpsPort = 2_490;

export const certificatesReplaced: Scenario = {
  id: 'E26',
  title: 'certificates and their authority are replaced without a restart or a failed handshake',
  operator: 'shared',
  async run(world) {
    const {note} = world;
    await installOperator(world.lab);
    // Minutes of writing fill a small volume.
    const operated = await Operated.apply(world, {tls, storage: {size: '2Gi'}});
    const {cluster} = operated;
    await operated.untilSettled();
    const before = uidsOf(await cluster.pods());
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});
    const watch = new HandshakeWatch(world, operated);
    const first = new X509Certificate(await secretValue(world, 'db-tls', 'tls.crt'));
    const authority = await secretValue(world, 'db-ca', 'ca.crt');
    await operated.mark({'svc.io/renew-authority': 'once'});
    const began = performance.now();
    await eventually(
      'the new authority alone',
      async () => {
        const now = await secretValue(world, 'db-ca', 'ca.crt');
        const trusted = await secretValue(world, 'db-tls', 'ca.crt');
        const count = trusted.split('BEGIN CERTIFICATE').length - 1;
        return now !== authority && count === 1;
      },
      {seconds: 480, everyMs: 2_000},
    );
    note(`another authority in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
    const last = new X509Certificate(await secretValue(world, 'db-tls', 'tls.crt'));
    assert.notEqual(last.serialNumber, first.serialNumber);
    const {handshakes, failures, serials} = await watch.end();
    note(`${handshakes} handshakes with ${serials} certificates, ${failures.length} failed`);
    assert.deepEqual(failures, []);
    assert.ok(serials >= 2, 'servers took over another certificate');
    assert.deepEqual(uidsOf(await cluster.pods()), before, 'no pod was replaced');
    note(await settleBooks(cluster, ledger));
  },
};

/** A client that believes what the Secret says at each moment, and connects once in a while. */
class HandshakeWatch {
  readonly #failures: string[] = [];
  readonly #serials = new Set<string>();
  #handshakes = 0;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(world: World, operated: Operated) {
    this.#running = this.#watch(world, operated);
  }

  async end() {
    this.#isOver = true;
    await this.#running;
    const [handshakes, serials] = [this.#handshakes, this.#serials.size];
    return {handshakes, serials, failures: this.#failures};
  }

  async #watch(world: World, {cluster}: Operated): Promise<void> {
    while (!this.#isOver) {
      // Nothing is there to connect to once the scenario has failed.
      const ca = await secretValue(world, 'db-tls', 'ca.crt').catch(() => '');
      const pods = await cluster.pods().catch(() => []);
      for (const {metadata, status} of ca === '' ? [] : pods) {
        const servername = `${metadata.name}.db-headless.${world.namespace}.svc.cluster.local`;
        const place = {host: status.podIP ?? '', port: httpsPort, servername, ca};
        this.#handshakes++;
        try {
          this.#serials.add(await serialOf(place));
        } catch (error) {
          this.#failures.push(`${metadata.name}: ${String(error)}`);
        }
      }
      await sleep(1_000);
    }
  }
}

/** The number of the certificate with which a server answers, once it was believed. */
function serialOf(place: ConnectionOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(place, () => {
      const {serialNumber} = socket.getPeerCertificate();
      socket.end();
      resolve(serialNumber);
    });
    socket.setTimeout(5_000, () => socket.destroy(new Error('no handshake within 5 s')));
    socket.on('error', reject);
  });
}
