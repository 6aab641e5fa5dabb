/** An event of the server as it is kept in memory, written into files and answered. */
export type EventType = 'HINT' | 'INFO' | 'WARNING' | 'CRITICAL';

export interface ServerEvent {
  /** `2026-11-20 22:21:56.799`, UTC. */
  readonly time: string;
  readonly type: EventType;
  readonly component: string;
  readonly db: string | null;
  readonly message: string;
}
