/**
 * How two peers come to trust a connection: both know the cluster's token, and neither says it.
 *
 * Each side sends a `hello` with who it is and sixteen fresh random bytes, then a `proof`: an HMAC
 * with the token over both hellos and the side that speaks. A recorded conversation proves nothing
 * later, since the random bytes differ; a proof cannot be sent back, since the sides do. What the
 * checksums of later frames begin with comes from the same HMAC.
 *
 * Whether bytes can be read or changed on their way is for TLS (`svc.ha.tls.*`) to decide; this
 * holds without it against everybody who does not sit on the way.
 */
import {createHmac, timingSafeEqual} from 'node:crypto';
import type {Random} from '#server/platform/clock.ts';
import type {PeerIntroduction} from '../peer-transport.ts';

export interface Hello {
  /** `svc.ha.clusterName`. */
  readonly cluster: string;
  /**
   * Who speaks, and whom it means to speak to, where it knows: an address may have passed to
   * another node.
   */
  readonly from: string;
  readonly to: string;
  readonly introduction: PeerIntroduction;
}

/** Who opened the connection. */
export type Side = 'dialler' | 'listener';

/** Why a connection is not taken; names what to look at, and no secret. */
export interface Rejection {
  readonly reason: 'malformed' | 'cluster' | 'addressee' | 'itself' | 'token';
  readonly detail: string;
}

export interface Trust {
  readonly peer: Hello;
  /** What the checksums of frames begin with, by who writes them. */
  readonly seeds: Readonly<Record<Side, number>>;
}

const nonceBytes = 16;
/** No frame of a handshake is larger. */
export const helloBytesMax = 4_096;
const textLengthMax = 256;
const portMax = 65_535;

/**
 * One side of a handshake: say `hello`, hear one, say `proof`, hear one. The dialler proves itself
 * first: a listener gives nobody anything to guess the token by. While a token changes, a listener
 * goes on with whichever of those that it accepts the dialler proved to know.
 */
export class Handshake {
  readonly #side: Side;
  readonly #own: Hello;
  #token: string;
  readonly #alsoAccepted: readonly string[];
  readonly hello: Buffer;
  #theirs: {readonly hello: Hello; readonly bytes: Buffer} | undefined;

  constructor(options: {
    readonly side: Side;
    readonly own: Hello;
    readonly token: string;
    /** Tokens that the dialler may prove to know instead, to a listener. */
    readonly alsoAccepted?: readonly string[] | undefined;
    readonly random: Random;
  }) {
    this.#side = options.side;
    this.#own = options.own;
    this.#token = options.token;
    this.#alsoAccepted = options.side === 'listener' ? (options.alsoAccepted ?? []) : [];
    const nonce = Buffer.alloc(nonceBytes);
    options.random.fill(nonce);
    this.hello = Buffer.concat([nonce, Buffer.from(JSON.stringify(options.own), 'utf8')]);
  }

  /** Takes the other side's hello; answers why it is turned away, if it is. */
  hear(bytes: Buffer): Rejection | undefined {
    const hello = parseHello(bytes);
    if (hello === undefined) return {reason: 'malformed', detail: 'a hello that cannot be read'};
    const rejection = this.#unfit(hello);
    if (rejection !== undefined) return rejection;
    this.#theirs = {hello, bytes: Buffer.from(bytes)};
    return undefined;
  }

  /** What this side proves itself with, once the other's hello is heard. */
  proof(): Buffer {
    return this.#hmac(`proof ${this.#side}`);
  }

  /** Takes the other side's proof. */
  conclude(proof: Buffer): Trust | Rejection {
    const theirs = this.#theirs;
    if (theirs === undefined) return {reason: 'malformed', detail: 'a proof before a hello'};
    const known = [this.#token, ...this.#alsoAccepted].find(token =>
      this.#isProvedBy(token, proof),
    );
    if (known === undefined) {
      const from = theirs.hello.from;
      return {reason: 'token', detail: `${from} does not know the token of this cluster`};
    }
    this.#token = known;
    const seed = (side: Side): number => this.#hmac(`frames ${side}`).readUInt32LE(0);
    return {
      peer: theirs.hello,
      seeds: {dialler: seed('dialler'), listener: seed('listener')},
    };
  }

  #isProvedBy(token: string, proof: Buffer): boolean {
    const expected = this.#hmac(`proof ${other(this.#side)}`, token);
    return proof.length === expected.length && timingSafeEqual(proof, expected);
  }

  #unfit({cluster, from, to}: Hello): Rejection | undefined {
    const own = this.#own;
    if (cluster !== own.cluster) {
      const detail = `${from} belongs to the cluster '${cluster}', not to '${own.cluster}'`;
      return {reason: 'cluster', detail};
    }
    if (from === own.from) {
      return {reason: 'itself', detail: `the address leads to this node itself, ${from}`};
    }
    // A listener does not know yet whom it speaks to.
    const isMeant = to === own.from || to === '';
    if (!isMeant || (own.to !== '' && from !== own.to)) {
      const detail = `${from} looked for ${to}, and here is ${own.from}`;
      return {reason: 'addressee', detail};
    }
    return undefined;
  }

  #hmac(purpose: string, token = this.#token): Buffer {
    const theirs = this.#theirs?.bytes ?? Buffer.alloc(0);
    const [first, second] = this.#side === 'dialler' ? [this.hello, theirs] : [theirs, this.hello];
    const hmac = createHmac('sha256', token);
    for (const part of [Buffer.from(purpose, 'utf8'), first, second]) {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(part.length);
      hmac.update(length).update(part);
    }
    return hmac.digest();
  }
}

function other(side: Side): Side {
  return side === 'dialler' ? 'listener' : 'dialler';
}

function parseHello(bytes: Buffer): Hello | undefined {
  if (bytes.length <= nonceBytes || bytes.length > helloBytesMax) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8', nonceBytes));
  } catch {
    return undefined;
  }
  const {cluster, from, to, introduction} = (value ?? {}) as Partial<Hello>;
  const texts = [cluster, from, to];
  if (!texts.every(isShortText) || !isIntroduction(introduction)) return undefined;
  return value as Hello;
}

function isIntroduction(value: Partial<PeerIntroduction> | undefined): boolean {
  const {serverName, release, logId, formats, httpPort, httpsPort} = value ?? {};
  return (
    [serverName, release, logId].every(isShortText) &&
    Number.isSafeInteger(formats?.from) &&
    Number.isSafeInteger(formats?.to) &&
    isPort(httpPort) &&
    (httpsPort === undefined || isPort(httpsPort))
  );
}

function isShortText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= textLengthMax;
}

function isPort(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= portMax;
}
