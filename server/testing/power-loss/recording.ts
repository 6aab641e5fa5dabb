/**
 * Reads what shim.c wrote: the calls that changed the disk below one directory, in order.
 *
 * Paths are absolute. A sync has two events, since only what was written before its begin is
 * promised by its end. Marks are lines that the recorded program wrote about itself.
 */
import {assert} from '#server/base/assert.ts';

export type DiskEvent =
  | {
      readonly kind: 'open';
      readonly descriptor: number;
      readonly flags: number;
      readonly path: string;
    }
  | {readonly kind: 'close'; readonly descriptor: number}
  | {
      readonly kind: 'write';
      readonly descriptor: number;
      readonly offset: number;
      readonly data: Buffer;
    }
  | {readonly kind: 'truncate'; readonly descriptor: number; readonly size: number}
  | {readonly kind: 'sync-begin'; readonly descriptor: number; readonly token: number}
  | {readonly kind: 'sync-end'; readonly token: number}
  | {readonly kind: 'rename' | 'link'; readonly from: string; readonly to: string}
  | {readonly kind: 'unlink' | 'make-directory' | 'remove-directory'; readonly path: string}
  | {readonly kind: 'mark'; readonly text: string};

const headBytes = 17;

/** Decodes a whole recording; a record that was being written when the process died is left out. */
export function decodeRecording(file: Buffer): DiskEvent[] {
  const events: DiskEvent[] = [];
  let offset = 0;
  while (offset + headBytes <= file.length) {
    const end = offset + 4 + file.readUInt32LE(offset);
    if (end > file.length) break;
    events.push(decodeEvent(file.subarray(offset, end)));
    offset = end;
  }
  return events;
}

function decodeEvent(record: Buffer): DiskEvent {
  const descriptor = record.readUInt32LE(5);
  const number = Number(record.readBigUInt64LE(9));
  const payload = record.subarray(headBytes);
  const text = () => payload.toString('utf8');
  const [first = '', second = ''] = record[4] === 3 ? [] : text().split('\0');
  switch (record[4]) {
    case 1:
      return {kind: 'open', descriptor, flags: number, path: text()};
    case 2:
      return {kind: 'close', descriptor};
    case 3:
      return {kind: 'write', descriptor, offset: number, data: payload};
    case 4:
      return {kind: 'truncate', descriptor, size: number};
    case 5:
      return {kind: 'sync-begin', descriptor, token: number};
    case 6:
      return {kind: 'sync-end', token: number};
    case 7:
      return {kind: 'rename', from: first, to: second};
    case 8:
      return {kind: 'link', from: first, to: second};
    case 9:
      return {kind: 'unlink', path: first};
    case 10:
      return {kind: 'make-directory', path: first};
    case 11:
      return {kind: 'remove-directory', path: first};
    default:
      assert(record[4] === 12, 'the recording holds known kinds only');
      return {kind: 'mark', text: text()};
  }
}
