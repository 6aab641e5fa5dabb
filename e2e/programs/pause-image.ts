/** The image of a pod's first container, packed as the product's own images are. */
import {execFileSync} from 'node:child_process';
import {packImage} from '#images/archive.ts';
import {copied} from '#images/image-file.ts';
import {packLayer} from '#images/layer.ts';
import {pauseImage} from '../lab/layout.ts';

/** @returns An archive that containerd imports. The program `pause` is found on the PATH. */
export async function buildPauseImage(): Promise<Uint8Array> {
  const created = new Date(0);
  const program = execFileSync('sh', ['-c', 'command -v pause'], {encoding: 'utf8'}).trim();
  const {bytes} = await packImage({
    name: pauseImage,
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    created,
    config: {
      user: '65535:65535',
      env: {},
      entrypoint: ['/pause'],
      cmd: [],
      workingDir: '/',
      ports: [],
      volumes: [],
      labels: {},
      stopSignal: 'SIGTERM',
    },
    layers: [await packLayer([copied(program, '/pause')], created)],
  });
  return bytes;
}
