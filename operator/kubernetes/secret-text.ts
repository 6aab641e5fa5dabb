/** Texts of Secrets, which the API server keeps in base64. */
import {type KubeObject, textAt} from '#operator/api/kube-object.ts';

/** Answers a text without the white space around it; also of a Secret that was just written. */
export function textOfSecret(secret: KubeObject, key: string): string | undefined {
  const encoded = secret.data?.[key];
  if (encoded !== undefined) return Buffer.from(encoded, 'base64').toString('utf8').trim();
  return textAt(secret, 'stringData', key)?.trim();
}
