/** Reads the archive of an image again, as an engine does. */
import {buffer} from 'node:stream/consumers';
import {extract} from 'tar-stream';

export async function openArchive({bytes}: {readonly bytes: Uint8Array}) {
  const entries = await entriesOf(bytes);
  const read = (path: string): unknown => JSON.parse(String(entries.get(path)));
  return {
    blobs: new Map([...entries].filter(([path]) => path.startsWith('blobs/'))),
    read,
    manifestOf: () =>
      (read('index.json') as {manifests: {annotations: Record<string, string>}[]}).manifests[0],
  };
}

async function entriesOf(tar: Uint8Array): Promise<Map<string, Buffer>> {
  const entries = new Map<string, Buffer>();
  const reader = extract();
  reader.end(tar);
  for await (const entry of reader) entries.set(entry.header.name, await buffer(entry));
  return entries;
}
