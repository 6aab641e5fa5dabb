/**
 * The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677): a client proves that it knows a password
 * without showing it, and learns that the server knows it too.
 *
 *     client   n,,n=ada,r=CLIENT
 *     server   r=CLIENT+SERVER,s=SALT,i=ROUNDS
 *     client   c=biws,r=CLIENT+SERVER,p=PROOF
 *     server   v=SIGNATURE
 *
 * What is stored of a password (passwords.ts) is the salted password of the exchange, so every user
 * may log in by it. Who has stolen what is stored may too: whoever offers SCRAM to the outside
 * decides whether that is worth a second text beside each user.
 */
import {createHash, createHmac, timingSafeEqual} from 'node:crypto';
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from './principal.ts';

/** What is stored of a password, or stands for that of somebody who does not exist. */
export interface SaltedPassword {
  readonly rounds: number;
  readonly salt: Uint8Array;
  readonly key: Buffer;
}

export interface ScramLoginOptions {
  /** Who logs in, where the protocol has told it before; it overrules what the client says. */
  readonly user: string | undefined;
  /** Text without commas that nobody guesses. */
  readonly nonce: string;
  /** Answers something for every name, and the same for the same. @throws {Refusal} */
  readonly saltedPasswordOf: (name: string) => SaltedPassword;
  /** Decides what a proof is worth. @throws {Refusal} */
  readonly decide: (name: string, isProven: boolean) => Promise<Principal>;
}

const bareForm = /^n=([^,]*),r=([\x21-\x2b\x2d-\x7e]+)$/;

interface Begun {
  readonly name: string;
  readonly salted: SaltedPassword;
  /** What both have said so far. */
  readonly said: string;
  readonly nonce: string;
  /** What the client has to repeat of its first words, in base64. */
  readonly binding: string;
}

/** One login. Ask `challenge`, then `prove`, each once. */
export class ScramLogin {
  readonly #options: ScramLoginOptions;
  #begun: Begun | undefined;

  constructor(options: ScramLoginOptions) {
    this.#options = options;
  }

  /**
   * Answers the client's first message.
   *
   * @throws {Refusal} `security.unauthenticated` for what is none, `security.locked`.
   */
  challenge(clientFirst: string): string {
    const {nonce: own, user, saltedPasswordOf} = this.#options;
    const [, head, asked, bare = ''] = /^([ny],([^,]*),)(.*)$/s.exec(clientFirst) ?? [];
    // Acting for another user, and binding to the channel, are not offered.
    if (head === undefined || asked !== '') throw malformed();
    const [, named = '', clientNonce = ''] = bareForm.exec(bare) ?? [];
    if (clientNonce === '') throw malformed();
    const name = user ?? named.replaceAll('=2C', ',').replaceAll('=3D', '=');
    const salted = saltedPasswordOf(name);
    const nonce = `${clientNonce}${own}`;
    const salt = Buffer.from(salted.salt).toString('base64');
    const serverFirst = `r=${nonce},s=${salt},i=${salted.rounds}`;
    const binding = Buffer.from(head, 'utf8').toString('base64');
    this.#begun = {name, salted, said: `${bare},${serverFirst}`, nonce, binding};
    return serverFirst;
  }

  /**
   * Judges the client's proof; `answer` is what the client judges the server by.
   *
   * @throws {Refusal} `security.unauthenticated`, `security.locked`.
   */
  async prove(
    clientFinal: string,
  ): Promise<{readonly principal: Principal; readonly answer: string}> {
    const begun = this.#begun;
    this.#begun = undefined;
    const [, bare = '', proof = ''] = /^(.*),p=([A-Za-z0-9+/=]+)$/s.exec(clientFinal) ?? [];
    if (begun === undefined || bare !== `c=${begun.binding},r=${begun.nonce}`) throw malformed();
    const {name, salted, said} = begun;
    const whole = `${said},${bare}`;
    const isProven = proves(Buffer.from(proof, 'base64'), salted.key, whole);
    const principal = await this.#options.decide(name, isProven);
    const signature = hmac(hmac(salted.key, 'Server Key'), whole);
    return {principal, answer: `v=${signature.toString('base64')}`};
  }
}

/** The proof is the client's key under a signature that only who knows the password can make. */
function proves(proof: Buffer, saltedPassword: Buffer, whole: string): boolean {
  const stored = sha256(hmac(saltedPassword, 'Client Key'));
  const signature = hmac(stored, whole);
  if (proof.length !== signature.length) return false;
  const clientKey = signature.map((byte, at) => byte ^ (proof[at] ?? 0));
  return timingSafeEqual(sha256(clientKey), stored);
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function malformed(): Refusal {
  return new Refusal('security.unauthenticated', 'the messages of the login are no SCRAM-SHA-256');
}
