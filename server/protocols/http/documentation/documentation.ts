/**
 * `/openapi.json` and `/docs`: the API described by the server itself, and what statements call.
 *
 * Routed by express, which is loaded at the first request for one of them, so that a start does
 * not wait for it; answered as everything else, so that both are compressed for whoever asks. The
 * page needs nothing from outside: no scripts or styles of other hosts.
 */
import {basePath} from '../protocol-names.ts';
import type {Express, Response} from 'express';
import {vocabularies, type Vocabulary} from '#server/session/vocabulary.ts';
import {type Exchange, htmlType} from '../message/exchange.ts';
import {openApiDocument} from './openapi.ts';
import type {Route} from '../router.ts';

export function documentationRoutes(): readonly Route[] {
  let loaded: Promise<Express> | undefined;
  const serve = async (exchange: Exchange): Promise<void> => {
    loaded ??= application(exchange.context.administration.identity.version);
    const app = await loaded;
    const {request, response} = exchange;
    app(request, Object.assign(response, {locals: {exchange}}));
  };
  return [
    {path: '/openapi.json', operations: {GET: {access: 'user', run: serve}}},
    {path: '/docs', operations: {GET: {access: 'user', run: serve}}},
  ];
}

/** The application hands each request back to its exchange, with what to answer. */
async function application(version: string): Promise<Express> {
  const {default: express} = await import('express');
  const app = express();
  app.disable('x-powered-by');
  const document = openApiDocument(version);
  const [json, html] = [Buffer.from(JSON.stringify(document)), Buffer.from(page(document))];
  app.get(`${basePath}openapi.json`, (_request, response) => {
    exchangeOf(response).answer(200, json);
  });
  app.get(`${basePath}docs`, (_request, response) => {
    const policy = "default-src 'none'; style-src 'unsafe-inline'";
    const headers = ['Cache-Control', 'no-cache', 'Content-Security-Policy', policy];
    exchangeOf(response).answer(200, html, htmlType, headers);
  });
  return app;
}

function exchangeOf(response: Response): Exchange {
  return (response.locals as {readonly exchange: Exchange}).exchange;
}

type OpenApi = ReturnType<typeof openApiDocument>;

function page({info, paths}: OpenApi): string {
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, {summary, description}]) =>
        `<details><summary><b>${method.toUpperCase()}</b> <code>${escaped(path)}</code> ` +
        `${escaped(summary)}</summary><p>${escaped(description)}</p></details>`,
    ),
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escaped(info.title)}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
details { border-bottom: 1px solid #ddd; padding: .4rem 0 }
summary { cursor: pointer }
</style>
</head>
<body>
<h1>${escaped(info.title)} ${escaped(info.version)}</h1>
<p>${escaped(info.description)} The same as data: <a href="openapi.json">openapi.json</a>.</p>
${rows.join('\n')}
${vocabularies().map(calls).join('\n')}
</body>
</html>
`;
}

/** What a statement of the language may call, from the tables that its front end reads. */
function calls({languages, functions}: Vocabulary): string {
  const items = functions.map(({name, kind, says = ''}) => {
    const written = kind === 'method' ? `.${name}` : name;
    return `<dt><code>${escaped(written)}</code> ${kind}</dt><dd>${escaped(says)}</dd>`;
  });
  const title = `Functions of ${languages.join(', ')}: ${functions.length}`;
  return `<details><summary>${escaped(title)}</summary><dl>${items.join('\n')}</dl></details>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
