/**
 * The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677): a client proves that it knows a password
 * without showing it, and learns that the server knows it too.
 *
 *     client   n,,n=ada,r=CLIENT
 *     server   r=CLIENT+SERVER,s=SALT,i=ROUNDS
 *     client   c=biws,r=CLIENT+SERVER,p=PROOF
 *     server   v=SIGNATURE
 *
 * The server judges by what it stores for this alone (scram-verifier.ts), from which nobody makes a
 * proof.
 */
import {timingSafeEqual} from 'node:crypto';
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from './principal.ts';
import {hmac, type ScramVerifier, sha256} from './scram-verifier.ts';

export interface ScramLoginOptions {
  /** Who logs in, where the protocol has told it before; it overrules what the client says. */
  readonly user: string | undefined;
  /** Text without commas that nobody guesses. */
  readonly nonce: string;
  /** Answers something for every name, and the same for the same. @throws {Refusal} */
  readonly verifierOf: (name: string) => ScramVerifier;
  /** Decides what a proof is worth. @throws {Refusal} */
  readonly decide: (name: string, isProven: boolean) => Promise<Principal>;
}

const bareForm = /^n=((?:[^,=]|=2C|=3D)*),r=([\x21-\x2b\x2d-\x7e]+)$/;

interface Begun {
  readonly name: string;
  readonly verifier: ScramVerifier;
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
    const {nonce: own, user, verifierOf} = this.#options;
    const [, head, asked, bare = ''] = /^([ny],([^,]*),)(.*)$/s.exec(clientFirst) ?? [];
    // Acting for another user, and binding to the channel, are not offered.
    if (head === undefined || asked !== '') throw malformed();
    const [, named = '', clientNonce = ''] = bareForm.exec(bare) ?? [];
    if (clientNonce === '') throw malformed();
    const name = user ?? named.replaceAll('=2C', ',').replaceAll('=3D', '=');
    const verifier = verifierOf(name);
    const nonce = `${clientNonce}${own}`;
    const serverFirst = `r=${nonce},s=${verifier.salt},i=${verifier.rounds}`;
    const binding = Buffer.from(head, 'utf8').toString('base64');
    this.#begun = {name, verifier, said: `${bare},${serverFirst}`, nonce, binding};
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
    const {name, verifier, said} = begun;
    const whole = `${said},${bare}`;
    const isProven = proves(Buffer.from(proof, 'base64'), verifier.storedKey, whole);
    const principal = await this.#options.decide(name, isProven);
    const signature = hmac(verifier.serverKey, whole);
    return {principal, answer: `v=${signature.toString('base64')}`};
  }
}

/** The proof is the client's key under a signature that only who knows the password can make. */
function proves(proof: Buffer, storedKey: Buffer, whole: string): boolean {
  const signature = hmac(storedKey, whole);
  if (proof.length !== signature.length) return false;
  const clientKey = signature.map((byte, at) => byte ^ (proof[at] ?? 0));
  return timingSafeEqual(sha256(clientKey), storedKey);
}

function malformed(): Refusal {
  return new Refusal('security.unauthenticated', 'the messages of the login are no SCRAM-SHA-256');
}
