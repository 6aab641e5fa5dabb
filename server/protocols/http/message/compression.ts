/**
 * Answers made smaller for clients that ask for it (`Accept-Encoding`, RFC 9110).
 *
 * A whole answer is compressed on a thread of the pool, and only from a length on at which that
 * is worth a turn; rows that are streamed are compressed piece by piece, each complete for its
 * reader when it is sent. The levels are those that cost about as much as sending.
 */
import {promisify} from 'node:util';
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from 'node:zlib';
import type {Settings} from '#server/base/setting-values.ts';

export type Coding = 'zstd' | 'br' | 'gzip';

const gzipOptions = {level: 4};
const brotliOptions = {
  params: {[constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18},
};
const zstdOptions = {params: {[constants.ZSTD_c_compressionLevel]: 2}};

/** How it is done, the cheapest way first. */
const ways = {
  zstd: {
    whole: (bytes: Buffer) => promisify(zstdCompress)(bytes, zstdOptions),
    pieces: () => createZstdCompress(zstdOptions),
  },
  br: {
    whole: (bytes: Buffer) => promisify(brotliCompress)(bytes, brotliOptions),
    pieces: () => createBrotliCompress(brotliOptions),
  },
  gzip: {
    whole: (bytes: Buffer) => promisify(gzip)(bytes, gzipOptions),
    pieces: () => createGzip(gzipOptions),
  },
} as const satisfies Record<Coding, unknown>;

const codings = Object.keys(ways) as readonly Coding[];
const longHeader = 1_024;

/** The coding that a client likes best of ours; undefined: it asks for none of them. */
export function acceptedCoding(header: string | undefined): Coding | undefined {
  if (header === undefined || header === '' || header.length > longHeader) return undefined;
  const weights = new Map<string, number>();
  for (const entry of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = entry.split(';').map(part => part.trim());
    const weight = parameters.find(parameter => parameter.startsWith('q='))?.slice(2) ?? '1';
    weights.set(name, /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0);
  }
  let best: Coding | undefined;
  let bestWeight = 0;
  for (const coding of codings) {
    const weight = weights.get(coding) ?? weights.get('*') ?? 0;
    if (weight <= bestWeight) continue;
    best = coding;
    bestWeight = weight;
  }
  return best;
}

/** Whether an answer of so many bytes is worth it; rows that are streamed: infinitely many. */
export function isCompressed(settings: Settings, bytes: number): boolean {
  const least = settings.get('svc.server.httpCompressionMinSize');
  return least >= 0 && bytes >= least;
}

/** What an answer says of its coding; flat names and values. */
export function codingHeaders(coding: Coding): readonly string[] {
  return ['Content-Encoding', coding, 'Vary', 'Accept-Encoding'];
}

/** A whole answer as it is sent. */
export interface CodedBody {
  readonly bytes: Buffer;
  /** What its head says of the coding; flat names and values. */
  readonly headers: readonly string[];
}

/** @param failed - Told why the answer is sent as it was, such as for want of memory. */
export async function codedBody(
  coding: Coding,
  bytes: Buffer,
  failed: (error: unknown) => void,
): Promise<CodedBody> {
  try {
    return {bytes: await ways[coding].whole(bytes), headers: codingHeaders(coding)};
  } catch (error) {
    failed(error);
    return {bytes, headers: []};
  }
}

/** A streamed answer that is compressed as it comes; pieces are given one after the other. */
export class CompressedPieces {
  readonly #coder: ReturnType<(typeof ways)[Coding]['pieces']>;
  #made: Buffer[] = [];

  constructor(coding: Coding) {
    this.#coder = ways[coding].pieces();
    this.#coder.on('data', (bytes: Buffer) => void this.#made.push(bytes));
    // Whoever waits for a piece hears of it.
    this.#coder.on('error', () => undefined);
  }

  /** The bytes to send for a piece: with them the client can read all of it. */
  async add(piece: Buffer): Promise<Buffer> {
    const {promise, resolve, reject} = Promise.withResolvers<void>();
    this.#coder.once('error', reject);
    this.#coder.write(piece);
    this.#coder.flush(() => resolve());
    await promise;
    this.#coder.off('error', reject);
    return this.#take();
  }

  /** The bytes to send for the last piece. */
  async end(piece: Buffer): Promise<Buffer> {
    const {promise, resolve, reject} = Promise.withResolvers<void>();
    this.#coder.once('error', reject);
    this.#coder.once('end', resolve);
    this.#coder.end(piece);
    await promise;
    return this.#take();
  }

  /** Gives its memory back when the client is gone before the end. */
  destroy(): void {
    this.#coder.destroy();
  }

  #take(): Buffer {
    const taken = Buffer.concat(this.#made);
    this.#made = [];
    return taken;
  }
}
