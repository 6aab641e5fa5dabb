/**
 * Writes Kubernetes events about the operator's resources.
 *
 * The same words about the same object are one event whose count grows, and are written at most
 * once a minute; an event that cannot be written is logged and forgotten, since nothing waits for
 * it.
 * The name of an event follows from what it says, so that an operator that starts anew goes on with
 * the same one.
 */
import type {Clock} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {hashOf, type KubeObject, numberAt} from '#operator/api/kube-object.ts';
import {reasons, type Told} from '#operator/api/reasons.ts';
import {hasReason, type KubeApi} from './api.ts';
import {kinds} from './kinds.ts';

const REPEAT_MS = 60_000;
const REMEMBERED_MAX = 4_096;
const MESSAGE_MAX = 1_000;

export class EventRecorder {
  readonly #api: KubeApi;
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #logger: Logger;
  readonly #component: string;
  /** When each was written last, the latest at the end. */
  readonly #written = new Map<string, number>();

  constructor(options: {
    readonly api: KubeApi;
    readonly clock: Pick<Clock, 'now' | 'monotonic'>;
    readonly logger: Logger;
    /** Name of the pod of the operator. */
    readonly component: string;
  }) {
    this.#api = options.api;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#component = options.component;
  }

  /** Does not reject. */
  async record(about: KubeObject, {reason, message}: Told): Promise<void> {
    const {name: object, uid = ''} = about.metadata;
    const name = `${object}.${hashOf([uid, reason, message])}`;
    const now = this.#clock.monotonic();
    const before = this.#written.get(name);
    if (before !== undefined && now - before < REPEAT_MS) return;
    this.#remember(name, now);
    try {
      await this.#write(about, name, {reason, message: message.slice(0, MESSAGE_MAX)});
    } catch (error) {
      this.#logger.log('warn', 'event.not-written', {reason, message: String(error)});
    }
  }

  async #write(about: KubeObject, name: string, told: Told): Promise<void> {
    const event = this.#event(about, name, told);
    try {
      await this.#api.create(kinds.event, event);
    } catch (error) {
      if (!hasReason(error, 'AlreadyExists')) throw error;
      const {namespace = ''} = about.metadata;
      const ref = {kind: kinds.event, namespace, name};
      const count = (numberAt(await this.#api.get(ref), 'count') ?? 0) + 1;
      await this.#api.patch(ref, {count, lastTimestamp: event['lastTimestamp']});
    }
  }

  #event(about: KubeObject, name: string, {reason, message}: Told): KubeObject {
    const {apiVersion, kind, metadata} = about;
    const {namespace = '', name: object, uid = ''} = metadata;
    const at = new Date(this.#clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {name, namespace},
      involvedObject: {apiVersion, kind, namespace, name: object, uid},
      reason,
      message,
      type: reasons[reason].severity,
      count: 1,
      firstTimestamp: at,
      lastTimestamp: at,
      source: {component: 'svc-operator'},
      reportingComponent: 'svc.io/operator',
      reportingInstance: this.#component,
    };
  }

  #remember(name: string, now: number): void {
    this.#written.delete(name);
    this.#written.set(name, now);
    if (this.#written.size <= REMEMBERED_MAX) return;
    const [oldest] = this.#written.keys();
    if (oldest !== undefined) this.#written.delete(oldest);
  }
}
