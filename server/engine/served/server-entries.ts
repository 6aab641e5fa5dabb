/** Entries of the whole server: databases made and dropped, documents, formats, markers. */
import {Refusal} from '#server/base/errors.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {EntryEncoder, EntryKind, ServerBody} from '#server/transactions/entry.ts';
import type {EngineLog} from '../engine-log.ts';

const noBytes = new Uint8Array(0);

interface ServerEntriesOptions {
  readonly clock: Clock;
  readonly encoder: EntryEncoder;
  /** Asked at each entry: the log begins later than its users. */
  readonly log: () => EngineLog;
}

export class ServerEntries {
  readonly #options: ServerEntriesOptions;

  constructor(options: ServerEntriesOptions) {
    this.#options = options;
  }

  /**
   * Appends an entry; resolves when it is executed here.
   *
   * @throws {Refusal} when it was not taken, or nobody knows (`isUnknown`).
   */
  async propose(
    kind: EntryKind,
    body: {readonly head: ServerBody['head']; readonly bytes?: Uint8Array},
  ): Promise<void> {
    const {clock, encoder, log} = this.#options;
    const now = Math.max(0, Math.floor(clock.now()));
    const bytes = encoder.encodeServer(kind, now, {
      head: body.head,
      bytes: body.bytes ?? noBytes,
    });
    const result = await log().propose(bytes);
    if (result.kind === 'refused') throw refusalOf(result.code, result.detail);
    if (result.kind === 'unknown') throw new Refusal('commit.unknown', result.detail);
  }
}

/** Whether the entry behind the error may be executed yet. */
export function isUnknown(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'commit.unknown';
}

function refusalOf(code: string, detail: string): Refusal {
  if (code === 'queue-full') return new Refusal('commit.queue-full', detail);
  if (code === 'disk-full') return new Refusal('storage.full', detail);
  if (code === 'not-leader') return new Refusal('cluster.not-leader', detail);
  return new Refusal('server.stopping', detail);
}
