/**
 * An authority for one cluster, and the certificates of its servers: X.509 with keys on P-256.
 *
 * The library of Node.js reads certificates and writes none; what the registry has for it brings
 * twenty packages, for a structure that is a page long. The tests have both OpenSSL's reader and a
 * real handshake judge what is written here.
 * Source: RFC 5280.
 */
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from 'node:crypto';
import {
  bitString,
  boolean,
  explicit,
  implicit,
  integer,
  octetString,
  oid,
  sequence,
  set,
  time,
  utf8,
} from './der.ts';

/** A certificate with its private key, both in PEM (PKCS#8 for the key). */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  /** Milliseconds since 1970. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Makes keys and certificates; the simulation has one that makes words. */
export interface CertificateMaker {
  authority(name: string, validity: Validity, random: RandomBytes): KeyPair;
  /** A certificate for servers that also dial as clients. @param hosts - May begin with `*.`. */
  server(by: KeyPair, hosts: readonly string[], validity: Validity, random: RandomBytes): KeyPair;
}

export interface RandomBytes {
  fill(bytes: Buffer): void;
}

const oids = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;

const serialBytes = 16;
/** Bits of KeyUsage: keyCertSign and cRLSign, or digitalSignature. */
const signsCertificates = bitString(Buffer.from([0b0000_0110]), 1);
const signsHandshakes = bitString(Buffer.from([0b1000_0000]), 7);

export const x509: CertificateMaker = {
  authority(name, validity, random) {
    const {publicKey, privateKey} = newKeys();
    const certificate = signed({
      subject: name,
      issuer: name,
      publicKey,
      by: privateKey,
      ...validity,
      random,
      extensions: [
        extension(oids.basicConstraints, sequence(boolean(true), integer(Buffer.from([0]))), true),
        extension(oids.keyUsage, signsCertificates, true),
        extension(oids.subjectKeyIdentifier, octetString(keyIdentifier(publicKey))),
      ],
    });
    return {certificate, key: pemOfKey(privateKey)};
  },

  server(by, hosts, validity, random) {
    const {publicKey, privateKey} = newKeys();
    const authority = createPublicKey(by.certificate);
    const certificate = signed({
      subject: (hosts[0] ?? 'server').replace(/^\*\./, '').slice(0, 64),
      issuer: subjectOf(by.certificate),
      publicKey,
      by: by.key,
      ...validity,
      random,
      extensions: [
        extension(oids.basicConstraints, sequence(), true),
        extension(oids.keyUsage, signsHandshakes, true),
        extension(oids.extendedKeyUsage, sequence(oid(oids.serverAuth), oid(oids.clientAuth))),
        extension(
          oids.subjectAltName,
          sequence(...hosts.map(host => implicit(2, Buffer.from(host, 'latin1')))),
        ),
        extension(oids.subjectKeyIdentifier, octetString(keyIdentifier(publicKey))),
        extension(oids.authorityKeyIdentifier, sequence(implicit(0, keyIdentifier(authority)))),
      ],
    });
    return {certificate, key: pemOfKey(privateKey)};
  },
};

interface Content extends Validity {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  /** The key that signs. */
  readonly by: KeyObject | string;
  readonly random: RandomBytes;
  readonly extensions: readonly Buffer[];
}

function signed(content: Content): string {
  const {subject, issuer, publicKey, notBeforeMs, notAfterMs, random, by, extensions} = content;
  const serial = Buffer.alloc(serialBytes);
  random.fill(serial);
  // Positive, and of the full length.
  serial[0] = 0x40 | ((serial[0] ?? 0) & 0x3f);
  const algorithm = sequence(oid(oids.ecdsaWithSha256));
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    nameOf(issuer),
    sequence(time(notBeforeMs), time(notAfterMs)),
    nameOf(subject),
    publicKey.export({type: 'spki', format: 'der'}),
    explicit(3, sequence(...extensions)),
  );
  const signature = sign('sha256', body, by);
  return pemOf('CERTIFICATE', sequence(body, algorithm, bitString(signature)));
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(oid(oids.commonName), utf8(commonName))));
}

function extension(id: string, content: Buffer, isCritical = false): Buffer {
  return sequence(oid(id), ...(isCritical ? [boolean(true)] : []), octetString(content));
}

/** The usual 160 bits over the key itself. */
function keyIdentifier(key: KeyObject): Buffer {
  const spki = key.export({type: 'spki', format: 'der'});
  return createHash('sha256').update(spki).digest().subarray(0, 20);
}

function newKeys(): {readonly publicKey: KeyObject; readonly privateKey: KeyObject} {
  return generateKeyPairSync('ec', {namedCurve: 'P-256'});
}

function pemOfKey(key: KeyObject): string {
  return key.export({type: 'pkcs8', format: 'pem'}).toString();
}

function pemOf(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** The common name alone, which is all that an authority of ours has. */
function subjectOf(certificate: string): string {
  return new X509Certificate(certificate).subject.replace(/^CN=/, '');
}
