/** Operations, template and page say the same of the API. The types of the client compare its routes. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { OPERATIONS } from '../../../functions/api/operation-table.ts';
import { openApiDocument } from '../../../functions/api/shared/open-api.ts';

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
