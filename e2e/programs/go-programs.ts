/**
 * Builds the programs of a Kubernetes from the Go modules under e2e/go, and keeps them outside of
 * the checkout by what they were built from: go.mod, go.sum, sources, flags, version of Go. A
 * second run finds them within a second.
 *
 * The first one takes ten minutes of two quiet cores. SVC_E2E_CACHE says where they are kept.
 */
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import {homedir} from 'node:os';
import {join} from 'node:path';

interface GoProduct {
  /** The folder under e2e/go. */
  readonly name: string;
  /** What is built, by the name of the program. */
  readonly programs: Readonly<Record<string, string>>;
  readonly tags?: string;
  /** Variables that the linker sets, as a release of the product sets them. */
  readonly variables?: Readonly<Record<string, string>>;
}

const kubernetes = '1.36.3';
const [major, minor] = kubernetes.split('.');
const components = 'k8s.io/component-base/version';
const commands = 'k8s.io/kubernetes/cmd';

const products: readonly GoProduct[] = [
  {name: 'pause', programs: {pause: '.'}},
  {name: 'etcd', programs: {etcd: 'go.etcd.io/etcd/server/v3'}},
  {name: 'coredns', programs: {coredns: '.'}},
  {
    name: 'k8s',
    programs: {
      'kube-apiserver': `${commands}/kube-apiserver`,
      'kube-controller-manager': `${commands}/kube-controller-manager`,
      'kube-scheduler': `${commands}/kube-scheduler`,
      'kube-proxy': `${commands}/kube-proxy`,
      kubectl: `${commands}/kubectl`,
      kubelet: `${commands}/kubelet`,
    },
    // Debugging pages of gRPC, which keep the linker from leaving out what nobody calls.
    tags: 'grpcnotrace',
    variables: {
      [`${components}.gitVersion`]: `v${kubernetes}`,
      [`${components}.gitMajor`]: major ?? '',
      [`${components}.gitMinor`]: minor ?? '',
      [`${components}.gitTreeState`]: 'clean',
      'k8s.io/client-go/pkg/version.gitVersion': `v${kubernetes}`,
    },
  },
  {name: 'helm', programs: {helm: 'helm.sh/helm/v3/cmd/helm'}},
];

const modules = join(import.meta.dirname, '../go');

/** Builds what is missing and answers the folders of all programs, for a PATH. */
export function goPrograms(tell: (line: string) => void): string[] {
  const version = spawnSync('go', ['version'], {encoding: 'utf8'});
  if (version.status !== 0) throw new Error('the lab is built by Go 1.26: put it on the PATH');
  return products.map(product => {
    const folder = join(cacheFolder(), `${product.name}-${keyOf(product, version.stdout)}`);
    if (existsSync(folder)) return folder;
    tell(`building ${Object.keys(product.programs).join(', ')}`);
    build(product, folder);
    return folder;
  });
}

export function cacheFolder(): string {
  return process.env['SVC_E2E_CACHE'] ?? join(homedir(), '.cache/svc-e2e');
}

function keyOf(product: GoProduct, version: string): string {
  const source = join(modules, product.name);
  const hash = createHash('sha256').update(JSON.stringify(product)).update(version);
  for (const file of readdirSync(source).sort()) {
    hash.update(`\0${file}\0`).update(readFileSync(join(source, file)));
  }
  return hash.digest('hex').slice(0, 24);
}

/** The folder gets its name when everything is in it, so that a build broken off is none. */
function build({name, programs, tags, variables = {}}: GoProduct, folder: string): void {
  mkdirSync(cacheFolder(), {recursive: true});
  const fresh = mkdtempSync(join(cacheFolder(), 'building-'));
  try {
    const settings = Object.entries(variables).map(([key, value]) => `-X ${key}=${value}`);
    const names = Object.keys(programs);
    // Go names several programs by their packages, and one as it is told.
    const output = names.length === 1 ? join(fresh, names[0] ?? '') : `${fresh}/`;
    const {status} = spawnSync(
      'go',
      [
        'build',
        '-trimpath',
        ...(tags === undefined ? [] : ['-tags', tags]),
        '-ldflags',
        ['-s -w', ...settings].join(' '),
        '-o',
        output,
        ...Object.values(programs),
      ],
      {
        cwd: join(modules, name),
        env: {
          ...process.env,
          CGO_ENABLED: '0',
          GOFLAGS: `-mod=readonly -buildvcs=false ${process.env['GOFLAGS'] ?? ''}`,
          GOTOOLCHAIN: 'local',
        },
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    );
    if (status !== 0) throw new Error(`go build of e2e/go/${name} ended with ${status}`);
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, {recursive: true, force: true});
  }
}
