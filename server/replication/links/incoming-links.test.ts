/** Who is let in by address: the allow-list's word is final, and told to whom it concerns. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {createClock, createTimers} from '#server/platform/real/clock.ts';
import type {Admission} from '../peer-addresses.ts';
import {loopback, RawConnection, speakAs} from './testing-links.ts';
import {IncomingLinks} from './incoming-links.ts';
import {plainSockets} from './socket-security.ts';

async function admitting(
  admit: () => Promise<Admission>,
  run: (port: number, told: readonly string[]) => Promise<void>,
): Promise<void> {
  const told: string[] = [];
  const links = new IncomingLinks(
    {
      clock: createClock(),
      timers: createTimers(),
      security: plainSockets,
      addresses: {admit},
      handshakeMs: 5_000,
      speak: (socket, listener) => speakAs('a_1', socket, listener),
    },
    {
      judge: () => undefined,
      connected: ({from}) => void told.push(`connected ${from}`),
      message: () => undefined,
      heard: () => undefined,
      broken: () => undefined,
      rejected: (address, reason) => void told.push(`rejected ${address}: ${reason}`),
    },
  );
  const port = await links.listenOn(loopback, 0);
  try {
    await run(port, told);
  } finally {
    await links.close();
  }
}

test('an address that is none of a peer is refused before its handshake, and told why', () =>
  admitting(
    async () => 'refused',
    async (port, told) => {
      const stranger = await RawConnection.open(port);
      const {kind, payload} = await stranger.next();
      assert.equal(kind, 'refusal');
      assert.match(payload.toString(), /127\.0\.0\.1 is no address of a peer.*peerAllowlist/);
      await stranger.isClosed;
      assert.deepEqual(told, [`rejected 127.0.0.1: ${payload}`]);
    },
  ));

test('an address of a peer, or any in the grace of a start, goes on to the handshake', async () => {
  for (const admission of ['allowed', 'grace'] as const) {
    await admitting(
      async () => admission,
      async (port, told) => {
        const peer = await (await RawConnection.open(port, 'b_1')).introduce();
        assert.deepEqual(told, ['connected b_1']);
        peer.close();
      },
    );
  }
});
