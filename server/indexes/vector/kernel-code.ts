/**
 * The distance kernel as WebAssembly with 128-bit SIMD, assembled here from a few instructions.
 *
 * A function works through a list of row numbers and writes one number for each: one call for all
 * neighbours of a node. All have the parameters `(query, rows, rowBytes, vectorBytes, ids, count,
 * out)`, which are byte offsets and lengths in the memory that is imported as `e.m`; `vectorBytes`
 * is a multiple of 64 for floats and of 16 for the others, and padded with zeros. `count` is 1 or
 * more. Rows lie here and there in much memory, which is waited for longer than it is computed
 * with: so all cache lines of some rows are asked for before the first of them is needed.
 * Source: WebAssembly core specification 2.0 (section 5.4, instructions).
 */

type Code = readonly number[];

const [query, rows, rowBytes, vectorBytes, ids, count, out] = [0, 1, 2, 3, 4, 5, 6];
/** Locals behind the parameters: offsets first, then sums. */
const [row, at, end, last, groupEnd, asked] = [7, 8, 9, 10, 11, 12];
const sums = [13, 14, 15, 16];
/** Rows whose lines are asked for at once, and the bytes of a line. */
const groupRows = 16;
const lineBytes = 64;

const voidType = 0x40;
const i32Type = 0x7f;
const v128Type = 0x7b;

const get = (local: number): Code => [0x20, local];
const set = (local: number): Code => [0x21, local];
const tee = (local: number): Code => [0x22, local];
const sequence = (...body: readonly Code[]): Code => body.flat();
const loop = (...body: readonly Code[]): Code => [0x03, voidType, ...body.flat(), 0x0b];
const continueIf: Code = [0x0d, 0];
const drop: Code = [0x1a];
/** The first of two values where the condition holds. */
const select: Code = [0x1b];
const i32 = {
  constant: (value: number): Code => [0x41, ...signedLeb(value)],
  load: [0x28, 2, 0] as Code,
  add: [0x6a] as Code,
  multiply: [0x6c] as Code,
  shiftLeft: [0x74] as Code,
  less: [0x49] as Code,
};
const f32 = {
  load: (offset: number): Code => [0x2a, 2, ...leb(offset)],
  store: [0x38, 2, 0] as Code,
  add: [0x92] as Code,
  multiply: [0x94] as Code,
  fromInteger: [0xb2] as Code,
};
const simd = (operation: number, ...more: readonly number[]): Code => [
  0xfd,
  ...leb(operation),
  ...more,
];
const v128 = {
  load: (offset: number): Code => simd(0x00, 4, ...leb(offset)),
  zero: simd(0x0c, ...Array.from({length: 16}, () => 0)),
  xor: simd(0x51),
};
const f32x4 = {
  lane: (lane: number): Code => simd(0x1f, lane),
  add: simd(0xe4),
  subtract: simd(0xe5),
  multiply: simd(0xe6),
};
const i32x4 = {
  lane: (lane: number): Code => simd(0x1b, lane),
  add: simd(0xae),
  pairsOfProducts: simd(0xba),
  addPairs: simd(0x7f),
};
const i16x8 = {low: simd(0x87), high: simd(0x88), addPairs: simd(0x7d)};
const bitCounts = simd(0x62);

/** Adds what 16 bytes at `offset` of the row and of the query contribute to a sum. */
type Step = (offset: number, sum: number) => Code;

const ofRow = (offset: number): Code => [...get(row), ...v128.load(offset)];
const ofQuery = (offset: number): Code => [...get(at), ...v128.load(offset)];

const product: Step = (offset, sum) => [
  ...get(sum),
  ...ofRow(offset),
  ...ofQuery(offset),
  ...f32x4.multiply,
  ...f32x4.add,
  ...set(sum),
];

/** The difference stays on the stack of a local of its own: the last sum. */
const squaredDifference: Step = (offset, sum) => [
  ...ofRow(offset),
  ...ofQuery(offset),
  ...f32x4.subtract,
  ...set(scratch),
  ...get(sum),
  ...get(scratch),
  ...get(scratch),
  ...f32x4.multiply,
  ...f32x4.add,
  ...set(sum),
];
const scratch = 17;

const byteProduct: Step = (offset, sum) => [
  ...get(sum),
  ...ofRow(offset),
  ...i16x8.low,
  ...ofQuery(offset),
  ...i16x8.low,
  ...i32x4.pairsOfProducts,
  ...i32x4.add,
  ...ofRow(offset),
  ...i16x8.high,
  ...ofQuery(offset),
  ...i16x8.high,
  ...i32x4.pairsOfProducts,
  ...i32x4.add,
  ...set(sum),
];

const differentBits: Step = (offset, sum) => [
  ...get(sum),
  ...ofRow(offset),
  ...ofQuery(offset),
  ...v128.xor,
  ...bitCounts,
  ...i16x8.addPairs,
  ...i32x4.addPairs,
  ...i32x4.add,
  ...set(sum),
];

