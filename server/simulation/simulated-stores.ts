/** The memory twin behind the store factory; its calls are operations of the machine. */
import {assert} from '#server/base/assert.ts';
import {createMemoryStore} from '#server/storage/memory/memory-store.ts';
import {InMemoryDisk} from '#server/storage/memory/shelf.ts';
import type {StoreFactory} from '#server/engine/store-factory.ts';
import type {Machine} from './machine.ts';
import type {SimulatedDisk} from './simulated-disk.ts';
import type {SeededRandom} from './seeded-random.ts';

export class SimulatedStores implements StoreFactory {
  readonly #machine: Machine;
  readonly #disk: SimulatedDisk | undefined;
  readonly #shelf = new InMemoryDisk();
  readonly #paths = new Set<string>();
  readonly #pending = new Set<string>();

  /** Stores take their room from `disk` where it is given. */
  constructor(machine: Machine, disk?: SimulatedDisk) {
    this.#machine = machine;
    this.#disk = disk;
  }

  async open(path: string, options: {readonly mustExist?: boolean} = {}) {
    this.#machine.operate('store-open', path);
    const store = createMemoryStore({
      shelf: this.#shelf,
      path,
      mustExist: options.mustExist === true,
      takeRoom: bytes => this.#disk?.takeRoom(bytes) ?? true,
      onPoint: point => this.#machine.operate(`store-${point}`, path),
    });
    this.#paths.add(path);
    return store;
  }

  /** Puts a copy of what is durable at `path` of other stores here, as a download does. */
  take(others: SimulatedStores, path: string, to: string): void {
    const image = others.#shelf.image(path);
    assert(image !== undefined, `${path} is there to be copied`);
    this.#machine.operate('store-checkpoint', to);
    this.#shelf.remove(to);
    this.#shelf.create(to, image.durable);
    this.#paths.add(to);
  }

  exists(path: string): boolean {
    return this.#paths.has(path);
  }

  list(directory: string): string[] {
    const prefix = `${directory}/`;
    return [...this.#paths]
      .filter(path => path.startsWith(prefix))
      .map(path => path.slice(prefix.length))
      .sort();
  }

  rename(from: string, to: string): void {
    this.#machine.operate('rename', `${from} ${to}`);
    this.#shelf.rename(from, to);
    this.#paths.delete(from);
    this.#paths.add(to);
    if (this.#pending.delete(from)) this.#pending.add(to);
  }

  remove(path: string): void {
    this.#machine.operate('remove-tree', path);
    this.#shelf.remove(path);
    this.#paths.delete(path);
    this.#pending.delete(path);
  }

  isPending(path: string): boolean {
    return this.#pending.has(path);
  }

  setPending(path: string, pending: boolean): void {
    if (pending === this.#pending.has(path)) return;
    this.#machine.operate('mark', path);
    if (pending) this.#pending.add(path);
    else this.#pending.delete(path);
  }

  crash(random: SeededRandom): void {
    this.#shelf.crash(random);
  }

  /** Ends the stores of a killed process; every write is there for the next one. */
  kill(): void {
    for (const path of this.#paths) this.#shelf.image(path)?.end?.();
    for (const path of this.#paths) {
      const image = this.#shelf.image(path);
      if (image !== undefined) image.end = undefined;
    }
  }
}
