/**
 * A server of the agent protocol made with its official library, whose one tool answers a constant.
 * It prints its port. Without sessions a transport answers one request, as the library's own
 * example has it.
 */
import http from 'node:http';
import {Server} from '@modelcontextprotocol/sdk/server/index.js';
import {StreamableHTTPServerTransport} from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {CallToolRequestSchema} from '@modelcontextprotocol/sdk/types.js';

const result = {content: [{type: 'text', text: '{"records":[],"count":0}'}], isError: false};

const listener = http.createServer(async (request, response) => {
  const server = new Server({name: 'nothing', version: '1'}, {capabilities: {tools: {}}});
  server.setRequestHandler(CallToolRequestSchema, () => result);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  response.on('close', () => void transport.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
});
listener.listen(0, '127.0.0.1', () => process.stdout.write(`${listener.address().port}\n`));
// Its parent's end is its own.
process.stdin.resume().on('end', () => process.exit(0));
