/**
 * Base64 (RFC 4648 section 4), the text form of BINARY values in JSON.
 *
 * Reading is strict: the padding may be left out, anything else that is not in the alphabet
 * makes the text no base64.
 */
import {readUtf8} from '#server/base/utf8.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const padding = 0x3d;

export function base64Text(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  let to = 0;
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at;
    const bits = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    text[to++] = alphabet.charCodeAt(bits >> 18);
    text[to++] = alphabet.charCodeAt((bits >> 12) & 63);
    text[to++] = left > 1 ? alphabet.charCodeAt((bits >> 6) & 63) : padding;
    text[to++] = left > 2 ? alphabet.charCodeAt(bits & 63) : padding;
  }
  return readUtf8(text, 0, to);
}

export function bytesFromBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '');
  if (digits.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let bits = 0;
  let bitCount = 0;
  let to = 0;
  for (let at = 0; at < digits.length; at++) {
    const value = digitValue(digits.charCodeAt(at));
    if (value < 0) return undefined;
    bits = ((bits << 6) | value) & 0xffffff;
    bitCount += 6;
    if (bitCount >= 8) {
      bitCount -= 8;
      bytes[to++] = (bits >> bitCount) & 0xff;
    }
  }
  return bytes;
}

function digitValue(unit: number): number {
  if (unit >= 65 && unit <= 90) return unit - 65;
  if (unit >= 97 && unit <= 122) return unit - 71;
  if (unit >= 48 && unit <= 57) return unit + 4;
  return unit === 43 ? 62 : unit === 47 ? 63 : -1;
}
