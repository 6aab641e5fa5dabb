/**
 * Messages a line each, as over standard input and output: lines in, answers out in the order in
 * which they are ready. What is not answered leaves no line.
 */

export interface LineServerOptions {
  readonly input: AsyncIterable<Uint8Array>;
  /** Resolves when the reader has room for more. */
  readonly write: (line: string) => Promise<void>;
  /**
   * Answers one line, without its end; empty for no answer. Does not reject. What takes long waits
   * for `begin` first, and calls what it answers when it has been carried out.
   */
  readonly answer: (line: Uint8Array, begin: () => Promise<() => void>) => Promise<string>;
  /** Answers a line of more than `lineBytesMax`, which is passed over. */
  readonly tooLong: () => string;
  readonly lineBytesMax: number;
}

/** The most messages that are carried out at once. */
const atOnceMax = 32;
/** The most lines that are read ahead, so that a word about one under way is heard. */
const linesMax = 1_024;
const newline = 0x0a;

/**
 * Resolves when the input has ended and everything is answered. Further lines wait to be read while
 * those that are not answered have `lineBytesMax` together.
 */
export async function serveLines(options: LineServerOptions): Promise<void> {
  const {write, answer, tooLong, lineBytesMax} = options;
  const underWay = new Set<Promise<void>>();
  const places = new Places(atOnceMax);
  const begin = (): Promise<() => void> => places.take();
  let bytes = 0;
  for await (const line of linesOf(options)) {
    const length = line?.length ?? 0;
    bytes += length;
    const work = (line === undefined ? Promise.resolve(tooLong()) : answer(line, begin))
      .then(async text => {
        if (text !== '') await write(`${text}\n`);
      })
      .finally(() => {
        bytes -= length;
        underWay.delete(work);
      });
    underWay.add(work);
    while (underWay.size >= linesMax || bytes > lineBytesMax) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}

/** A number of places; whoever finds none free waits for the next one, in order. */
class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Answers what gives the place back. */
  async take(): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>(resolve => this.#waiting.push(resolve));
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    };
  }
}

/** Lines that are not blank; undefined stands for one that is too long. */
async function* linesOf({
  input,
  lineBytesMax,
}: LineServerOptions): AsyncGenerator<Uint8Array | undefined> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const last = chunk.subarray(from, end);
      bytes += last.length;
      if (bytes > lineBytesMax) yield undefined;
      else yield* unlessBlank([...pieces, last]);
      pieces = [];
      bytes = 0;
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    bytes += rest.length;
    if (bytes <= lineBytesMax) pieces.push(rest);
    else pieces = [];
  }
  if (bytes > lineBytesMax) yield undefined;
  else yield* unlessBlank(pieces);
}

function* unlessBlank(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  const [only] = pieces;
  const line = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
  if (line.some(byte => byte !== 0x20 && byte !== 0x09 && byte !== 0x0d)) yield line;
}
