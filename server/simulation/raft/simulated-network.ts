/**
 * The network between simulated nodes: ordered channels with delays, as TCP gives them, and what
 * goes wrong with them: cuts in one direction or both, loss, repetition, disorder, slowness.
 */
import type {NodeId} from '#server/raft/message.ts';
import type {Scheduler} from '../scheduler.ts';
import type {SeededRandom} from '../seeded-random.ts';

/** Percent of messages, and milliseconds. */
export interface Weather {
  readonly lossPercent: number;
  readonly repeatPercent: number;
  readonly disorder: boolean;
  readonly delayMs: number;
}

export const fairWeather: Weather = {
  lossPercent: 0,
  repeatPercent: 0,
  disorder: false,
  delayMs: 4,
};

export type Receive<Message> = (to: NodeId, from: NodeId, message: Message) => void;

/** Carries messages of any form; `name` says in traces what one is. */
export class SimulatedNetwork<Message> {
  weather = fairWeather;
  delivered = 0;
  readonly #scheduler: Scheduler;
  readonly #random: SeededRandom;
  readonly #receive: Receive<Message>;
  /** Cuts by `from>to`; several may lie over each other. */
  readonly #cuts = new Map<string, number>();
  /** When the last message of a channel arrives. */
  readonly #arrivals = new Map<string, number>();

  constructor(scheduler: Scheduler, random: SeededRandom, receive: Receive<Message>) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.#receive = receive;
  }

  reaches(from: NodeId, to: NodeId): boolean {
    return (this.#cuts.get(`${from}>${to}`) ?? 0) === 0;
  }

  cut(from: NodeId, to: NodeId): void {
    this.#cuts.set(`${from}>${to}`, (this.#cuts.get(`${from}>${to}`) ?? 0) + 1);
  }

  mend(from: NodeId, to: NodeId): void {
    this.#cuts.set(`${from}>${to}`, (this.#cuts.get(`${from}>${to}`) ?? 1) - 1);
  }

  send(from: NodeId, to: NodeId, message: Message, name: string): void {
    const {weather} = this;
    if (this.#random.chance(weather.lossPercent)) return;
    this.#deliver(from, to, message, name);
    if (this.#random.chance(weather.repeatPercent)) this.#deliver(from, to, message, name);
  }

  #deliver(from: NodeId, to: NodeId, message: Message, name: string): void {
    const channel = `${from}>${to}`;
    const {nowMs} = this.#scheduler;
    let at = nowMs + 0.2 + (this.#random.below(1000) / 1000) * this.weather.delayMs;
    if (!this.weather.disorder) {
      at = Math.max(at, this.#arrivals.get(channel) ?? 0);
      this.#arrivals.set(channel, at);
    }
    this.#scheduler.after(at - nowMs, name, () => {
      // A cut loses what is under way.
      if (!this.reaches(from, to)) return;
      this.delivered++;
      this.#receive(to, from, message);
    });
  }
}
