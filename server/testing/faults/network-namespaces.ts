/**
 * A network of the kernel for tests: a namespace for each member with an address of its own, joined
 * by a bridge, in which packets can be lost one way.
 *
 * To be used in a network that belongs to the test alone (`unshare -n`), where the bridge is made;
 * nothing of the machine's own network is touched. A way is cut by a wrong hardware address: what
 * is sent there vanishes without a word, as on a cable, and connections only notice the silence.
 */
import {execFileSync} from 'node:child_process';

const bridge = 'bridge0';
const prefix = '10.77.0';
/** The address of the bridge, outside of the namespaces. */
const ownAddress = `${prefix}.254`;
const nowhere = '02:00:00:00:00:ff';

export class NetworkNamespaces {
  readonly #names: readonly string[];

  private constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** Makes so many; `label` is theirs alone on this machine. @throws when the machine has none. */
  static make(size: number, label: string): NetworkNamespaces {
    const names = Array.from({length: size}, (_, at) => `${label}-${at}`);
    const made = new NetworkNamespaces(names);
    try {
      ip('link set lo up');
      ip(`link add ${bridge} type bridge`);
      ip(`addr add ${ownAddress}/24 dev ${bridge}`);
      ip(`link set ${bridge} up`);
      for (const [at, name] of names.entries()) {
        ip(`netns add ${name}`);
        ip(`link add port${at} type veth peer name eth0 netns ${name}`);
        ip(`link set port${at} master ${bridge} up`);
        ip(`-n ${name} addr add ${made.address(at)}/24 dev eth0`);
        ip(`-n ${name} link set eth0 up`);
        ip(`-n ${name} link set lo up`);
      }
    } catch (error) {
      made.remove();
      throw error;
    }
    return made;
  }

  address(at: number): string {
    return `${prefix}.${at + 1}`;
  }

  /** What starts a program in a namespace. */
  launcher(at: number): readonly string[] {
    return ['ip', 'netns', 'exec', this.#name(at)];
  }

  /** Nothing that `from` sends reaches `to` any more. */
  cut(from: number, to: number): void {
    const lost = `neigh replace ${this.address(to)} lladdr ${nowhere} dev eth0 nud permanent`;
    ip(`-n ${this.#name(from)} ${lost}`);
  }

  mend(from: number, to: number): void {
    ip(`-n ${this.#name(from)} neigh del ${this.address(to)} dev eth0`);
  }

  /** The bridge goes with the network of the test. */
  remove(): void {
    for (const name of this.#names) {
      try {
        ip(`netns del ${name}`);
      } catch {
        // It was not made.
      }
    }
  }

  #name(at: number): string {
    const name = this.#names[at];
    if (name === undefined) throw new Error(`there is no namespace ${at}`);
    return name;
  }
}

function ip(words: string): void {
  execFileSync('ip', words.split(' '), {stdio: ['ignore', 'ignore', 'pipe']});
}
