/**
 * The load: N keep-alive connections, each with one request under way at a time (closed loop),
 * in a process of its own so that neither side pays for the other's garbage.
 *
 * Raw sockets and the least parsing that is right: the client must cost less than what it
 * measures. Reads one `Job` as JSON from standard input and writes one `Outcome` to standard
 * output. The same program drives every HTTP server, ours and others.
 */
import {connect, type Socket} from 'node:net';

/** What to send, how often and for how long. */
export interface Job {
  readonly host: string;
  readonly port: number;
  /** Clients go to these too, each to one, in turn. */
  readonly others?: readonly {readonly host: string; readonly port: number}[];
  readonly clients: number;
  readonly millis: number;
  readonly path: string;
  readonly authorization: string;
  /** Further lines of the head, each with its end. */
  readonly headers?: string;
  /** The body is `before`, a number, `after`. */
  readonly before: string;
  readonly after: string;
  /** Puts `count` numbers between them, each followed by `each`, separated by commas. */
  readonly rows?: {readonly count: number; readonly each: string};
  /** `random`: below `count`; `sequence`: client c counts from `start + c * stride`. */
  readonly numbers:
    | {readonly kind: 'random'; readonly count: number; readonly seed: number}
    | {readonly kind: 'sequence'; readonly start: number; readonly stride: number};
}

/** What came of it. Rates are of answers with a 2xx status. */
export interface Outcome {
  readonly operations: number;
  readonly errors: number;
  readonly firstError: string;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Millis: number;
  readonly p99Millis: number;
  /** The longest that any client waited for an answer. */
  readonly worstMillis: number;
  /** Processor time of this process, to show that it did not stand in the way. */
  readonly clientCpuMicrosPerOp: number;
}

const headEnd = Buffer.from('\r\n\r\n');
const lengthHeader = /\r\ncontent-length: *(\d+)/i;

interface Tally {
  operations: number;
  errors: number;
  firstError: string;
  readonly latencies: number[];
}

/** Where one complete answer ends in `bytes`, or -1 while it is not complete. */
function answerEnd(bytes: Buffer): number {
  const at = bytes.indexOf(headEnd);
  if (at === -1) return -1;
  const head = bytes.toString('latin1', 0, at);
  const length = lengthHeader.exec(head)?.[1];
  if (length !== undefined) {
    const end = at + 4 + Number(length);
    return bytes.length >= end ? end : -1;
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return at + 4;
  let position = at + 4;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', position);
    if (lineEnd === -1) return -1;
    const size = Number.parseInt(bytes.toString('latin1', position, lineEnd), 16);
    position = lineEnd + 2 + size + 2;
    if (position > bytes.length) return -1;
    if (size === 0) return position;
  }
}

/** A small, well mixed generator: the same seed sends the same requests to every side. */
function randomBelow(count: number, seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * count);
  };
}

function numbersOf(job: Job, client: number): () => number {
  const {numbers} = job;
  if (numbers.kind === 'random') return randomBelow(numbers.count, numbers.seed * 1_000 + client);
  let next = numbers.start + client * numbers.stride;
  return () => next++;
}

function middleOf({rows}: Job, nextNumber: () => number): string {
  if (rows === undefined) return String(nextNumber());
  let text = '';
  for (let row = 0; row < rows.count; row += 1) {
    text += `${row === 0 ? '' : ','}${nextNumber()}${rows.each}`;
  }
  return text;
}

/** Runs one client until `deadline` and resolves when its last answer is in. */
function runClient(job: Job, client: number, deadline: number, tally: Tally): Promise<void> {
  const {promise, resolve, reject} = Promise.withResolvers<void>();
  const nextNumber = numbersOf(job, client);
  const servers = [job, ...(job.others ?? [])];
  const {host, port} = servers[client % servers.length] ?? job;
  const headStart =
    `POST ${job.path} HTTP/1.1\r\nHost: ${host}:${port}\r\n${job.headers ?? ''}` +
    `Authorization: ${job.authorization}\r\nContent-Type: application/json\r\nContent-Length: `;
  const fixedLength = Buffer.byteLength(job.before) + Buffer.byteLength(job.after);
  let pending: Buffer | undefined;
  let sentAt = 0;
  const socket: Socket = connect({host, port, noDelay: true});
  const send = (): void => {
    const now = performance.now();
    if (now >= deadline) {
      socket.destroy();
      resolve();
      return;
    }
    sentAt = now;
    const middle = middleOf(job, nextNumber);
    const length = fixedLength + middle.length;
    socket.write(`${headStart}${length}\r\n\r\n${job.before}${middle}${job.after}`, 'latin1');
  };
  socket.on('connect', send);
  socket.on('error', reject);
  socket.on('close', () => reject(new Error('the server closed a connection')));
  socket.on('data', chunk => {
    const bytes = pending === undefined ? chunk : Buffer.concat([pending, chunk]);
    const end = answerEnd(bytes);
    if (end === -1) {
      pending = bytes;
      return;
    }
    pending = undefined;
    tally.latencies.push(performance.now() - sentAt);
    // The status' first digit: HTTP/1.1 200
    if (bytes[9] === 0x32) tally.operations += 1;
    else {
      tally.errors += 1;
      if (tally.firstError === '') tally.firstError = bytes.toString('utf8', 0, 600);
    }
    send();
  });
  return promise;
}

async function run(job: Job): Promise<Outcome> {
  const tally: Tally = {operations: 0, errors: 0, firstError: '', latencies: []};
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const deadline = startedAt + job.millis;
  const clients = Array.from({length: job.clients}, (_, client) =>
    runClient(job, client, deadline, tally),
  );
  await Promise.all(clients);
  const seconds = (performance.now() - startedAt) / 1_000;
  const cpu = process.cpuUsage(cpuBefore);
  const sorted = Float64Array.from(tally.latencies).sort();
  const quantile = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return {
    operations: tally.operations,
    errors: tally.errors,
    firstError: tally.firstError,
    seconds,
    perSecond: tally.operations / seconds,
    p50Millis: quantile(0.5),
    p99Millis: quantile(0.99),
    worstMillis: quantile(1),
    clientCpuMicrosPerOp: (cpu.user + cpu.system) / Math.max(1, tally.operations),
  };
}

if (import.meta.main) {
  let text = '';
  for await (const chunk of process.stdin) text += String(chunk);
  process.stdout.write(`${JSON.stringify(await run(JSON.parse(text) as Job))}\n`);
}
