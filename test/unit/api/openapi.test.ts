/** Operations, template and page say the same of the API. The types of the client compare its routes. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { OPERATIONS } from '../../../functions/api/operation-table.ts';
import { openApiDocument } from '../../../functions/api/shared/open-api.ts';
import { bundledFunction } from '../../support/bundled-function.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const routes = OPERATIONS.map(({ route }) => route).sort();

const answering = z.object({
  events: z.array(z.object({ httpApi: z.object({ method: z.string(), path: z.string() }) })),
});
const functions = z.looseObject({ api: answering, plan: answering });

describe('the routes of the API', () => {
  it('are those of the template', () => {
    const { api, plan } = functions.parse(
      parse(read('serverless/generated/functions.yml'), { logLevel: 'silent' }),
    );
    const deployed = [...api.events, ...plan.events].map(
      ({ httpApi }) => `${httpApi.method} ${httpApi.path}`,
    );
    expect(deployed.sort()).toEqual(routes);
  });

  it('are those of docs/api.md', () => {
    const table = [...read('docs/api.md').matchAll(/^\| `([A-Z]+ \/[^?`]*)/gm)].map(
      ([, route = '']) => route,
    );
    expect(table.sort()).toEqual(routes);
  });
});

it('every reference of the document leads somewhere', () => {
  const text = JSON.stringify(openApiDocument(OPERATIONS));
  const { components } = z
    .object({ components: z.object({ schemas: z.record(z.string(), z.unknown()) }) })
    .parse(openApiDocument(OPERATIONS));
  const names = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(50);
  expect(names.filter((name) => !(name in components.schemas))).toEqual([]);
});

const response = z.object({
  statusCode: z.number(),
  body: z.string().transform((text): unknown => JSON.parse(text)),
});

it('the bundled function answers with the document', async () => {
  for (const [name, value] of Object.entries({
    AWS_REGION: 'us-east-1',
    TIDEWHEEL_BUCKET: 'data',
    TIDEWHEEL_TABLE: 'table',
    TIDEWHEEL_STATE_MACHINE_ARN: 'arn:aws:states:us-east-1:000000000000:stateMachine:run',
    TIDEWHEEL_SCHEDULE_GROUP: 'group',
    TIDEWHEEL_SCHEDULE_ROLE_ARN: 'arn:aws:iam::000000000000:role/schedule',
    TIDEWHEEL_ARRIVALS_QUEUE_ARN: 'arn:aws:sqs:us-east-1:000000000000:arrivals',
    TIDEWHEEL_NOTIFIED_MARKER: '',
    TIDEWHEEL_ACCOUNT: '000000000000',
    TIDEWHEEL_EVENT_BUS: 'default',
  }))
    vi.stubEnv(name, value);
  const folder = mkdtempSync(path.join(tmpdir(), 'tidewheel-bundle-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
    vi.unstubAllEnvs();
  });
  const handlers = path.join(folder, 'functions/handlers/api');
  cpSync('docs/openapi.json', path.join(folder, 'docs/openapi.json'));
  mkdirSync(handlers, { recursive: true });
  for (const [name, text] of Object.entries(await bundledFunction('api')))
    writeFileSync(path.join(handlers, name), text);
  const bundle: { handler: (event: object, context: object) => Promise<unknown> } = await import(
    path.join(handlers, 'index.mjs')
  );
  const answer = response.parse(
    await bundle.handler({ routeKey: 'GET /openapi.json' }, { functionName: 'api' }),
  );
  expect(answer).toEqual({ statusCode: 200, body: JSON.parse(read('docs/openapi.json')) });
}, 60_000);
