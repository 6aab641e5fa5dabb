/** What relaying a request asks of it and its answer, and what it asks of the server. */
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {PeerClient} from './peer-client.ts';

/** What the ways to the leader need of the server. */
export interface RelayContext {
  /** The settings as they are now. */
  readonly settings: Settings;
  readonly options: {
    readonly clock: Clock;
    readonly timers: Timers;
    readonly peerClient: PeerClient;
    readonly authorities?: (() => readonly string[]) | undefined;
  };
}

/** A request of a client and its answer (message/exchange.ts). */
export interface RelayedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Decoded path below the base path, by segment. */
  readonly segments: readonly string[];
  readonly isForwarded: boolean;
  readonly streamsBody: boolean;
  readonly signal: AbortSignal;
  header(name: string): string | undefined;
  /** Tells a client that asked first to send its body. */
  allowBody(): void;
  body(): Promise<Buffer>;
  /** Begins to answer as the leader answers. */
  relayHead(status: number, headers: readonly string[]): void;
  relayWhole(status: number, headers: readonly string[], body: Buffer): void;
  /** When a refusal that the leader has marked may be told. */
  heldBack(): Promise<void> | undefined;
  /** Writes a piece and waits for the reader. */
  write(piece: Buffer): Promise<void>;
  endStream(): Promise<void> | void;
}
