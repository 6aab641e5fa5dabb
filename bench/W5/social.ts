/**
 * A seeded social network in the types of the LDBC one, about ten times its small sample: what the
 * nine patterns of LSQB ask for and nothing else. Whoever knows, likes and writes does so with a
 * skew: few do most of it. The same seed gives the same lines.
 */
const counts = {
  Country: 110,
  City: 1_300,
  TagClass: 70,
  Tag: 16_000,
  Person: 2_200,
  Forum: 12_000,
  Post: 59_000,
  Comment: 22_000,
} as const;
type VertexType = keyof typeof counts;

/** Edges of a type from each vertex of another, on average, and how skewed their far ends are. */
const edgeKinds: readonly {
  readonly type: string;
  readonly from: VertexType;
  readonly to: VertexType | 'Message';
  /** Exactly one each where it is `one`. */
  readonly each: number | 'one';
  readonly skew: number;
}[] = [
  {type: 'isPartOf', from: 'City', to: 'Country', each: 'one', skew: 4},
  {type: 'isLocatedIn', from: 'Person', to: 'City', each: 'one', skew: 3},
  {type: 'hasType', from: 'Tag', to: 'TagClass', each: 'one', skew: 2},
  {type: 'hasInterest', from: 'Person', to: 'Tag', each: 22, skew: 3},
  {type: 'knows', from: 'Person', to: 'Person', each: 4, skew: 1.2},
  {type: 'hasMember', from: 'Forum', to: 'Person', each: 5, skew: 2},
  {type: 'hasCreator', from: 'Post', to: 'Person', each: 'one', skew: 2},
  {type: 'hasCreator', from: 'Comment', to: 'Person', each: 'one', skew: 2},
  {type: 'hasTag', from: 'Post', to: 'Tag', each: 0.5, skew: 3},
  {type: 'hasTag', from: 'Comment', to: 'Tag', each: 1.5, skew: 3},
  {type: 'replyOf', from: 'Comment', to: 'Message', each: 'one', skew: 3},
  {type: 'likes', from: 'Person', to: 'Message', each: 10, skew: 2},
];

/** Lines for the bulk route. */
export function* socialLines(random: () => number): Generator<string> {
  // Unique in every type and its supertypes.
  let id = 0;
  for (const [type, count] of Object.entries(counts)) {
    for (let at = 0; at < count; at += 1) {
      yield JSON.stringify({'@type': 'vertex', '@class': type, '@id': `${type}:${at}`, id});
      id += 1;
    }
  }
  const share = (): number => random() / 2 ** 32;
  const far = (to: VertexType | 'Message', skew: number): string => {
    const type = to === 'Message' ? (share() < 0.7 ? 'Post' : 'Comment') : to;
    return `${type}:${Math.floor(share() ** skew * counts[type])}`;
  };
  // A post is in one forum, and the early forums have most of them.
  for (let post = 0; post < counts.Post; post += 1) {
    yield edgeLine('containerOf', far('Forum', 2), `Post:${post}`);
  }
  for (const {type, from, to, each, skew} of edgeKinds) {
    const count = each === 'one' ? counts[from] : Math.round(counts[from] * each);
    const seen = new Set<string>();
    for (let at = 0; at < count; at += 1) {
      const near = each === 'one' ? `${from}:${at}` : far(from, skew);
      const other = far(to, skew);
      const pair = `${near} ${other}`;
      if (near === other || seen.has(pair) || seen.has(`${other} ${near}`)) continue;
      seen.add(pair);
      yield edgeLine(type, near, other);
    }
  }
}

function edgeLine(type: string, from: string, to: string): string {
  return JSON.stringify({'@type': 'edge', '@class': type, '@from': from, '@to': to});
}
