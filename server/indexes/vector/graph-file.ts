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

const magic = 0x31475653;
const version = 1;
const headWords = 12;

/** @param centroids - Of a graph over codes (codebook.ts). */
export function encodeGraph(graph: NeighbourGraph, centroids?: Float32Array): Uint8Array {
  const {nodes} = graph;
  const upper = graph.upperLevels();
  const upperWords = upper.reduce(
    (sum, {lists}) => sum + 2 + lists.reduce((length, list) => length + 1 + (list[0] ?? 0), 0),
    0,
  );
  const packed = nodes.packed;
  const bookWords = centroids?.length ?? 0;
  const words = new Uint32Array(headWords + packed.length + upperWords + bookWords);
  const {dimensions} = graph.space.shape;
  words.set([magic, version, 0, dimensions, nodes.linksMax, nodes.count, upper.length, upperWords]);
  words[8] = bookWords;
  words.set(packed, headWords);
  let at = headWords + packed.length;
  for (const {node, lists} of upper) {
    words[at++] = node;
    words[at++] = lists.length;
    for (const list of lists) {
      const length = 1 + (list[0] ?? 0);
      words.set(list.subarray(0, length), at);
      at += length;
    }
  }
  const bytes = new Uint8Array(words.buffer);
  if (centroids !== undefined) new Float32Array(words.buffer).set(centroids, at);
  words[2] = crc32(bytes.subarray(12));
  return bytes;
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
  const {nodes} = graph;
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
  if (!graph.space.reserve(count)) return false;
  nodes.load(words.subarray(headWords, packedEnd));
  const upper = new Map<number, Uint32Array[]>();
  let at = packedEnd;
  for (let index = 0; index < upperCount; index++) {
    const node = words[at++] ?? 0;
    const levels = words[at++] ?? 0;
    const lists = Array.from({length: levels}, () => {
      const list = new Uint32Array(1 + nodes.linksMax);
      const length = 1 + (words[at] ?? 0);
      list.set(words.subarray(at, at + length));
      at += length;
      return list;
    });
    upper.set(node, lists);
  }
  graph.take(upper);
  return true;
}
