/**
 * A graph of neighbours as bytes: who is linked with whom, without the vectors.
 *
 * Little endian: magic and version (8 bytes), a checksum of all that follows, shape, counts, the
 * packed words of the nodes, for each node above the lowest level its lists, and of rows that are
 * codes the centroids. Whoever reads it
 * puts the vectors beside it again; a record whose vector changed meanwhile is linked anew, so that
 * bytes of an older state are of use. What is damaged or of another shape is not taken.
 */
import {crc32} from 'node:zlib';
import type {NeighbourGraph} from './neighbour-graph.ts';
import type {UpperLinks} from './upper-links.ts';

const magic = 0x31475653;
const version = 1;
const headWords = 12;

/** @param centroids - Of a graph over codes (codebook.ts). */
export function encodeGraph(graph: NeighbourGraph, centroids?: Float32Array): Uint8Array {
  const {nodes, upper} = graph;
  const upperWords = upperWordsOf(upper);
  const packed = nodes.packed;
  const bookWords = centroids?.length ?? 0;
  const words = new Uint32Array(headWords + packed.length + upperWords + bookWords);
  const {dimensions} = graph.space.shape;
  words.set([magic, version, 0, dimensions, nodes.linksMax, nodes.count, upper.size, upperWords]);
  words[8] = bookWords;
  words.set(packed, headWords);
  let at = headWords + packed.length;
  for (const node of upper.nodes()) {
    words[at++] = node;
    words[at++] = upper.levelsOf(node);
    for (const list of listsOf(upper, node)) {
      words.set(list, at);
      at += list.length;
    }
  }
  const bytes = new Uint8Array(words.buffer);
  if (centroids !== undefined) new Float32Array(words.buffer).set(centroids, at);
  words[2] = crc32(bytes.subarray(12));
  return bytes;
}

/** The lists of a node, each with its number of neighbours before them; borrowed. */
function* listsOf(upper: UpperLinks, node: number): Iterable<Uint32Array> {
  for (let level = 1; level <= upper.levelsOf(node); level++) {
    const place = upper.placeOf(node, level) ?? 0;
    yield upper.words.subarray(place, place + 1 + (upper.words[place] ?? 0));
  }
}

function upperWordsOf(upper: UpperLinks): number {
  let words = 0;
  for (const node of upper.nodes()) {
    words += 2;
    for (const list of listsOf(upper, node)) words += list.length;
  }
  return words;
}

/**
 * False, and nothing done, where the bytes are no graph of this shape.
 *
 * @param takeCentroids - Gets those of a graph over codes; false: they do not fit.
 */
export function decodeGraph(
  graph: NeighbourGraph,
  bytes: Uint8Array,
  takeCentroids: (centroids: Float32Array) => boolean,
): boolean {
  if (bytes.length < 4 * headWords || bytes.length % 4 !== 0) return false;
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
  const [found, written, checksum, dimensions, linksMax, count = 0, upperCount = 0] = words;
  const {nodes, upper} = graph;
  if (found !== magic || written !== version || checksum !== crc32(aligned.subarray(12)))
    return false;
  if (dimensions !== graph.space.shape.dimensions || linksMax !== nodes.linksMax) return false;
  const packedEnd = headWords + count * nodes.words;
  const bookWords = words[8] ?? 0;
  if (bookWords > 0) {
    const from = aligned.byteOffset + aligned.length - 4 * bookWords;
    if (!takeCentroids(new Float32Array(aligned.buffer.slice(from, from + 4 * bookWords))))
      return false;
  }
  if (!graph.space.reserve(count) || !nodes.reserve(count)) return false;
  nodes.load(words.subarray(headWords, packedEnd));
  let at = packedEnd;
  for (let index = 0; index < upperCount; index++) {
    const node = words[at++] ?? 0;
    const levels = words[at++] ?? 0;
    upper.add(node, levels);
    for (let level = 1; level <= levels; level++) {
      const length = words[at++] ?? 0;
      // A list that was written by an earlier release may be longer.
      upper.set(upper.placeOf(node, level) ?? 0, words.subarray(at, at + length), length);
      at += length;
    }
  }
  graph.loaded();
  return true;
}
