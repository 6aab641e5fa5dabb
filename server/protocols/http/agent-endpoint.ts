/** What this protocol asks of the agent tool server, which node/ gives it. */
import type {Principal} from '#server/security/principal.ts';
import type {RequestContext} from '#server/session/session.ts';

/** The agent tool server, as this protocol reaches it. */
export interface AgentEndpoint {
  /** Whether a page of that origin may speak with it. */
  accepts(origin: string, host: string | undefined): boolean;
  /** Answers the body of a POST; an empty text is no answer. */
  answer(
    body: Uint8Array,
    caller: {
      readonly principal: Principal;
      readonly requestId: string;
      readonly context: RequestContext;
      readonly conversation: string | undefined;
      /** When a refusal may be told; undefined: now. */
      readonly late: (error: unknown) => Promise<void> | undefined;
    },
  ): Promise<{
    readonly status: number;
    readonly body: string;
    /** The conversation that has begun; see `conversationHeaders`. */
    readonly conversation?: string | undefined;
  }>;
  /** The configuration in force, as JSON text. */
  configurationText(): string;
  /** Merges a partial configuration. Answers what is wrong with it; then nothing has changed. */
  configure(change: string): Promise<string | undefined>;
}
