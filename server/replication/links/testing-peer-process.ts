/** A node in a process of its own, so that it can be killed: `<id> <peer id> <peer port>`. */
import {LinkedNode, loopback} from './testing-links.ts';

const [id = '', peer = '', port = ''] = process.argv.slice(2);
const node = await new LinkedNode(id).start();
node.links.setPeers([{id: peer, host: loopback, port: Number(port)}]);
process.stdout.write(`${node.port}\n`);
