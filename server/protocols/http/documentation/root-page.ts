/**
 * What lies outside the API: a first page at `/`, nothing else.
 */

import {basePath} from '../protocol-names.ts';
import {type Exchange, htmlType, jsonType} from '../message/exchange.ts';

/** Answers a path that no route has: the first page, or 404. */
export function answerRoot(exchange: Exchange, path: string): void {
  const {method} = exchange.request;
  if (path === '/' && (method === 'GET' || method === 'HEAD') && !exchange.context.hidesDetail) {
    const headers = ['Cache-Control', 'no-cache'];
    return exchange.answer(200, page(exchange), htmlType, headers);
  }
  if (path.startsWith(basePath)) return exchange.answer(404, '', '');
  // A path that means to leave its folder is none of a page.
  const type = path.includes('..') ? jsonType : 'text/html';
  exchange.answer(404, 'Not Found', type);
}

function page(exchange: Exchange): string {
  const {serverName, version} = exchange.context.administration.identity;
  const name = serverName.replaceAll(/[&<>"]/g, '');
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Svc ${version}</title></head>
<body>
<h1>Svc ${version}</h1>
<p>Server <b>${name}</b> is running.</p>
<p>The API lies below <code>${basePath}</code>: <a href="${basePath}docs">reference</a>,
<a href="${basePath}openapi.json">OpenAPI document</a>,
<a href="${basePath}health">health</a>, <a href="${basePath}ready">readiness</a>.</p>
</body>
</html>
`;
}
