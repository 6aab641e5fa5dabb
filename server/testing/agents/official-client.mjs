/**
 * The official TypeScript client in a process of its own, as a user runs it: reads how it connects
 * and what it asks, as JSON in its one argument, and prints the answers as JSON. Each has passed
 * the schemas that the client brings; a failure is printed as `{code, message}`.
 */
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
import {StreamableHTTPClientTransport} from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const {connection, requests} = JSON.parse(process.argv[2] ?? '');

function transport() {
  if (connection.url === undefined) {
    return new StdioClientTransport({...connection, stderr: 'ignore'});
  }
  const {authorization} = connection;
  const requestInit = {headers: {Authorization: authorization}};
  return new StreamableHTTPClientTransport(new URL(connection.url), {requestInit});
}

const client = new Client({name: 'official-client', version: '1.0.0'});
await client.connect(transport());
const answers = [{server: client.getServerVersion(), instructions: client.getInstructions()}];
for (const [method, ...given] of requests) {
  try {
    answers.push(await client[method](...given));
  } catch (error) {
    answers.push({code: error.code, message: error.message});
  }
}
await client.close();
process.stdout.write(JSON.stringify(answers));
