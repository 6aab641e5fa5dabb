/**
 * Prometheus' text format 0.0.4, read strictly: what a scraper would refuse or misread throws.
 *
 * Written from the format's description and not from our serializer, so that one can be wrong
 * without the other.
 */

export interface ScrapedFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly ScrapedSample[];
}

export interface ScrapedSample {
  /** The family's; for a histogram with `_bucket`, `_sum` or `_count` behind it. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const nameForm = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const labelForm = /^[a-zA-Z_][a-zA-Z0-9_]*/;

/** The families of a scrape by name. @throws {Error} with the line that is not of the format. */
export function parseExposition(text: string): ReadonlyMap<string, ScrapedFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, {name: string; help: string; type: string; lines: string[]}>();
  let current: {name: string; help: string; type: string; lines: string[]} | undefined;
  for (const line of text.slice(0, -1).split('\n')) {
    const meta = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line);
    if (meta === null) {
      if (line.startsWith('#') || line === '') throw new Error(`no line of the format: ${line}`);
      if (current === undefined) throw new Error(`a sample before its family: ${line}`);
      current.lines.push(line);
      continue;
    }
    const [, word = '', name = '', said = ''] = meta;
    if (word === 'HELP') {
      if (families.has(name)) throw new Error(`twice: ${name}`);
      current = {name, help: said, type: '', lines: []};
      families.set(name, current);
    } else {
      if (current?.name !== name || current.type !== '') throw new Error(`out of place: ${line}`);
      current.type = said;
    }
  }
  const parsed = [...families.values()].map(({name, help, type, lines}) => {
    const samples = lines.map(parseSample);
    checkFamily({name, help, type, samples});
    return [name, {name, help, type, samples}] as const;
  });
  return new Map(parsed);
}

/** The value of the one series with these labels. @throws {Error} when there is none. */
export function scrapedValue(
  families: ReadonlyMap<string, ScrapedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''));
  const wanted = Object.entries(labels);
  const found = (family?.samples ?? []).filter(
    sample =>
      sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
  );
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`${found.length} series of ${name} ${JSON.stringify(labels)}`);
  }
  return only.value;
}

function parseSample(line: string): ScrapedSample {
  const [name] = nameForm.exec(line) ?? [];
  if (name === undefined) throw new Error(`a sample without a name: ${line}`);
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    while (!rest.startsWith('}')) {
      const [label] = labelForm.exec(rest) ?? [];
      if (label === undefined || label in labels) throw new Error(`a wrong label: ${line}`);
      const quoted = /^="((?:[^"\\\n]|\\[\\"n])*)"(,?)/.exec(rest.slice(label.length));
      if (quoted === null) throw new Error(`a wrong value of a label: ${line}`);
      labels[label] = (quoted[1] ?? '').replaceAll(/\\(.)/g, (_, letter: string) =>
        letter === 'n' ? '\n' : letter,
      );
      rest = rest.slice(label.length + quoted[0].length);
    }
    rest = rest.slice(1);
  }
  if (!/^ (NaN|[+-]Inf|-?\d+(\.\d+)?(e[+-]?\d+)?)$/.test(rest)) {
    throw new Error(`a wrong value: ${line}`);
  }
  return {name, labels, value: Number(rest.trim().replace('Inf', 'Infinity'))};
}

function checkFamily({name, type, samples}: ScrapedFamily): void {
  if (!['counter', 'gauge', 'histogram'].includes(type)) throw new Error(`${name} has no type`);
  if ((type === 'counter') !== name.endsWith('_total')) throw new Error(`${name} is a ${type}`);
  const keys = new Set<string>();
  for (const sample of samples) {
    const allowed =
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
    if (!allowed.includes(sample.name)) throw new Error(`${sample.name} is none of ${name}`);
    const key = JSON.stringify([sample.name, sample.labels]);
    if (keys.has(key)) throw new Error(`twice: ${key}`);
    keys.add(key);
  }
  if (type === 'histogram') checkBuckets(name, samples);
}

/** Checks that the buckets of every series rise, the last one is `+Inf`, and it is the count. */
function checkBuckets(name: string, samples: readonly ScrapedSample[]): void {
  const series = new Map<string, {le: number; value: number}[]>();
  for (const sample of samples.filter(one => one.name === `${name}_bucket`)) {
    const {le = '', ...rest} = sample.labels;
    const key = JSON.stringify(rest);
    const buckets = series.get(key) ?? [];
    buckets.push({le: Number(le.replace('Inf', 'Infinity')), value: sample.value});
    series.set(key, buckets);
  }
  for (const [key, buckets] of series) {
    for (const [at, {le, value}] of buckets.entries()) {
      const before = buckets[at - 1];
      if (before === undefined) continue;
      if (le <= before.le || value < before.value) throw new Error(`buckets of ${name} ${key}`);
    }
    const count = samples.find(({name: of, labels}) => {
      return of === `${name}_count` && JSON.stringify(labels) === key;
    });
    const last = buckets.at(-1);
    if (last?.le !== Number.POSITIVE_INFINITY || last.value !== count?.value) {
      throw new Error(`${name} ${key}: the last bucket is not the count`);
    }
  }
}