interface Kernel {
  readonly name: string;
  readonly step: Step;
  /** 16-byte pieces of one turn. */
  readonly pieces: number;
  readonly integers: boolean;
  /** The number behind the row's vector multiplies the result. */
  readonly scaled: boolean;
}

const kernels: readonly Kernel[] = [
  {name: 'dot', step: product, pieces: 4, integers: false, scaled: false},
  {name: 'squares', step: squaredDifference, pieces: 4, integers: false, scaled: false},
  {name: 'bytes', step: byteProduct, pieces: 1, integers: true, scaled: true},
  {name: 'bits', step: differentBits, pieces: 1, integers: true, scaled: false},
];

/** The place of the row whose number is at `pointer`. */
const placeOfRow = (pointer: number): Code =>
  sequence(get(rows), get(pointer), i32.load, get(rowBytes), i32.multiply, i32.add);

const addTo = (local: number, bytes: number): Code =>
  sequence(get(local), i32.constant(bytes), i32.add, tee(local));

/** Reads something of every line of the group's rows: nobody waits for what is not used. */
const askForLines: Code = [
  ...sequence(get(ids), set(asked)),
  ...loop(
    placeOfRow(asked),
    [...tee(row), ...get(vectorBytes), ...i32.add, ...set(end)],
    loop(
      [...get(row), ...i32.load, ...drop],
      [...addTo(row, lineBytes), ...get(end), ...i32.less, ...continueIf],
    ),
    [...addTo(asked, 4), ...get(groupEnd), ...i32.less, ...continueIf],
  ),
];

function bodyOf({step, pieces, integers, scaled}: Kernel): Code {
  const used = sums.slice(0, pieces);
  const add = integers ? i32x4.add : f32x4.add;
  const lane = integers ? i32x4.lane : f32x4.lane;
  const addScalars = integers ? i32.add : f32.add;
  const [total = 0, ...others] = used;
  const measureGroup = loop(
    [...placeOfRow(ids), ...set(row), ...get(query), ...set(at)],
    used.flatMap(sum => [...v128.zero, ...set(sum)]),
    loop(
      used.flatMap((sum, piece) => step(16 * piece, sum)),
      [...addTo(row, 16 * pieces), ...drop],
      [...addTo(at, 16 * pieces), ...get(end), ...i32.less, ...continueIf],
    ),
    others.flatMap(sum => [...get(total), ...get(sum), ...add, ...set(total)]),
    get(out),
    [...get(total), ...lane(0), ...get(total), ...lane(1), ...addScalars],
    [...get(total), ...lane(2), ...addScalars, ...get(total), ...lane(3), ...addScalars],
    integers ? f32.fromInteger : [],
    scaled ? [...get(row), ...f32.load(0), ...f32.multiply] : [],
    f32.store,
    [...addTo(out, 4), ...drop],
    [...addTo(ids, 4), ...get(groupEnd), ...i32.less, ...continueIf],
  );
  return [
    ...sequence(get(ids), get(count), i32.constant(2), i32.shiftLeft, i32.add, set(last)),
    ...loop(
      [...get(ids), ...i32.constant(4 * groupRows), ...i32.add, ...tee(groupEnd)],
      [...get(last), ...get(groupEnd), ...get(last), ...i32.less, ...select, ...set(groupEnd)],
      askForLines,
      sequence(get(query), get(vectorBytes), i32.add, set(end)),
      measureGroup,
      [...get(ids), ...get(last), ...i32.less, ...continueIf],
    ),
  ];
}

/** Pages of 64 KiB that a memory may have at most. */
export const pagesMax = 65_536;

const magic: Code = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** The module; it exports one function a kernel. */
export function kernelModule(): Uint8Array<ArrayBuffer> {
  const parameters = Array.from({length: 7}, () => i32Type);
  const locals = [...leb(2), 6, i32Type, sums.length + 1, v128Type];
  const bodies = kernels.map(kernel => sized([...locals, ...bodyOf(kernel), 0x0b]));
  const exported = kernels.map(({name}, index) => [...text(name), 0, index]);
  return Uint8Array.from([
    ...magic,
    ...section(1, [1, 0x60, parameters.length, ...parameters, 0]),
    ...section(2, [1, ...text('e'), ...text('m'), 2, 3, ...leb(1), ...leb(pagesMax)]),
    ...section(3, [kernels.length, ...kernels.map(() => 0)]),
    ...section(7, [kernels.length, ...exported.flat()]),
    ...section(10, [kernels.length, ...bodies.flat()]),
  ]);
}

function section(id: number, content: Code): Code {
  return [id, ...sized(content)];
}

function sized(content: Code): Code {
  return [...leb(content.length), ...content];
}

function text(word: string): Code {
  return sized(Array.from(word, letter => letter.charCodeAt(0)));
}

function leb(value: number): Code {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest];
    bytes.push((rest & 0x7f) | 0x80);
  }
}

function signedLeb(value: number): Code {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7) {
    const byte = rest & 0x7f;
    const isLast = (rest >> 7 === 0 && byte < 0x40) || (rest >> 7 === -1 && byte >= 0x40);
    if (isLast) return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}
