/**
 * The answers of the nine patterns, counted from the graph in plain TypeScript: no plan, no index,
 * one loop inside the other.
 */
interface Vertex {
  readonly type: string;
  readonly out: Map<string, string[]>;
  readonly in: Map<string, string[]>;
}

const messages = ['Post', 'Comment'];

class Network {
  readonly #vertices = new Map<string, Vertex>();

  constructor(lines: Iterable<string>) {
    for (const line of lines) {
      const row = JSON.parse(line) as Record<string, string>;
      const type = String(row['@class']);
      if (row['@type'] === 'vertex') {
        this.#vertices.set(String(row['@id']), {type, out: new Map(), in: new Map()});
        continue;
      }
      const [from, to] = [String(row['@from']), String(row['@to'])];
      push(this.#vertex(from).out, type, to);
      push(this.#vertex(to).in, type, from);
    }
  }

  #vertex(id: string): Vertex {
    const found = this.#vertices.get(id);
    if (found === undefined) throw new Error(`no vertex ${id}`);
    return found;
  }

  of(...types: readonly string[]): readonly string[] {
    return [...this.#vertices].flatMap(([id, {type}]) => (types.includes(type) ? [id] : []));
  }

  out(id: string, edge: string, ...types: readonly string[]): readonly string[] {
    return this.#ends(this.#vertex(id).out.get(edge), types);
  }

  in(id: string, edge: string, ...types: readonly string[]): readonly string[] {
    return this.#ends(this.#vertex(id).in.get(edge), types);
  }

  friends(id: string): readonly string[] {
    return [...this.out(id, 'knows'), ...this.in(id, 'knows')];
  }

  #ends(ids: readonly string[] = [], types: readonly string[]): readonly string[] {
    if (types.length === 0) return ids;
    return ids.filter(id => types.includes(this.#vertex(id).type));
  }
}

function push(edges: Map<string, string[]>, type: string, id: string): void {
  const list = edges.get(type);
  if (list === undefined) edges.set(type, [id]);
  else list.push(id);
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/** The counts that the loaded lines lead to, in the order of the patterns. */
export function patternCounts(lines: Iterable<string>): readonly number[] {
  const n = new Network(lines);
  return [
    chain(n),
    conversations(n),
    triangles(n),
    sum(n.of(...messages), m => tagged(n, m) * likers(n, m) * replies(n, m)),
    sum(n.of('Comment'), reply => newTags(n, reply, false)),
    sum(n.of('Person'), person => interests(n, person, false)),
    sum(
      n.of(...messages),
      m => tagged(n, m) * atLeastOne(likers(n, m)) * atLeastOne(replies(n, m)),
    ),
    sum(n.of('Comment'), reply => newTags(n, reply, true)),
    sum(n.of('Person'), person => interests(n, person, true)),
  ];
}

function chain(n: Network): number {
  return sum(n.of('Forum'), forum => {
    const members = sum(n.out(forum, 'hasMember', 'Person'), person =>
      sum(n.out(person, 'isLocatedIn', 'City'), city => n.out(city, 'isPartOf', 'Country').length),
    );
    const classes = sum(n.out(forum, 'containerOf', 'Post'), post =>
      sum(n.in(post, 'replyOf', 'Comment'), comment =>
        sum(n.out(comment, 'hasTag', 'Tag'), tag => n.out(tag, 'hasType', 'TagClass').length),
      ),
    );
    return members * classes;
  });
}

function conversations(n: Network): number {
  return sum(n.of('Comment'), comment =>
    sum(n.out(comment, 'hasCreator', 'Person'), one =>
      sum(n.out(comment, 'replyOf', 'Post'), post =>
        sum(
          n.out(post, 'hasCreator', 'Person'),
          other => n.friends(one).filter(friend => friend === other).length,
        ),
      ),
    ),
  );
}

function triangles(n: Network): number {
  const countries = (person: string): readonly string[] =>
    n.out(person, 'isLocatedIn', 'City').flatMap(city => n.out(city, 'isPartOf', 'Country'));
  // A person's way to the country is met once for each of the three.
  return sum(n.of('Person'), one =>
    sum(n.friends(one), two =>
      sum(n.friends(two), three => {
        if (one === three || one === two || two === three) return 0;
        const closing = n.friends(three).filter(end => end === one).length;
        if (closing === 0) return 0;
        const [a, b, c] = [one, two, three].map(countries) as [string[], string[], string[]];
        return closing * sum(a, x => count(b, x) * count(c, x));
      }),
    ),
  );
}

function count(list: readonly string[], wanted: string): number {
  return list.filter(item => item === wanted).length;
}

function tagged(n: Network, message: string): number {
  return n.out(message, 'hasTag', 'Tag').length * n.out(message, 'hasCreator', 'Person').length;
}

function likers(n: Network, message: string): number {
  return n.in(message, 'likes', 'Person').length;
}

function replies(n: Network, message: string): number {
  return n.in(message, 'replyOf', 'Comment').length;
}

function atLeastOne(rays: number): number {
  return Math.max(1, rays);
}

function newTags(n: Network, reply: string, unshared: boolean): number {
  const own = n.out(reply, 'hasTag', 'Tag');
  return sum(n.out(reply, 'replyOf', ...messages), message =>
    sum(n.out(message, 'hasTag', 'Tag'), tag => {
      if (unshared && own.includes(tag)) return 0;
      return own.filter(other => other !== tag).length;
    }),
  );
}

/** A friendship is not walked back: friends of friends over two different ones. */
function interests(n: Network, person: string, strangers: boolean): number {
  const friends = n.friends(person);
  return sum(friends, friend =>
    sum(n.friends(friend), far => {
      if (far === person || (strangers && friends.includes(far))) return 0;
      return n.out(far, 'hasInterest', 'Tag').length;
    }),
  );
}
