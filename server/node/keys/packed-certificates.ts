/**
 * Certificates in PKCS#12: those that stand there alone, as in a trust store, and those beside a
 * key. The platform reads such a file only for its key.
 */
import {X509Certificate} from 'node:crypto';
import {reasonOf} from '#server/base/errors.ts';
import forge from 'node-forge';
import {certificatesIn} from './certificates.ts';

/**
 * Returns each certificate in PEM.
 *
 * @throws {Error} that says what is wrong with the file or its password; the caller names the file.
 */
export function packedCertificates(bytes: Buffer, password: string): readonly string[] {
  const texts = bagsIn(bytes, password).map(bag => {
    // Of a key that the library does not know it gives the certificate as it stands.
    const value = bag.cert ? forge.pki.certificateToAsn1(bag.cert) : bag.asn1;
    const der = Buffer.from(forge.asn1.toDer(value).getBytes(), 'latin1');
    return new X509Certificate(der).toString();
  });
  if (texts.length === 0) throw new Error('it holds no certificate');
  return certificatesIn(Buffer.from(texts.join('\n')));
}

function bagsIn(bytes: Buffer, password: string): readonly forge.pkcs12.Bag[] {
  const {certBag} = forge.pki.oids;
  try {
    const parsed = forge.asn1.fromDer(bytes.toString('latin1'));
    const store = forge.pkcs12.pkcs12FromAsn1(parsed, password);
    return certBag === undefined ? [] : (store.getBags({bagType: certBag})[certBag] ?? []);
  } catch (error) {
    if (!/MAC could not be verified|decrypt/i.test(reasonOf(error))) throw error;
    throw new Error('its password is another one (svc.ssl.trustStorePassword)', {cause: error});
  }
}
