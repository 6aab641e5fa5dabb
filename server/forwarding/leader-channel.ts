/** The way of a call to the leader, as whoever has something to ask sees it. */
import type {Principal} from '#server/security/principal.ts';
import type {Frame, LeaderCall} from './leader-call.ts';

/** Who asks, and for how long. */
export interface CallOptions {
  readonly principal: Principal;
  /** Aborted when the client is gone: then the leader stops too. */
  readonly signal: AbortSignal | undefined;
  /** How long an answer may take to begin, a leader that is still looked for included. */
  readonly timeoutMs: number | undefined;
  /** A second time changes nothing. */
  readonly isRepeatable: boolean;
}

/** What the leader answers, frame by frame. Always `close` it (idempotent). */
export interface CallAnswer {
  /** Already read. */
  readonly first: Frame;
  /** The next one behind it; undefined at the end. @throws {Refusal} when it breaks off. */
  next(): Promise<Frame | undefined>;
  /** The leader stops what it still does for it. */
  close(): void;
}

/** A call whose values follow it, in frames. Always `close` it (idempotent). */
export interface CallStream {
  /** Sends more; what the leader has not read yet is kept here. */
  send(frame: Buffer): void;
  /** Sends the last of it. */
  end(frame: Buffer): void;
  /** The next frame of the answer; undefined at the end. @throws {Refusal} when it breaks off. */
  next(): Promise<Frame | undefined>;
  /** The leader stops. */
  close(): void;
}

export interface LeaderChannel {
  /**
   * Has the leader carry out a call; undefined: this server leads.
   *
   * @param callIn - The call when so many milliseconds are left; undefined: no end was set.
   * @throws {Refusal} what the leader refuses, `cluster.no-leader`, `commit.unknown`.
   */
  ask(
    callIn: (restMs: number | undefined) => LeaderCall,
    options: CallOptions,
  ): Promise<CallAnswer | undefined>;
  /**
   * Works like `ask`, for a call whose values follow once the leader has answered with a `head`:
   * until then nothing has happened.
   */
  open(
    callIn: (restMs: number | undefined) => LeaderCall,
    options: Omit<CallOptions, 'isRepeatable'>,
  ): Promise<CallStream | undefined>;
  close(): void;
}
